import Glibc
import Testing

@testable import RollcallCore
@testable import RollcallSupport
@testable import RollcallTools

@Suite struct TuneJobTests {
    private static let zero: Int64 = 1_795_219_200_000
    private let directory = TemporaryDirectory()

    /// A day of some people who are silent now and then, as a file.
    private func history(hours: Int64 = 3, before: String = "") -> String {
        var text = before
        for second in stride(from: Int64(0), to: hours * 3600, by: 15) {
            for person in Int64(0)..<6 {
                let isMission = person == 0
                guard isMission || second % 60 == person * 15 % 60 else { continue }
                // A gap of a few minutes an hour each, longer from hour to hour.
                let phase = (second + person * 600) % 3600
                let length = isMission ? Int64(40) : 100 + person * 60 + second / 3600 * 120
                guard phase >= length else { continue }
                let duty = isMission ? "ON_MISSION" : "ON_DUTY"
                let platform = person % 2 == 0 ? "ios" : "android"
                text += #"{"at":\#(Self.zero + second * 1000),"kind":"batch","body":"#
                text += #"{"responder_id":"<u>\#(person)","duty_state":"\#(duty)","#
                text +=
                    #""platform":"\#(platform)","manufacturer":"<i>make","region":"<i>north"}}"#
                    + "\n"
            }
        }
        return text + #"{"at":\#(Self.zero + hours * 3_600_000),"kind":"end"}"# + "\n"
    }

    private func write(_ text: String, _ name: String = "day.ndjson") throws -> String {
        let path = directory.path + "/" + name
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        try #require(file >= 0)
        defer { close(file) }
        let bytes = Array(text.utf8)
        try #require(Glibc.write(file, bytes, bytes.count) == bytes.count)
        return path
    }

    private func options(_ text: String) throws -> TuneJob.Options {
        TuneJob.Options(path: try write(text))
    }

    private func json(_ result: TuneResult) -> String {
        var bytes: [UInt8] = []
        TuneDocument(result: result).tree.append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `the answer does not depend on threads or chunks`() throws {
        var options = try options(history())
        options.threads = 1
        let whole = try json(TuneJob(options).run())
        for (threads, steps) in [(3, 16_384), (2, 100), (1, 7)] {
            options.threads = threads
            options.chunkSteps = steps
            // What is wished for is known before the platforms of a short first chunk are.
            options.wishes = []
            if steps < 16_384 {
                options.wishes = ["liveness.on_duty.offline_after=120s,240s"]
                var one = options
                one.threads = 1
                one.chunkSteps = 16_384
                #expect(try json(TuneJob(options).run()) == json(TuneJob(one).run()))
            } else {
                #expect(try json(TuneJob(options).run()) == whole)
            }
        }
    }

    @Test func `the present settings decide what replay prints`() throws {
        let text = history()
        var replay = Replay(policy: Policy()) { _ in Policy() }
        var lines: [UInt8] = []
        for line in text.split(separator: "\n") { try replay.fold(Array(line.utf8), to: &lines) }
        replay.finish(to: &lines)
        let printed = String(decoding: lines, as: UTF8.self).split(separator: "\n")
        func count(_ part: String) -> Int { printed.count { $0.contains(part) } }
        let counts = try TuneJob(options(text)).run().outcomes[0].counts
        #expect(counts.all.offline > 10)
        #expect(counts.all.offline == count(#","to":"OFFLINE""#))
        #expect(counts.all.degraded == count(#","to":"DEGRADED""#))
        #expect(counts.allNotifications.fired == count(#""state":"firing""#))
    }

    @Test func `the usual sweep is around the settings of the history`() throws {
        let policy =
            #"{"at":\#(Self.zero),"kind":"policy","body":{"liveness":{"on_duty":{"degraded_after":"100s","offline_after":"200s"}},"nudges":{"mode":"disabled"}}}"#
        let result = try TuneJob(options(history(before: policy + "\n"))).run()
        #expect(
            result.sweep.axes.map { axis in
                "\(axis.title) \(axis.present.joined()): "
                    + axis.places.map { result.sweep.candidates[$0].changes[0].value }
                    .joined(separator: " ")
            } == [
                "liveness.on_duty.degraded_after 100s: 75s 135s",
                "liveness.on_duty.offline_after 200s: 135s 165s 265s 400s",
                "liveness.on_mission.degraded_after 30s: 20s",
                "liveness.on_mission.offline_after 60s: 45s 90s",
                "liveness.low_power_factor 1.0: 1.5",
                "liveness.platform_factors.ios 1.0: 1.5",
                "liveness.platform_factors.android 1.0: 1.5",
                "alerts.HighOfflineRate.above 0.1: 0.05 0.2",
                "alerts.HighOfflineRate.for 60s: 120s",
                "alerts.NoOnlineResponders.for 60s: 180s",
                "alerts.ResponderFlapping.changes 4: 3 6",
            ])
        #expect(result.policyChanges == 0)
    }

    @Test func `a file of settings wins over the history`() throws {
        let policy = #"{"at":\#(Self.zero),"kind":"policy","body":{}}"#
        var options = try options(history(before: policy + "\n"))
        options.configurationPath = try write(
            "liveness: {on_duty: {offline_after: 10m}}", "rollcall.yml")
        options.wishes = ["liveness.on_duty.offline_after=180s"]
        let result = try TuneJob(options).run()
        #expect(result.base.onDuty.offlineAfter == .seconds(600))
        #expect(result.isFixed)
        #expect(result.outcomes[1].counts.all.offline > result.outcomes[0].counts.all.offline)
    }

    @Test(arguments: [
        (
            "liveness.on_duty.offline_after",
            "--set liveness.on_duty.offline_after: like liveness.on_duty.offline_after=120s,240s expected"
        ),
        (
            "liveness.on_duty.offline=1s",
            "--set liveness.on_duty.offline: unknown setting, did you mean "
                + "\"liveness.on_duty.offline_after\"?"
        ),
        ("colour=1s", "--set colour: unknown setting"),
        (
            "web.listen_address=1.2.3.4:5",
            "--set web.listen_address: decides nothing that a replay could show, or is no single value"
        ),
        (
            "liveness.on_duty.offline_after=90s",
            "--set liveness.on_duty.offline_after=90s: liveness.on_duty.offline_after must be longer than degraded_after (90s <= 90s)"
        ),
        (
            "liveness.on_duty.offline_after=180s",
            "--set: every value is the present one, so there is nothing to compare"
        ),
        (
            "liveness.on_duty.offline_after=2m,,3m",
            "--set liveness.on_duty.offline_after=2m,,3m: a value is missing"
        ),
    ])
    func `wrong wishes are refused with a reason`(wish: String, message: String) {
        do throws(TuneError) {
            _ = try TuneSweep(base: Policy(), wishes: [wish], isGrid: false, platforms: [])
            Issue.record("taken")
        } catch {
            #expect("\(error)" == message)
        }
    }

    @Test func `a grid is every value with every other, up to a limit`() throws {
        let values = (1...15).map { "\(200 + $0)s" }.joined(separator: ",")
        func sweep(_ others: Int) throws(TuneError) -> TuneSweep {
            let more = (1...others).map { "\(100 + $0)s" }.joined(separator: ",")
            return try TuneSweep(
                base: Policy(),
                wishes: [
                    "liveness.on_duty.offline_after=\(values)",
                    "liveness.on_duty.degraded_after=\(more)",
                ], isGrid: true, platforms: [])
        }
        #expect(try sweep(13).candidates.count == 196)
        #expect(try sweep(13).axes[0].places.count == 195)
        #expect(try sweep(13).candidates[1].changes.map(\.value) == ["201s", "101s"])
        #expect(throws: TuneError.self) { try sweep(14) }
    }

    @Test func `costs and spans are read, and refused with a reason`() throws {
        #expect(TuneCosts.standard == "false_alarm=1,page=5,late_minute=1,missed=60")
        #expect(try TuneCosts.weights("page=0.5").page == 0.5)
        #expect(try TuneCosts.span("90s") == .seconds(90))
        for text in ["page", "page=x", "pages=1", "page=-1", "page=nan", "page=1000001"] {
            #expect(throws: TuneError.self) { try TuneCosts.weights(text) }
        }
        for text in ["5", "0s", "25h", "999ms"] {
            #expect(throws: TuneError.self) { try TuneCosts.span(text) }
        }
    }

    @Test func `wrong lines and empty histories are told`() throws {
        let wrong = try options("\n{\"at\":1,\"kind\":\"no\"}\n")
        #expect { try TuneJob(wrong).run() } throws: { "\($0)" == "line 2: unknown kind \"no\"" }
        let empty = try options("")
        #expect { try TuneJob(empty).run() } throws: { "\($0)".contains("nothing to tune") }
        #expect { try TuneJob(TuneJob.Options(path: "/nowhere")).run() } throws: {
            "\($0)".hasPrefix("/nowhere: cannot be read")
        }
    }

    @Test func `neither page nor table names people or lets text out`() throws {
        var options = try options(history(hours: 21))
        options.wishes = ["liveness.on_duty.offline_after=120s,150s,240s"]
        let result = try TuneJob(options).run()
        let page = TunePage(result: result).text
        #expect(!page.contains("<u>"))
        #expect(!page.contains("<i>"))
        #expect(!page.contains("http"))
        #expect(
            TunePlots.escaped("<a href=\"x\">&'\u{202E}")
                == "&lt;a href=&quot;x&quot;&gt;&amp;&#39;\\u{202E}")
        let table = TuneTable(result: result, style: ConsoleStyle()).text
        #expect(table.contains("Present settings, by manufacturer, a day\n"))
        #expect(page.contains("Present settings, by manufacturer, a day"))
        #expect(json(result).contains("\"phones\""))
        #expect(table.split(separator: "\n").allSatisfy { ConsoleText.columns(String($0)) <= 80 })
        #expect(!json(result).contains("<u>"))
    }

    @Test func `figures are told with the digits that matter`() {
        #expect(
            [0, 0.123, 9.996, 99.96, 1234.5, -0.001, -12.34].map(TuneNumber.short)
                == ["0", "0.12", "10.00", "100.0", "1235", "0.00", "−12.3"])
        #expect(TuneNumber.seconds(Milliseconds(180_050)) == "180.1s")
        #expect(
            TuneText.yaml([("a.b.c", "1"), ("a.d", "2"), ("a.b.e", "3")])
                == "a:\n  b:\n    c: 1\n    e: 3\n  d: 2\n")
    }
}

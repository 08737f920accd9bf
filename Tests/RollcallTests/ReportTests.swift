import Glibc
import Testing

@testable import RollcallBasis
@testable import RollcallCore
@testable import RollcallSupport
@testable import RollcallTools

/// What a report for a bug tells, and what it does not (V19).
@Suite struct ReportTests {
    private func log(_ line: String) -> String {
        var names = ReportNames(shows: false)
        return ReportLog.shown([line], &names)[0]
    }

    @Test func `V19: of a line the words of ours are kept, and names become others`() {
        #expect(
            log(
                #"time=2026-11-21T15:14:20.960Z level=info component=rollcall msg="alert fires" alertname=NoOnlineResponders count=3 region=harbour severity=critical"#
            )
                == #"time=2026-11-21T15:14:20.960Z level=info component=rollcall msg="alert fires" alertname=NoOnlineResponders count=3 region=region-1 severity=critical"#
        )
        #expect(
            log(
                #"{"time":"2026-11-21T15:14:20.960Z","level":"warn","component":"rollcall","msg":"m","error":"open /home/kim/rollcall.db: errno 13 (Permission denied): make it writable"}"#
            )
                == #"time=2026-11-21T15:14:20.960Z level=warn component=rollcall msg=m error="open … errno 13 (Permission denied): make it writable""#
        )
    }

    @Test func `V19: labels that somebody gave an alert are not told, neither name nor value`() {
        #expect(
            log(
                #"time=2026-11-21T15:14:20.960Z level=info component=rollcall msg="an alert fires" alertname=HighOfflineRate count=3 kim=1 oncall=+491701234567 role=kim_mueller severity=critical total=9"#
            )
                == #"time=2026-11-21T15:14:20.960Z level=info component=rollcall msg="an alert fires" alertname=HighOfflineRate count=3 severity=critical total=9"#
        )
    }

    @Test(arguments: [
        #"time=2026-11-21T15:14:20.960Z level=warn component=rollcall msg="receivers.kim: https://kim.example/hook is slow""#,
        #"time=2026-11-21T15:14:20.960Z level=warn component=rollcall msg="/home/kim/a.yml: every user of this machine can read it""#,
        #"time=2026-11-21T15:14:20.960Z level=info component=rollcall msg=m id=kim key="kim kim" file=/srv/kim.db address=10.1.2.3:4"#,
        "kim wrote this, at 10.1.2.3, to kim@example.org", "{\"kim\":\"kim\"}", "time=kim kim=kim",
        #"time=2026-11-21T15:14:20.960Z level=info msg="kim"#,
    ])
    func `V19: nothing of somebody's own is left of a line`(line: String) {
        let told = log(line)
        for mark in ["kim", "10.1.2.3", "example"] { #expect(!told.contains(mark), "\(told)") }
    }

    @Test func `V19: labels with names are replaced, the same name by the same one`() {
        var names = ReportNames(shows: false)
        let page = """
            # HELP a b
            rollcall_responders{region="kim",status="ONLINE"} 4
            rollcall_outbox_pending{receiver="k\\"im"} 1
            rollcall_responders_flapping{region="kim"} 2
            rollcall_names{kind="region",other="kim"} 5
            rollcall_commit_duration_seconds_bucket{le="0.1"} 5
            rollcall_pushes_pending 0
            rollcall_watching 1
            kim{kim
            """
        #expect(
            ReportAnswers.metrics(page, &names) == [
                #"rollcall_responders{region="region-1",status="ONLINE"} 4"#,
                #"rollcall_outbox_pending{receiver="receiver-1"} 1"#,
                #"rollcall_responders_flapping{region="region-1"} 2"#,
                #"rollcall_names{kind="region",other="…"} 5"#, "rollcall_watching 1",
            ])
    }

    @Test func `V19: of an answer numbers, times and words of ours are told`() throws {
        var names = ReportNames(shows: false)
        let tree = try JSONTree(
            reading: Array(
                #"{"sentence":{"headline":"kim"},"watching":true,"sources":[{"source":"kim","up":true}],"store":{"state":"ok","at":"2026-11-21T15:14:20.960Z"},"kim kim":1,"note":"kim","receivers":[{"name":"kim2","kind":"webhook","pending":3}]}"#
                    .utf8))
        #expect(
            ReportAnswers.tree(tree, &names) == [
                "watching: true", "sources[0].source: source-1", "sources[0].up: true",
                "store.state: ok", "store.at: 2026-11-21T15:14:20.960Z", "note: …",
                "receivers[0].name: receiver-1", "receivers[0].kind: webhook",
                "receivers[0].pending: 3",
            ])
    }

    @Test func `V19: a setting tells numbers and words of ours, and of the rest that it is there`()
    {
        var configuration = Configuration()
        configuration.storagePath = "/srv/kim.db"
        configuration.policy.coverageRegions = [Array("kim".utf8), Array("kim2".utf8)]
        configuration.storageBytesMax = 8 << 30
        configuration.accessPolicy.externalURL = ExternalURL("https://kim.example/")
        let settings = Setting.all.map { ReportedSetting($0, configuration) }
        #expect(
            settings.filter { !$0.isDefault }.map { "\($0.key) \($0.value)" } == [
                "web.external_url (set)", "storage.path (set)", "storage.size 8GiB",
                "coverage.regions (2)",
            ])
        #expect(settings.contains { $0.key == "storage.retention" && $0.value == "30d" })
        #expect(settings.contains { $0.key == "alive_ping.url" && $0.value == "(not set)" })
    }

    @Test func `V19: what does not come in its time is said, and what came is kept`() {
        let lines = BoundedWait.lines(seconds: 0) { lines in
            lines.say("first")
            usleep(300_000)
        }
        #expect(lines.last == "not had: the rest did not come within 0 s")
    }

    @Test func `V19: a thread is called like the file that started it`() {
        let names = Mailbox<String>()
        let isStarted = DetachedThread.start {
            names.put(SmallFile.line("/proc/thread-self/comm") ?? "")
        }
        #expect(isStarted && names.takeAll(waiting: 10_000) == ["ReportTests"])
    }

    @Test func `the last lines of the log are kept, and no more`() {
        let tail = LogTail()
        for number in 0..<(LogTail.linesMax + 5) { tail.append(Array("\(number)\n".utf8)) }
        #expect(tail.lines.count == LogTail.linesMax && tail.lines.first == "5")
        tail.append([UInt8](repeating: 0x61, count: LogTail.bytesMax))
        #expect(tail.lines.count == 1)
    }
}

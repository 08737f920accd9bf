import Testing

@testable import RollcallCore

/// The alarm about the store, in seconds since its first commit failed.
@Suite struct StoreAlarmTests {
    /// One alarm and those whom it tells.
    private struct Scene {
        var alarm: StoreAlarm
        var receivers: [Receiver]
        var isMuted = false
        /// What went out, by when: `6 fired oncall`.
        private(set) var notified: [String] = []

        init(_ kinds: [ReceiverKind], markedAt: Int64? = nil) {
            receivers = kinds.map { Receiver(name: $0.word.bytes, kind: $0) }
            alarm = StoreAlarm(
                markedAt: markedAt.map(Self.wall), receivers: receivers, now: Self.time(0),
                wall: Self.wall(0))
        }

        static func time(_ second: Int64) -> RunningTime {
            RunningTime(milliseconds: second * 1000)
        }

        static func wall(_ second: Int64) -> Timestamp {
            Timestamp(milliseconds: 1_795_230_000_000 + second * 1000)
        }

        /// Another alarm takes its place: something was lost.
        mutating func lose(_ cause: StateLossCause, _ second: Int64) {
            alarm = StoreAlarm(lost: cause, at: Self.wall(second))
        }

        mutating func failed(_ second: Int64) {
            alarm.failed(now: Self.time(second), wall: Self.wall(second))
        }

        mutating func worked(_ second: Int64) {
            alarm.worked(now: Self.time(second), wall: Self.wall(second))
        }

        /// Time passes; the mark is left or taken; what is due goes out and is returned.
        mutating func pass(_ second: Int64) -> [StoreAlarm.Sending] {
            _ = alarm.advance(now: Self.time(second), wall: Self.wall(second))
            if let mark = alarm.markDue {
                notified.append("\(second) \(mark == .cleared ? "cleared" : "marked")")
                alarm.marked(mark)
            }
            let sendings = alarm.begin(
                receivers: receivers, isMuted: isMuted, now: Self.time(second))
            for sending in sendings {
                let name = String(decoding: sending.queue.receiver, as: UTF8.self)
                notified.append("\(second) \(sending.kind.word) \(name)")
            }
            return sendings
        }

        mutating func end(
            _ sendings: [StoreAlarm.Sending], _ second: Int64,
            _ verdict: OutboxVerdict = .delivered, mayHaveArrived: Bool = true,
            retryAfter: Int64? = nil
        ) {
            for sending in sendings {
                alarm.end(
                    sending.queue, verdict, mayHaveArrived: mayHaveArrived,
                    retryAfter: retryAfter.map { .seconds($0) }, now: Self.time(second),
                    wall: Self.wall(second))
            }
        }

        /// Passes each second of `seconds`, and everything is delivered at once.
        mutating func run(_ seconds: ClosedRange<Int64>) {
            for second in seconds { end(pass(second), second) }
        }
    }

    @Test func `a store that fails for five seconds is told, one that fails for less is not`() {
        var scene = Scene([.pagerduty])
        scene.failed(0)
        scene.run(0...4)
        scene.worked(4)
        scene.run(4...30)
        #expect(scene.notified.isEmpty && scene.alarm.state == .fine)
        scene.failed(31)
        scene.run(31...35)
        #expect(scene.notified.isEmpty && scene.alarm.alertState == .pending)
        scene.run(36...36)
        #expect(scene.notified == ["36 marked", "36 fired pagerduty"])
        #expect(scene.alarm.alertState == .firing)
        #expect(scene.alarm.activeAt == Scene.wall(31) && scene.alarm.startsAt == Scene.wall(36))
    }

    @Test func `R2: who escalates is told in time, again after each firing, and of its end`() {
        var scene = Scene([.pagerduty, .slack])
        scene.receivers[1].escalateAfter = .seconds(60)
        scene.failed(0)
        scene.run(0...64)
        #expect(scene.notified == ["5 marked", "5 fired pagerduty"])
        scene.run(65...65)
        #expect(scene.notified.last == "65 fired slack")
        scene.worked(70)
        scene.run(70...80)
        #expect(scene.notified.contains("70 resolved slack"))
        scene.failed(100)
        scene.run(100...164)
        #expect(scene.notified.last == "105 fired pagerduty")
        scene.run(165...165)
        #expect(scene.notified.last == "165 fired slack")
    }

    @Test func `it is told again each ten minutes, to an alertmanager each minute`() {
        var scene = Scene([.slack, .alertmanager])
        scene.failed(0)
        scene.run(0...700)
        let slack = scene.notified.filter { $0.hasSuffix("slack") }
        #expect(slack == ["5 fired slack", "605 repeated slack"])
        let refreshes = scene.notified.filter { $0.hasSuffix("repeated alertmanager") }
        #expect(refreshes.count == 11 && refreshes.first == "65 repeated alertmanager")
    }

    @Test func `its end is told once, and then the mark goes`() {
        var scene = Scene([.pagerduty, .slack])
        scene.receivers[1].sendsResolved = false
        scene.failed(0)
        scene.run(0...10)
        scene.worked(11)
        scene.run(11...100)
        #expect(
            scene.notified == [
                "5 marked", "5 fired pagerduty", "5 fired slack", "11 resolved pagerduty",
                "12 cleared",
            ])
        #expect(scene.alarm.state == .fine && !scene.alarm.isMarked)
    }

    @Test func `an alertmanager is told the end for a quarter of an hour, without the mark`() {
        var scene = Scene([.alertmanager])
        scene.failed(0)
        scene.run(0...10)
        scene.worked(11)
        scene.run(11...2000)
        let ends = scene.notified.filter { $0.contains("resolved") }
        #expect(ends.count == 15 && ends.first == "11 resolved alertmanager")
        #expect(scene.notified.filter { $0.contains("cleared") } == ["12 cleared"])
        #expect(scene.alarm.state == .fine)
    }

    @Test func `who cannot be reached is not told of an end that they never needed`() {
        var scene = Scene([.pagerduty])
        scene.failed(0)
        let first = scene.pass(5)
        scene.end(first, 5, .failed, mayHaveArrived: false)
        scene.worked(6)
        scene.run(6...20)
        #expect(scene.notified == ["5 marked", "5 fired pagerduty", "7 cleared"])
    }

    @Test func `who may have been told is told the end, and not before that is known`() {
        var scene = Scene([.pagerduty])
        scene.failed(0)
        let first = scene.pass(5)
        scene.worked(6)
        #expect(scene.pass(7).isEmpty)
        scene.end(first, 8, .failed)
        scene.end(scene.pass(8), 8)
        _ = scene.pass(9)
        #expect(
            scene.notified == [
                "5 marked", "5 fired pagerduty", "8 resolved pagerduty", "9 cleared",
            ])
    }

    @Test func `what fails is tried again under the same id, and a refusal slowly`() {
        var scene = Scene([.webhook])
        scene.failed(0)
        let first = scene.pass(5)
        scene.end(first, 5, .failed)
        var again: [StoreAlarm.Sending] = []
        for second: Int64 in 6...10 where again.isEmpty { again = scene.pass(second) }
        #expect(again.map(\.id) == first.map(\.id) && again.map(\.attempt) == [2])
        scene.end(again, 10, .refused)
        var seconds: [Int64] = []
        for second: Int64 in 11...400 {
            let sendings = scene.pass(second)
            scene.end(sendings, second)
            seconds += sendings.map { _ in second }
        }
        #expect(seconds == [310])
    }

    @Test func `a reload retries soon what was refused, and what fails at a URL that is no more`() {
        for (verdict, change, seconds) in [
            (OutboxVerdict.refused, EndpointChange.same, [5, 65, 365]),
            (.refused, .secret, [5, 20, 320]),
            (.refused, .place, [5, 20, 320]), (.failed, .place, [5, 20, 320]),
        ] {
            var scene = Scene([.pagerduty])
            scene.failed(0)
            scene.end(scene.pass(5), 5, verdict, retryAfter: verdict == .failed ? 3600 : nil)
            var changes = EndpointChanges()
            changes.queues[QueueKey(receiver: ReceiverKind.pagerduty.word.bytes, target: 0)] =
                change
            scene.alarm.retrySoon(changes, now: Scene.time(20))
            for second in 20...400 as ClosedRange<Int64> {
                scene.end(
                    scene.pass(second), second, verdict, retryAfter: verdict == .failed ? 3600 : nil
                )
            }
            #expect(scene.notified.dropFirst() == seconds.map { "\($0) fired pagerduty" }[...])
        }
    }

    @Test func `after a restart with a mark everybody who may know is told the end`() {
        var scene = Scene([.pagerduty, .slack], markedAt: -3600)
        let sendings = scene.pass(1)
        #expect(sendings.allSatisfy { $0.member.startsAt == Scene.wall(-3600) })
        #expect(sendings.allSatisfy { $0.member.endsAt == Scene.wall(0) })
        scene.end(sendings, 1)
        _ = scene.pass(2)
        #expect(
            scene.notified == ["1 resolved pagerduty", "1 resolved slack", "2 cleared"])
        #expect(scene.alarm.state == .fine && !scene.alarm.isMarked)
    }

    @Test func `a store that fails again before its end is told is one firing`() {
        var scene = Scene([.pagerduty])
        scene.failed(0)
        scene.run(0...10)
        scene.worked(11)
        let end = scene.pass(11)
        scene.failed(12)
        scene.end(end, 13, .failed, mayHaveArrived: false)
        #expect(scene.alarm.alertState == .firing)
        scene.run(13...30)
        scene.worked(31)
        scene.run(31...40)
        #expect(scene.alarm.startsAt == Scene.wall(5))
        #expect(
            scene.notified == [
                "5 marked", "5 fired pagerduty", "11 resolved pagerduty",
                "17 repeated pagerduty", "31 resolved pagerduty", "32 cleared",
            ])
    }

    @Test func `a store that fails again after its end is told is another firing`() {
        var scene = Scene([.alertmanager])
        scene.failed(0)
        scene.run(0...10)
        scene.worked(11)
        scene.run(11...20)
        scene.failed(30)
        #expect(scene.alarm.alertState == .pending)
        #expect(scene.alarm.activeAt == Scene.wall(30))
        scene.run(30...33)
        scene.worked(34)
        scene.run(34...40)
        scene.failed(50)
        scene.run(50...60)
        #expect(scene.alarm.alertState == .firing)
        #expect(scene.alarm.activeAt == Scene.wall(50))
        #expect(scene.alarm.startsAt == Scene.wall(55))
        #expect(
            scene.notified == [
                "5 marked", "5 fired alertmanager", "11 resolved alertmanager", "12 cleared",
                "55 marked", "55 fired alertmanager",
            ])
    }

    @Test func `each firing has ids of its own, also after a restart`() {
        var scene = Scene([.webhook])
        var ids: [String] = []
        for begin: Int64 in [0, 100] {
            scene.failed(begin)
            for second in begin...(begin + 20) {
                if second == begin + 10 { scene.worked(second) }
                let sendings = scene.pass(second)
                ids += sendings.map(\.id)
                scene.end(sendings, second)
            }
        }
        var later = Scene([.webhook], markedAt: 105)
        ids += later.pass(200).map(\.id)
        #expect(ids.count == 5 && Set(ids).count == 5)
    }

    @Test func `a silence keeps it from being told, never from ending`() {
        var scene = Scene([.pagerduty])
        scene.isMuted = true
        scene.failed(0)
        scene.run(0...20)
        #expect(scene.notified == ["5 marked"])
        scene.isMuted = false
        scene.run(21...21)
        scene.isMuted = true
        scene.worked(22)
        scene.run(22...23)
        #expect(
            scene.notified == [
                "5 marked", "21 fired pagerduty", "22 resolved pagerduty", "23 cleared",
            ])
    }

    @Test func `it goes to those whose conditions its labels fulfil, and to each address`() {
        var scene = Scene([.pagerduty, .slack, .alertmanager])
        let severity = Array("severity".utf8)
        scene.receivers[0].match = [
            LabelMatcher(name: severity, values: [Array("critical".utf8)])
        ]
        scene.receivers[1].match = [
            LabelMatcher(name: severity, values: [Array("warning".utf8)])
        ]
        scene.receivers[2].targets = 2
        scene.failed(0)
        _ = scene.pass(5)
        #expect(
            scene.notified == [
                "5 marked", "5 fired alertmanager", "5 fired alertmanager", "5 fired pagerduty",
            ])
    }

    @Test func `who is removed from the settings is forgotten, who comes is told`() {
        var scene = Scene([.pagerduty])
        scene.failed(0)
        scene.run(0...10)
        scene.receivers = [Receiver(name: Array("slack".utf8), kind: .slack)]
        scene.run(11...12)
        scene.worked(13)
        scene.run(13...20)
        #expect(
            scene.notified == [
                "5 marked", "5 fired pagerduty", "11 fired slack", "13 resolved slack",
                "14 cleared",
            ])
    }

    @Test func `an end that nobody takes is given up after three days`() {
        var scene = Scene([.pagerduty])
        scene.failed(0)
        scene.run(0...10)
        scene.worked(11)
        var second: Int64 = 11
        while scene.alarm.state != .fine, second < 400_000 {
            scene.end(scene.pass(second), second, .failed)
            second += 300
        }
        #expect(second > 3 * 86_400 && second < 3 * 86_400 + 1000)
    }

    // MARK: - What was lost

    @Test func `what was lost is told once, and its end once it is over`() {
        var scene = Scene([.pagerduty, .slack])
        scene.lose(.damaged, 100)
        scene.run(0...2000)
        #expect(scene.notified == ["0 fired pagerduty", "0 fired slack"])
        scene.worked(2001)
        scene.run(2001...2100)
        #expect(
            scene.notified.dropFirst(2) == [
                "2001 resolved pagerduty", "2001 resolved slack", "2002 cleared",
            ])
        #expect(scene.alarm.state == .fine)
    }

    @Test func `a restart tells what was lost under the same ids`() {
        var ids: [[String]] = []
        for second in [0, 700] as [Int64] {
            var scene = Scene([.pagerduty])
            scene.lose(.older, 0)
            let sendings = scene.pass(second)
            ids.append(sendings.map(\.id))
            #expect(sendings.map(\.subject) == [.lost(.older)])
            let words = AlertText(sendings[0].member) { _ in nil }
            #expect(
                words.summary
                    == "Rollcall lost what it knew: its store is older than what it acknowledged")
            #expect(words.annotations.value(of: Array("reason".utf8)) == Array("older".utf8))
        }
        #expect(ids[0] == ids[1] && ids[0].count == 1)
        #expect(ids[0][0].hasPrefix("state-"))
    }
}

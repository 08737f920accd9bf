import RollcallCore
import Testing

@testable import RollcallSupport
@testable import RollcallTools

/// What the demo has happen, and when. Without time, but for the engine's own.
@Suite struct DemoScriptTests {
    @Test func `everything is seen within two minutes`() throws {
        var story = try DemoStory(DemoScenes.script)
        #expect(try story.play(secondsMax: 300) <= 120)
        #expect(story.script.isOver)
        #expect(story.script.missing == [])
        #expect(story.script.seen == 26)
        // Nobody is silent whom the script did not have silent, and nobody is nudged for nothing.
        let harbour = story.cast.people(of: DemoScenes.region)
        let silent = [DemoScenes.revoked, DemoScenes.swiped, DemoScenes.tunnelled] + harbour
        #expect(Set(story.gaps) == Set(silent))
        #expect(story.nudged == [DemoScenes.swiped])
        #expect(story.truths.count == 17)
    }

    @Test func `rounds go on without an end, and with somebody else each time`() throws {
        var story = try DemoStory(DemoScenes.script)
        _ = try story.play(secondsMax: 300)
        for number in 1...13 {
            story.add(DemoScenes.round(number, story.cast))
            #expect(try story.play(secondsMax: 200) < 90)
            #expect(story.script.missing == [], "round \(number)")
        }
        let people = story.gaps.filter { !story.cast.people(of: DemoScenes.region).contains($0) }
        #expect(Set(people).count >= 10)
    }

    // MARK: - Waiting

    private func script(_ steps: DemoScript.Step...) -> DemoScript {
        DemoScript([DemoScript.Scene(name: "only", steps: steps)])
    }

    private func say(_ words: String) -> DemoScript.Cue { .line(DemoLine(.demo, words)) }

    @Test func `what does not come is told, is missing, and holds nothing up`() {
        var script = script(.expect(.push("r-1"), within: .seconds(2)), .say("on"))
        #expect(script.pass(.seconds(1), isWatching: true) == [])
        #expect(script.pass(.seconds(1), isWatching: true) == [])
        #expect(script.pass(Milliseconds(999), isWatching: true) == [])
        #expect(
            script.pass(Milliseconds(1), isWatching: true) == [
                say("NOT SEEN within 2 s of watching: a push to r-1"), say("on"),
            ])
        #expect(script.isOver)
        #expect(script.missing == [.push("r-1")])
        #expect(script.seen == 0)
    }

    @Test func `what came goes on at once, and is counted`() {
        var script = script(.expect(.push("r-1"), within: .seconds(2)), .say("on"))
        _ = script.pass(.seconds(1), isWatching: true)
        script.hear([.push("r-2"), .push("r-1")])
        #expect(script.pass(Milliseconds(1), isWatching: true) == [say("on")])
        #expect((script.seen, script.missing) == (1, []))
    }

    @Test func `what came before a scene is none of it`() {
        var script = script(.say("first"))
        script.hear([.push("r-1")])
        _ = script.pass(.seconds(1), isWatching: true)
        script.add(
            DemoScript.Scene(name: "next", steps: [.expect(.push("r-1"), within: .seconds(1))]))
        _ = script.pass(.seconds(1), isWatching: true)
        #expect(!script.isOver)
        script.hear([.push("r-1")])
        _ = script.pass(.seconds(1), isWatching: true)
        #expect(script.seen == 1)
    }

    @Test func `time in which Rollcall cannot see does not count, and a stall counts as a second`()
    {
        var script = script(.expect(.push("r-1"), within: .seconds(2)))
        for _ in 0..<10 { _ = script.pass(.seconds(60), isWatching: false) }
        _ = script.pass(.seconds(60), isWatching: true)
        #expect(!script.isOver)
        _ = script.pass(.seconds(60), isWatching: true)
        #expect(script.missing == [.push("r-1")])
    }

    @Test func `a scene begins after others, and after its pause`() {
        var script = DemoScript([
            DemoScript.Scene(name: "b", after: ["a"], pause: .seconds(1), steps: [.say("b")]),
            DemoScript.Scene(name: "a", steps: [.wait(.push("r-1"), .seconds(1)), .say("a")]),
        ])
        #expect(script.pass(Milliseconds(500), isWatching: true) == [])
        script.hear([.push("r-1")])
        #expect(script.pass(Milliseconds(100), isWatching: true) == [say("a")])
        #expect(script.pass(Milliseconds(100), isWatching: true) == [])
        #expect(script.pass(Milliseconds(999), isWatching: true) == [])
        #expect(script.pass(Milliseconds(1), isWatching: true) == [say("b")])
        #expect(script.isOver)
    }

    // MARK: - Phones

    private static let now = Timestamp(milliseconds: 1_795_000_000_000)

    private func phone() -> DemoPhone {
        DemoPhone(id: "r-1", region: "north", platform: "ios", battery: 0.5, due: Self.now)
    }

    private func updates(_ batch: JSONTree?) -> [Int64] {
        (batch?["updates"]?.elements ?? []).compactMap { $0["sequence"]?.whole }
    }

    @Test func `a phone reports every two seconds, and makes up for nothing`() {
        var phone = phone()
        #expect(updates(phone.batch(at: Self.now)) == [1])
        #expect(phone.batch(at: Self.now + Milliseconds(1999)) == nil)
        #expect(updates(phone.batch(at: Self.now + .seconds(2))) == [2])
        #expect(updates(phone.batch(at: Self.now + .seconds(20))) == [3])
        #expect(phone.batch(at: Self.now + .seconds(21)) == nil)
    }

    @Test func `where the network fades the queue grows, and comes with the return`() {
        var phone = phone()
        phone.become(.fading, at: Self.now)
        let depths = (0..<3).map { step in
            let batch = phone.batch(at: Self.now + .seconds(Int64(step) * 2))
            return batch?["telemetry"]?["queue_depth"]?.whole
        }
        #expect(depths == [2, 4, 6])
        phone.become(.cut, at: Self.now + .seconds(5))
        #expect(phone.batch(at: Self.now + .seconds(6)) == nil)
        phone.become(.reporting, at: Self.now + .seconds(7))
        #expect(updates(phone.batch(at: Self.now + .seconds(7))) == Array(4...11))
    }

    @Test func `after its last words nothing runs on it`() {
        var cast = DemoCast(at: Self.now)
        _ = cast.batches(at: Self.now + .seconds(4))
        cast.apply(.lastWords("r-01", .permission("denied")), at: Self.now + .seconds(5))
        let said = cast.batches(at: Self.now + .seconds(5))
        #expect(said.count == 1)
        #expect(said.first?["telemetry"]?["permission_status"]?.text == "denied")
        #expect(said.first?["updates"]?.elements == [])
        #expect(cast.isMeantToBeOffline("r-01"))
        let others = cast.batches(at: Self.now + .seconds(60))
        #expect(others.count == 39)
        cast.apply(.open("r-01"), at: Self.now + .seconds(61))
        #expect(!cast.isMeantToBeOffline("r-01"))
        let back = cast.batches(at: Self.now + .seconds(61))
        #expect(back.first?["telemetry"]?["app_state"]?.text == "foreground")
    }

    @Test func `a phone holds so many locations and no more`() {
        var phone = phone()
        phone.become(.cut, at: Self.now)
        for step in 0...Int64(DemoPhone.waitingMax) {
            _ = phone.batch(at: Self.now + .seconds(2 * step))
        }
        let back = Self.now + .seconds(3 * Int64(DemoPhone.waitingMax))
        phone.become(.fading, at: back)
        // Three more were collected, and one of all that it holds was sent.
        let batch = phone.batch(at: back)
        #expect(batch?["telemetry"]?["queue_depth"]?.whole == Int64(DemoPhone.waitingMax) - 1)
        #expect(updates(batch) == [5])
    }
}

import CSQLite
import Glibc
import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallStore
@testable import RollcallSupport
@testable import RollcallTools

/// An export replays to what the store holds, from wherever it begins (V7).
@Suite struct StoreExportTests {
    private func lines(
        _ path: String, since: Timestamp? = nil, until: Timestamp? = nil
    ) throws -> [[UInt8]] {
        var export = try StoreExport(path: path, since: since, until: until)
        var bytes: [UInt8] = []
        while true {
            let chunk = try export.chunk()
            if chunk.isEmpty { break }
            #expect(chunk.last == 0x0A)
            bytes += chunk
        }
        return bytes.split(separator: 0x0A).map { Array($0) }
    }

    private func check(_ lines: [[UInt8]]) throws -> ReplayCheck {
        var check = ReplayCheck { body in
            try Configuration(yaml: String(decoding: body, as: UTF8.self)).policy
        }
        for line in lines { try check.fold(line) }
        check.finish()
        return check
    }

    private func difference(_ path: String) throws -> ReplayCheck.Difference? {
        try check(try lines(path)).difference
    }

    private func kinds(_ lines: [[UInt8]]) -> [String] {
        lines.map { line in
            let text = String(decoding: line, as: UTF8.self)
            let parts = text.split(separator: "\"")
            return parts.count > 7 ? String(parts[7]) : ""
        }
    }

    private func told(_ story: (ExportStory) throws -> Void = { _ in }) throws -> (
        TemporaryDirectory, [Timestamp]
    ) {
        let directory = TemporaryDirectory()
        let told = try ExportStory(path: directory.store)
        try told.tell()
        try story(told)
        try told.close()
        return (directory, told.cuts)
    }

    @Test func `from the beginning and from every checkpoint the same is decided`() throws {
        let (directory, cuts) = try told()
        let whole = try lines(directory.store)
        let all = try check(whole)
        #expect(all.difference == nil)
        #expect(all.same.allSatisfy { $0 > 0 }, "\(all.same)")
        #expect(!all.hasErased && all.otherRules == nil)
        let kinds = Set(kinds(whole))
        for kind in [
            "start", "policy", "batch", "responder", "roster", "clock", "refused", "heartbeat",
            "turn", "outcome", "wake", "store", "stop", "end",
        ] {
            #expect(kinds.contains(kind), "\(kind)")
        }
        #expect(self.kinds([whole[0], whole[whole.count - 1]]) == ["start", "end"])
        // Of these the two newest are kept, as of every day the newest.
        var counts: [Int] = []
        for cut in cuts.suffix(2) {
            let part = try lines(directory.store, since: cut)
            #expect(self.kinds([part[0]]) == ["state"])
            let same = try check(part)
            #expect(same.difference == nil)
            counts.append(same.same.reduce(0, +))
        }
        #expect(counts[0] > counts[1] && counts[1] > 0)
    }

    @Test func `what is read from a store is what a file would hold`() throws {
        let (directory, _) = try told()
        var input = try ReplayInput(path: directory.store)
        var read: [[UInt8]] = []
        while let line = try input.next() { read.append(line) }
        #expect(read == (try lines(directory.store)))
        #expect(input.bytesRead == input.byteCount)
        let (report, isSame) = try VerifyFile(path: directory.store).run()
        #expect(isSame)
        #expect(report.hasPrefix("all the same: "))
        let json = try VerifyFile(path: directory.store, isJSON: true).run().report
        let tree = try JSONTree(reading: Array(json.utf8))
        #expect(
            tree.names == [
                "same", "difference", "decisions", "since", "until", "turns", "other_rules",
                "people_erased", "erased_differences", "erased_difference",
            ])
        #expect(tree["same"]?.isTrue == true && tree["difference"] == nil)
        let kinds = ["transitions", "gaps", "alerts", "nudges", "blinds", "skews"]
        #expect(tree["decisions"]?.names == kinds)
    }

    @Test func `until ends with the last turn before it`() throws {
        let (directory, cuts) = try told()
        let whole = try lines(directory.store)
        let part = try lines(directory.store, until: cuts[1])
        #expect(part.count < whole.count)
        #expect(try check(part).difference == nil)
        let end = String(decoding: part[part.count - 1], as: UTF8.self)
        #expect(end == #"{"at":"\#(RFC3339.string(cuts[1]))","kind":"end"}"#)
        #expect(throws: ExportError.self) {
            try lines(directory.store, until: Timestamp(milliseconds: 1))
        }
    }

    @Test func `one decision changed in the store is the difference that is told`() throws {
        let (directory, _) = try told()
        let connection = try SQLiteConnection(path: directory.store, access: .readWrite)
        try connection.run(
            """
            UPDATE decisions SET at_ms = at_ms + 1, checksum = NULL WHERE id =
                (SELECT id FROM decisions WHERE kind = 1 ORDER BY id LIMIT 1 OFFSET 30)
            """)
        let found = try difference(directory.store)
        let difference = try #require(found)
        #expect(difference.turn > 0 && difference.stored != difference.replayed)
        let (report, isSame) = try VerifyFile(path: directory.store).run()
        #expect(!isSame)
        #expect(report.hasPrefix("differs at turn \(difference.turn)\nstored:   {\"at\""))
        // One that is missing shows as well, and one too many at the end.
        try connection.run("DELETE FROM decisions WHERE id = (SELECT max(id) FROM decisions)")
    }

    @Test func `a decision that is missing at the end is told`() throws {
        let (directory, _) = try told()
        let connection = try SQLiteConnection(path: directory.store, access: .readWrite)
        try connection.run(
            """
            DELETE FROM decisions WHERE id >=
                (SELECT max(id) FROM decisions WHERE kind = 1)
            """)
        let found = try difference(directory.store)
        let difference = try #require(found)
        #expect(difference.stored == nil && difference.replayed != nil)
    }

    @Test func `no secret is in it`() throws {
        let (directory, cuts) = try told()
        for since in [nil, cuts.last] {
            for line in try lines(directory.store, since: since) {
                #expect(line.firstRange(of: Array("SECRET".utf8)) == nil)
            }
        }
        let all = try lines(directory.store).joined()
        #expect(Array(all).firstRange(of: Array("push_token".utf8)) != nil)
    }

    // MARK: - Erasures

    @Test func `nothing is written while somebody is being erased`() throws {
        let (directory, _) = try told { try $0.erase("r-5", isRemoved: false) }
        let error = #expect(throws: ExportError.self) { try lines(directory.store) }
        #expect(error?.isTemporary == true)
        let text = error.map { "\($0)" } ?? ""
        #expect(text.contains("somebody is being erased"))
    }

    @Test func `an erasure that began meanwhile is told at the end`() throws {
        let directory = TemporaryDirectory()
        let story = try ExportStory(path: directory.store)
        try story.tell()
        var export = try StoreExport(path: directory.store)
        try story.erase("r-5", isRemoved: true)
        #expect(throws: ExportError.erased(path: directory.store)) {
            while !(try export.chunk().isEmpty) {}
        }
        try story.close()
    }

    private func has(_ line: [UInt8], _ word: String) -> Bool {
        line.firstRange(of: Array(word.utf8)) != nil
    }

    @Test func `of the erased nothing is left but their places`() throws {
        let (directory, _) = try told { story in
            // Off duty: nobody else is decided about otherwise without them.
            let guest = #"{"responder_id":"guest","duty_state":"OFF_DUTY","region":"gone"}"#
            try story.commit([try story.facts("[{\"responder_id\":\"r-1\"},\(guest)]")])
            try story.commit([try story.facts("[\(guest),{\"responder_id\":\"r-2\"}]")])
            try story.erase("guest", isRemoved: true)
            let people = (0..<14).map { #"{"responder_id":"r-\#($0)"}"# }
            try story.commit([try story.batch("[\(people.joined(separator: ","))]")])
            for _ in 0..<30 { try story.commit([], after: 20) }
        }
        let whole = try lines(directory.store)
        #expect(!whole.contains { has($0, "guest") || has($0, "gone") })
        #expect(whole.contains { has($0, #""erased":[{"index":1,"enrols":true}]"#) })
        #expect(whole.contains { has($0, #""erased":[{"index":0,"enrols":false}]"#) })
        let check = try check(whole)
        #expect(check.hasErased)
        #expect(check.difference == nil)
    }

    @Test func `what is decided otherwise without somebody erased is no difference, and counted`()
        throws
    {
        let (directory, _) = try told { try $0.erase("r-5", isRemoved: true) }
        // r-5 was one of those who fell silent together.
        let (report, isSame) = try VerifyFile(path: directory.store).run()
        #expect(isSame, "\(report)")
        #expect(report.contains("people were erased: without them "), "\(report)")
        // What follows is compared all the same.
        #expect(report.contains("the same besides: "), "\(report)")
        let turns = try lines(directory.store).count { has($0, #""decided""#) }
        let json = try VerifyFile(path: directory.store, isJSON: true).run().report
        let tree = try JSONTree(reading: Array(json.utf8))
        #expect(tree["turns"]?.whole == Int64(turns))
        #expect(tree["same"] == .boolean(true))
        #expect(try #require(tree["erased_differences"]?.whole) > 0)
    }

    /// Nothing but the state says that there was somebody: they reported before it, and not behind it.
    @Test func `somebody erased who was in the state with which it begins explains as much`() throws
    {
        let directory = TemporaryDirectory()
        let story = try ExportStory(path: directory.store)
        let people = (0..<14).map { #"{"responder_id":"r-\#($0)","region":"north"}"# }
        try story.commit([try story.batch("[\(people.joined(separator: ","))]")])
        try story.checkpoint()
        let cut = story.wall
        for _ in 0..<20 { try story.commit([], after: 20) }
        try story.erase("r-5", isRemoved: true)
        try story.close()
        let (report, isSame) = try VerifyFile(path: directory.store, since: cut).run()
        #expect(isSame, "\(report)")
        #expect(report.contains("the same besides: "), "\(report)")
    }

    /// As if it had been decided otherwise: what was stored says another thing.
    @Test(arguments: [
        (#""kind":"status""#, #""to":"OFFLINE""#, #""to":"DEGRADED""#, false),
        (#""suspected":"app_terminated""#, "app_terminated", "app_suspended", false),
        (#""group":"#, #""members":"#, #""members":1"#, true),
    ])
    func `behind an erasure a difference that depends on nobody else is one`(
        kind: String, word: String, other: String, isExplained: Bool
    ) throws {
        let (directory, _) = try told { story in
            try story.erase("r-5", isRemoved: true)
            try story.commit([
                try story.batch(
                    #"{"responder_id":"late","region":"far","telemetry":{"app_state":"foreground"}}"#
                )
            ])
            for _ in 0..<30 { try story.commit([], after: 20) }
        }
        var lines = try lines(directory.store)
        let place = try #require(lines.lastIndex { has($0, kind) && has($0, word) })
        var text = String(decoding: lines[place], as: UTF8.self)
        text.replaceSubrange(try #require(text.ranges(of: word).last), with: other)
        lines[place] = Array(text.utf8)
        let check = try check(lines)
        #expect(check.hasErased)
        #expect((check.difference == nil) == isExplained)
    }

    /// A region where so many report, and then others fall silent: those of `early` first, `late` 20 s behind.
    private func mass(
        early: Int, late: Int, of all: Int, _ story: ExportStory
    ) throws {
        func batch(_ numbers: Range<Int>) throws -> Event {
            let people = numbers.map {
                #"{"responder_id":"w-\#($0)","region":"west","telemetry":{"app_state":"background"}}"#
            }
            return try story.batch("[\(people.joined(separator: ","))]")
        }
        try story.commit([try batch(0..<all)])
        try story.commit([try batch(early..<all)], after: 20)
        for _ in 0..<20 where early + late < all {
            try story.commit([try batch((early + late)..<all)], after: 20)
        }
        for _ in 0..<20 where early + late == all { try story.commit([], after: 20) }
    }

    @Test(arguments: [(4, 1, 5, "w-2"), (89, 1, 300, "w-7"), (0, 90, 300, "w-7")])
    func
        `V7: where a mass is none without somebody erased, what is said of the others is explained`(
            early: Int, late: Int, all: Int, erased: String
        ) throws
    {
        let directory = TemporaryDirectory()
        let story = try ExportStory(path: directory.store)
        try mass(early: early, late: late, of: all, story)
        try story.commit([try story.batch(#"{"responder_id":"w-1","region":"west"}"#)])
        for _ in 0..<10 { try story.commit([], after: 20) }
        try story.erase(erased, isRemoved: true)
        try story.commit([
            try story.batch(
                #"{"responder_id":"far","region":"far","telemetry":{"app_state":"foreground"}}"#)
        ])
        for _ in 0..<20 { try story.commit([], after: 20) }
        try story.close()
        let whole = try lines(directory.store)
        #expect(whole.contains { has($0, "mass_gap") })
        let found = try check(whole)
        #expect(found.difference == nil, "\(found.difference.map { "\($0)" } ?? "")")
        #expect(found.erasedDifferences >= early + late - 2)
        // What is about nobody of them is a difference all the same, in a gap or in a status.
        for (kind, word, other) in [
            ("\"kind\":\"gap\"", "app_terminated", "app_suspended"),
            ("\"kind\":\"status\"", "\"to\":\"OFFLINE\"", "\"to\":\"DEGRADED\""),
        ] {
            var lines = whole
            let place = try #require(lines.lastIndex { has($0, kind) && has($0, word) })
            var text = String(decoding: lines[place], as: UTF8.self)
            text.replaceSubrange(try #require(text.ranges(of: word).last), with: other)
            lines[place] = Array(text.utf8)
            #expect(try check(lines).difference != nil, "\(kind)")
        }
    }
}

import RollcallCore

@testable import Rollcall
@testable import RollcallSupport

/// The smaller bodies: heartbeats, wakes, silences. What is taken of one must be legal, and must leave
/// the engine whole; what was read as a tree must be the same tree when it is written and read again.
enum BodyFuzz {
    private static let now = Timestamp(milliseconds: 1_795_230_000_000)

    static let target = FuzzTarget("bodies", texts: samples) { bytes in
        heartbeat(bytes)
        guard let tree = try? JSONTree(reading: bytes) else { return }
        var written: [UInt8] = []
        tree.append(to: &written)
        require((try? JSONTree(reading: written)) == tree, "the same tree comes back")
        look(at: tree)
        var engine = Engine()
        let instant = RunningTime(milliseconds: now.milliseconds)
        _ = engine.fold(.start(), at: instant)
        if let call = try? WakeRequest(tree) {
            require(Router.isName(call.circle) && Router.isName(call.viewer), "both are names")
            _ = engine.fold(
                .wake(.circle(call.circle, viewer: call.viewer), source: EventSource.standard),
                at: instant)
        }
        if let request = try? SilenceRequest(tree, now: now) {
            check(request.silence)
            _ = engine.fold(.silence(.begin(request.silence)), at: instant)
        }
        engine.advance(to: instant + .seconds(60))
        require(engine.brokenInvariants().isEmpty, "the engine is whole")
    }

    private static func heartbeat(_ bytes: [UInt8]) {
        guard let body = try? ReplayBody(bytes.span, 0..<bytes.count) else { return }
        var cursor = JSONCursor(range: 0..<bytes.count, depthMax: 64)
        require((try? cursor.skipValue(bytes.span)) != nil, "what is read is JSON")
        require(body.everySeconds.map { !$0.isNaN } ?? true, "a number is one")
    }

    private static func check(_ silence: Silence) {
        require(silence.endsAt > now, "it has not passed")
        require(silence.endsAt - now <= SilenceRequest.spanMax, "it ends")
        require((1...SilenceRequest.authorMax).contains(silence.author.count), "by somebody")
        require((1...SilenceRequest.commentMax).contains(silence.comment.count), "for a reason")
        require(!silence.matchers.isEmpty, "of something")
        let bytes = silence.journalBytes
        require(Silence(journalBytes: bytes)?.journalBytes == bytes, "it can be stored")
    }

    /// Everything that is asked of trees of strangers.
    private static func look(at tree: JSONTree) {
        _ = (tree.seconds, tree.instant, tree.whole, tree.number, tree.isTrue)
        for element in tree.elements { look(at: element) }
        for member in tree.members { look(at: member.value) }
    }

    private static let samples = [
        #"{"every_seconds":30,"source":"pod","sent_at":"2026-11-21T02:00:00Z"}"#,
        #"{"every_seconds":-1.5e2,"count":7}"#,
        #"{"circle":"c-9","viewer":"r-17"}"#,
        #"{"matchers":["alertname=HighOfflineRate","region=a|b"],"duration":"2h","author":"a","#
            + #""comment":"c"}"#,
        #"{"matchers":[{"name":"region","value":"a|b","isRegex":true,"isEqual":false},"#
            + #"{"name":"alertname","value":"x"}],"endsAt":"2026-11-21T04:00:00Z","#
            + #""startsAt":"2026-11-21T02:00:00Z","createdBy":"a","comment":"c","id":""}"#,
        #"{"matchers":{"region":"north"},"ends_at":"2026-11-21T04:00:00.5+01:00","author":"é","#
            + #""comment":"\u00e9\ud83d\ude00"}"#,
        #"[0.1,-0,1e308,-1e-308,9007199254740993,-9223372036854775807,[[{}]],null,true]"#,
    ]
}

import Glibc
import RollcallBasis
import RollcallCluster
import RollcallCore
import RollcallStore
import RollcallSupport

/// Asks the other members of a watch, on a thread for each question: for their places (S11), and for
/// a copy of a store.
package struct PeerCaller: Sendable {
    /// Until a member has said its place; who does not is not reached.
    private static let placeTimeout = Milliseconds(250)
    /// Until a piece of a store is there.
    private static let pieceTimeout = Milliseconds(30_000)
    /// Until a member has made a copy of its store.
    private static let copyTimeout = Milliseconds(300_000)

    private let token: Secret?
    /// The path of the store, beside which the copy of a peer's store is put.
    private let storePath: String

    /// A caller that shows `token`, and puts copies beside the store at a path.
    package init(token: Secret?, storePath: String) {
        self.token = token
        self.storePath = storePath
    }

    /// Asks members at so many addresses for their places; `reply` gets those that answered.
    func askPlaces(_ addresses: [String], reply: @escaping @Sendable ([PeerPlace]) -> Void) {
        ask(addresses) { answers in reply(answers.compactMap { MemberBoard.place($0) }) }
    }

    /// Asks members whether one of them holds all of the log; `reply` gets false if none says so.
    func askWhetherSeen(_ addresses: [String], reply: @escaping @Sendable (Bool) -> Void) {
        ask(addresses) { answers in reply(answers.contains { $0["confirmed"]?.isTrue ?? false }) }
    }

    /// Asks members how they stand; `reply` gets the answers of those that can be reached.
    private func ask(_ addresses: [String], reply: @escaping @Sendable ([JSONTree]) -> Void) {
        guard !addresses.isEmpty else { return reply([]) }
        let hasBegun = DetachedThread.start {
            let caller = try? HTTPCaller()
            reply(
                addresses.compactMap { address in
                    let call = call(address + Resource.cluster.path, Self.placeTimeout)
                    guard let answer = try? caller?.answer(to: call), answer.status == 200 else {
                        return nil
                    }
                    return try? JSONTree(reading: answer.body)
                })
        }
        if !hasBegun { reply([]) }
    }

    /// Copies the store of the first member that gives one; `reply` gets true once it stands beside
    /// ours, durably.
    func copyStore(_ addresses: [String], reply: @escaping @Sendable (Bool) -> Void) {
        let hasBegun = DetachedThread.start {
            reply(addresses.contains { copy(from: $0) })
        }
        if !hasBegun { reply(false) }
    }

    private func call(_ url: String, _ timeout: Milliseconds) -> HTTPCall {
        var call = HTTPCall(.get, url)
        call.timeout = timeout
        call.connectTimeout = Milliseconds(min(timeout.count, 2000))
        call.answerBytesMax = 2 * StoreCopy.pieceBytes
        if let token {
            call.headers.append(
                ("Authorization", "Bearer \(String(decoding: token.bytes, as: UTF8.self))"))
        }
        return call
    }

    private func copy(from address: String) -> Bool {
        guard let caller = try? HTTPCaller() else { return false }
        let path = address + Resource.clusterCopy.path
        guard let begun = try? caller.answer(to: call(path, Self.copyTimeout)),
            begun.status == 200, let tree = try? JSONTree(reading: begun.body),
            let number = tree["copy"]?.whole, let bytes = tree["bytes"]?.whole,
            let file = StoreJoin.Incoming(storePath: storePath)
        else { return false }
        var offset: Int64 = 0
        while offset < bytes {
            let url = "\(path)?copy=\(number)&offset=\(offset)"
            guard let piece = try? caller.answer(to: call(url, Self.pieceTimeout)),
                piece.status == 200, !piece.body.isEmpty, file.append(piece.body)
            else { return false }
            offset += Int64(piece.body.count)
        }
        return offset == bytes && file.finish()
    }
}

import Glibc
import RollcallStore
import RollcallSupport
import Synchronization

/// Copies of the store for members that lack what the log does not hold any more: one at a time, made
/// when it is asked for, and handed over in pieces.
package final class StoreCopy: Sendable {
    /// Bytes of a piece at most.
    static let pieceBytes = 4 << 20

    /// A copy that was made.
    struct Made: Equatable, Sendable {
        var number: Int64
        var bytes: Int64
    }

    private let storePath: String
    private var path: String { storePath + ".copying" }
    private let made = Mutex<Made?>(nil)
    private let isMaking = Atomic(false)

    /// The copies of the store at a path.
    init(storePath: String) { self.storePath = storePath }

    /// Makes a copy on a thread of its own, in place of the last one; `reply` gets nil if that fails,
    /// or another one is being made.
    func make(reply: @escaping @Sendable (Made?) -> Void) {
        guard isMaking.compareExchange(expected: false, desired: true, ordering: .relaxed).exchanged
        else { return reply(nil) }
        let hasBegun = DetachedThread.start { [self] in
            let copy = copy()
            isMaking.store(false, ordering: .relaxed)
            reply(copy)
        }
        guard !hasBegun else { return }
        isMaking.store(false, ordering: .relaxed)
        reply(nil)
    }

    private func copy() -> Made? {
        made.withLock { $0 = nil }
        unlink(path)
        do throws(StoreError) {
            // One reading of the store as it stands now, whatever is written meanwhile.
            let connection = try SQLiteConnection(path: storePath, access: .readOnly)
            defer { try? connection.close() }
            try connection.copy(to: path)
        } catch {
            return nil
        }
        let copy = Made(number: Int64.random(in: 1..<1 << 53), bytes: Int64(StoreFile.size(path)))
        made.withLock { $0 = copy }
        return copy
    }

    /// Returns the piece of a copy that begins at an offset; nil if that is not the present copy, or it
    /// ends before.
    func piece(of number: Int64, at offset: Int64) -> [UInt8]? {
        made.withLock { made in
            guard let copy = made, copy.number == number, (0..<copy.bytes).contains(offset) else {
                return nil
            }
            let whole = copy.bytes
            let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
            guard descriptor >= 0 else { return nil }
            defer { Glibc.close(descriptor) }
            let piece = [UInt8](unsafeUninitializedCapacity: Self.pieceBytes) { buffer, count in
                count = max(0, pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset)))
            }
            guard !piece.isEmpty else { return nil }
            // Nobody erases from it: it does not stay longer than it is needed (S13).
            if offset + Int64(piece.count) == whole {
                made = nil
                unlink(path)
            }
            return piece
        }
    }

    /// Takes the last copy away.
    package func close() {
        made.withLock { $0 = nil }
        unlink(path)
    }
}

import RollcallSupport
import Synchronization

/// The page's files as gzip has them: each is compressed when somebody asks for it first, and kept.
/// Source: V16.
final class PackedAssets: Sendable {
    private let compressor: AnswerCompressor
    private let packed = Mutex<[StatusPageAsset: HTTPResponse]>([:])

    /// Nothing is compressed yet; `compressor` will.
    init(_ compressor: AnswerCompressor) { self.compressor = compressor }

    /// Answers with the file that `plain` answers as it is, at once if it was asked for before.
    func pack(
        _ plain: HTTPResponse, of asset: StatusPageAsset,
        _ answer: @escaping @Sendable (HTTPResponse) -> Void
    ) {
        if let known = packed.withLock({ $0[asset] }) { return answer(known) }
        compressor.take { [self] gzip in
            let response = packed.withLock { $0[asset] } ?? plain.compressed(by: gzip)
            // Without memory for a compressor it is compressed another time.
            if gzip != nil { packed.withLock { $0[asset] = response } }
            answer(response)
        }
    }
}

import Glibc

/// Large pieces of memory: the tables of a million people, which double as they grow.
///
/// By itself the C library raises the size from which it asks the system for a piece of its own to that
/// of the largest one that was ever freed, 32 MiB at most. From then on tables stand in its heap, where
/// nothing goes back that is not at the end: what a table had before it grew, and a copy for a checkpoint,
/// stays, and how much that is depends on the order of things.
package enum LargePieces {
    /// From so many bytes on a piece is the system's own again once it is freed. Bodies are smaller,
    /// mostly, so that no request asks the system for memory.
    private static let bytesMin: CInt = 4 << 20

    /// M_TRIM_THRESHOLD and M_MMAP_THRESHOLD, which are macros of a header that Swift does not import.
    private static let (trimThreshold, mapThreshold): (CInt, CInt) = (-1, -3)

    /// Fixes that size, before most is allocated. Where the C library has no such word, it is as without.
    ///
    /// mallopt(3): "Dynamic adjustment of the mmap threshold is disabled if any of the M_TRIM_THRESHOLD,
    /// M_TOP_PAD, M_MMAP_THRESHOLD, or M_MMAP_MAX parameters is set." The other one is what it is adjusted
    /// to with it: "the threshold for trimming the heap is also dynamically adjusted to be twice the
    /// dynamic mmap threshold".
    package static func giveBack() {
        typealias Option = @convention(c) (CInt, CInt) -> CInt
        guard let found = dlsym(nil, "mallopt") else { return }
        let set = unsafeBitCast(found, to: Option.self)
        _ = set(mapThreshold, bytesMin)
        _ = set(trimThreshold, 2 * bytesMin)
    }
}

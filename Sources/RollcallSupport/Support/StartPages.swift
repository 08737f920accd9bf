import Glibc

/// Pages of the program's own file, and of its libraries', that a start reads.
///
/// A start links, reads options and settings and opens the store, most of which is never needed again;
/// and the kernel maps sixteen pages where one is touched. Two thirds of an idle server was that.
package struct StartPages: Sendable {
    /// More than the mappings of a server with thousands of threads take.
    private static let bytesMax = 4 << 20

    private let ranges: [Range<UInt>]

    /// Finds the mappings of now, when the linker is done with them and no other thread loads a library:
    /// one that is half loaded looks as if nothing had been written to it.
    package init() {
        ranges = Self.fileMappings(in: String(decoding: Self.mappings, as: UTF8.self))
    }

    /// Lets go of their pages, which are as they stand in their files. What is needed again is mapped
    /// again where it is touched, from the kernel's cache and without an allocation of ours.
    ///
    /// madvise(2), MADV_DONTNEED: "subsequent accesses of pages in the range will succeed, but will
    /// result in […] repopulating the memory contents from the up-to-date contents of the underlying
    /// mapped file".
    package func letGo() {
        for range in ranges {
            // It is advice: where it is not taken, only memory is lost.
            _ = madvise(
                UnsafeMutableRawPointer(bitPattern: range.lowerBound), range.count, MADV_DONTNEED)
        }
    }

    /// The mappings of files, in the lines of proc(5), "smaps", that are read only, ours alone, and
    /// of which we have no page of our own: what the linker has written to is not in the file.
    static func fileMappings(in smaps: String) -> [Range<UInt>] {
        var ranges: [Range<UInt>] = []
        var candidate: Range<UInt>?
        for line in smaps.split(separator: "\n") {
            let fields = line.split(separator: " ", maxSplits: 5)
            // "00400000-0048a000 r-xp 00000000 fd:03 960637   /bin/bash", and then for each
            // mapping "Anonymous:             0 kB" among others.
            guard let first = fields.first else { continue }
            if fields.count > 1, first == "Anonymous:" {
                if fields[1] == "0", let candidate { ranges.append(candidate) }
                candidate = nil
            } else if fields.count == 6, fields[5].contains("/") {
                candidate =
                    fields[1].hasPrefix("r-") && fields[1].hasSuffix("p")
                    ? addresses(first) : nil
            } else if first.contains("-") {
                candidate = nil
            }
        }
        return ranges
    }

    private static func addresses(_ text: Substring) -> Range<UInt>? {
        let ends = text.split(separator: "-").compactMap { UInt($0, radix: 16) }
        return ends.count == 2 && ends[0] < ends[1] ? ends[0]..<ends[1] : nil
    }

    private static var mappings: [UInt8] {
        let descriptor = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var mappings: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 64 << 10)
        while mappings.count < bytesMax {
            let count = read(descriptor, &part, part.count)
            guard count > 0 else { break }
            mappings += part.prefix(count)
        }
        return mappings
    }
}

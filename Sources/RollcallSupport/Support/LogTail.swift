import Synchronization

/// The last lines of this process' log, for a report of a bug. They begin with the process.
package final class LogTail: Sendable {
    /// Lines that are kept at most.
    package static let linesMax = 400
    /// Bytes of them that are kept at most.
    package static let bytesMax = 128 << 10

    private struct Kept {
        var lines: [[UInt8]] = []
        var bytes = 0
    }

    private let kept = Mutex(Kept())

    package init() {}

    /// Keeps a line, in place of the oldest ones if there are too many.
    package func append(_ line: [UInt8]) {
        kept.withLock { kept in
            kept.lines.append(line)
            kept.bytes += line.count
            var gone = 0
            while kept.bytes > Self.bytesMax || kept.lines.count - gone > Self.linesMax {
                kept.bytes -= kept.lines[gone].count
                gone += 1
            }
            kept.lines.removeFirst(gone)
        }
    }

    /// Returns the lines that are kept, the oldest first.
    package var lines: [String] {
        kept.withLock { kept in
            kept.lines.map { line in
                String(decoding: line.last == 0x0A ? line.dropLast() : line[...], as: UTF8.self)
            }
        }
    }
}

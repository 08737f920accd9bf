import Foundation
import Glibc
import Logging
import Testing

@testable import RollcallSupport

/// Names that come from outside stand in the log, and nobody who reads it is steered by them.
@Suite struct LogTextTests {
    /// One line of a log in which `text` stands as a value, without its time.
    private func line(_ text: String, _ format: LogFormat) throws -> String {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let lines = LogLines(
            component: "test", level: .info, format: format, to: LogStream(ends[1]))
        let log = Logger(label: "test") { _ in lines }
        log.info("said", metadata: ["source": "\(text)"])
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(ends[0], &bytes, bytes.count)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    private static let hostile = [
        "a\u{9B}31m", "a\u{85}b", "a\u{7F}b", "a\u{202E}b", "a\u{2066}b", "a\u{200B}b",
        "a\u{FEFF}b",
        "a\u{2028}b", "a\u{E0041}b", "a\u{1B}[2J", "a\nlevel=error",
    ]

    @Test(arguments: Self.hostile)
    func `control, format and bidi characters are written by their number`(text: String) throws {
        for format in LogFormat.allCases {
            let line = try line(text, format)
            #expect(line.unicodeScalars.dropLast().allSatisfy(ConsoleText.isPlain), "\(format)")
            // Nothing is lost: it reads back as it was.
            let quoted: Substring?
            switch format {
            case .json:
                let object =
                    try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                #expect(object?["source"] as? String == text)
                continue
            case .logfmt: quoted = line.firstRange(of: "source=").map { line[$0.upperBound...] }
            }
            let value = try #require(quoted).dropLast()
            let read = try JSONSerialization.jsonObject(
                with: Data(value.utf8), options: .fragmentsAllowed)
            #expect(read as? String == text)
        }
    }

    @Test func `letters of every language stay as they are`() throws {
        for text in ["Büro", "Søren", "東京", "مرحبا", "👩‍🚒".filter { $0.isLetter } + "é"] {
            #expect(try line(text, .logfmt).hasSuffix("source=\"\(text)\"\n"), "\(text)")
        }
        #expect(try line("plain", .logfmt).hasSuffix("source=plain\n"))
    }
}

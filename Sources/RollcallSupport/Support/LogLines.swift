import Logging
import RollcallCore

/// The format of log lines.
package enum LogFormat: String, CaseIterable, Sendable {
    case logfmt
    case json
}

/// One line an event on standard error: `time level component msg` and what belongs to it.
///
/// A line is one `write(2)`, so that lines of several threads never mix. Source:
/// reference conventions of Prometheus' own logs.
package struct LogLines: LogHandler {
    package var metadata: Logger.Metadata = [:]
    package var logLevel: Logger.Level
    private let component: String
    private let format: LogFormat
    private let stream: LogStream
    private let tail: LogTail?

    /// Lines of `component` from `level` on; `tail` keeps the last of them.
    package init(
        component: String, level: Logger.Level, format: LogFormat, tail: LogTail? = nil
    ) {
        self.init(
            component: component, level: level, format: format, to: .standardError, tail: tail)
    }

    /// Lines that go to a stream of one's own.
    init(
        component: String, level: Logger.Level, format: LogFormat, to stream: LogStream,
        tail: LogTail? = nil
    ) {
        self.component = component
        self.logLevel = level
        self.format = format
        self.stream = stream
        self.tail = tail
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Writes one line, in one call, in the format asked for.
    package func log(event: LogEvent) {
        let merged = metadata.merging(event.metadata ?? [:]) { $1 }
        let line = line(event.level, event.message.description, merged)
        tail?.append(line)
        stream.write(line) { linesLost in
            self.line(
                .warning, "nobody read the log: lines are lost", ["lines": "\(linesLost)"])
        }
    }

    private func line(
        _ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata
    ) -> [UInt8] {
        var fields = [
            ("time", RFC3339.string(ClockReading.now().wall)),
            ("level", level == .warning ? "warn" : level.rawValue),
            ("component", component), ("msg", message),
        ]
        fields += metadata.sorted { $0.key < $1.key }.map { ($0.key, $0.value.description) }
        var line: [UInt8] = []
        switch format {
        case .logfmt: appendLogfmt(fields, to: &line)
        case .json: appendJSON(fields, to: &line)
        }
        line.append(0x0A)
        return line
    }

    private func appendLogfmt(_ fields: [(String, String)], to line: inout [UInt8]) {
        for (place, field) in fields.enumerated() {
            if place > 0 { line.append(UInt8(ascii: " ")) }
            line.append(contentsOf: field.0.utf8)
            line.append(UInt8(ascii: "="))
            let isPlain =
                !field.1.isEmpty
                && field.1.utf8.allSatisfy { byte in
                    byte > 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "=")
                        && byte != UInt8(ascii: "\\") && byte < 0x7F
                }
            if isPlain {
                line.append(contentsOf: field.1.utf8)
            } else {
                Self.appendQuoted(field.1, to: &line)
            }
        }
    }

    /// Appends a JSON string in which nothing stands as it is that a terminal could obey, or that
    /// hides what is written: names come from outside.
    private static func appendQuoted(_ text: String, to line: inout [UInt8]) {
        guard !text.unicodeScalars.allSatisfy(ConsoleText.isPlain) else {
            return JSONWriter.string(text.utf8, to: &line)
        }
        line.append(UInt8(ascii: "\""))
        for scalar in text.unicodeScalars {
            if ConsoleText.isPlain(scalar) || scalar.value < 0x20 {
                var quoted: [UInt8] = []
                JSONWriter.string(String(scalar).utf8, to: &quoted)
                line.append(contentsOf: quoted.dropFirst().dropLast())
                continue
            }
            for unit in String(scalar).utf16 {
                let digits = String(unit, radix: 16)
                line.append(contentsOf: "\\u".utf8)
                line.append(contentsOf: String(repeating: "0", count: 4 - digits.count).utf8)
                line.append(contentsOf: digits.utf8)
            }
        }
        line.append(UInt8(ascii: "\""))
    }

    private func appendJSON(_ fields: [(String, String)], to line: inout [UInt8]) {
        for (place, field) in fields.enumerated() {
            line.append(place == 0 ? UInt8(ascii: "{") : UInt8(ascii: ","))
            JSONWriter.string(field.0.utf8, to: &line)
            line.append(UInt8(ascii: ":"))
            Self.appendQuoted(field.1, to: &line)
        }
        line.append(UInt8(ascii: "}"))
    }
}

import RollcallBasis
import RollcallSupport

/// Lines of Rollcall's log, as a report has them: time, level, component and words as they were
/// written, and of what belongs to them what tells of nobody. Source: V19.
enum ReportLog {
    /// Lines that are told at most, the newest.
    static let linesMax = 200
    /// Fields whose words may be anything: errors, findings.
    private static let texts: Set<String> = ["error", "evidence", "reason", "trouble"]

    /// Returns the lines as they may be told. Names are learnt of all before the first is told.
    static func shown(_ lines: [String], _ names: inout ReportNames) -> [String] {
        let read = lines.suffix(linesMax).map { fields(of: $0).map(withoutLabels) }
        for fields in read {
            for (key, value) in fields ?? [] where ReportNames.kinds.contains(key) {
                _ = names.alias(value, of: key)
            }
        }
        return zip(lines.suffix(linesMax), read).map { line, fields in
            guard let fields else { return names.text(line) }
            return fields.map { key, value in
                "\(key)=\(quoted(shownField(value, of: key, &names)))"
            }.joined(separator: " ")
        }
    }

    /// The fields of an alert's line that are ours: its labels are somebody's own, names and values.
    private static let ofAlerts: Set<String> = [
        "time", "level", "component", "msg", "alertname", "severity", "count", "total", "incident",
        "region", "source", "suspected",
    ]

    private static func withoutLabels(
        _ fields: [(key: String, value: String)]
    ) -> [(key: String, value: String)] {
        guard fields.contains(where: { $0.key == "alertname" && !$0.value.isEmpty }),
            fields.contains(where: { $0.key == "total" })
        else { return fields }
        return fields.filter { ofAlerts.contains($0.key) }
    }

    private static func shownField(
        _ value: String, of key: String, _ names: inout ReportNames
    ) -> String {
        if key == "msg" { return words(value, names) }
        let shown = names.value(value, of: key)
        guard shown == ReportNames.gone, texts.contains(key) else { return shown }
        return names.text(value)
    }

    /// The words of a line are ours, but for warnings about settings, which begin with what they are
    /// about and may quote it.
    private static func words(_ message: String, _ names: ReportNames) -> String {
        let isOurs = message.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte | 0x20) || " ,;:'-_()".utf8.contains(byte)
        }
        let head = message.prefix { $0 != ":" }
        guard isOurs, head.count == message.count || head.contains(" ") else {
            return names.text(message)
        }
        return message
    }

    private static func quoted(_ text: String) -> String {
        let isPlain =
            text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x22 && $0 != 0x3D } && !text.isEmpty
        return isPlain ? text : "\"\(text.filter { $0 != "\"" })\""
    }

    /// The fields of a line in either format, in their order; nil of what is no line of Rollcall's.
    static func fields(of line: String) -> [(key: String, value: String)]? {
        if line.hasPrefix("{") {
            guard let tree = try? JSONTree(reading: Array(line.utf8)), tree["msg"] != nil else {
                return nil
            }
            return tree.members.map { ($0.name, $0.value.text ?? "") }.filter { isKey($0.0) }
        }
        guard line.hasPrefix("time=2") else { return nil }
        var fields: [(String, String)] = []
        var rest = Substring(line)
        while let equals = rest.firstIndex(of: "=") {
            let key = String(rest[..<equals])
            guard isKey(key) else { return nil }
            rest = rest[rest.index(after: equals)...]
            var value = ""
            if rest.first == "\"" {
                guard let end = closing(rest) else { return nil }
                let text = try? JSONTree(reading: Array("{\"v\":\(rest[...end])}".utf8))
                value = text?["v"]?.text ?? ReportNames.gone
                rest = rest[rest.index(after: end)...]
            } else {
                let plain = rest.prefix { $0 != " " }
                value = String(plain)
                rest = rest[plain.endIndex...]
            }
            fields.append((key, value))
            guard rest.first == " " else { break }
            rest = rest.dropFirst()
        }
        // Whatever begins like one is none without these.
        let keys = fields.map(\.0)
        guard keys.starts(with: ["time", "level", "component", "msg"]),
            ReportNames.isTime(fields[0].1)
        else { return nil }
        return fields
    }

    /// The quote that ends the text that begins with one.
    private static func closing(_ text: Substring) -> Substring.Index? {
        var isEscaped = false
        for place in text.indices.dropFirst() {
            if isEscaped {
                isEscaped = false
            } else if text[place] == "\\" {
                isEscaped = true
            } else if text[place] == "\"" {
                return place
            }
        }
        return nil
    }

    private static func isKey(_ key: String) -> Bool {
        !key.isEmpty && key.utf8.count <= 32
            && key.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x5F }
    }
}

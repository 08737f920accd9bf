import RollcallBasis
import RollcallSupport

/// Answers of a server as a report has them. Source: V19.
enum ReportAnswers {
    /// Samples of metrics without the names in their labels.
    static func metrics(_ text: String, _ names: inout ReportNames) -> [String] {
        var lines: [String] = []
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            guard let sample = sample(String(line), &names) else { continue }
            lines.append(sample)
        }
        return lines
    }

    /// One sample; nil of what is none. Buckets and what is 0 are left out: a report is read by people.
    private static func sample(_ line: String, _ names: inout ReportNames) -> String? {
        guard let blank = line.lastIndex(of: " ") else { return nil }
        let value = line[line.index(after: blank)...]
        let series = line[..<blank]
        guard ReportNames.isNumber(String(value)), value != "0" else { return nil }
        guard let brace = series.firstIndex(of: "{") else {
            return isName(series) ? "\(series) \(value)" : nil
        }
        let name = series[..<brace]
        guard isName(name), !name.hasSuffix("_bucket"), series.last == "}" else { return nil }
        var shown: [String] = []
        var rest = series[series.index(after: brace)...].dropLast()
        while let equals = rest.firstIndex(of: "=") {
            let key = String(rest[..<equals].drop { $0 == "," })
            guard isName(key[...]), let (label, end) = quoted(rest[rest.index(after: equals)...])
            else {
                return nil
            }
            shown.append("\(key)=\"\(names.value(label, of: key))\"")
            rest = rest[end...]
        }
        return "\(name){\(shown.joined(separator: ","))} \(value)"
    }

    /// The text in quotes that this begins with, and what is behind it.
    private static func quoted(_ text: Substring) -> (String, Substring.Index)? {
        guard text.first == "\"" else { return nil }
        var value = ""
        var isEscaped = false
        for place in text.indices.dropFirst() {
            let character = text[place]
            if isEscaped {
                value.append(character == "n" ? "\n" : character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                return (value, text.index(after: place))
            } else {
                value.append(character)
            }
        }
        return nil
    }

    private static func isName(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.count <= 100
            && text.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte) || byte == 0x5F
            }
    }

    /// Elements of a list that are told at most.
    private static let elementsMax = 40

    /// Numbers, times and words of ours of a document, a line each, by their place.
    static func tree(
        _ tree: JSONTree, at place: String = "", as key: String = "", _ names: inout ReportNames
    ) -> [String] {
        switch tree {
        case .object(let members):
            return members.filter { isName($0.name[...]) && !isSentence($0.name) }.flatMap {
                member in
                self.tree(
                    member.value, at: place.isEmpty ? member.name : "\(place).\(member.name)",
                    as: member.name, &names)
            }
        case .list(let elements):
            let more = elements.count - elementsMax
            let shown = elements.prefix(elementsMax).enumerated().flatMap { number, element in
                self.tree(element, at: "\(place)[\(number)]", as: key, &names)
            }
            return more > 0 ? shown + ["\(place): and \(more) more"] : shown
        case .text(let text):
            // Of a source, a receiver and a member it is the name that stands there.
            let kind = key == "name" ? kind(of: place) : key
            return ["\(place): \(names.value(text, of: kind))"]
        default:
            return ["\(place): \(tree.printed.dropLast())"]
        }
    }

    /// Sentences for people, which name them; numbers beside them stand elsewhere too.
    private static func isSentence(_ name: String) -> Bool {
        ["sentence", "reachable", "nobody_reached", "kept"].contains(name)
    }

    private static func kind(of place: String) -> String {
        let list = place.split(separator: "[").first.map(String.init) ?? place
        let word = list.split(separator: ".").last.map(String.init) ?? list
        return word.hasSuffix("s") ? String(word.dropLast()) : word
    }
}

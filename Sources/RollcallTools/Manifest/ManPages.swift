import Glibc
import RollcallBasis
import RollcallSupport

/// Manual pages for man(1), made of the tree of commands as ArgumentParser dumps it
/// (`--experimental-dump-help`): one of the program, and one of each command with those below it.
package struct ManPages {
    private let root: JSONTree
    private let version: String

    /// The pages of a dump; nil if it is none.
    package init?(dump: String, version: String = BuildInformation.version) {
        guard let tree = try? JSONTree(reading: Array(dump.utf8)), let root = tree["command"]
        else { return nil }
        self.root = root
        self.version = version
    }

    /// A page and the name of its file.
    package struct Page: Equatable, Sendable {
        package let file: String
        package let text: String
    }

    /// All pages, the program's first.
    package var pages: [Page] {
        [Page(file: "rollcall.1", text: overview)]
            + commands.map { Page(file: "rollcall-\(Self.name($0)).1", text: text($0)) }
    }

    /// Writes the pages into a folder, which is made if there is none; returns their names.
    /// - Throws: `InputFileError.cannotWriteFile` if the system does not take one.
    package func write(into folder: String) throws(InputFileError) -> [String] {
        try FileFolder(path: folder).write(pages.map { ($0.file, $0.text) })
    }

    /// The commands below the program, without the one that prints help.
    private var commands: [JSONTree] { Self.below(root) }

    private static func below(_ command: JSONTree) -> [JSONTree] {
        (command["subcommands"]?.elements ?? []).filter {
            name($0) != "help" && $0["shouldDisplay"] != .boolean(false)
        }
    }

    private static func name(_ command: JSONTree) -> String { command["commandName"]?.text ?? "" }

    // MARK: - Pages

    private var overview: String {
        var page = Roff(name: "rollcall", version: version)
        page.name("rollcall", root["abstract"]?.text ?? "")
        page.section("SYNOPSIS")
        page.line("\\fBrollcall\\fR [\\fIcommand\\fR] [\\fIoptions\\fR]")
        page.section("DESCRIPTION")
        page.paragraph(
            """
            Rollcall watches whether people can be reached by their phones, says why not, and tells \
            somebody. Without a command it says in a sentence how everything stands, and what to type \
            next.
            """)
        page.section("COMMANDS")
        for command in commands {
            page.item("\\fBrollcall\\-\(Roff.escaped(Self.name(command)))\\fR(1)")
            page.paragraph(command["abstract"]?.text ?? "")
        }
        page.section("OPTIONS")
        for argument in Self.arguments(root) { Self.describe(argument, in: &page) }
        page.section("EXIT STATUS")
        for code in ManFacts.codes { page.describe("\(code.number)", code.words) }
        page.section("ENVIRONMENT")
        for variable in ManFacts.variables { page.describe(variable.name, variable.words) }
        page.section("FILES")
        for file in ManFacts.files { page.describe(file.name, file.words) }
        page.section("SEE ALSO")
        page.line(
            commands.map { "\\fBrollcall\\-\(Roff.escaped(Self.name($0)))\\fR(1)" }
                .joined(separator: ",\n"))
        return page.text
    }

    private func text(_ command: JSONTree) -> String {
        let name = Self.name(command)
        let leaves = Self.below(command)
        var page = Roff(name: "rollcall-\(name)", version: version)
        page.name("rollcall-\(name)", command["abstract"]?.text ?? "")
        page.section("SYNOPSIS")
        if leaves.isEmpty {
            page.line(Self.usage(command, ["rollcall", name]))
        } else {
            for (place, leaf) in leaves.enumerated() {
                if place > 0 { page.line(".br") }
                page.line(Self.usage(leaf, ["rollcall", name, Self.name(leaf)]))
            }
        }
        if let text = command["discussion"]?.text {
            page.section("DESCRIPTION")
            page.paragraph(text)
        }
        if leaves.isEmpty {
            page.section("OPTIONS")
            for argument in Self.arguments(command) { Self.describe(argument, in: &page) }
        } else {
            page.section("COMMANDS")
            for leaf in leaves {
                page.subsection("rollcall \(name) \(Self.name(leaf))")
                page.paragraph(leaf["abstract"]?.text ?? "")
                if let text = leaf["discussion"]?.text {
                    page.line(".PP")
                    page.paragraph(text)
                }
                for argument in Self.arguments(leaf) { Self.describe(argument, in: &page) }
            }
        }
        let options = Set((leaves + [command]).flatMap { Self.arguments($0) }.flatMap(Self.names))
        page.section("EXIT STATUS")
        for code in ManFacts.codes where code.isOf(name, options) {
            page.describe("\(code.number)", code.words)
        }
        let variables = ManFacts.variables.filter { $0.isOf(name, options) }
        if !variables.isEmpty { page.section("ENVIRONMENT") }
        for variable in variables { page.describe(variable.name, variable.words) }
        let files = ManFacts.files.filter { $0.isOf(name, options) }
        if !files.isEmpty { page.section("FILES") }
        for file in files { page.describe(file.name, file.words) }
        page.section("SEE ALSO")
        page.line("\\fBrollcall\\fR(1)")
        return page.text
    }

    // MARK: - Arguments

    private static func arguments(_ command: JSONTree) -> [JSONTree] {
        (command["arguments"]?.elements ?? []).filter { $0["shouldDisplay"]?.isTrue == true }
    }

    /// The long names of an option, without dashes.
    private static func names(_ argument: JSONTree) -> [String] {
        (argument["names"]?.elements ?? []).compactMap { $0["name"]?.text }
    }

    /// The names as they are typed, the short ones first, and what goes with them.
    private static func signs(_ argument: JSONTree) -> String {
        let value = "\\fI\(Roff.escaped(argument["valueName"]?.text ?? "value"))\\fR"
        guard argument["kind"]?.text != "positional" else { return value }
        let names = (argument["names"]?.elements ?? []).map { name in
            (isShort: name["kind"]?.text == "short", text: name["name"]?.text ?? "")
        }.sorted { $0.isShort && !$1.isShort }
        let typed = names.map { "\\fB\(Roff.escaped(($0.isShort ? "-" : "--") + $0.text))\\fR" }
        return typed.joined(separator: ", ")
            + (argument["kind"]?.text == "option" ? " \(value)" : "")
    }

    private static func describe(_ argument: JSONTree, in page: inout Roff) {
        page.item(signs(argument))
        let words = [argument["abstract"]?.text, argument["discussion"]?.text].compactMap(\.self)
        var text = words.joined(separator: " ")
        if let usual = argument["defaultValue"]?.text, !text.contains("(default:") {
            text += " (default: \(usual))"
        }
        page.paragraph(text)
    }

    /// A line of the synopsis: what must be given, and what may be.
    private static func usage(_ command: JSONTree, _ words: [String]) -> String {
        var parts = ["\\fB\(Roff.escaped(words.joined(separator: " ")))\\fR"]
        for argument in arguments(command) {
            let name = names(argument).last ?? ""
            if ["help", "version"].contains(name) { continue }
            let value = "\\fI\(Roff.escaped(argument["valueName"]?.text ?? "value"))\\fR"
            let long =
                "\\fB\(Roff.escaped("--" + (argument["preferredName"]?["name"]?.text ?? name)))\\fR"
            let dots = argument["isRepeating"]?.isTrue == true ? " ..." : ""
            let sign: String =
                switch argument["kind"]?.text {
                case "positional": value + dots
                case "option": "\(long) \(value)\(dots)"
                default: long
                }
            parts.append(argument["isOptional"]?.isTrue == true ? "[\(sign)]" : sign)
        }
        return parts.joined(separator: "\n")
    }
}

/// A page in roff, of the macros of man(7) alone.
private struct Roff {
    private(set) var text: String

    init(name: String, version: String) {
        // No date: the same version has the same bytes.
        text =
            ".TH \"\(Self.escaped(name.uppercased()))\" 1 \"\" "
            + "\"Rollcall \(Self.escaped(version))\" \"Rollcall\"\n"
        // Words are not broken, and lines end where they end.
        text += ".nh\n.ad l\n"
    }

    mutating func name(_ name: String, _ abstract: String) {
        section("NAME")
        let words = abstract.hasSuffix(".") ? String(abstract.dropLast()) : abstract
        line("\(Self.escaped(name)) \\- \(Self.shown(words))")
    }

    mutating func section(_ title: String) { line(".SH \"\(title)\"") }

    mutating func subsection(_ title: String) { line(".SS \"\(Self.escaped(title))\"") }

    /// The subject of the paragraph that follows, at the margin; roff already.
    mutating func item(_ sign: String) { line(".TP\n\(sign)") }

    mutating func paragraph(_ words: String) {
        line(
            words.isEmpty ? "\\&" : Self.shown(words.split(separator: "\n").joined(separator: " ")))
    }

    mutating func describe(_ sign: String, _ words: String) {
        item("\\fB\(Self.escaped(sign))\\fR")
        paragraph(words)
    }

    mutating func line(_ roff: String) { text += roff + "\n" }

    /// A sentence, in which what stands between backticks is bold.
    private static func shown(_ words: String) -> String {
        let parts = words.split(separator: "`", omittingEmptySubsequences: false)
        let isPaired = parts.count % 2 == 1
        let shown = parts.enumerated().map { place, part in
            let text = escaped(String(part))
            return isPaired && place % 2 == 1 ? "\\fB\(text)\\fR" : text
        }.joined(separator: isPaired ? "" : "\\(ga")
        // What begins a line there would be an order.
        return shown.hasPrefix(".") || shown.hasPrefix("\\(aq") ? "\\&" + shown : shown
    }

    /// A text that stands for itself (groff_char(7)).
    static func escaped(_ text: String) -> String {
        var roff = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": roff += "\\(rs"
            case "-": roff += "\\-"
            case "'": roff += "\\(aq"
            case "\"": roff += "\\(dq"
            case "`": roff += "\\(ga"
            case "^": roff += "\\(ha"
            case "~": roff += "\\(ti"
            case "\u{20}"..."\u{7E}": roff.unicodeScalars.append(scalar)
            default:
                let digits = String(scalar.value, radix: 16, uppercase: true)
                roff +=
                    "\\[u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "]"
            }
        }
        return roff
    }
}

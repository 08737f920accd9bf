import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallSupport
@testable import RollcallTools

/// What a terminal is given.
@Suite struct ConsoleTests {
    @Test(arguments: [
        ("r-17", "r-17"), ("żółć 日本 👩‍🚒", "żółć 日本 👩\\u{200D}🚒"), ("", ""),
        ("\u{1B}[2J\u{07}", "\\u{1B}[2J\\u{7}"), ("a\r\nb\tc", "a\\u{D}\\u{A}b\\u{9}c"),
        ("\u{9B}31m\u{7F}", "\\u{9B}31m\\u{7F}"), ("abc\u{202E}fed", "abc\\u{202E}fed"),
        ("a\u{2028}b\u{FEFF}", "a\\u{2028}b\\u{FEFF}"), ("\u{E000}", "\\u{E000}"),
    ])
    func `nothing that a terminal obeys is shown as it is`(text: String, shown: String) {
        #expect(ConsoleText.safe(text) == shown)
    }

    @Test func `the ends of lines stay where several are said`() {
        #expect(ConsoleText.safeLines("a\u{1B}b\n\n  c\r\n") == "a\\u{1B}b\n\n  c\\u{D}\\u{A}")
    }

    @Test(arguments: [
        ("", 0), ("abc", 3), ("żółć", 4), ("日本", 4), ("한국", 4), ("e\u{301}", 1), ("👍", 2),
        ("ｆｕｌｌ", 8), ("–…→", 3), ("❤", 1), ("❤\u{FE0F}", 2), ("🇨🇭", 2), ("👍🏽", 2),
    ])
    func `wide characters take two columns`(text: String, columns: Int) {
        #expect(ConsoleText.columns(text) == columns)
    }

    @Test func `cells are filled, and cut at a whole character`() {
        #expect(ConsoleText.fitted("ab", 4) == "ab  ")
        #expect(ConsoleText.fitted("ab", 4, isRight: true) == "  ab")
        #expect(ConsoleText.fitted("abcd", 4) == "abcd")
        #expect(ConsoleText.fitted("abcde", 4) == "abc…")
        #expect(ConsoleText.fitted("日本語", 4) == "日… ")
    }

    @Test func `a text is cut at a whole character, and stays as it is if it fits`() {
        #expect(ConsoleText.cut("abcd", 4) == "abcd")
        #expect(ConsoleText.cut("abcde", 4) == "abc…")
        #expect(ConsoleText.cut("日本語", 4) == "日…")
        #expect(ConsoleText.cut("ab", 1) == "…" && ConsoleText.cut("ab", 0) == "")
    }

    @Test(arguments: [
        ([:], true, true), (["NO_COLOR": "1"], true, false), (["NO_COLOR": ""], true, true),
        (["CLICOLOR": "0"], true, false), (["CLICOLOR": "1"], true, true),
        (["TERM": "dumb"], true, false), ([:], false, false),
        (["CLICOLOR_FORCE": "1"], false, true), (["CLICOLOR_FORCE": "0"], false, false),
        (["CLICOLOR_FORCE": "1", "NO_COLOR": "1"], true, false),
        (["CLICOLOR_FORCE": "1", "CLICOLOR": "0"], true, true),
    ])
    func `colours are where a terminal or somebody wants them`(
        variables: [String: String], isTerminal: Bool, isColoured: Bool
    ) {
        let usual = ["TERM": "xterm"].merging(variables) { $1 }
        let style = ConsoleStyle(size: 100, isTerminal: isTerminal) { usual[$0] }
        #expect(style.isColoured == isColoured)
    }

    @Test func `a width that somebody wants wins over the terminal's`() {
        func columns(_ size: Int?, _ wanted: String?) -> Int {
            ConsoleStyle(size: size, isTerminal: size != nil) { $0 == "COLUMNS" ? wanted : nil }
                .columns
        }
        #expect(columns(100, nil) == 100 && columns(nil, nil) == 80)
        #expect(columns(100, "120") == 120 && columns(nil, "200") == 200)
        #expect(columns(100, "x") == 100 && columns(100, "-1") == 100 && columns(100, "0") == 100)
        #expect(columns(10, nil) == 40 && columns(100, "999999999") == 10_000)
    }

    @Test func `lines are broken at blanks, and a long word stands alone`() {
        #expect(ConsoleText.wrapped("a bc def", 4) == ["a bc", "def"])
        #expect(ConsoleText.wrapped("abcdef g", 4) == ["abcdef", "g"])
        #expect(ConsoleText.wrapped("", 4) == [""])
    }

    @Test func `a table is as wide as its cells, and narrower where a terminal is`() {
        let columns = [
            ConsoleTable.Column("id", least: 4), .init("n", isRight: true),
            .init("words", least: 6),
        ]
        let rows = [["abcdefgh", "7", "so many words"], ["b", "12", ""]]
        func lines(_ width: Int, isCut: Bool = true, free: Int = 0) -> [String] {
            var style = ConsoleStyle()
            (style.columns, style.isCut) = (width, isCut)
            let table = ConsoleTable(columns, rows, style, free: free)
            return [table.head] + rows.map { table.line($0) }
        }
        let whole = ["id         n  words", "abcdefgh   7  so many words", "b         12"]
        #expect(lines(27) == whole)
        #expect(lines(10, isCut: false) == whole)
        let close = ["id        n words", "abcdefgh  7 so many words", "b        12"]
        #expect(lines(26) == close)
        #expect(lines(25) == close)
        #expect(lines(31, free: 6) == close)
        #expect(lines(24) == ["id       n words", "abcdef…  7 so many words", "b       12"])
        #expect(lines(14) == ["id    n words", "abc…  7 so ma…", "b    12"])
        #expect(lines(1) == ["id    n words", "abc…  7 so ma…", "b    12"])
    }

    @Test(arguments: [
        (0, "0s"), (400, "0.4s"), (999, "0.9s"), (1000, "1s"), (89_999, "1m 29s"),
        (3_600_000, "1h"), (3_660_000, "1h 1m"), (90_000_000, "1d 1h"), (-5, "0s"),
    ])
    func `spans are told in their two greatest units`(count: Int64, text: String) {
        #expect(ConsoleStyle.span(Milliseconds(count)) == text)
    }

    // MARK: - JSON

    @Test func `JSON comes back as it was sent`() throws {
        let text = #"{"a":[1,-2,0.5,true,false,null,"x\"\n"],"b":{"c":510.0},"d":[]}"#
        #expect(try JSONTree(reading: Array(text.utf8)).printed == text + "\n")
    }

    @Test(arguments: [
        "", "{", "[1,]", "{\"a\"}", "1 2", "nul", "\"\u{1}\"", "{\"a\":1e999}", "[1}",
    ])
    func `what is no JSON is refused`(text: String) {
        #expect(throws: JSONError.self) { try JSONTree(reading: Array(text.utf8)) }
    }

    @Test func `a document at the depth limit is read, one level deeper is not`() throws {
        let fits = String(repeating: "[", count: 32) + String(repeating: "]", count: 32)
        #expect(try JSONTree(reading: Array(fits.utf8)).printed == fits + "\n")
        #expect(throws: JSONError.self) { try JSONTree(reading: Array("[\(fits)]".utf8)) }
    }

    @Test func `printed JSON holds no control characters`() {
        #expect(JSONTree.text("\u{1B}[2J\u{9B}\u{7F}").printed == "\"\\u001b[2J\\u009b\\u007f\"\n")
    }

    // MARK: - The server

    @Test func `a flag wins over a variable, that over the default`() throws {
        func url(_ flag: String?, _ variable: String?) throws -> String {
            let environment = variable.map { ["ROLLCALL_SERVER": $0] } ?? [:]
            return try ServerAddress(url: flag, tokenPath: nil, environment: environment).url
        }
        #expect(try url(nil, nil) == "http://127.0.0.1:10112")
        #expect(try url(nil, "") == "http://127.0.0.1:10112")
        #expect(try url(nil, "https://a/x/") == "https://a/x")
        #expect(try url("http://b:1", "https://a") == "http://b:1")
        #expect(
            throws: QuestionError.wrongOption(
                "ROLLCALL_SERVER: http://HOST:PORT or https://HOST expected")
        ) { try url(nil, "a:10112") }
    }

    @Test func `a token is taken from a flag's file, a variable's, or a variable`() throws {
        let folder = TemporaryDirectory()
        folder.write("flag", "t-flag\n")
        folder.write("file", "t-file\n")
        func token(_ flag: String?, _ environment: [String: String]) throws -> String? {
            try ServerAddress(url: nil, tokenPath: flag, environment: environment).token.map {
                String(decoding: $0.bytes, as: UTF8.self)
            }
        }
        let (flag, file) = (folder.path + "/flag", folder.path + "/file")
        #expect(try token(nil, [:]) == nil)
        #expect(try token(nil, ["ROLLCALL_TOKEN": "t"]) == "t")
        #expect(try token(nil, ["ROLLCALL_TOKEN_FILE": file]) == "t-file")
        #expect(
            try token(flag, ["ROLLCALL_TOKEN_FILE": file, "ROLLCALL_TOKEN": "t"]) == "t-flag")
        #expect(
            throws: QuestionError.wrongOption(
                "ROLLCALL_TOKEN and ROLLCALL_TOKEN_FILE must not both be given")
        ) { try token(nil, ["ROLLCALL_TOKEN_FILE": file, "ROLLCALL_TOKEN": "t"]) }
        #expect(
            throws: QuestionError.wrongOption("--token-file: /none: No such file or directory")
        ) { try token("/none", [:]) }
        #expect(
            throws: QuestionError.wrongOption(
                "ROLLCALL_TOKEN: several lines or control characters")
        ) { try token(nil, ["ROLLCALL_TOKEN": "a\nb"]) }
    }

    @Test func `each reason why a token or a password opens nothing is a sentence`() throws {
        func words(
            _ status: Int, _ detail: String, token: String, user: String? = nil
        ) throws -> String {
            let server = try CannedServer(["/a": "{\"detail\":\"\(detail)\"}"], status: status)
            defer { server.stop() }
            let questions = try server.asked(token: token, user: user)
            do throws(QuestionError) {
                _ = try questions.ask("/a")
                return ""
            } catch {
                return "\(error)".replacing(server.url, with: "SERVER")
            }
        }
        #expect(
            try words(401, "a token is needed", token: "").hasPrefix(
                "SERVER wants a token, and none was given: "))
        #expect(
            try words(401, "a token is needed", token: "t")
                == "SERVER does not know the token that was given: it was replaced, or is another "
                + "server's. Take one of its settings with the scope read")
        #expect(
            try words(401, "a token is needed", token: "t", user: "alice")
                == "SERVER does not know the user alice, or not by this password: --token-file names "
                + "a file that holds it")
        #expect(
            try words(403, "this token lacks the scope read", token: "t")
                == "SERVER knows this token, and it does not open this: it lacks the scope read. "
                + "Name one that has it by --token-file or ROLLCALL_TOKEN_FILE")
    }

    @Test(arguments: [
        (
            401, 1,
            " wants a token, and none was given: name a file that holds one with the scope read by "
                + "--token-file or ROLLCALL_TOKEN_FILE"
        ),
        (403, 1, " answers 403 (why)"),
        (
            302, 1,
            " answers 302 (why): redirects are not followed; name the server itself by "
                + "--server"
        ),
        (503, 1, " answers 503 (why): try again"), (400, 1, " answers 400 (why)"),
        (404, 1, " has no /v1/gaps: it is older than this rollcall (0.2.0), or no Rollcall"),
    ])
    func `an error of the server is told with what to do`(
        status: Int, code: CInt, words: String
    ) throws {
        let server = try CannedServer(["/v1/gaps": #"{"detail":"why"}"#], status: status)
        defer { server.stop() }
        let questions = try server.asked()
        do throws(QuestionError) {
            _ = try questions.ask("/v1/gaps")
            Issue.record("it was answered")
        } catch {
            #expect("\(error)" == server.url + words)
            #expect(error.exitCode == code)
        }
    }

    @Test func `a server that is not there is told as such, with 69`() throws {
        let port = BadServer.closedPort()
        let address = try ServerAddress(
            url: "http://127.0.0.1:\(port)", tokenPath: nil, environment: [:])
        do throws(QuestionError) {
            _ = try ServerQuestions(address).ask("/v1/gaps")
            Issue.record("it was answered")
        } catch {
            let words =
                "http://127.0.0.1:\(port): cannot be connected to: Connection refused. Is rollcall "
                + "serve running there? --server names another place"
            #expect("\(error)" == words)
            #expect(error.exitCode == 69)
        }
    }

    @Test func `what is not Rollcall's JSON is told as such`() throws {
        let server = try CannedServer(["/a": "<html>", "/b": "[]", "/c": "{}"])
        defer { server.stop() }
        let questions = try server.asked(token: "t-1")
        #expect(
            throws: QuestionError.strange(
                server: server.url, "value expected at byte 0 of its answer")
        ) { try questions.ask("/a") }
        #expect(
            throws: QuestionError.strange(
                server: server.url, "no object in its answer")
        ) { try questions.ask("/b") }
        #expect(throws: QuestionError.strange(server: server.url, "/c without gaps")) {
            try questions.pages("/c", [], list: "gaps", count: 1)
        }
        #expect(
            server.questions == ["/a Bearer t-1", "/b Bearer t-1", "/c?limit=1 Bearer t-1"])
    }

    @Test func `pages are followed to the end, or to the limit`() throws {
        let server = try CannedServer([
            "/g?limit=5": #"{"gaps":[1,2],"next":"b","as_of":"x"}"#,
            "/g?limit=3&after=b": #"{"gaps":[3,4],"next":"c","as_of":"y"}"#,
            "/g?limit=1&after=c": #"{"gaps":[5],"next":null,"as_of":"z"}"#,
            "/g?limit=4": #"{"gaps":[1,2],"next":"b","as_of":"x"}"#,
            "/g?limit=2&after=b": #"{"gaps":[3,4],"next":"c","as_of":"y"}"#,
            "/h": #"{"gaps":[1],"next":"b"}"#,
            "/i?limit=2": #"{"gaps":[],"next":"x"}"#,
            "/i?limit=2&after=x": #"{"gaps":[7],"next":null}"#,
        ])
        defer { server.stop() }
        let questions = try server.asked()
        let whole = try questions.pages("/g", [], list: "gaps", count: 5)
        #expect(whole.items == [1, 2, 3, 4, 5] && whole.isWhole)
        #expect(whole.rest == [JSONTree.Member(name: "as_of", value: "z")])
        let part = try questions.pages("/g", [], list: "gaps", count: 4)
        #expect(part.items == [1, 2, 3, 4] && !part.isWhole)
        // A server looks at so much for one page only.
        let sparse = try questions.pages("/i", [], list: "gaps", count: 2)
        #expect(sparse.items == [7] && sparse.isWhole)
        // A cursor that does not move would be followed for ever.
        #expect(try questions.pages("/h", [], list: "gaps", count: 9).items == [1, 1])
    }

    @Test func `an id is escaped in a path`() {
        #expect(ServerQuestions.escaped("r-1_A.~") == "r-1_A.~")
        #expect(ServerQuestions.escaped("a/b?c d\u{1B}ż") == "a%2Fb%3Fc%20d%1B%C5%BC")
    }
}

import Foundation
import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallSupport

/// What serves the page for people; how it looks and lives is for a browser to say, in the
/// acceptance tests. Source: V4.
@Suite(.serialized) struct StatusPageTests {
    private func ask(
        _ port: Int, _ method: String, _ path: String, fields: String = ""
    ) throws -> RawClient.Answer {
        let client = try RawClient(port: port)
        client.send("\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n")
        return client.readAnswer(isHead: method == "HEAD")
    }

    private static let browser = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n"

    private static var pages: [String] {
        Resource.allCases.filter(\.isPage).map { $0.path.replacing("{id}", with: "a%2Fb") }
    }

    @Test func `every address of the page is served by the same strict document`() throws {
        let house = try House()
        #expect(Self.pages.count == 8)
        for path in Self.pages {
            let answer = try ask(house.port, "GET", path)
            #expect(answer.status == 200, "\(path)")
            #expect(answer.head.contains("Content-Type: text/html; charset=utf-8"))
            #expect(answer.head.contains("Cache-Control: no-store"))
            #expect(answer.head.contains("Referrer-Policy: no-referrer"))
            #expect(answer.head.contains("X-Content-Type-Options: nosniff"))
            let policy = try #require(
                answer.head.first { $0.hasPrefix("Content-Security-Policy: ") })
            #expect(policy.contains("default-src 'none'; script-src 'self'; style-src 'self'"))
            #expect(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"))
            #expect(answer.body.contains("<th scope=\"row\">OFFLINE</th><td>0</td>"))
            #expect(answer.body.contains("<p>Watching.</p>") && !answer.body.contains("{{"))
            let root = path.hasPrefix("/people/") ? "../" : ""
            #expect(
                answer.body.contains(
                    "src=\"\(root)assets/\(StatusPageAsset.version)/main.js\"></script>"))
        }
    }

    @Test func `its files never change under their address`() throws {
        let house = try House()
        for asset in StatusPageAsset.allCases {
            let path = "/assets/\(StatusPageAsset.version)/\(asset.rawValue)"
            let answer = try ask(house.port, "GET", path)
            #expect(answer.status == 200, "\(path)")
            #expect(answer.body.utf8.elementsEqual(asset.bytes))
            #expect(
                answer.head.filter { $0.hasPrefix("Cache-Control") }
                    == ["Cache-Control: private, max-age=31536000, immutable"])
            #expect(answer.head.contains("Content-Type: \(asset.contentType)"))
            let head = try ask(house.port, "HEAD", path)
            #expect(head.status == 200 && head.body.isEmpty)
        }
        for path in ["/assets/0/main.js", "/assets/\(StatusPageAsset.version)/shell.html"] {
            #expect(try ask(house.port, "GET", path).status == 404)
        }
        #expect(try ask(house.port, "POST", "/silent").status == 405)
    }

    @Test func `each file of the folder is served, and each import leads to one`() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Sources/Rollcall/Page/Assets").standardized
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        let served = Set(StatusPageAsset.allCases.map(\.rawValue))
        #expect(Set(names) == served.union(["shell.html"]))
        for asset in StatusPageAsset.allCases {
            let text = String(decoding: asset.bytes, as: UTF8.self)
            for found in text.matches(of: /from "\.\/([a-z]+\.js)"/) {
                #expect(served.contains(String(found.1)), "\(asset.rawValue)")
            }
            // Names of people would become markup there.
            for way in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
                #expect(!text.contains(way), "\(asset.rawValue)")
            }
            #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count <= 401)
        }
    }

    @Test func `the page has the terminal's words for causes, verdicts and reasons`() throws {
        let text = String(decoding: StatusPageAsset.words.bytes, as: UTF8.self)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("const house") })
        let house = try JSONTree(reading: Array(line.dropFirst("const house = ".count).utf8))
        #expect(house["reasons"]?.names == GapCause.allCases.map { "\($0.word)" })
        #expect(house["proofs"]?.names == GapVerdict.allCases.map { "\($0.word)" })
        #expect(house["blindness"]?.names == BlindReason.allCases.map { "\($0.word)" })
        #expect(house["holds"]?.names == NudgeReason.allCases.map { "\($0.word)" })
        #expect(house["holds"]?["off_duty"]?.text == NudgeWords.reason(.offDuty))
        #expect(
            house["massGap"]?["region"]?.text == "many fell silent within a minute")
        let strange = [house["reasons"], house["proofs"], house["blindness"]].compactMap { $0 }
        #expect(strange.allSatisfy { !$0.printed.contains("does not know") })
    }

    @Test func `a browser is told kindly what is missing, a program as ever`() throws {
        let read = "read-0123456789ab"
        let ingest = "ingest-0123456789"
        let house = try House {
            $0.accessPolicy.access = try Access(tokens: [
                Access.Token(name: "pod", scopes: [.ingest], bytes: Array(ingest.utf8)),
                Access.Token(name: "page", scopes: [.read], bytes: Array(read.utf8)),
            ])
        }
        func status(_ token: String, _ path: String) throws -> (Int?, Bool) {
            let pair = Data(":\(token)".utf8).base64EncodedString()
            let answer = try ask(
                house.port, "GET", path, fields: "\(Self.browser)Authorization: Basic \(pair)\r\n")
            return (answer.status, answer.body.hasPrefix("<!DOCTYPE html>"))
        }
        let unauthenticated = try ask(house.port, "GET", "/alerts", fields: Self.browser)
        #expect(unauthenticated.status == 401 && unauthenticated.body.contains("A token is needed"))
        // A browser would ask for a password by the other challenge (R7).
        let challenges = { (answer: RawClient.Answer) in
            answer.head.filter { $0.hasPrefix("WWW-Authenticate: ") }
        }
        #expect(challenges(unauthenticated) == ["WWW-Authenticate: Bearer realm=\"rollcall\""])
        #expect(unauthenticated.body.contains("/\(StatusPageAsset.version)/enter.js\"></script>"))
        let asked = try ask(house.port, "GET", "/alerts?login=basic", fields: Self.browser)
        #expect(
            challenges(asked).last
                == "WWW-Authenticate: Basic realm=\"rollcall\", charset=\"UTF-8\"")
        #expect(try status(read, "/alerts") == (200, true))
        #expect(try status(ingest, "/alerts") == (403, true))
        #expect(try status(read, "/nothing") == (404, true))
        #expect(try status(ingest, "/v1/status") == (403, false))
        #expect(
            try ask(house.port, "GET", "/alerts").body.contains("\"status\":401"))
    }

    @Test func `addresses of the page lead to it, and no others`() {
        for path in Self.pages { #expect(Target(path)?.resource.isPage == true, "\(path)") }
        #expect(Target("/people/a%2Fb")?.id == Array("a/b".utf8))
        #expect(Target("/people/" + String(repeating: "x", count: 128)) != nil)
        for path in [
            "/people/", "/people/a/b", "/people/" + String(repeating: "x", count: 129), "/silent/",
            "/assets", "/assets/", "/assets/a", "/assets/a/", "/assets//a", "/assets/a/b/c",
        ] {
            #expect(Target(path) == nil, "\(path)")
        }
    }
}

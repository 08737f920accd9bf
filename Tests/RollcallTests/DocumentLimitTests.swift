import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallSupport

/// Bodies that are one small document: they are read into a tree, so that they are bounded more
/// closely than items. Source: style 15.
@Suite struct DocumentLimitTests {
    private let directory = TemporaryDirectory()

    private static let routes = ["/v1/silences", "/v1/wakes", "/v1/drill", "/v1/heartbeat"]

    @Test(arguments: Self.routes)
    func `a document at the limit is read, and one byte more is answered 413`(
        path: String
    ) throws {
        let server = try HistoryServer(directory, policy: Policy())
        defer { server.stop() }
        let frame = #"{"x":[],"y":""}"#
        func answer(_ bytes: Int) throws -> Int {
            let filling = String(repeating: "z", count: bytes - frame.utf8.count)
            let body = #"{"x":[],"y":"\#(filling)"}"#
            #expect(body.utf8.count == bytes)
            return try #require(try server.answer(path, "POST", body: body).status)
        }
        #expect(try answer(Router.documentBytesMax) == 422)
        #expect(try answer(Router.documentBytesMax + 1) == 413)
        #expect(try answer(8 << 20) == 413)
    }

    @Test func `too many conditions are refused before the first is read`() throws {
        func fault(_ matcher: String, _ count: Int) throws -> String? {
            let list = Array(repeating: matcher, count: count).joined(separator: ",")
            let body = try JSONTree(reading: Array(#"{"matchers":[\#(list)]}"#.utf8))
            do throws(SilenceRequest.Fault) {
                _ = try SilenceRequest(body, now: GapsCommandTests.now)
                return nil
            } catch {
                return error.pointer
            }
        }
        // The first one alone is no condition, and nobody came to it.
        #expect(try fault("7", MatcherText.countMax) == "/matchers/0")
        #expect(try fault("7", MatcherText.countMax + 1) == "/matchers")
        #expect(try fault(#""alertname=Watchdog""#, MatcherText.countMax) == "/ends_at")
        #expect(try fault("7", 0) == "/matchers")
    }
}

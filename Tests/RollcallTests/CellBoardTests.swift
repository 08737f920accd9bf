import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis

/// Whose people a cell refuses. Source: K1, K7.
@Suite struct CellBoardTests {
    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    private static func map() throws -> CellMap {
        try #require(
            CellMap(
                first: ["a", "b"].map { name in
                    CellMap.Cell(name: bytes(name), urls: [bytes("http://\(name)")])
                }))
    }

    private static func items(_ ids: String...) throws -> ItemList {
        let body = ids.map { "{\"region\":\"north\",\"responder_id\":\"\($0)\"}" }
        return try ItemScanner.scan(
            bytes("[\(body.joined(separator: ","))]").span, kind: .responder
        ).items
    }

    /// `r-17` is a's and `4712` is b's: their slots are 1648 and 2495.
    private static let (own, other) = ("r-17", "4712")

    @Test func `K7: a watch that is all of its fleet refuses nobody`() throws {
        let board = CellBoard()
        board.follow(try Self.map())
        #expect(board.refusal(of: Self.bytes(Self.other)) == nil)
        #expect(board.refusal(of: try Self.items(Self.own, Self.other)) == nil)
        #expect(board.map == nil && !board.lacksMap)
    }

    @Test func `K1: a cell refuses a list for the first who is another's`() throws {
        let board = CellBoard(.cell(Self.bytes("a")))
        board.follow(try Self.map())
        let elsewhere = CellBoard.Refusal.elsewhere(item: 1, cell: Self.bytes("b"), version: 1)
        #expect(board.refusal(of: try Self.items(Self.own, Self.other, "4713")) == elsewhere)
        #expect(board.refusal(of: try Self.items(Self.own, "4711")) == nil)
        #expect(board.refusal(of: ItemList()) == nil)
        #expect(board.refusal(of: Self.bytes(Self.own)) == nil)
        #expect(
            board.refusal(of: Self.bytes(Self.other))
                == .elsewhere(item: 0, cell: Self.bytes("b"), version: 1))
    }

    @Test func `K1: before there is a map nobody knows whose they are`() throws {
        for role in [CellRole.cell(Self.bytes("a")), .fleet(try Self.map().cells)] {
            let board = CellBoard(role)
            #expect(board.refusal(of: Self.bytes(Self.own)) == .noMap)
            #expect(board.refusal(of: try Self.items(Self.own)) == .noMap)
            #expect(board.refusal(of: ItemList()) == nil, "of nobody nothing need be known")
        }
        let board = CellBoard(.cell(Self.bytes("a")))
        #expect(board.lacksMap)
        board.follow(try Self.map())
        #expect(!board.lacksMap)
        // What was folded and is withdrawn was no map.
        board.follow(nil)
        #expect(board.lacksMap)
    }

    @Test(arguments: [CellRole.fleet([]), .cell(Array("c".utf8))])
    func `K1: the fleet cell, and who is not in the map, have nobody`(role: CellRole) throws {
        let board = CellBoard(role)
        board.follow(try Self.map())
        #expect(
            board.refusal(of: Self.bytes(Self.own))
                == .elsewhere(item: 0, cell: Self.bytes("a"), version: 1))
    }
}

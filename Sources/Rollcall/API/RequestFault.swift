import RollcallCore
import RollcallSupport

/// The reason why what somebody asks for, such as a silence, is not taken.
struct RequestFault: Error, Equatable {
    static let place = "looks like coordinates, which are never taken"

    let pointer: String
    let detail: String
    /// True of a text that looks like coordinates: that is counted.
    var isPlace = false

    var text: String { "\(pointer): \(detail)" }

    /// Reads a text of at most `most` bytes. Throws `RequestFault` if it is none, or holds control
    /// characters or a place.
    static func text(
        _ value: JSONTree?, _ pointer: String, _ most: Int
    ) throws(RequestFault) -> [UInt8] {
        guard let text = value?.text, (1...most).contains(text.utf8.count),
            !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw RequestFault(
                pointer: pointer, detail: "1 to \(most) bytes without control characters expected")
        }
        let bytes = Array(text.utf8)
        if PlaceText.isIn(bytes) {
            throw RequestFault(pointer: pointer, detail: place, isPlace: true)
        }
        return bytes
    }

    /// Reads a text that need not be there; nil without one. Throws `RequestFault` as `text` does.
    static func textIfGiven(
        _ value: JSONTree?, _ pointer: String, _ most: Int
    ) throws(RequestFault) -> [UInt8]? {
        guard let value, value != .null else { return nil }
        return try text(value, pointer, most)
    }

    /// Reads the words that somebody leaves beside what they ask for; empty without any. Throws
    /// `RequestFault` as `text` does.
    static func note(_ body: JSONTree) throws(RequestFault) -> [UInt8] {
        guard let note = body["note"], note != "" else { return [] }
        return try textIfGiven(note, "/note", SilenceRequest.commentMax) ?? []
    }
}

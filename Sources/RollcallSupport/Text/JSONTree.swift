import RollcallCore

/// A JSON document that is put together once; its members stay in the order in which they are
/// written. What is answered on each request is appended by `JSONWriter` instead.
package enum JSONTree: Sendable, Equatable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case number(Double)
    case text(String)
    case list([JSONTree])
    case object([Member])

    /// A name and its value.
    package struct Member: Sendable, Equatable {
        package let name: String
        package let value: JSONTree

        /// Whoever puts an object together names each value once.
        @inlinable
        package init(name: String, value: JSONTree) {
            self.name = name
            self.value = value
        }
    }

    /// The names of an object's members; none of anything else.
    package var names: [String] {
        guard case .object(let members) = self else { return [] }
        return members.map(\.name)
    }

    /// This object with the members of another behind its own.
    package func with(_ other: JSONTree) -> JSONTree {
        guard case .object(let own) = self, case .object(let more) = other else { return self }
        return .object(own + more)
    }

    /// Appends the document's text.
    package func append(to output: inout [UInt8]) {
        switch self {
        case .null: JSONWriter.raw("null", to: &output)
        case .boolean(let value): JSONWriter.raw(value ? "true" : "false", to: &output)
        case .integer(let value): JSONWriter.integer(value, to: &output)
        case .number(let value): output.append(contentsOf: "\(value)".utf8)
        case .text(let value): JSONWriter.string(value.utf8, to: &output)
        case .list(let values):
            output.append(UInt8(ascii: "["))
            for (place, value) in values.enumerated() {
                if place > 0 { output.append(UInt8(ascii: ",")) }
                value.append(to: &output)
            }
            output.append(UInt8(ascii: "]"))
        case .object(let members):
            output.append(UInt8(ascii: "{"))
            for (place, member) in members.enumerated() {
                if place > 0 { output.append(UInt8(ascii: ",")) }
                JSONWriter.string(member.name.utf8, to: &output)
                output.append(UInt8(ascii: ":"))
                member.value.append(to: &output)
            }
            output.append(UInt8(ascii: "}"))
        }
    }
}

extension JSONTree: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringInterpolation,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// Whoever writes `nil` means null.
    package init(nilLiteral: ()) { self = .null }
    /// Whoever writes `true` or `false` means that.
    package init(booleanLiteral value: Bool) { self = .boolean(value) }
    /// Whoever writes a whole number means it.
    package init(integerLiteral value: Int64) { self = .integer(value) }
    /// Whoever writes a fraction means it.
    package init(floatLiteral value: Double) { self = .number(value) }
    /// Whoever writes a text means it.
    package init(stringLiteral value: String) { self = .text(value) }
    /// Whoever writes a list means its elements in this order.
    package init(arrayLiteral elements: JSONTree...) { self = .list(elements) }
    /// Whoever writes a dictionary means its members in this order.
    package init(dictionaryLiteral elements: (String, JSONTree)...) {
        self = .object(elements.map { Member(name: $0.0, value: $0.1) })
    }
}

import RollcallCore

/// A value that a parameter of a statement can be given.
package protocol Argument {
    /// Throws `StoreError` if SQLite refuses it.
    func bind(to statement: Statement, as column: StoreColumn) throws(StoreError)
}

/// A value that a column holds as a number.
protocol StoredNumber: Argument {
    init(stored: Int64)
    var stored: Int64 { get }
}

extension StoredNumber {
    /// Gives the value to the parameter of this column.
    package func bind(to statement: Statement, as column: StoreColumn) {
        statement.bind(stored, as: column)
    }
}

extension Int64: StoredNumber {
    init(stored: Int64) { self = stored }
    var stored: Int64 { self }
}

extension Int: StoredNumber {
    init(stored: Int64) { self.init(clamping: stored) }
    var stored: Int64 { Int64(self) }
}

extension UInt64: StoredNumber {
    init(stored: Int64) { self.init(bitPattern: stored) }
    var stored: Int64 { Int64(bitPattern: self) }
}

extension StoredNumber where Self: Instant {
    init(stored: Int64) { self.init(milliseconds: stored) }
    var stored: Int64 { milliseconds }
}

extension Timestamp: StoredNumber {}
extension RunningTime: StoredNumber {}

extension Milliseconds: StoredNumber {
    init(stored: Int64) { self.init(stored) }
    var stored: Int64 { count }
}

/// The number that stands for a state, a kind or an outcome; -1 for none.
struct Code: Argument {
    private let stored: Int64

    init<Value: RawRepresentable>(_ value: Value?) where Value.RawValue: FixedWidthInteger {
        stored = value.map { Int64($0.rawValue) } ?? -1
    }

    /// Gives the value to the parameter of this column.
    package func bind(to statement: Statement, as column: StoreColumn) {
        statement.bind(stored, as: column)
    }
}

extension String: Argument {
    /// Gives the value to the parameter of this column.
    package func bind(to statement: Statement, as column: StoreColumn) throws(StoreError) {
        try statement.bind(self, as: column)
    }
}

extension [UInt8]: Argument {
    /// Gives the value to the parameter of this column.
    package func bind(to statement: Statement, as column: StoreColumn) throws(StoreError) {
        try statement.bind(copying: self, as: column)
    }
}

extension UnsafeRawBufferPointer: Argument {
    /// Gives the value to the parameter of this column.
    package func bind(to statement: Statement, as column: StoreColumn) throws(StoreError) {
        try statement.bind(self, as: column)
    }
}

/// `Arguments` holds what parameters are given, by their names. Rows that come by the thousand are
/// bound one value at a time, which makes no list.
package typealias Arguments = KeyValuePairs<StoreColumn, any Argument>

extension Statement {
    /// Binds every parameter. Throws `StoreError` if SQLite refuses one.
    func bind(_ arguments: Arguments) throws(StoreError) { try bind([arguments]) }

    private func bind(_ parts: [Arguments]) throws(StoreError) {
        var count: Int32 = 0
        for arguments in parts {
            for (column, value) in arguments { try value.bind(to: self, as: column) }
            count += Int32(arguments.count)
        }
        precondition(count == parameterCount, "a value for each parameter")
    }

    /// Binds every parameter, and runs to the end. Throws `StoreError` if SQLite refuses.
    package func run(_ arguments: Arguments) throws(StoreError) { try run([arguments]) }

    func run(_ parts: [Arguments]) throws(StoreError) {
        try bind(parts)
        try run()
    }

    /// Binds an instant, a span or a count.
    func bind(_ number: some StoredNumber, as column: StoreColumn) {
        bind(number.stored, as: column)
    }

    /// A number of the current row.
    subscript<Number: StoredNumber>(column: StoreColumn) -> Number {
        Number(stored: integer(column))
    }

    /// The value that a number of the current row stands for; nil if for none.
    subscript<Value: RawRepresentable>(
        column: StoreColumn
    ) -> Value? where Value.RawValue: FixedWidthInteger {
        Value.RawValue(exactly: integer(column)).flatMap(Value.init)
    }

    /// Returns what `read` makes of the first row, nil without one; then resets. Throws `StoreError`
    /// if SQLite refuses a step, or what `read` throws.
    func first<Value>(
        _ arguments: Arguments = [:], _ read: (Statement) throws(StoreError) -> Value
    ) throws(StoreError) -> Value? {
        try bind(arguments)
        defer { reset() }
        return try next() ? try read(self) : nil
    }

    /// Returns what `read` makes of each row; then resets. Throws `StoreError` likewise.
    func all<Value>(
        _ arguments: Arguments = [:], _ read: (Statement) throws(StoreError) -> Value
    ) throws(StoreError) -> [Value] {
        try bind(arguments)
        defer { reset() }
        var found: [Value] = []
        while try next() { found.append(try read(self)) }
        return found
    }
}

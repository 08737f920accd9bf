/// Names by number: regions, sets of circles, versions. Number 0 is the empty name.
package struct NameTable: Sendable {
    /// The names by number.
    package private(set) var names: [[UInt8]] = [[]]
    private var numbers: [[UInt8]: UInt32] = [[]: 0]
    let countMax: Int

    /// A table that holds at most `countMax` names; all further ones get number 0.
    package init(countMax: Int = .max) { self.countMax = countMax }

    /// A table of `names`, by number.
    init(names: [[UInt8]], countMax: Int = .max) {
        self.init(countMax: countMax)
        for name in names.dropFirst() { _ = number(of: name) }
    }

    /// The name of a number that the table gave.
    package subscript(number: UInt32) -> [UInt8] { names[Int(number)] }

    /// The number of `name`, given now if it has none.
    package mutating func number(of name: [UInt8]) -> UInt32 {
        if let number = numbers[name] { return number }
        guard names.count < countMax else { return 0 }
        let number = UInt32(names.count)
        names.append(name)
        numbers[name] = number
        return number
    }

    /// The number of `name` if it has one.
    package func known(_ name: [UInt8]) -> UInt32? { numbers[name] }
}

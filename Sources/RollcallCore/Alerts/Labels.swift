/// One label of an alert, or one annotation.
package struct Label: Equatable, Sendable {
    package var name: [UInt8]
    package var value: [UInt8]

    /// The label `name="value"`.
    package init(_ name: [UInt8], _ value: [UInt8]) {
        self.name = name
        self.value = value
    }

    init(_ name: StaticString, _ value: [UInt8]) {
        self.init(name.bytes, value)
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&name)
        archive.code(&value)
    }
}

extension StaticString {
    /// Its UTF-8.
    var bytes: [UInt8] { Array("\(self)".utf8) }
}

extension [Label] {
    /// The value of a label; empty without one, as everywhere in this field.
    package func value(of name: [UInt8]) -> [UInt8] { first { $0.name == name }?.value ?? [] }

    /// Ordered by name, each name once; the first one wins.
    package func ordered() -> [Label] {
        var seen: Set<[UInt8]> = []
        return filter { seen.insert($0.name).inserted }
            .sorted { $0.name.lexicographicallyPrecedes($1.name) }
    }
}

/// A condition on one label. Source: A7.
package struct LabelMatcher: Equatable, Sendable {
    package var name: [UInt8]
    /// False for `!=`.
    package var isEqual: Bool
    /// `a|b`: any of them. An empty one fits a label that is missing.
    package var values: [[UInt8]]

    /// The condition that label `name` has one of `values`, or none of them.
    package init(name: [UInt8], isEqual: Bool = true, values: [[UInt8]]) {
        self.name = name
        self.isEqual = isEqual
        self.values = values
    }

    /// True if `labels` are meant.
    package func fits(_ labels: [Label]) -> Bool {
        values.contains(labels.value(of: name)) == isEqual
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&name)
        archive.code(&isEqual)
        archive.code(&values)
    }
}

extension [LabelMatcher] {
    /// True if all conditions hold; none is no condition.
    package func fit(_ labels: [Label]) -> Bool { allSatisfy { $0.fits(labels) } }

    /// True if one of them demands `value` of label `name` by its name.
    func demand(_ value: [UInt8], of name: [UInt8]) -> Bool {
        contains { $0.isEqual && $0.name == name && $0.values.contains(value) }
    }
}

extension Label {
    /// The name of the label that names a region.
    static let region = Array("region".utf8)
    /// The name of the label that names a cell.
    static let cell = Array("cell".utf8)
}

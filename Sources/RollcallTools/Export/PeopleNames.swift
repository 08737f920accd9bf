/// Ids of people by their numbers: decisions name people by number only.
struct PeopleNames {
    private var bytes: [UInt8] = []
    /// The ranges of the ids, by number; empty for nobody.
    private var places: [Range<UInt32>] = []

    /// True if there is an id of this number.
    func has(_ number: Int) -> Bool { places.indices.contains(number) && !places[number].isEmpty }

    /// Notes the id of a number.
    mutating func note(_ id: some Collection<UInt8>, of number: Int) {
        while places.count <= number { places.append(0..<0) }
        let start = UInt32(bytes.count)
        bytes.append(contentsOf: id)
        places[number] = start..<UInt32(bytes.count)
    }

    /// The id of a number; empty for one that is not known.
    subscript(number: Int) -> ArraySlice<UInt8> {
        guard places.indices.contains(number) else { return [] }
        return bytes[Int(places[number].lowerBound)..<Int(places[number].upperBound)]
    }
}

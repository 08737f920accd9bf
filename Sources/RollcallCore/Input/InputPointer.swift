/// The way through a document to one value: a JSON pointer (RFC 6901), of which a part
/// `[unique_id=battery_level]` means the entry of a list whose member says so. Source: M1, M2.
package struct InputPointer: Hashable, Sendable {
    /// One step of the way.
    package enum Part: Hashable, Sendable {
        /// The member of this name.
        case member([UInt8])
        /// The first entries of a list whose member `key` is the text `value`.
        case entry(key: [UInt8], value: [UInt8])
    }

    /// Steps at most: how deep the reader follows, whatever a body holds.
    package static let partsMax = 12
    /// Bytes of a pointer at most.
    package static let bytesMax = 256

    /// The steps; none means the whole document.
    package let parts: [Part]
    /// The pointer as it is written.
    package let text: String

    /// The pointer that `text` writes.
    /// - Throws: `InputFault` with the reason if it writes none.
    package init(_ text: String) throws(InputFault) {
        guard text.utf8.count <= Self.bytesMax else {
            throw InputFault("must have at most \(Self.bytesMax) bytes")
        }
        guard text.isEmpty || text.hasPrefix("/") else {
            throw InputFault("must be a JSON pointer, such as /battery/level")
        }
        let words = text.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        guard words.count <= Self.partsMax else {
            throw InputFault("must have at most \(Self.partsMax) parts")
        }
        var parts: [Part] = []
        for word in words { parts.append(try Self.part(word)) }
        self.parts = parts
        self.text = text
    }

    /// A pointer of a preset, which is known to be one.
    init(preset text: StaticString) {
        do throws(InputFault) {
            try self.init("\(text)")
        } catch {
            preconditionFailure("\(text) \(error.reason)")
        }
    }

    /// True if the value at its end would be a place on earth, by its name. Source: M2.
    package var isPlace: Bool {
        guard let last = parts.last else { return false }
        switch last {
        case .member(let name): return InputPlaceName.holds(name)
        case .entry(_, let value): return InputPlaceName.holds(value)
        }
    }

    /// The name of the last part, as it stands in a document.
    var lastName: [UInt8]? {
        if case .member(let name)? = parts.last { return name }
        return nil
    }

    private static func part(_ word: Substring) throws(InputFault) -> Part {
        if word.hasPrefix("["), word.hasSuffix("]") {
            let inside = word.dropFirst().dropLast()
            let halves = inside.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2, !halves[0].isEmpty, !halves[1].isEmpty else {
                throw InputFault("must name an entry like [unique_id=battery_level]")
            }
            return .entry(key: try unescaped(halves[0]), value: try unescaped(halves[1]))
        }
        return .member(try unescaped(word))
    }

    /// RFC 6901 §4: `~1` is a slash, `~0` a tilde, and no other escape is one.
    private static func unescaped(_ word: Substring) throws(InputFault) -> [UInt8] {
        var bytes: [UInt8] = []
        var isEscape = false
        for byte in word.utf8 {
            if isEscape {
                guard byte == UInt8(ascii: "0") || byte == UInt8(ascii: "1") else {
                    throw InputFault("must write a tilde as ~0 and a slash as ~1")
                }
                bytes.append(UInt8(ascii: byte == UInt8(ascii: "0") ? "~" : "/"))
                isEscape = false
            } else if byte == UInt8(ascii: "~") {
                isEscape = true
            } else {
                bytes.append(byte)
            }
        }
        guard !isEscape else { throw InputFault("must write a tilde as ~0 and a slash as ~1") }
        return bytes
    }
}

/// The reason why a mapping cannot be: for the settings, behind the name of the setting.
package struct InputFault: Error, Equatable, Sendable {
    /// The rule that is broken.
    package let reason: String

    /// A fault for `reason`.
    package init(_ reason: String) { self.reason = reason }
}

/// The names under which documents hold places on earth, in any spelling: what a mapping may never
/// read. It knows more of them than I8 drops, because here a false alarm costs the reader of an
/// error some thought, and nothing else. Source: M2.
package enum InputPlaceName {
    private static let words: Set<String> = [
        "lat", "lng", "lon", "long", "geo", "gps", "latitude", "longitude", "coord", "coords",
        "coordinate", "coordinates", "location", "locationname", "position", "point", "place",
        "geometry", "geohash", "latlng", "latlon", "lnglat", "lonlat", "altitude", "alt",
        "elevation", "heading", "course", "bearing", "cog", "speed", "velocity", "vel", "address",
        "ssid", "bssid", "poi", "inregions", "inrids", "pluscode", "olc", "what3words",
    ]
    private static let ends = ["latitude", "longitude", "coordinates", "altitude", "heading"]

    /// True if `name` is one of them, or ends in one: `gps_lat`, `X-Lat`, `gpsLat`.
    package static func holds(_ name: [UInt8]) -> Bool {
        var folded = ""
        var last = ""
        var wasSmall = false
        for byte in name {
            let isCapital = (0x41...0x5A).contains(byte)
            let isSmall = (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
            guard isCapital || isSmall else {
                last = ""
                wasSmall = false
                continue
            }
            let letter = Character(Unicode.Scalar(isCapital ? byte | 0x20 : byte))
            if isCapital, wasSmall { last = "" }
            folded.append(letter)
            last.append(letter)
            wasSmall = isSmall
        }
        return words.contains(folded) || words.contains(last)
            || ends.contains { folded.hasSuffix($0) }
    }

    /// True if `name` is one of them.
    package static func holds(_ name: String) -> Bool { holds(Array(name.utf8)) }
}

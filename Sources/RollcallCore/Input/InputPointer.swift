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
        for part in parts.reversed() {
            // A number is called by what it is of: `/gps/0`.
            guard case .member(let name) = part, name.allSatisfy({ $0 &- 0x30 <= 9 }) else {
                if case .member(let name) = part, InputPlaceName.holds(name) { return true }
                break
            }
        }
        // An entry of a list is called by what it says: `[type=latitude]/value`.
        return parts.contains { part in
            if case .entry(_, let value) = part { InputPlaceName.holds(value) } else { false }
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
        "ssid", "bssid", "poi", "inregions", "inrids", "pluscode", "olc", "what3words", "geopoint",
        "geojson", "latlong", "latitud", "longitud", "latitudine", "longitudine",
    ]
    private static let ends = ["latitude", "longitude", "coordinates", "altitude", "heading"]
    /// Words that say in which unit a place is told: `latitudeE7`, `lat_deg`.
    private static let units: Set<String> = ["e5", "e6", "e7", "deg", "degrees", "rad", "micro"]

    /// True if `name` is one of them, or ends in one: `gps_lat`, `X-Lat`, `gpsLat`.
    package static func holds(_ name: [UInt8]) -> Bool {
        var parts = parts(PlaceSpelling.plain(name.span, 0..<name.count))
        // A unit, or a number, at the end says nothing of what it is.
        while let last = parts.last, parts.count > 1,
            units.contains(last) || last.allSatisfy(\.isNumber)
        {
            parts.removeLast()
        }
        let folded = trimmed(parts.joined())
        return words.contains(folded) || words.contains(trimmed(parts.last ?? ""))
            || ends.contains { folded.hasSuffix($0) }
    }

    /// `lat1`, `coords2` and `late7`, without what stands behind the word.
    private static func trimmed(_ word: String) -> String {
        var word = Substring(word)
        while word.last?.isNumber == true { word.removeLast() }
        return String(word)
    }

    /// The words of a name, in small letters: capitals begin one, and what is no letter parts them.
    private static func parts(_ name: [UInt8]) -> [String] {
        var parts: [String] = []
        var word = ""
        var wasSmall = false
        for byte in name {
            let isCapital = (0x41...0x5A).contains(byte)
            let isSmall = (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
            if !isCapital && !isSmall || isCapital && wasSmall, !word.isEmpty {
                parts.append(word)
                word = ""
            }
            wasSmall = isSmall
            guard isCapital || isSmall else { continue }
            word.append(Character(Unicode.Scalar(isCapital ? byte | 0x20 : byte)))
        }
        return word.isEmpty ? parts : parts + [word]
    }

    /// True if `name` is one of them.
    package static func holds(_ name: String) -> Bool { holds(Array(name.utf8)) }
}

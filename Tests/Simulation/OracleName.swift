extension Oracle {
    /// An id compared as bytes. Source: I7.
    struct Name: Hashable, Comparable {
        private let bytes: [UInt8]

        /// The name of `text`, unchanged.
        init(_ text: String) { bytes = Array(text.utf8) }

        /// The name as text.
        var text: String { String(decoding: bytes, as: UTF8.self) }

        /// Whether the bytes of `left` come first. Source: F1.
        static func < (left: Name, right: Name) -> Bool {
            left.bytes.lexicographicallyPrecedes(right.bytes)
        }
    }
}

/// `z_stream`: its fields in their order, which C lays out as Swift does. Source: zlib.h.
struct ZlibStream {
    /// `MAX_WBITS` and 16: gzip alone, and no zlib or raw stream.
    static let gzipBits: CInt = 15 + 16
    /// The version with which it is begun: zlib compares the first figure with its own.
    static let version = "1"
    /// Its size, which zlib compares with its own.
    static let bytes = CInt(MemoryLayout<ZlibStream>.size)

    /// The next byte that is read.
    var nextIn: UnsafePointer<UInt8>?
    /// The bytes that may be read.
    var availableIn: CUnsignedInt = 0
    private var totalIn: CUnsignedLong = 0
    /// The next byte that is written.
    var nextOut: UnsafeMutablePointer<UInt8>?
    /// The room that is left there.
    var availableOut: CUnsignedInt = 0
    private var totalOut: CUnsignedLong = 0
    private var message: UnsafePointer<CChar>?
    private var state: OpaquePointer?
    private var allocate: OpaquePointer?
    private var free: OpaquePointer?
    private var context: OpaquePointer?
    private var dataType: CInt = 0
    private var check: CUnsignedLong = 0
    private var reserved: CUnsignedLong = 0

    /// A stream that has not begun: zlib allocates as it likes.
    init() {}
}

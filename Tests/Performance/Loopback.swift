import Glibc

/// The address of a port of the loopback interface.
func loopback(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return address
}

/// Lends an IPv4 address in the form that socket calls take.
func withSocketAddress(
    _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Int32
) -> Int32 {
    withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
}

/// A non-blocking socket that listens at 127.0.0.1, and the port the kernel chose for it.
func loopbackListener() throws(BenchmarkError) -> (descriptor: Int32, port: UInt16) {
    let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
    let descriptor = socket(AF_INET, Int32(type), 0)
    guard descriptor >= 0 else { throw .system(call: "socket", errno: errno) }
    var address = loopback(port: 0)
    guard withSocketAddress(&address, { bind(descriptor, $0, $1) }) == 0,
        listen(descriptor, 511) == 0
    else { throw .system(call: "bind", errno: errno) }
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let named = withSocketAddress(&address) { name, _ in getsockname(descriptor, name, &size) }
    guard named == 0 else { throw .system(call: "getsockname", errno: errno) }
    return (descriptor, UInt16(bigEndian: address.sin_port))
}

/// What the system says about an error number.
func errorText(_ number: Int32) -> String {
    guard let text = strerror(number) else { return "error \(number)" }
    return String(cString: text)
}

/// The value of an environment variable.
func environmentVariable(_ name: String) -> String? {
    guard let value = getenv(name) else { return nil }
    return String(cString: value)
}

/// A file of /proc, or another short one, whole; nil if it cannot be read.
func shortFile(_ path: String) -> [UInt8]? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while bytes.count < 1 << 20 {
        let count = buffer.withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress, $0.count) }
        if count < 0 && errno == EINTR { continue }
        guard count > 0 else { return count == 0 ? bytes : nil }
        bytes.append(contentsOf: buffer[..<count])
    }
    return bytes
}

/// Makes a file that holds `text`.
func writeFile(_ text: String, to path: String) throws(BenchmarkError) {
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .system(call: "open \(path)", errno: errno) }
    defer { close(file) }
    let bytes = Array(text.utf8)
    guard write(file, bytes, bytes.count) == bytes.count else {
        throw .system(call: "write \(path)", errno: errno)
    }
}

/// The length of a file; 0 if there is none.
func fileBytes(_ path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : 0
}

import Glibc

/// The certificate authorities that are trusted to vouch for servers: the machine's, and one file
/// more.
///
/// libcurl knows a place of its own, by how it was built. A program that is carried to another
/// system finds the bundle elsewhere, and containers name it in `SSL_CERT_FILE`.
package struct Authorities: Equatable, Sendable {
    /// The places where systems keep their bundle: Debian and Arch; Fedora and RHEL; openSUSE;
    /// Alpine.
    static let usualFiles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
    ]
    /// The folder where systems keep one file for each, under names that OpenSSL finds.
    static let folder = "/etc/ssl/certs"
    /// Bytes of a bundle at most; Debian's has 210 KB.
    static let bytesMax = 8 << 20

    /// The machine's bundle; nil where there is none: then libcurl's own place is left to it.
    package let system: String?
    /// Trusted beside them: an organisation's own authority.
    package let extra: String?

    /// The machine's, which `SSL_CERT_FILE` may name, and those in the file `extra`.
    package init(extra: String? = nil, variable: (String) -> String? = Self.ofEnvironment) {
        let named = variable("SSL_CERT_FILE").flatMap { $0.isEmpty ? nil : $0 }
        system = named ?? Self.usualFiles.first { access($0, R_OK) == 0 }
        self.extra = extra
    }

    /// A variable of this process.
    package static func ofEnvironment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    /// Returns what there is of both files in one.
    /// - Throws: `Unreadable` with the path of one that cannot be read, or holds none.
    func bundle() throws(Unreadable) -> [UInt8] {
        if let extra { return try bundle(with: extra) }
        return try system.map { (path) throws(Unreadable) in try Self.read(path) } ?? []
    }

    /// Returns both files in one, as PEM allows.
    /// - Throws: `Unreadable` with the path of one that cannot be read, or holds none.
    func bundle(with extra: String) throws(Unreadable) -> [UInt8] {
        let own = try Self.read(extra)
        return try (system.map { (path) throws(Unreadable) in try Self.read(path) } ?? []) + own
    }

    /// A file that is no bundle.
    struct Unreadable: Error {
        let path: String
    }

    private static func read(_ path: String) throws(Unreadable) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        if descriptor < 0 { throw Unreadable(path: path) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        while bytes.count <= bytesMax {
            let chunk: [UInt8]
            do throws(InputFileError) {
                chunk = try InputFile.chunk(descriptor, path: path)
            } catch {
                throw Unreadable(path: path)
            }
            if chunk.isEmpty { break }
            bytes += chunk
        }
        let mark = Array("-----BEGIN ".utf8)
        guard bytes.count <= bytesMax, bytes.firstRange(of: mark) != nil else {
            throw Unreadable(path: path)
        }
        // Or the next one would begin on the last line of this.
        return bytes + [0x0A]
    }
}

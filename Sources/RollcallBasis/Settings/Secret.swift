import Glibc

/// A token or key. It never shows in a log, an error or an answer.
package struct Secret: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
    /// Bytes of a secret at most.
    package static let bytesMax = 4096

    /// The secret itself, one line, not empty.
    package let bytes: [UInt8]

    /// A secret of `bytes`, without the line feed that editors leave at a file's end.
    /// - Throws: `SecretFault` with the reason if that is none: empty, too long, or with control
    ///   characters.
    package init(_ bytes: [UInt8]) throws(SecretFault) {
        var bytes = bytes
        if bytes.last == 0x0A { bytes.removeLast() }
        if bytes.last == 0x0D { bytes.removeLast() }
        if bytes.isEmpty { throw SecretFault(reason: "empty") }
        if bytes.count > Self.bytesMax {
            throw SecretFault(reason: "more than \(Self.bytesMax) bytes")
        }
        // Neither fits into a header field, and both are easily overlooked in a file.
        if bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            throw SecretFault(reason: "several lines or control characters")
        }
        self.bytes = bytes
    }

    package var description: String { "<secret>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The reason why a secret cannot be had; it names no secret.
package struct SecretFault: Error, Equatable {
    package let reason: String

    /// Whoever refuses a secret says why, without it.
    package init(reason: String) { self.reason = reason }
}

/// The file that holds a secret.
package enum SecretFile {
    /// Reads the secret at `path`; `isOpen` tells that every user of the machine can.
    /// - Throws: `SecretFault` if it is no regular file, cannot be read, or holds no secret.
    package static func read(_ path: String) throws(SecretFault) -> (secret: Secret, isOpen: Bool) {
        // A FIFO without a writer would hold the caller up for ever.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        if descriptor < 0 { throw failure() }
        defer { close(descriptor) }
        var status = stat()
        if fstat(descriptor, &status) != 0 { throw failure() }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw SecretFault(reason: "no regular file")
        }
        var failure: SecretFault?
        // Two for a line's end, one to see that it is too long.
        let room = Secret.bytesMax + 3
        let bytes = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            let got = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if got < 0 { failure = Self.failure() }
            count = max(0, got)
        }
        if let failure { throw failure }
        return (try Secret(bytes), status.st_mode & S_IROTH != 0)
    }

    /// Reads the secret in the file that the setting `key` names.
    /// - Throws: `SecretFault` that names both, if it cannot be read or holds no secret.
    package static func read(_ path: String, of key: String) throws(SecretFault) -> Secret {
        do throws(SecretFault) {
            return try read(path).secret
        } catch {
            throw SecretFault(reason: "\(key): \(path): \(error.reason)")
        }
    }

    private static func failure() -> SecretFault {
        SecretFault(reason: String(cString: strerror(errno)))
    }
}

extension ConfigurationTree {
    /// Reads a secret: the setting `key` itself, or the first line of the file that `key` + `_file`
    /// names. `value` stays as it is if neither is there.
    ///
    /// Throws `ConfigurationError` if both come from one origin or it is no secret; else a flag
    /// wins over a variable and that over the file. A relative name in the file begins at the
    /// file's own directory. Source: V8. `isHidden` tells that it is a secret whatever it says,
    /// which a URL need not be.
    mutating func secret(
        _ key: String, _ value: inout Secret?, isHidden: Bool = true
    ) throws(ConfigurationError) {
        let fileKey = key + "_file"
        let inline = take(key)
        let file = take(fileKey)
        if inline != nil, file != nil, origin(of: key).rank == origin(of: fileKey).rank {
            throw fault(key, "and \(fileKey) must not both be given", "")
        }
        if file == nil || (inline != nil && origin(of: key).rank > origin(of: fileKey).rank) {
            guard let inline else { return }
            do throws(SecretFault) {
                value = try Secret(Array((inline.string ?? "").utf8))
                if isHidden, origin(of: key).rank == 0 { sources.foundSecret(full(key)) }
            } catch {
                throw fault(key, "must be a secret of one line", error.reason)
            }
        } else {
            guard let name = file?.string, !name.isEmpty else {
                throw fault(fileKey, "must name a file", "")
            }
            if origin(of: fileKey).rank == 0 { sources.foundFile(name) }
            value = try secret(at: name, fileKey) ?? value
        }
    }

    private mutating func secret(
        at name: String, _ key: String
    ) throws(ConfigurationError) -> Secret? {
        guard sources.opensSecrets else { return nil }
        let path = path(name, of: key)
        do throws(SecretFault) {
            let (secret, isOpen) = try SecretFile.read(path)
            if isOpen {
                sources.warn("\(full(key)): every user of this machine can read \(path): chmod o-r")
            }
            return secret
        } catch {
            throw fault(
                key, "must name a file of one line that can be read", "\(path): \(error.reason)")
        }
    }

    /// Returns the path of the file that the setting `key` names: a relative name in the settings
    /// begins at their own directory.
    func path(_ name: String, of key: String) -> String {
        let isOurs = origin(of: key).rank == 0 && !name.hasPrefix("/")
        return isOurs && !sources.directory.isEmpty ? "\(sources.directory)/\(name)" : name
    }
}

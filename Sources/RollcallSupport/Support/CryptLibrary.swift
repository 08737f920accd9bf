import Glibc

/// libcrypt, loaded at run time: only who has users with passwords needs it. Debian's is libxcrypt, which
/// knows bcrypt.
///
/// `@unchecked Sendable` is true because nothing changes once it is loaded, and `crypt_ra` may be called
/// from any thread with a memory of its own. Source: crypt(3) of libxcrypt.
package final class CryptLibrary: @unchecked Sendable {
    private typealias Hash =
        @convention(c) (
            UnsafePointer<CChar>?, UnsafePointer<CChar>?,
            UnsafeMutablePointer<UnsafeMutableRawPointer?>?, UnsafeMutablePointer<CInt>?
        ) -> UnsafeMutablePointer<CChar>?

    private static let file = "libcrypt.so.1"

    /// The one of this process; nil if there is none that knows bcrypt. Never unloaded.
    package static let shared = CryptLibrary()

    private let hash: Hash

    private init?() {
        guard let handle = dlopen(Self.file, RTLD_NOW), let found = dlsym(handle, "crypt_ra") else {
            return nil
        }
        hash = unsafeBitCast(found, to: Hash.self)
        guard hashed(Array("x".utf8), as: Self.probe) != nil else { return nil }
    }

    /// A salt at the least cost.
    private static let probe = "$2b$04$......................"

    /// Returns the hash of a password with the salt and the cost of another hash; nil if the library cannot
    /// make one. A password with a NUL in it has none.
    package func hashed(_ password: [UInt8], as setting: String) -> String? {
        guard !password.contains(0) else { return nil }
        var memory: UnsafeMutableRawPointer?
        var count: CInt = 0
        defer { free(memory) }
        let phrase = password.map { CChar(bitPattern: $0) } + [0]
        guard let made = hash(phrase, setting, &memory, &count) else { return nil }
        let text = String(cString: made)
        // "*0" or "*1" stands for a failure.
        return text.hasPrefix("$") ? text : nil
    }
}

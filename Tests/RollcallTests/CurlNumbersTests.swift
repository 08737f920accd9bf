import CCurl
import Glibc
import Testing

@testable import RollcallSupport

/// The numbers that are declared by hand are those of the library.
@Suite struct CurlNumbersTests {
    private static let options: [(String, rollcall_curl_option)] = [
        ("WRITEDATA", ROLLCALL_CURLOPT_WRITEDATA), ("URL", ROLLCALL_CURLOPT_URL),
        ("PROXY", ROLLCALL_CURLOPT_PROXY), ("ERRORBUFFER", ROLLCALL_CURLOPT_ERRORBUFFER),
        ("WRITEFUNCTION", ROLLCALL_CURLOPT_WRITEFUNCTION),
        ("POSTFIELDS", ROLLCALL_CURLOPT_POSTFIELDS), ("USERAGENT", ROLLCALL_CURLOPT_USERAGENT),
        ("HTTPHEADER", ROLLCALL_CURLOPT_HTTPHEADER), ("HEADERDATA", ROLLCALL_CURLOPT_HEADERDATA),
        ("CUSTOMREQUEST", ROLLCALL_CURLOPT_CUSTOMREQUEST), ("POST", ROLLCALL_CURLOPT_POST),
        ("FOLLOWLOCATION", ROLLCALL_CURLOPT_FOLLOWLOCATION), ("CAINFO", ROLLCALL_CURLOPT_CAINFO),
        ("FRESH_CONNECT", ROLLCALL_CURLOPT_FRESH_CONNECT),
        ("FORBID_REUSE", ROLLCALL_CURLOPT_FORBID_REUSE),
        ("HEADERFUNCTION", ROLLCALL_CURLOPT_HEADERFUNCTION), ("HTTPGET", ROLLCALL_CURLOPT_HTTPGET),
        ("CAPATH", ROLLCALL_CURLOPT_CAPATH), ("NOSIGNAL", ROLLCALL_CURLOPT_NOSIGNAL),
        ("POSTFIELDSIZE_LARGE", ROLLCALL_CURLOPT_POSTFIELDSIZE_LARGE),
        ("TIMEOUT_MS", ROLLCALL_CURLOPT_TIMEOUT_MS),
        ("CONNECTTIMEOUT_MS", ROLLCALL_CURLOPT_CONNECTTIMEOUT_MS),
        ("SSLVERSION", ROLLCALL_CURLOPT_SSLVERSION),
        ("OPENSOCKETFUNCTION", ROLLCALL_CURLOPT_OPENSOCKETFUNCTION),
        ("OPENSOCKETDATA", ROLLCALL_CURLOPT_OPENSOCKETDATA),
        ("QUICK_EXIT", ROLLCALL_CURLOPT_QUICK_EXIT),
        ("LOW_SPEED_LIMIT", ROLLCALL_CURLOPT_LOW_SPEED_LIMIT),
        ("LOW_SPEED_TIME", ROLLCALL_CURLOPT_LOW_SPEED_TIME),
        ("SSLCERT", ROLLCALL_CURLOPT_SSLCERT), ("SSLKEY", ROLLCALL_CURLOPT_SSLKEY),
        ("PREREQFUNCTION", ROLLCALL_CURLOPT_PREREQFUNCTION),
        ("PREREQDATA", ROLLCALL_CURLOPT_PREREQDATA),
        ("NOPROGRESS", ROLLCALL_CURLOPT_NOPROGRESS),
        ("XFERINFODATA", ROLLCALL_CURLOPT_XFERINFODATA),
        ("XFERINFOFUNCTION", ROLLCALL_CURLOPT_XFERINFOFUNCTION),
        ("READDATA", ROLLCALL_CURLOPT_READDATA), ("READFUNCTION", ROLLCALL_CURLOPT_READFUNCTION),
        ("UPLOAD", ROLLCALL_CURLOPT_UPLOAD), ("USE_SSL", ROLLCALL_CURLOPT_USE_SSL),
        ("FTP_RESPONSE_TIMEOUT", ROLLCALL_CURLOPT_SERVER_RESPONSE_TIMEOUT),
        ("INFILESIZE_LARGE", ROLLCALL_CURLOPT_INFILESIZE_LARGE),
        ("USERNAME", ROLLCALL_CURLOPT_USERNAME), ("PASSWORD", ROLLCALL_CURLOPT_PASSWORD),
        ("MAIL_FROM", ROLLCALL_CURLOPT_MAIL_FROM), ("MAIL_RCPT", ROLLCALL_CURLOPT_MAIL_RCPT),
        ("PROTOCOLS", ROLLCALL_CURLOPT_PROTOCOLS), ("CAINFO_BLOB", ROLLCALL_CURLOPT_CAINFO_BLOB),
    ]

    /// `curl_easy_option_by_name`, since 7.73.0: a struct curl_easyoption, whose `id` follows a
    /// pointer.
    private typealias Lookup = @convention(c) (UnsafePointer<CChar>) -> UnsafeRawPointer?

    @Test func `every option has the number that the library gives it`() throws {
        let handle = try #require(CurlLibrary.names.lazy.compactMap { dlopen($0, RTLD_NOW) }.first)
        defer { dlclose(handle) }
        let symbol = try #require(dlsym(handle, "curl_easy_option_by_name"))
        let lookup = unsafeBitCast(symbol, to: Lookup.self)
        for (name, option) in Self.options {
            let entry = try #require(lookup(name), "\(name)")
            let number = entry.load(fromByteOffset: MemoryLayout<Int>.size, as: CInt.self)
            #expect(number == CInt(bitPattern: option.rawValue), "\(name)")
        }
    }
}

import Glibc

/// libpq, loaded at run time: it is no dependency of the build, and a watch whose log is elsewhere
/// works without it. Declared here is what is used of it, as in libpq-fe.h, whose functions keep
/// their signatures within a soname.
///
/// `@unchecked Sendable` is true because the table of functions never changes once it is loaded, and
/// "libpq is reentrant and thread-safe by default" for connections of one thread each. Source: the
/// manual of PostgreSQL 15, 34.20.
final class PostgresLibrary: @unchecked Sendable {
    /// The soname since 8.2 (2006).
    static let name = "libpq.so.5"

    /// The one of this process.
    static let shared = Result { () throws(PostgresMissing) in try PostgresLibrary(name) }

    typealias Handle = OpaquePointer
    typealias NoticeReceiver = @convention(c) (UnsafeMutableRawPointer?, Handle?) -> Void
    typealias Words = UnsafePointer<CChar>
    typealias WordList = UnsafePointer<Words?>

    let connectStart: @convention(c) (WordList, WordList, CInt) -> Handle?
    let connectPoll: @convention(c) (Handle) -> CInt
    let finish: @convention(c) (Handle) -> Void
    let status: @convention(c) (Handle) -> CInt
    let socket: @convention(c) (Handle) -> CInt
    let errorMessage: @convention(c) (Handle) -> Words?
    let setNonblocking: @convention(c) (Handle, CInt) -> CInt
    let setNoticeReceiver:
        @convention(c) (Handle, NoticeReceiver, UnsafeMutableRawPointer?) ->
            UnsafeMutableRawPointer?
    let enterPipelineMode: @convention(c) (Handle) -> CInt
    let pipelineSync: @convention(c) (Handle) -> CInt
    let sendQuery:
        @convention(c) (
            Handle, Words, CInt, UnsafePointer<UInt32>?, WordList?, UnsafePointer<CInt>?,
            UnsafePointer<CInt>?, CInt
        ) -> CInt
    let flush: @convention(c) (Handle) -> CInt
    let consumeInput: @convention(c) (Handle) -> CInt
    let isBusy: @convention(c) (Handle) -> CInt
    let getResult: @convention(c) (Handle) -> Handle?
    let clear: @convention(c) (Handle) -> Void
    let resultStatus: @convention(c) (Handle) -> CInt
    let resultErrorField: @convention(c) (Handle, CInt) -> Words?
    let commandStatus: @convention(c) (Handle) -> Words?
    let rowCount: @convention(c) (Handle) -> CInt
    let columnCount: @convention(c) (Handle) -> CInt
    let value: @convention(c) (Handle, CInt, CInt) -> Words?
    let length: @convention(c) (Handle, CInt, CInt) -> CInt
    let isNull: @convention(c) (Handle, CInt, CInt) -> CInt
    let parseOptions:
        @convention(c) (Words, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) ->
            UnsafeMutableRawPointer?
    let freeOptions: @convention(c) (UnsafeMutableRawPointer) -> Void
    let freeMemory: @convention(c) (UnsafeMutableRawPointer?) -> Void

    /// Loads the library of this name; it is never unloaded, since TLS libraries leave handlers
    /// behind that run at the process' end.
    /// - Throws: `PostgresMissing`, with what the loader said.
    init(_ name: String) throws(PostgresMissing) {
        guard let library = dlopen(name, RTLD_NOW | RTLD_LOCAL) else {
            throw PostgresMissing(trouble: dlerror().map { String(cString: $0) } ?? name)
        }
        func function<Type>(_ symbol: String) throws(PostgresMissing) -> Type {
            guard let address = dlsym(library, symbol) else {
                throw PostgresMissing(trouble: "\(name): has no \(symbol)")
            }
            return unsafeBitCast(address, to: Type.self)
        }
        connectStart = try function("PQconnectStartParams")
        connectPoll = try function("PQconnectPoll")
        finish = try function("PQfinish")
        status = try function("PQstatus")
        socket = try function("PQsocket")
        errorMessage = try function("PQerrorMessage")
        setNonblocking = try function("PQsetnonblocking")
        setNoticeReceiver = try function("PQsetNoticeReceiver")
        enterPipelineMode = try function("PQenterPipelineMode")
        pipelineSync = try function("PQpipelineSync")
        sendQuery = try function("PQsendQueryParams")
        flush = try function("PQflush")
        consumeInput = try function("PQconsumeInput")
        isBusy = try function("PQisBusy")
        getResult = try function("PQgetResult")
        clear = try function("PQclear")
        resultStatus = try function("PQresultStatus")
        resultErrorField = try function("PQresultErrorField")
        commandStatus = try function("PQcmdStatus")
        rowCount = try function("PQntuples")
        columnCount = try function("PQnfields")
        value = try function("PQgetvalue")
        length = try function("PQgetlength")
        isNull = try function("PQgetisnull")
        parseOptions = try function("PQconninfoParse")
        freeOptions = try function("PQconninfoFree")
        freeMemory = try function("PQfreemem")
    }

    /// The options that a connection string sets, in libpq's order.
    /// - Throws: `PostgresMissing` with libpq's words if it cannot be read.
    func options(of string: String) throws(PostgresMissing) -> [(name: String, value: String)] {
        var trouble: UnsafeMutablePointer<CChar>?
        guard let list = parseOptions(string, &trouble) else {
            defer { freeMemory(trouble) }
            let words = trouble.map { String(cString: $0) } ?? "no memory"
            throw PostgresMissing(
                trouble: words.split(separator: "\n").first.map(String.init) ?? "no URL")
        }
        defer { freeOptions(list) }
        var options: [(name: String, value: String)] = []
        var option = list.assumingMemoryBound(to: PostgresOption.self)
        while let name = option.pointee.keyword {
            if let value = option.pointee.value {
                options.append((String(cString: name), String(cString: value)))
            }
            option += 1
        }
        return options
    }
}

/// An option of a connection, as PQconninfoOption of libpq-fe.h.
struct PostgresOption {
    var keyword: UnsafeMutablePointer<CChar>?
    var environmentVariable: UnsafeMutablePointer<CChar>?
    var compiled: UnsafeMutablePointer<CChar>?
    var value: UnsafeMutablePointer<CChar>?
    var label: UnsafeMutablePointer<CChar>?
    var character: UnsafeMutablePointer<CChar>?
    var size: CInt
}

/// There is no libpq that could be used, or it cannot read the connection's URL.
struct PostgresMissing: Error, Equatable, CustomStringConvertible {
    /// The words of the loader, or of libpq.
    let trouble: String

    var description: String {
        trouble.contains(PostgresLibrary.name)
            ? "libpq cannot be loaded (\(trouble)): install version 14 or later (on Debian, libpq5)"
            : "cluster.log.postgres.url: \(trouble)"
    }
}

/// The numbers of libpq-fe.h and postgres_ext.h that are used.
enum PostgresNumber {
    /// ConnStatusType.
    static let isConnected: CInt = 0
    static let isBad: CInt = 1
    /// PostgresPollingStatusType.
    static let pollFailed: CInt = 0
    static let pollReading: CInt = 1
    static let pollWriting: CInt = 2
    static let pollDone: CInt = 3
    /// ExecStatusType.
    static let commandDone: CInt = 1
    static let rows: CInt = 2
    static let isPipelineSync: CInt = 10
    static let isPipelineAborted: CInt = 11
    /// PG_DIAG_SEVERITY_NONLOCALIZED, PG_DIAG_SQLSTATE, PG_DIAG_MESSAGE_PRIMARY.
    static let severity = CInt(UInt8(ascii: "V"))
    static let state = CInt(UInt8(ascii: "C"))
    static let message = CInt(UInt8(ascii: "M"))
}

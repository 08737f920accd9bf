import CMicroHTTPD
import Glibc

/// The bare parts of the HTTP edge: what libmicrohttpd costs without Rollcall.
///
/// Each runs in a process of its own, the benchmark started again with `argument`, in the same mode
/// and with the same limits as the product.
enum ReferenceServer: String, CaseIterable {
    /// Reads the body and answers.
    case bare
    /// Reads the body, suspends the connection, and answers when another thread has resumed it:
    /// what it costs at least to let one thread read and another one commit.
    case suspending

    /// The hidden argument that makes the benchmark one of these.
    static let argument = "--reference-server"

    /// Its name in reports.
    var title: String {
        switch self {
        case .bare: "bare libmicrohttpd"
        case .suspending: "… with suspend and resume"
        }
    }

    /// Serves until a signal ends the process; every answer says that `batches` were accepted.
    func run(batches: Int) throws(BenchmarkError) -> Never {
        // The parent ends us by SIGTERM and wants to read 0.
        signal(SIGTERM) { _ in _exit(0) }
        let (listener, port) = try loopbackListener()
        guard let context = Waiting(batches: batches) else {
            throw .server("no memory for the answer")
        }
        let settings = rollcall_daemon_settings(
            listen_descriptor: listener, connections_max: 512, idle_seconds: 75,
            connection_memory_bytes: 32 << 10, is_secure: 0, threads: 1)
        let retained = Unmanaged.passRetained(context).toOpaque()
        let daemon: OpaquePointer?
        switch self {
        case .bare:
            daemon = rollcall_start_daemon(
                settings, answerAtOnce, nil, nil, leaveEscaped, retained)
        case .suspending:
            try context.startResuming()
            daemon = rollcall_start_daemon(
                settings, answerLater, nil, nil, leaveEscaped, retained)
        }
        guard daemon != nil else { throw .server("libmicrohttpd did not start") }
        print("reference: listening on http://127.0.0.1:\(port)")
        fflush(nil)
        while true { pause() }
    }
}

/// The answer that every request gets, and the connections that wait for it.
///
/// `@unchecked Sendable` is true because `connections` is touched under `mutex` only, and the rest
/// never changes.
private final class Waiting: @unchecked Sendable {
    let response: OpaquePointer
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var connections: [OpaquePointer] = []

    /// Makes the answer, Rollcall's to so many batches; nil without memory.
    init?(batches: Int) {
        var text = Array(
            """
            {"accepted":\(batches),"duplicates":0,"rejected":[],"problems":[],\
            "updates":{"accepted":\(batches),"duplicate":0,"late":0}}\n
            """.utf8)
        let size = text.count
        let made = text.withUnsafeMutableBytes {
            MHD_create_response_from_buffer(size, $0.baseAddress, .RESPMEM_MUST_COPY)
        }
        guard let response = made else { return nil }
        MHD_add_response_header(response, "Content-Type", "application/json")
        self.response = response
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    func startResuming() throws(BenchmarkError) {
        var thread = pthread_t()
        let failure = pthread_create(
            &thread, nil, resumeForever, Unmanaged.passRetained(self).toOpaque())
        guard failure == 0 else { throw .system(call: "pthread_create", errno: failure) }
    }

    /// Hands over a suspended connection; wakes the other thread only if it may be asleep.
    func append(_ connection: OpaquePointer) {
        pthread_mutex_lock(mutex)
        let wasEmpty = connections.isEmpty
        connections.append(connection)
        pthread_mutex_unlock(mutex)
        if wasEmpty { pthread_cond_signal(condition) }
    }

    /// Waits for connections and takes all of them.
    func takeAll() -> [OpaquePointer] {
        pthread_mutex_lock(mutex)
        while connections.isEmpty { pthread_cond_wait(condition, mutex) }
        let all = connections
        connections = []
        pthread_mutex_unlock(mutex)
        return all
    }
}

private typealias Context = UnsafeMutableRawPointer

private func resumeForever(_ context: Context?) -> Context? {
    guard let context else { return nil }
    let waiting = Unmanaged<Waiting>.fromOpaque(context).takeUnretainedValue()
    while true {
        for connection in waiting.takeAll() { MHD_resume_connection(connection) }
    }
}

/// Where a request stands, in the pointer that libmicrohttpd keeps for it.
private enum Stage {
    static var begun: Context? { Context(bitPattern: 1) }
    static var suspended: Context? { Context(bitPattern: 2) }
}

private func answerAtOnce(
    context: Context?, handle: OpaquePointer?, url: UnsafePointer<CChar>?,
    method: UnsafePointer<CChar>?, version: UnsafePointer<CChar>?,
    upload: UnsafePointer<CChar>?, uploadSize: UnsafeMutablePointer<Int>?,
    stage: UnsafeMutablePointer<Context?>?
) -> MHD_Result {
    guard let context, let handle, let uploadSize, let stage else { return .NO }
    if stage.pointee == nil {
        stage.pointee = Stage.begun
        return .YES
    }
    if uploadSize.pointee > 0 {
        uploadSize.pointee = 0
        return .YES
    }
    let waiting = Unmanaged<Waiting>.fromOpaque(context).takeUnretainedValue()
    return MHD_queue_response(handle, 200, waiting.response)
}

private func answerLater(
    context: Context?, handle: OpaquePointer?, url: UnsafePointer<CChar>?,
    method: UnsafePointer<CChar>?, version: UnsafePointer<CChar>?,
    upload: UnsafePointer<CChar>?, uploadSize: UnsafeMutablePointer<Int>?,
    stage: UnsafeMutablePointer<Context?>?
) -> MHD_Result {
    guard let context, let handle, let uploadSize, let stage else { return .NO }
    if stage.pointee == nil {
        stage.pointee = Stage.begun
        return .YES
    }
    if uploadSize.pointee > 0 {
        uploadSize.pointee = 0
        return .YES
    }
    let waiting = Unmanaged<Waiting>.fromOpaque(context).takeUnretainedValue()
    if stage.pointee == Stage.suspended {
        return MHD_queue_response(handle, 200, waiting.response)
    }
    stage.pointee = Stage.suspended
    // Before the hand-over, so that no resume comes before its suspend.
    MHD_suspend_connection(handle)
    waiting.append(handle)
    return .YES
}

/// libmicrohttpd calls it without asking whether it is there.
private func leaveEscaped(
    context: Context?, handle: OpaquePointer?, text: UnsafeMutablePointer<CChar>?
) -> Int {
    guard let text else { return 0 }
    return strlen(text)
}

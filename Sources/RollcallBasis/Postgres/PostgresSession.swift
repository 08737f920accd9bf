import Glibc
import RollcallSupport

/// A statement with its parameters, all of them in PostgreSQL's binary form.
struct PostgresStatement: Equatable {
    var text: String
    var parameters: [[UInt8]]

    init(_ text: String, _ parameters: [[UInt8]] = []) {
        self.text = text
        self.parameters = parameters
    }
}

/// A `PostgresAnswer` holds what a statement brought: the words of the command that was run
/// (`COMMIT`), and rows of columns in binary form; nil is NULL.
struct PostgresAnswer: Equatable {
    var command: String
    var rows: [[[UInt8]?]]

    init(_ command: String, _ rows: [[[UInt8]?]] = []) {
        self.command = command
        self.rows = rows
    }
}

/// `PostgresWords` holds what the server says beside, or instead of, an answer.
struct PostgresWords: Equatable, CustomStringConvertible {
    /// `ERROR`, `FATAL`, `WARNING`, …, in no other language.
    var severity: String
    /// SQLSTATE; empty if there is none.
    var state: String
    var message: String

    var description: String {
        let words = ConsoleText.safe(message)
        return state.isEmpty ? words : "\(words) (\(state))"
    }
}

/// A `PostgresFault` says why a batch of statements brought no answers.
enum PostgresFault: Error, Equatable, CustomStringConvertible {
    /// The server refused one of them, and ran none after it.
    case refused(PostgresWords)
    /// The connection is gone; why.
    case lost(String)
    /// It took too long, and may still be on its way.
    case timedOut

    var description: String {
        switch self {
        case .refused(let words): words.description
        case .lost(let why): why
        case .timedOut: "no answer in time"
        }
    }
}

/// One thread's connection to a PostgreSQL. All waiting ends at a deadline, an instant of
/// `ClockReading.elapsed`.
///
/// Statements go out in batches, in libpq's pipeline mode: each batch is one round trip, and behind
/// one that fails none of its batch is run.
final class PostgresSession {
    private let library: PostgresLibrary
    private let connection: OpaquePointer
    /// Batches whose end has not come yet: more than 0 only after a time-out.
    private var batchesOpen = 0
    /// The words that the server said beside its answers since this was emptied last.
    private(set) var notices: [PostgresWords] = []

    /// True until the connection is known to be gone.
    private(set) var isAlive = true

    /// Connects with libpq's parameters.
    init(
        _ library: PostgresLibrary, _ parameters: [(name: String, value: String)],
        until deadline: Int64
    ) throws(PostgresFault) {
        self.library = library
        let names = parameters.map { strdup($0.name) } + [nil]
        let values = parameters.map { strdup($0.value) } + [nil]
        defer { for word in names + values { free(word) } }
        let begun = names.map { UnsafePointer($0) }.withUnsafeBufferPointer { names in
            values.map { UnsafePointer($0) }.withUnsafeBufferPointer { values in
                names.baseAddress.flatMap { names in
                    values.baseAddress.flatMap { library.connectStart(names, $0, 0) }
                }
            }
        }
        guard let begun else { throw .lost("no memory") }
        connection = begun
        var wanted = PostgresNumber.pollWriting
        while wanted != PostgresNumber.pollDone {
            guard wanted != PostgresNumber.pollFailed,
                library.status(connection) != PostgresNumber.isBad
            else { throw .lost(words) }
            let event = wanted == PostgresNumber.pollReading ? POLLIN : POLLOUT
            guard wait(for: event, until: deadline) else {
                throw .lost("cannot be reached in time")
            }
            wanted = library.connectPoll(connection)
        }
        guard library.setNonblocking(connection, 1) == 0,
            library.enterPipelineMode(connection) == 1
        else { throw .lost(words) }
        _ = library.setNoticeReceiver(
            connection, noteOfServer, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { library.finish(connection) }

    /// Forgets what the server said beside its answers.
    func forgetNotices() { notices = [] }

    /// Runs the statements of a batch; returns the answer of each.
    func run(
        _ statements: [PostgresStatement], until deadline: Int64
    ) throws(PostgresFault) -> [PostgresAnswer] {
        guard isAlive else { throw .lost("the connection is gone") }
        guard batchesOpen == 0 else { throw .timedOut }
        for statement in statements where !send(statement) { throw lose(words) }
        guard library.pipelineSync(connection) == 1 else { throw lose(words) }
        batchesOpen = 1
        return try collect(until: deadline)
    }

    /// Waits for what is on its way since a time-out; true if nothing is any more.
    func settle(until deadline: Int64) -> Bool {
        guard isAlive, batchesOpen > 0 else { return isAlive }
        // Whatever comes, nobody waits for it: what the server refused is over, too.
        _ = try? collect(until: deadline)
        return isAlive && batchesOpen == 0
    }

    // MARK: - One batch

    private func send(_ statement: PostgresStatement) -> Bool {
        let count = statement.parameters.count
        // One block for all parameters: an empty one is no NULL, and so needs an address, too.
        let bytes = Array(statement.parameters.joined()) + [0]
        let lengths = statement.parameters.map { CInt($0.count) }
        let formats = [CInt](repeating: 1, count: count)
        return bytes.withUnsafeBytes { block in
            var places: [UnsafePointer<CChar>?] = []
            var at = 0
            for parameter in statement.parameters {
                places.append(
                    block.baseAddress.map {
                        ($0 + at).assumingMemoryBound(to: CChar.self)
                    })
                at += parameter.count
            }
            return library.sendQuery(
                connection, statement.text, CInt(count), nil, places, lengths, formats, 1) == 1
        }
    }

    /// Takes what comes up to the end of the batch.
    private func collect(until deadline: Int64) throws(PostgresFault) -> [PostgresAnswer] {
        var answers: [PostgresAnswer] = []
        var refusal: PostgresWords?
        var isUnsent = true
        while true {
            if isUnsent {
                let left = library.flush(connection)
                guard left >= 0 else { throw lose(words) }
                isUnsent = left > 0
            }
            // Behind each statement's answer, and where nothing is, comes an end.
            var ends = 0
            while library.isBusy(connection) == 0, ends < 2 {
                guard let result = library.getResult(connection) else {
                    ends += 1
                    continue
                }
                defer { library.clear(result) }
                ends = 0
                switch library.resultStatus(result) {
                case PostgresNumber.commandDone, PostgresNumber.rows:
                    answers.append(answer(result))
                case PostgresNumber.isPipelineAborted: break
                case PostgresNumber.isPipelineSync:
                    batchesOpen = 0
                    if let refusal { throw .refused(refusal) }
                    return answers
                default:
                    let said = said(result)
                    // Without a code it is libpq's own: the connection broke.
                    if said.state.isEmpty || said.severity == "FATAL" || said.severity == "PANIC" {
                        throw lose(said.description)
                    }
                    if refusal == nil { refusal = said }
                }
            }
            guard library.status(connection) != PostgresNumber.isBad else { throw lose(words) }
            guard wait(for: isUnsent ? POLLIN | POLLOUT : POLLIN, until: deadline) else {
                throw .timedOut
            }
            guard library.consumeInput(connection) == 1 else { throw lose(words) }
        }
    }

    private func answer(_ result: OpaquePointer) -> PostgresAnswer {
        let (rows, columns) = (library.rowCount(result), library.columnCount(result))
        let command = library.commandStatus(result).map { String(cString: $0) } ?? ""
        return PostgresAnswer(
            command,
            (0..<rows).map { row in
                (0..<columns).map { column in
                    guard library.isNull(result, row, column) == 0,
                        let start = library.value(result, row, column)
                    else { return nil }
                    let count = Int(library.length(result, row, column))
                    return Array(UnsafeRawBufferPointer(start: start, count: count))
                }
            })
    }

    private func said(_ result: OpaquePointer) -> PostgresWords {
        func field(_ number: CInt) -> String {
            library.resultErrorField(result, number).map { String(cString: $0) } ?? ""
        }
        let message = field(PostgresNumber.message)
        return PostgresWords(
            severity: field(PostgresNumber.severity), state: field(PostgresNumber.state),
            message: message.isEmpty ? words : message)
    }

    /// Takes what the server says beside an answer.
    fileprivate func note(_ result: OpaquePointer) { notices.append(said(result)) }

    private func lose(_ why: String) -> PostgresFault {
        isAlive = false
        return .lost(why)
    }

    /// The first line of libpq's words.
    private var words: String {
        let text = library.errorMessage(connection).map { String(cString: $0) } ?? ""
        let line = text.split(separator: "\n").first.map(String.init) ?? "the connection is gone"
        return ConsoleText.safe(line)
    }

    /// Waits until the socket is ready; false at the deadline.
    private func wait(for event: Int32, until deadline: Int64) -> Bool {
        let left = deadline - ClockReading.now().elapsed
        guard left > 0 else { return false }
        var item = pollfd(fd: library.socket(connection), events: Int16(event), revents: 0)
        let ready = poll(&item, 1, Int32(min(left, 60_000)))
        return ready > 0 || (ready < 0 && errno == EINTR)
    }
}

/// Not a closure: one written inside a type could be isolated to an actor.
private func noteOfServer(_ session: UnsafeMutableRawPointer?, _ result: OpaquePointer?) {
    guard let session, let result else { return }
    Unmanaged<PostgresSession>.fromOpaque(session).takeUnretainedValue().note(result)
}

import Glibc
import RollcallBasis
import RollcallCore

/// Reads a history once and folds it with every setting of a sweep.
package struct TuneJob {
    /// The options: where the history is, and what is tried.
    package struct Options: Sendable {
        /// A file, a store, or `-` for standard input.
        package var path: String
        /// Settings to begin with; nil for those of the file.
        package var configurationPath: String?
        /// The settings to be tried, as `--set` has them; see `TuneSweep`.
        package var wishes: [String] = []
        package var isGrid = false
        /// An OFFLINE that is over within this span was a false alarm.
        package var healsWithin = Milliseconds.seconds(300)
        package var weights = TuneWeights()
        /// The name by which phones are told apart.
        package var phoneName = PhoneName.manufacturer
        /// Threads that fold; as many as processors.
        package var threads = Int(sysconf(CInt(_SC_NPROCESSORS_ONLN)))
        /// Steps that are folded at a time: so many that what a candidate touches is warm, so few that
        /// two chunks of them are little memory.
        package var chunkSteps = 16_384

        /// The history at `path`.
        package init(path: String) { self.path = path }
    }

    private let options: Options
    /// Settings of a file, which decide whatever the history says.
    private let fixed: Policy?

    /// A job as asked for. Throws `TuneError.input` for a file of settings that is wrong.
    package init(_ options: Options) throws(TuneError) {
        self.options = options
        fixed = try Self.settings(options.configurationPath)
    }

    private static func settings(_ path: String?) throws(TuneError) -> Policy? {
        guard let path else { return nil }
        do throws(InputFileError) {
            return try InputFile.configuration(path).policy
        } catch {
            throw .input(error)
        }
    }

    /// Reads and folds until the history ends; tells standard error how far it is.
    /// - Throws: `TuneError` if the history cannot be read or is empty, a wish makes no sense, or
    ///   there is no thread.
    package func run() throws(TuneError) -> TuneResult {
        var history = TuneHistory(try Self.open(options.path), isFixed: fixed != nil)
        var chunk = try history.next(options.chunkSteps)
        let base = fixed ?? chunk.policy ?? Policy()
        let sweep = try TuneSweep(
            base: base, wishes: options.wishes, isGrid: options.isGrid,
            platforms: chunk.platforms)
        let runs = sweep.candidates.enumerated().map { place, candidate in
            TuneRun(
                policy: fixed ?? Policy(), isFixed: fixed != nil,
                healsWithin: options.healsWithin, phoneName: options.phoneName,
                adapting: place == 0 ? nil : candidate.adapt)
        }
        let crew = try TuneCrew(runs, threadCount: min(options.threads, runs.count))
        defer { crew.dismiss() }
        var progress = ProgressLine(total: history.byteCount, unit: "bytes")
        defer { progress.finish() }
        var stepCount = 0
        var isLast = false
        repeat {
            stepCount += chunk.count
            isLast = chunk.count < options.chunkSteps
            crew.fold(chunk, isLast: isLast)
            chunk = ReplayChunk()
            // What is wrong with the next lines is told when the threads are not in the midst of these.
            let next = Result { () throws(TuneError) in
                isLast ? ReplayChunk() : try history.next(options.chunkSteps)
            }
            crew.wait()
            TuneRun.compare(crew.runs, isOver: isLast)
            progress.update(done: history.bytesRead, note: "\(runs.count) settings")
            chunk = try next.get()
        } while !isLast
        if stepCount == 0 {
            throw .usage("\(options.path): no event in it, so there is nothing to tune")
        }
        return TuneResult(
            sweep: sweep, base: base, isFixed: fixed != nil, runs: Array(crew.runs),
            options: options, events: stepCount)
    }

    private static func open(_ path: String) throws(TuneError) -> ReplayInput {
        do throws(InputFileError) {
            return try ReplayInput(path: path)
        } catch {
            throw .input(error)
        }
    }
}

/// The steps of a history, some thousand at a time.
private struct TuneHistory: ~Copyable {
    private var input: ReplayInput
    private var reader: ReplayReader
    private var names = ReplayNames()

    /// The lines of `input`; `policy` lines are ignored if settings are fixed.
    init(_ input: consuming ReplayInput, isFixed: Bool) {
        self.input = input
        reader =
            isFixed
            ? ReplayReader()
            : ReplayReader { try Configuration(yaml: String(decoding: $0, as: UTF8.self)).policy }
    }

    var byteCount: Int64? { input.byteCount }
    var bytesRead: Int64 { input.bytesRead }

    /// Returns the next `count` steps; fewer at the end.
    /// - Throws: `TuneError.input` if the history cannot be read, or a line is wrong.
    mutating func next(_ count: Int) throws(TuneError) -> ReplayChunk {
        var chunk = ReplayChunk()
        while chunk.count < count, let step = try nextStep() {
            if let step { chunk.append(step, &names) }
        }
        return chunk
    }

    /// Returns what the next line asks for, which may be nothing; nil at the end.
    /// - Throws: `TuneError.input` if the history cannot be read, or a line is wrong.
    private mutating func nextStep() throws(TuneError) -> ReplayStep?? {
        do throws(InputFileError) {
            guard let bytes = try input.next() else { return nil }
            do throws(ReplayError) {
                return .some(try reader.read(bytes))
            } catch {
                throw InputFileError.wrongLine(error)
            }
        } catch {
            throw .input(error)
        }
    }
}

/// The result of a sweep.
package struct TuneResult: Sendable {
    package let sweep: TuneSweep
    /// The settings that the history begins with.
    package let base: Policy
    /// True if settings from a file decided, whatever the history says.
    package let isFixed: Bool
    /// By candidate.
    package let outcomes: [TuneOutcome]
    /// From the first instant to the last.
    package let span: Milliseconds
    /// The number of times the history brought other settings.
    package let policyChanges: Int
    /// Lines that were folded.
    package let events: Int
    package let healsWithin: Milliseconds
    package let weights: TuneWeights
    /// The name by which phones are told apart.
    package let phoneName: PhoneName

    /// The result of `runs` that are over, the present settings' first.
    init(
        sweep: TuneSweep, base: Policy, isFixed: Bool, runs: [TuneRun], options: TuneJob.Options,
        events: Int
    ) {
        self.sweep = sweep
        self.base = base
        self.isFixed = isFixed
        outcomes = runs.map { TuneOutcome($0) }
        span = runs[0].aggregates.span
        policyChanges = runs[0].policyChanges
        healsWithin = options.healsWithin
        weights = options.weights
        phoneName = options.phoneName
        self.events = events
    }

    /// The part of the history that we could see.
    package var observed: Milliseconds { outcomes[0].observed }

    /// The part of it that we could not see.
    package var unobserved: Milliseconds { Milliseconds(max(0, span.count - observed.count)) }

    /// The advice about each axis.
    package var advice: [TuneAdvice] {
        sweep.axes.map { axis in
            TuneAdvice.about(axis.places, of: outcomes, weights, isEvaluated: axis.isEvaluated)
        }
    }

    /// The changes to be made, by all advice together.
    package var changes: [TuneCandidate.Change] {
        advice.flatMap { advice -> [TuneCandidate.Change] in
            if case .take(let place, _) = advice { sweep.candidates[place].changes } else { [] }
        }
    }
}

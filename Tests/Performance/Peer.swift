import RollcallCore

/// Somebody who keeps a fleet, and what can be asked of all of them alike.
struct Peer {
    /// Its name in reports.
    let title: String
    /// How it takes a batch.
    let form: Workload.Form
    /// Starts it on what it has kept.
    let start: () throws(BenchmarkError) -> ServerProcess
    /// Has everybody heard once.
    let fill: (inout BatchSource, ServerProcess) throws(BenchmarkError) -> Void
    /// Writes a checkpoint, if somebody can ask for one.
    var checkpoint: (ServerProcess) throws(BenchmarkError) -> Void = { (_) throws(BenchmarkError) in
    }
    /// A scrape of the fleet, or the question that stands for one: its span and bytes.
    let scrape: (ServerProcess) throws(BenchmarkError) -> (Nanoseconds, Int?)
    /// The question for who is silent; nil if it cannot be asked.
    var evaluate: ((ServerProcess) throws(BenchmarkError) -> Nanoseconds)?
    /// Batches that were taken: ever, or of the people who were heard since an instant.
    let taken: (ServerProcess, Timestamp) throws(BenchmarkError) -> Int
    /// How late it is seen who falls silent; nil if nobody sees it here.
    var detect: ((ServerProcess) throws(BenchmarkError) -> Detection)?
}

/// What a fleet costs somebody who keeps it.
struct PeerFigures {
    /// A load of many connections.
    struct Load {
        let connections: Int
        let stats: Stats
    }

    /// A load of everybody once a minute; latencies are medians of seconds.
    struct Paced {
        let perSecond: Double
        let milliseconds50, milliseconds99: Double?
    }

    /// Whose they are.
    let title: String
    /// Batches while everybody reports once a minute.
    var paced: Paced?
    /// Processor time for each of those, microseconds.
    var pacedMicroseconds: Double?
    /// Bytes written to files for each of those; nil if it writes later.
    var pacedBytes: Double?
    /// As fast as so many connections do.
    var loads: [Load] = []
    /// Bytes written to files for each batch at full speed; nil if it writes later.
    var writtenBytes: Double?
    /// Memory of all its processes with the fleet, bytes.
    var memoryBytes: Int?
    /// Milliseconds of a scrape, the median.
    var scrapeMilliseconds: Double?
    /// Bytes of it.
    var scrapeBytes: Int?
    /// Milliseconds of the question for who is silent, the median.
    var evaluationMilliseconds: Double?
    /// How late those were seen who had fallen silent.
    var detection: Detection?
    /// Batches acknowledged just before kill -9, and how many of them were gone after a start.
    var acknowledged: Int?
    var lost: Int?
    /// From kill -9 until it answers again, seconds.
    var restartSeconds: Double?
}

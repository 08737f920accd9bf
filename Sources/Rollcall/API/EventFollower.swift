import RollcallCore
import RollcallSupport

/// One reader of events: how far they have come, and what is on its way to them. Used by the thread of
/// `EventReaders` alone.
final class EventFollower {
    let question: EventReaders.Question
    let key: UInt64
    /// The instant of the machine's clock until which a page is waited for.
    let until: Int64
    /// The number of the last event that was looked at for them.
    private(set) var after: Int64
    /// Pages that were looked through.
    private(set) var pages = 0
    /// Events for the answer.
    private(set) var count = 0
    private(set) var stream: HTTPStream?

    private var bytes: [UInt8] = []
    private var sent = 0
    /// True once they know how the watch stands: then changes are enough.
    private var knowsWatch = false
    private var sentAt: Int64 = 0
    private var tookAt: Int64 = 0

    /// A reader from behind number `after` on.
    init(_ question: EventReaders.Question, key: UInt64, after: Int64, until: Int64) {
        self.question = question
        self.key = key
        self.after = after
        self.until = until
    }

    private var unsent: Int { bytes.count - sent }
    /// True while the socket has no room for all that is to be sent.
    var isBlocked: Bool { unsent > 0 }

    /// True if there is room for what was decided up to number `newest`.
    func wants(_ newest: Int64) -> Bool {
        guard after < newest else { return false }
        return question.isStream ? stream != nil && unsent < EventReaders.unsentMax : count == 0
    }

    /// Takes what they asked for of a page that begins where they are, and for which there is room. All
    /// up to number `newest` was committed before it was read.
    func take(_ page: EventPage, newest: Int64) {
        pages += 1
        for event in page.events where question.query.matches(event) {
            if question.isStream {
                guard unsent < EventReaders.unsentMax else { return }
                frame(event)
                after = event.number
            } else {
                // Of a page whose rest does not fit the rest is the next one.
                guard count < question.query.limit else { return }
                if count > 0 { bytes.append(UInt8(ascii: ",")) }
                bytes += event.body
                count += 1
                after = event.number
            }
        }
        after = page.isEnd ? max(page.through, newest) : page.through
    }

    /// Answers with the page.
    func answerPage() {
        var body = Array("{\"events\":[".utf8)
        body += bytes
        body += Array("],\"next\":\"\(cursor)\"}\n".utf8)
        question.answer(.json(body))
    }

    private var cursor: String { EventCursor(epoch: question.epoch, number: after).text }

    // MARK: - Streams

    /// The stream is open: its head goes first.
    func begin(_ stream: HTTPStream, _ now: Int64) {
        self.stream = stream
        // Later than we look ourselves: the kernel is for those who vanish with nothing unsent.
        stream.bound(
            Int32(EventReaders.unsentMax), patience: Int32(2 * EventReaders.takesWithin.count))
        (sentAt, tookAt) = (now, now)
        bytes += stream.head
        // Whoever comes back begins here, even if nothing was decided meanwhile.
        bytes += Array("retry: 2000\nid: \(cursor)\nevent: begin\n".utf8)
        bytes += Array("data: {\"cursor\":\"\(cursor)\"}\n\n".utf8)
    }

    private func frame(_ event: EventPage.Event) {
        let cursor = EventCursor(epoch: question.epoch, number: event.number).text
        bytes += Array("id: \(cursor)\nevent: \(event.kind.word)\ndata: ".utf8)
        bytes += event.body
        bytes += [UInt8(ascii: "\n"), UInt8(ascii: "\n")]
    }

    /// True if they want to know how the watch stands.
    var wantsWatch: Bool { question.query.hasWatch && stream != nil }

    /// Appends how the watch stands, if there is room; who had none is told all of it later.
    func append(_ report: WatchReport) {
        guard wantsWatch else { return }
        guard unsent < EventReaders.unsentMax else { return knowsWatch = false }
        bytes += (knowsWatch ? report.change : nil) ?? report.whole
        knowsWatch = true
    }

    /// Appends a comment if nothing was sent for long; true if it did.
    func comment(at now: Int64) -> Bool {
        guard unsent == 0, now - sentAt >= EventReaders.commentEvery.count else { return false }
        bytes += Array(":\n\n".utf8)
        return true
    }

    /// True of one that takes nothing of what waits for it.
    func isStuck(at now: Int64) -> Bool {
        unsent > 0 && now - tookAt >= EventReaders.takesWithin.count
    }

    /// Sends what there is room for; false if the other side is gone.
    func send() -> Bool {
        guard let stream, let written = stream.send(bytes[sent...]) else { return false }
        sent += written
        // What was sent is given back also by somebody who is always a little behind.
        if sent >= EventReaders.unsentMax {
            bytes.removeFirst(sent)
            sent = 0
        }
        if written > 0 {
            tookAt = ClockReading.now().elapsed
            sentAt = tookAt
        }
        if unsent == 0 {
            bytes.removeAll(keepingCapacity: bytes.capacity <= EventReaders.unsentMax)
            sent = 0
            tookAt = ClockReading.now().elapsed
        }
        return true
    }
}

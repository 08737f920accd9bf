import CCurl
import Glibc

/// The replies of a mail server and the text that it gets, and libcurl's callbacks for both.
final class MailTraffic {
    /// Bytes of all replies at most.
    static let repliesBytesMax = 64 << 10
    /// Bytes of one reply's words at most.
    static let wordsBytesMax = 2048

    private let content: [UInt8]
    private let permit: SendingPermit?
    private var place = 0
    private var replyBytes = 0
    /// The reply that is coming in, or came last.
    private var code = 0
    private var words: [UInt8] = []
    private var isWhole = true
    /// The last replies, that to QUIT among them.
    private var replies: [MailReply] = []
    /// The server wanted the text, so it may have all of it.
    private(set) var isRead = false
    private(set) var isTooMuch = false
    /// The permit did not hold, so the mail did not go out.
    private(set) var isNotPermitted = false

    init(content: [UInt8], permit: SendingPermit?) {
        self.content = content
        self.permit = permit
    }

    /// Takes one line of a reply, `250-…` or its last one, `250 …`; false ends the transfer.
    fileprivate func take(_ line: UnsafeRawBufferPointer) -> Bool {
        replyBytes += line.count
        isTooMuch = replyBytes > Self.repliesBytesMax
        if isTooMuch { return false }
        let digits = line.prefix(3)
        guard digits.count == 3, let code = Int(String(decoding: digits, as: UTF8.self)) else {
            return true
        }
        if isWhole { (self.code, words) = (code, []) }
        let text = line.dropFirst(4).filter { $0 != 0x0D && $0 != 0x0A }
        if !words.isEmpty, !text.isEmpty { words.append(0x20) }
        words += text.prefix(max(0, Self.wordsBytesMax - words.count))
        isWhole = line.count < 4 || line[3] != UInt8(ascii: "-")
        if isWhole {
            let text = String(decoding: words, as: UTF8.self)
            replies = replies.suffix(3) + [MailReply(code: code, words: text)]
        }
        return true
    }

    /// Returns the last reply of a code; nil if none was.
    func lastReply(_ code: Int) -> MailReply? { replies.last { $0.code == code } }

    /// Fills `room` with the next part of the text; returns how many bytes that are.
    fileprivate func read(into room: UnsafeMutableRawBufferPointer) -> Int {
        isRead = true
        let count = min(room.count, content.count - place)
        content.withUnsafeBytes { bytes in
            room.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[place..<place + count]))
        }
        place += count
        return count
    }

    /// True if the mail may go out.
    fileprivate func mayGoOut() -> Bool {
        isNotPermitted = permit.map { !$0.holds } ?? false
        return !isNotPermitted
    }
}

/// CURLOPT_HEADERFUNCTION: called once for each line of the server's.
func takeReply(
    bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, context: UnsafeMutableRawPointer?
) -> Int {
    guard let bytes, let context else { return 0 }
    let traffic = Unmanaged<MailTraffic>.fromOpaque(context).takeUnretainedValue()
    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
    // Any number but the given one is an error, also for a line of no bytes.
    return traffic.take(line) ? line.count : line.count + 1
}

/// CURLOPT_READFUNCTION: called for the next part of the mail.
func readMail(
    bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, context: UnsafeMutableRawPointer?
) -> Int {
    guard let bytes, let context else { return 0 }
    let traffic = Unmanaged<MailTraffic>.fromOpaque(context).takeUnretainedValue()
    return traffic.read(into: UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
}

/// CURLOPT_PREREQFUNCTION: called before the mail goes out.
func mailMayGoOut(
    context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<CChar>?,
    _: UnsafeMutablePointer<CChar>?, _: CInt, _: CInt
) -> CInt {
    guard let context else { return 0 }
    return Unmanaged<MailTraffic>.fromOpaque(context).takeUnretainedValue().mayGoOut() ? 0 : 1
}

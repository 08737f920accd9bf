import Foundation
import Glibc
import RollcallCore
import Synchronization

@testable import Rollcall

/// A pager as PagerDuty's Events API v2 describes it: a trigger opens what is not open, also after
/// its resolve, a resolve without anything open is dropped.
final class LoopbackPager: Sendable {
    /// What it does with an event, and what of that can be seen.
    enum Answer: CaseIterable {
        /// 202, and it is seen.
        case seen
        /// It is taken, and the connection ends before the answer.
        case lost
        case failing
        case busy
        /// Nothing comes before the client has enough of waiting; it is taken, or not.
        case hangingTaken, hangingDropped

        /// True if the pager takes the event.
        var isTaken: Bool { self == .seen || self == .lost || self == .hangingTaken }

        /// The answer, its status line first; nil if none comes.
        var lines: (status: String, rest: String)? {
            let end = "Content-Length: 2\r\n\r\n{}"
            return switch self {
            case .seen: ("HTTP/1.1 202 Accepted\r\n", end)
            case .failing: ("HTTP/1.1 500 Internal Server Error\r\n", end)
            case .busy: ("HTTP/1.1 429 Too Many Requests\r\n", "Retry-After: 1\r\n" + end)
            case .lost, .hangingTaken, .hangingDropped: nil
            }
        }
    }

    /// A place in a request's way.
    enum Point: CaseIterable { case connected, firstByte, lastByte, statusLine, answered }

    /// An event as far as it decides.
    struct PagerEvent: Decodable {
        enum CodingKeys: String, CodingKey {
            case action = "event_action"
            case key = "dedup_key"
        }

        let action: String
        let key: String

        var isTrigger: Bool { action == "trigger" }
    }

    /// What it knows.
    struct Memory {
        var open: Set<String> = []
        /// How often each key was opened.
        var openings: [String: Int] = [:]
        /// All keys that it ever saw.
        var keys: Set<String> = []
        /// Resolves that it took, of what was open or not.
        var resolves = 0
    }

    private let state = Mutex(Memory())

    /// What it knows now.
    var memory: Memory { state.withLock { $0 } }

    /// An event arrived whole; it is taken or not.
    func see(_ event: PagerEvent, isTaken: Bool) {
        state.withLock { memory in
            memory.keys.insert(event.key)
            guard isTaken else { return }
            if event.isTrigger {
                if memory.open.insert(event.key).inserted {
                    memory.openings[event.key, default: 0] += 1
                }
            } else {
                memory.open.remove(event.key)
                memory.resolves += 1
            }
        }
    }
}

/// Where one process reaches the pager: a port that nobody answers any more once it is dead.
///
/// `@unchecked Sendable` is true because descriptors do not change.
final class PagerDoor: @unchecked Sendable {
    /// Who decides what happens to requests.
    protocol Guard: AnyObject, Sendable {
        /// What `process` is sending: the attempt of a message.
        func sending(process: Int) -> Sending
        /// A request is at a point; false if the process that sent it is dead by now.
        func pass(_ point: LoopbackPager.Point, of sending: Sending) -> Bool
        /// An event arrived whole; what is done with it, nil if its process is dead by now.
        func answer(_ event: LoopbackPager.PagerEvent, process: Int) -> LoopbackPager.Answer?
    }

    /// An attempt of a message, and whose it is.
    struct Sending {
        let process: Int
        let kind: Notice.Kind
        let attempt: Int
    }

    let port: Int
    private let process: Int
    private let listener: Int32
    private let place: any Guard

    /// A door for the process of this number; `serve` opens it.
    init(process: Int, _ place: any Guard) {
        self.process = process
        self.place = place
        let opened = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = bind(opened, $0, size)
                _ = getsockname(opened, $0, &size)
            }
        }
        listen(opened, 8)
        listener = opened
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { Glibc.close(listener) }

    /// Takes one request after the other while `body` runs.
    func serve(while body: () -> Void) {
        runBeside {
            while true {
                let connection = accept(self.listener, nil, nil)
                guard connection >= 0 else { return }
                var patience = timeval(tv_sec: 30, tv_usec: 0)
                setsockopt(
                    connection, SOL_SOCKET, SO_RCVTIMEO, &patience,
                    socklen_t(MemoryLayout<timeval>.size))
                self.talk(connection)
                Glibc.close(connection)
            }
        } while: {
            body()
            close()
        }
    }

    /// Whoever comes from now on is refused.
    func close() { shutdown(listener, Int32(SHUT_RDWR)) }

    private func talk(_ connection: Int32) {
        let sending = place.sending(process: process)
        guard place.pass(.connected, of: sending) else { return }
        var first: UInt8 = 0
        guard untilUninterrupted({ recv(connection, &first, 1, 0) }) == 1,
            place.pass(.firstByte, of: sending),
            let event = event(connection, first)
        else { return }
        guard let answer = place.answer(event, process: process),
            place.pass(.lastByte, of: sending)
        else { return }
        guard let lines = answer.lines else {
            var byte: UInt8 = 0
            if answer != .lost { _ = untilUninterrupted { recv(connection, &byte, 1, 0) } }
            return
        }
        send(connection, lines.status)
        guard place.pass(.statusLine, of: sending) else { return }
        send(connection, lines.rest)
        _ = place.pass(.answered, of: sending)
    }

    private func send(_ connection: Int32, _ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// The rest of a request; nil if its end does not come.
    private func event(_ connection: Int32, _ first: UInt8) -> LoopbackPager.PagerEvent? {
        var bytes = [first]
        var part = [UInt8](repeating: 0, count: 16384)
        while true {
            let text = String(decoding: bytes, as: UTF8.self)
            if let end = text.firstRange(of: "\r\n\r\n") {
                let length = text.split(separator: "\r\n").first {
                    $0.hasPrefix("Content-Length: ")
                }
                let body = text[end.upperBound...].utf8
                if body.count >= Int(length?.dropFirst(16) ?? "") ?? 0 {
                    return try? JSONDecoder().decode(
                        LoopbackPager.PagerEvent.self, from: Data(body))
                }
            }
            let count = untilUninterrupted { recv(connection, &part, part.count, 0) }
            if count <= 0 { return nil }
            bytes += part[..<count]
        }
    }
}

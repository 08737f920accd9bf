import Logging
import RollcallCore
import Synchronization
import Testing

@testable import RollcallSupport

/// Passwords of the web configuration's users: known again, looked at one by one, and bounded. Source: V18.
@Suite struct PasswordGateTests {
    /// Of `secret-one`, at a cost that takes a moment.
    private static let hash = "$2y$04$abcdefghijklmnopqrstuu7iYOvkEIdAVpQAhxqiHRxIF2GQzjIRm"

    private func policy(_ users: [(name: String, hash: String)]) throws -> AccessPolicy {
        AccessPolicy(
            AccessPolicy.Rules(access: try Access().with(users: users)),
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private func request(_ user: String, _ password: String, path: String = "/metrics")
        -> HTTPRequest
    {
        var request = HTTPRequest(method: "GET", path: path)
        var letters: [UInt8] = []
        Base64.append(Array("\(user):\(password)".utf8), to: &letters)
        request.authorization = "Basic \(String(decoding: letters, as: UTF8.self))"
        return request
    }

    /// The verdict in a word; one that has to wait is waited for, and judged again.
    private func verdict(_ gate: PasswordGate, _ request: HTTPRequest, from network: UInt64 = 1)
        -> String
    {
        switch gate.verdict(on: request, from: network) {
        case .pass(let user): return "passes as \(user?.name ?? "nobody")"
        case .refuse(let answer): return "\(answer.status)"
        case .wait(let shown):
            let answers = Mailbox<Int>()
            gate.check(shown) { answers.put($0?.status ?? 0) }
            let status = answers.takeAll(waiting: 30_000).first ?? -1
            guard status == 0 else { return "waits, \(status)" }
            guard case .pass(let user) = gate.verdict(on: request, from: network) else {
                return "waits for ever"
            }
            return "waits, passes as \(user?.name ?? "nobody")"
        }
    }

    @Test func `a password that was right once is known again until its hash is another one`()
        throws
    {
        let policy = try policy([("alice", Self.hash)])
        let gate = PasswordGate(policy)
        defer { gate.close() }
        #expect(verdict(gate, request("alice", "secret-one")) == "waits, passes as alice")
        #expect(verdict(gate, request("alice", "secret-one")) == "passes as alice")
        // What is wrong is known again too, and of another user nothing is.
        #expect(verdict(gate, request("alice", "secret-two")) == "waits, 401")
        #expect(verdict(gate, request("alice", "secret-two")) == "401")
        #expect(verdict(gate, request("bob", "secret-one")) == "waits, 401")
        let more = try Access().with(users: [("alice", Self.hash), ("carol", Self.hash)])
        policy.follow(AccessPolicy.Rules(access: more))
        gate.follow()
        #expect(verdict(gate, request("alice", "secret-one")) == "passes as alice")
        #expect(verdict(gate, request("alice", "secret-two")) == "waits, 401")
        let other = try #require(
            CryptLibrary.shared?.hashed(Array("other".utf8), as: "$2b$04$abcdefghijklmnopqrstuu"))
        policy.follow(
            AccessPolicy.Rules(access: try Access().with(users: [("alice", other)])))
        // Also before the gate was told.
        #expect(verdict(gate, request("alice", "secret-one")) == "waits, 401")
        gate.follow()
        #expect(verdict(gate, request("alice", "secret-one")) == "waits, 401")
        #expect(verdict(gate, request("alice", "other")) == "waits, passes as alice")
        policy.follow(AccessPolicy.Rules(access: try Access().with(users: [("bob", Self.hash)])))
        gate.follow()
        #expect(verdict(gate, request("alice", "secret-one")) == "waits, 401")
        #expect(verdict(gate, request("bob", "secret-one")) == "waits, passes as bob")
    }

    @Test func `what is no password of a user's is not looked at`() throws {
        let gate = PasswordGate(try policy([("alice", Self.hash)]))
        defer { gate.close() }
        var bearer = HTTPRequest(method: "GET", path: "/")
        #expect(verdict(gate, bearer) == "passes as nobody")
        bearer.authorization = "Bearer secret-one"
        #expect(verdict(gate, bearer) == "passes as nobody")
        bearer.authorization = "Basic ?"
        #expect(verdict(gate, bearer) == "passes as nobody")
        // An input's keys are the input's.
        let phone = request("alice", "secret-one", path: "/v1/in/owntracks")
        #expect(verdict(gate, phone) == "passes as nobody")
        let none = PasswordGate(try policy([]))
        #expect(verdict(none, request("alice", "secret-one")) == "passes as nobody")
    }

    @Test func `bytes behind the seventy-second count for nothing, and a NUL is never right`()
        throws
    {
        let long = String(repeating: "x", count: 72)
        let made = try #require(
            CryptLibrary.shared?.hashed(Array(long.utf8), as: "$2b$04$abcdefghijklmnopqrstuu"))
        let gate = PasswordGate(try policy([("alice", made)]))
        defer { gate.close() }
        #expect(verdict(gate, request("alice", long)) == "waits, passes as alice")
        #expect(verdict(gate, request("alice", long + "y")) == "passes as alice")
        #expect(verdict(gate, request("alice", "x\0y")) == "waits, 401")
        #expect(verdict(gate, request("alice", "")) == "waits, 401")
    }

    @Test func `a network that guesses is looked at once a second, and no other for it`() throws {
        let gate = PasswordGate(try policy([("alice", Self.hash)]))
        defer { gate.close() }
        #expect(verdict(gate, request("alice", "secret-one")) == "waits, passes as alice")
        var statuses: Set<String> = []
        for number in 0..<FailedAttempts.atOnceMax {
            statuses.insert(verdict(gate, request("alice", "guess-\(number)")))
        }
        #expect(statuses == ["waits, 401"])
        // A second may have gone by.
        let more = (0..<5).map { verdict(gate, request("alice", "more-\($0)")) }
        #expect(more.contains("429"))
        #expect(verdict(gate, request("alice", "secret-one")) == "passes as alice")
        #expect(verdict(gate, request("alice", "another"), from: 2) == "waits, 401")
    }

    @Test func `who waits for the same from two networks leaves the places of both`() throws {
        let goOn = Mailbox<Bool>()
        let gate = PasswordGate(try policy([("alice", Self.hash)])) { _, _ in
            goOn.takeAll(waiting: 30_000).first
        }
        defer { gate.close() }
        for round in 0...PasswordGate.waitingOfNetworkMax {
            let request = request("alice", "guess-\(round)")
            let answers = Mailbox<Int>()
            for network in [UInt64(1), 2] {
                guard case .wait(let shown) = gate.verdict(on: request, from: network) else {
                    Issue.record("network \(network) is refused in round \(round)")
                    continue
                }
                gate.check(shown) { answers.put($0?.status ?? 0) }
            }
            goOn.put(false)
            var statuses: [Int] = []
            while statuses.count < 2 {
                let more = answers.takeAll(waiting: 30_000)
                guard !more.isEmpty else { break }
                statuses += more
            }
            #expect(statuses == [401, 401])
        }
    }

    /// Puts a password into the queue of a gate; false if that refuses it.
    private func queue(
        _ gate: PasswordGate, _ user: String, _ password: String, from network: UInt64,
        _ done: @escaping @Sendable (String) -> Void
    ) -> Bool {
        let request = request(user, password)
        guard case .wait(let shown) = gate.verdict(on: request, from: network) else { return false }
        gate.check(shown) { done("\($0?.status ?? 0)") }
        return true
    }

    /// 64 bits each of one site of 48, in the order of their bytes.
    private static let farm = (UInt64(1)...4).map { UInt64(0x0DB8_0120) | $0 << 48 }

    /// Has a first guess be looked at, and so many more of each network of the farm wait, `less` of the first.
    private func guess(
        _ count: Int, at gate: PasswordGate, _ begun: Mailbox<Bool>, _ ended: Mailbox<String>,
        less: Int = 0
    ) {
        #expect(queue(gate, "x", "first", from: Self.farm[0]) { ended.put("x \($0)") })
        #expect(begun.takeAll(waiting: 30_000).count == 1)
        for (place, network) in Self.farm.enumerated() {
            for number in 0..<(place == 0 ? count - less : count) {
                #expect(
                    queue(gate, "x", "\(place)-\(number)", from: network) { ended.put("x \($0)") })
            }
        }
    }

    @Test func `V18: who guesses is looked at behind everybody else, with many networks too`()
        throws
    {
        let (begun, goOn, ended) = (Mailbox<Bool>(), Mailbox<Bool>(), Mailbox<String>())
        let gate = PasswordGate(try policy([("alice", Self.hash)])) { _, _ in
            begun.put(true)
            return goOn.takeAll(waiting: 30_000).first
        }
        defer { gate.close() }
        guess(7, at: gate, begun, ended)
        #expect(queue(gate, "y", "one", from: 7) { ended.put("y \($0)") })
        #expect(queue(gate, "alice", "secret-one", from: 9) { ended.put("alice \($0)") })
        var order: [String] = []
        for _ in 0..<3 {
            goOn.put(false)
            order += ended.takeAll(waiting: 30_000)
        }
        #expect(order == ["x 401", "y 401", "alice 401"])
        for _ in 0..<30 { goOn.put(false) }
    }

    @Test func `V18: where all places are taken, who guesses leaves one to somebody else`() throws {
        let (begun, ended) = (Mailbox<Bool>(), Mailbox<String>())
        let goOn = Mailbox<Bool>()
        let gate = PasswordGate(try policy([("alice", Self.hash)])) { _, _ in
            begun.put(true)
            return goOn.takeAll(waiting: 30_000).first
        }
        defer { gate.close() }
        guess(8, at: gate, begun, ended, less: 1)
        // One more of the same site finds none, and one of another takes the last of it.
        #expect(!queue(gate, "x", "more", from: Self.farm[0] ^ 0xFF << 48) { _ in })
        #expect(queue(gate, "alice", "secret-one", from: 9) { ended.put("alice \($0)") })
        #expect(ended.takeAll(waiting: 30_000) == ["x 503"])
        goOn.put(false)
        #expect(ended.takeAll(waiting: 30_000) == ["x 401"])
        goOn.put(true)
        #expect(ended.takeAll(waiting: 30_000) == ["alice 0"])
        for _ in 0..<40 { goOn.put(false) }
    }

    @Test func `V18: a salt whose last letter has bits of no salt is as good as any`() {
        let hash = "$2b$04$ZKGTTIJrOz9.x0cOg8v/ojjDQj09/PKRM4ktz/I.eQZx926Fn1Coa"
        #expect(Bcrypt.isRight(Array("pw1".utf8), for: (hash, true)) == true)
        #expect(Bcrypt.isRight(Array("pw2".utf8), for: (hash, true)) == false)
        #expect(Bcrypt.isRight(Array("pw1".utf8), for: (hash, false)) == false)
    }

    @Test func `a password that there was no memory to look at is not wrong, and looked at again`()
        throws
    {
        let outcomes = Mailbox<Bool>()
        let gate = PasswordGate(try policy([("alice", Self.hash)])) { _, _ in
            outcomes.takeAll(waiting: 0).first
        }
        defer { gate.close() }
        for _ in 0...FailedAttempts.atOnceMax {
            #expect(verdict(gate, request("alice", "secret-one")) == "waits, 503")
        }
        outcomes.put(true)
        #expect(verdict(gate, request("alice", "secret-one")) == "waits, passes as alice")
        #expect(Bcrypt.isRight([0x78], for: ("no hash", true)) == nil)
        #expect(Bcrypt.isRight([0x78], for: ("", false)) == false)
    }

    @Test func `attempts are taken, given back and forgotten by the clock`() {
        var attempts = FailedAttempts()
        for _ in 0..<FailedAttempts.atOnceMax {
            #expect(attempts.mayTry(1, at: 0))
            attempts.take(1, at: 0)
        }
        #expect(!attempts.mayTry(1, at: 999))
        #expect(attempts.mayTry(2, at: 999))
        #expect(attempts.mayTry(1, at: 1000))
        attempts.take(1, at: 1000)
        #expect(!attempts.mayTry(1, at: 1999))
        attempts.giveBack(1)
        #expect(attempts.mayTry(1, at: 1999))
        for network in 10..<UInt64(10 + 2 * FailedAttempts.networksMax) {
            attempts.take(network, at: 5000)
        }
        #expect(attempts.count == FailedAttempts.networksMax)
        #expect(attempts.mayTry(1, at: 100_000))
    }

    @Test func `a gate that is closed refuses, and answers who waits`() throws {
        let gate = PasswordGate(try policy([("alice", Self.hash)]))
        gate.close()
        #expect(verdict(gate, request("alice", "secret-one")) == "503")
    }

    @Test(arguments: [
        ("$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG", 10),
        ("$2a$04$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG", 4),
        ("$2b$31$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG", 31),
        ("$2x$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG", nil),
        ("$2y$1$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zGGG", nil),
        ("$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7z:", nil),
        ("$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7z", nil),
        ("$1$abc$def", nil), ("", nil),
    ])
    func `a hash by bcrypt is told from others by its form`(hash: String, cost: Int?) {
        #expect(Bcrypt.cost(of: hash) == cost)
    }
}

import RollcallCluster
import RollcallCore
import RollcallStore

/// What people ask of a watch, and what must become of it.
extension ClusterWorld {
    // MARK: - Members

    /// Asks the leader for a change until somebody says yes.
    func ask(
        _ event: Event, tries: Int = 40, _ isDone: @escaping (ClusterProcess) -> Void
    ) {
        guard tries > 0, failure == nil else { return }
        let again = { [self] in time.after(500) { [self] in ask(event, tries: tries - 1, isDone) } }
        guard let leader = processes.first(where: { $0?.member.role == .leading }) ?? nil,
            pausedUntil(leader.host) == nil
        else { return again() }
        leader.inbox.append(
            ClusterProcess.Write(event: event) { isTaken in
                if isTaken { isDone(leader) } else { again() }
            })
    }

    /// Somebody takes a member out, and names it again later.
    func changeMembers() {
        let name = Array("m\(dice.number(0...2))".utf8)
        ask(.membership(.removed(name))) { [self] _ in
            mark("a member was removed")
            time.after(dice.number(3000...60_000)) { [self] in nameAgain() }
        }
    }

    /// Names whoever is not a member.
    func nameAgain() {
        for host in 0..<Self.hosts {
            let name = Array("m\(host)".utf8)
            guard let last = membership.last, last.isClosed, !last.names.contains(name) else {
                continue
            }
            ask(.membership(.added(name))) { [self] _ in mark("a member was named") }
        }
    }

    /// Notes the numbers of what a turn decided: they grow with the log, whoever leads (E1).
    func noteNumbers(_ pending: PendingTurn, at position: Int64) {
        guard position > numbered.position else { return }
        numbered.position = position
        for decision in pending.decisions {
            if decision.id <= numbered.decision {
                fail("E1: decision \(decision.id) at \(position) behind \(numbered.decision)")
            }
            numbered.decision = decision.id
        }
    }

    /// Notes what a turn says of the members.
    func noteMembers(_ pending: PendingTurn, at position: Int64) {
        guard position > membership.last?.position ?? 0 else { return }
        for row in pending.rows where row.kind == 36 {
            let body = pending.bytes[row.body]
            guard let change = MembershipChange(journalBytes: Array(body)) else {
                return fail("S17: a change of members makes no sense")
            }
            var (isClosed, names) = membership.last.map { ($0.isClosed, $0.names) } ?? (false, [])
            switch change {
            case .found(let name): if !isClosed, !names.contains(name) { names.append(name) }
            case .added(let name):
                if !names.contains(name) { names.append(name) }
                isClosed = true
            case .removed(let name):
                guard names.contains(name), names.count > 1 else { continue }
                names.removeAll { $0 == name }
                isClosed = true
            case .level: continue
            }
            mark("the log named a member")
            membership.append((position, isClosed, names))
        }
    }

    /// Nobody begins to lead who was taken out.
    func checkListed(_ landed: LandedEntry) {
        let known = membership.last { $0.position < landed.entry.position }
        guard let known, known.isClosed, !known.names.contains(landed.entry.origin.member) else {
            return
        }
        fail("S17: a member reigns that the log does not name")
    }

    /// Who was drained does not take the lead back at once, as long as nobody else has led since.
    func checkDrained(_ process: ClusterProcess, _ landed: LandedEntry) {
        guard let drained, drained.host == process.host, time.now - drained.at < 4000,
            reign?.member == landed.entry.origin.member
        else { return }
        fail("S17: m\(process.host) was drained and leads again")
    }

    /// The member that made the last turn.
    var leaderOfLastTurn: [UInt8] { reign?.member ?? [] }

    /// The hash of all that an engine holds.
    static func hash(_ engine: Engine) -> UInt64 {
        let bytes = state(engine).flatMap { slice in
            let hash = StableHash.of(slice.span, slice.indices)
            return (0..<8).map { UInt8(truncatingIfNeeded: hash >> UInt64(8 * $0)) }
        }
        return StableHash.of(bytes.span, bytes.indices)
    }

    // MARK: - Erasures

    /// Somebody who is gone is erased.
    func eraseSomebody() {
        let gone = (Self.living..<(Self.living + Self.leaving)).filter {
            people[$0].leavesAt < time.now && people[$0].sequence > 0 && !people[$0].isWaiting
                && !erasing.contains($0)
        }
        guard let person = gone.first else { return }
        erasing.insert(person)
        mark("somebody was to be erased")
        ask(.erase(.id(Array(Self.name(person).utf8)), source: EventSource.standard)) {
            [self] leader in
            mark("somebody was erased")
            erasures.append((person, leader.disk.turn, leader.disk.place.position))
        }
    }

    /// The place of the last erasure that a member holds.
    func erasedThrough(_ process: ClusterProcess) -> Int64 {
        erasures.filter { $0.position <= process.disk.place.position }.map(\.position).max() ?? 0
    }

    private func number(_ key: String) -> Int64 {
        let value = etcd.state.rows[Array(key.utf8)]?.value ?? []
        return Int64(String(decoding: value, as: UTF8.self)) ?? 0
    }

    /// True if the log says that an erasure is over: what members note, and what is emptied.
    private func isSaidToBeOver(_ erasure: (person: Int, turn: Int64, position: Int64)) -> Bool {
        let names = membership.last?.names ?? []
        let said = names.allSatisfy { name in
            let row = etcd.state.rows[Array("/w/note/".utf8) + name]
            let words = row.map { String(decoding: $0.value, as: UTF8.self).split(separator: " ") }
            return (words?.dropFirst(4).first.flatMap { Int64($0) } ?? -1) >= erasure.turn
        }
        return said && number("/w/emptied") >= erasure.position
    }

    /// What is said to be over is: no member lacks it, and the log names nobody of them.
    func checkErasures() {
        guard !isRestored else { return }
        let names = membership.last?.names ?? []
        for erasure in erasures where isSaidToBeOver(erasure) {
            for host in 0..<Self.hosts where names.contains(Array("m\(host)".utf8)) {
                // One that has lost its disk holds nothing of anybody.
                let disk = disks[host]
                if disk.turn > 0, disk.turn < erasure.turn {
                    fail("S13: p\(erasure.person) is said to be erased, and m\(host) lacks it")
                }
            }
            if let key = keyInLog(erasure.person) {
                fail(
                    "S13: p\(erasure.person) is said to be erased at \(erasure.position), and \(key) "
                        + "holds them")
            }
        }
    }

    private func keyInLog(_ person: Int) -> String? {
        let id = Array(Self.name(person).utf8)
        let found = etcd.state.rows.first { key, row in
            let name = String(decoding: key, as: UTF8.self)
            guard name.contains("/slot/") || name.contains("/part/") else { return false }
            // Behind it stands no other digit: 1 is not 12.
            return row.value.indices.contains { at in
                guard row.value[at...].starts(with: id) else { return false }
                let end = at + id.count
                return end == row.value.count || !(0x30...0x39).contains(row.value[end])
            }
        }
        return found.map { String(decoding: $0.key, as: UTF8.self) }
    }

    /// In the end all of them are over.
    func checkErased() {
        checkErasures()
        for erasure in erasures where !isSaidToBeOver(erasure) {
            fail("S13: p\(erasure.person) was erased at \(erasure.position), and it is not over")
        }
    }

    // MARK: - After the log was lost

    /// True if a member gives a copy of its store.
    func gives(_ process: ClusterProcess?) -> Bool {
        guard let process else { return false }
        if fault == .copyOfLost { return true }
        if case .lost = process.member.role { return false }
        return !process.member.isDivergent
    }

    /// Somebody decides that the watch goes on from whoever holds most.
    func adopt() {
        guard isRestored, !isAdopted else { return }
        let lost = processes.compactMap(\.self).filter {
            if case .lost = $0.member.role { true } else { false }
        }
        guard lost.count == Self.hosts,
            let most = lost.max(by: { $0.disk.place.position < $1.disk.place.position })
        else { return }
        most.adopt()
    }

    /// A lost log was begun anew.
    func adopted() {
        isAdopted = true
        guard let row = etcd.state.rows[Array("/w/head".utf8)] else { return }
        let words = String(decoding: row.value, as: UTF8.self).split(separator: " ")
        guard words.count == 5, let hash = UInt64(words[3], radix: 16) else { return }
        begin(at: 1, hash, row.revision)
    }

    /// In the end one leads, and all hold what it holds.
    func checkAdopted() {
        let running = processes.compactMap(\.self)
        let leaders = running.filter { $0.member.role == .leading }
        guard leaders.count == 1, let leader = leaders.first else {
            let roles = running.map { "m\($0.host) \($0.member.role)" }.joined(separator: ", ")
            return fail("S11: a log was adopted, and \(leaders.count) lead of \(roles)")
        }
        for process in running where process.disk.place == leader.disk.place {
            if Self.state(process.engine) != Self.state(leader.engine), leader.open == nil {
                fail("S11: m\(process.host) holds another state than m\(leader.host)")
            }
        }
        for process in running where process.disk.place.log != leader.disk.place.log {
            fail("S11: m\(process.host) did not go over to the adopted log")
        }
    }
}

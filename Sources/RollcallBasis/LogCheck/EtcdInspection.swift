import RollcallCore
import RollcallSupport

/// Asks each member of an etcd how it is set up, as far as it tells: its status, its alarms and its
/// metrics.
struct EtcdInspection {
    private static let statusPath = "/v3/maintenance/status"
    private static let alarmPath = "/v3/maintenance/alarm"
    private static let memberPath = "/v3/cluster/member/list"
    /// Bytes of its metrics at most.
    private static let answerBytesMax = 4 << 20

    private let settings: EtcdSettings

    /// The etcd that settings describe.
    init(_ settings: EtcdSettings) { self.settings = settings }

    /// Asks; `silence` is the watch's.
    func check(silence: Milliseconds) -> LogCheck {
        var check = LogCheck()
        var isAnswered = false
        for endpoint in settings.endpoints {
            guard let status = tree(.post, endpoint + Self.statusPath, "{}") else {
                check.unasked.append("etcd at \(endpoint): it does not answer")
                continue
            }
            let metrics = answer(.get, endpoint + "/metrics", "")
            let facts = EtcdFacts(
                status: status, metrics: metrics.map { String(decoding: $0, as: UTF8.self) })
            facts.examine(at: endpoint, &check)
            guard !isAnswered else { continue }
            isAnswered = true
            for alarm in tree(.post, endpoint + Self.alarmPath, #"{"action":"GET"}"#)?["alarms"]?
                .elements ?? []
            {
                check.refused.append(
                    "etcd has the alarm \(alarm["alarm"]?.shown ?? "of some kind"): it takes no "
                        + "writes, or holds what it should not")
            }
            let members = tree(.post, endpoint + Self.memberPath, "{}")?["members"]?.elements
            if let count = members?.count(where: { $0["isLearner"]?.isTrue != true }), count < 3 {
                check.weak.append(
                    "etcd has \(count) voting \(count == 1 ? "member" : "members"): with fewer than "
                        + "three the log does not outlive the loss of one")
            }
        }
        let most = silence.count / 2
        check.unasked.append(
            "etcd's election timeout, which it does not tell: at most \(most) ms, half of "
                + "cluster.silence")
        return check
    }

    private func tree(_ method: HTTPCall.Method, _ url: String, _ body: String) -> JSONTree? {
        answer(method, url, body).flatMap { try? JSONTree(reading: $0) }
    }

    private func answer(_ method: HTTPCall.Method, _ url: String, _ body: String) -> [UInt8]? {
        var call = HTTPCall(method, url)
        call.body = Array(body.utf8)
        if !body.isEmpty { call.headers = [(name: "Content-Type", value: "application/json")] }
        call.connectTimeout = min(call.connectTimeout, settings.timeout)
        call.timeout = settings.timeout
        call.answerBytesMax = Self.answerBytesMax
        call.clientCertificate = settings.clientCertificate
        guard
            let caller = try? HTTPCaller(
                authorities: Authorities(extra: settings.authorityFile)),
            let answer = try? caller.answer(to: call), answer.status == 200
        else { return nil }
        return answer.body
    }
}

/// `EtcdFacts` holds what a member of an etcd says of itself.
struct EtcdFacts: Equatable {
    /// Versions from which on a restart does not leave what a crash made inconsistent unnoticed.
    /// Source: etcd's CHANGELOG-3.4 and CHANGELOG-3.5.
    static let corruptionFixed: [(major: Int, minor: Int, patch: Int)] = [(3, 4, 32), (3, 5, 14)]

    var version = ""
    /// Bytes of its database that hold something.
    var usedBytes: Int64?
    /// Bytes beyond which it takes no writes.
    var quotaBytes: Int64?
    /// Syncs of its log, and entries that it has applied.
    var syncs: Int64?
    var applied: Int64?

    /// The facts of an answer to `status`, and of its metrics if it gives them.
    init(status: JSONTree, metrics: String?) {
        version = status["version"]?.shown ?? ""
        usedBytes = (status["dbSizeInUse"]?.text ?? status["dbSize"]?.text).flatMap { Int64($0) }
        func value(_ name: String) -> Int64? {
            guard
                let line = metrics?.split(separator: "\n").first(where: {
                    $0.hasPrefix(name + " ")
                }), let number = Double(line.dropFirst(name.count + 1)), number.magnitude < 1e18
            else { return nil }
            return Int64(number)
        }
        quotaBytes = value("etcd_server_quota_backend_bytes")
        syncs = value("etcd_disk_wal_fsync_duration_seconds_count")
        applied = value("etcd_server_proposals_applied_total")
    }

    /// True if this version needs no check for corruption; nil if it cannot be read.
    var isCorruptionFixed: Bool? {
        let words = version.split(separator: "-").first?.split(separator: ".") ?? []
        let numbers = words.compactMap { Int($0) }
        guard numbers.count == 3 else { return nil }
        for fixed in Self.corruptionFixed
        where (fixed.major, fixed.minor) == (numbers[0], numbers[1]) {
            return numbers[2] >= fixed.patch
        }
        return (numbers[0], numbers[1]) > (3, 5)
    }

    /// Adds what it means to a check.
    func examine(at endpoint: String, _ check: inout LogCheck) {
        check.found.append(
            "etcd \(version) at \(endpoint)"
                + (quotaBytes.map { ", quota \($0 >> 20) MiB" } ?? "")
                + (usedBytes.map { ", \($0 >> 20) MiB used" } ?? ""))
        if isCorruptionFixed != true {
            check.weak.append(
                "etcd at \(endpoint) is \(version.isEmpty ? "of no known version" : version): "
                    + "from 3.4.32 and 3.5.14 on a crash leaves nothing inconsistent unnoticed; "
                    + "else start it with --experimental-initial-corrupt-check")
        }
        if let used = usedBytes, let quota = quotaBytes, quota > 0 {
            if used >= quota {
                check.refused.append(
                    "etcd at \(endpoint) has used up its quota: it takes no writes")
            } else if used > quota / 5 * 3 {
                check.weak.append("etcd at \(endpoint) has used more than 60 % of its quota")
            }
        } else {
            check.unasked.append("the quota of etcd at \(endpoint): 2 GiB are enough")
        }
        // Every entry is synced before it is applied, so that none without a sync says it all.
        if let syncs, let applied {
            if syncs == 0, applied > 0 {
                check.refused.append(
                    "etcd at \(endpoint) does not sync its log (--unsafe-no-fsync): what it "
                        + "acknowledges is lost with its power")
            }
        } else {
            check.unasked.append("whether etcd at \(endpoint) syncs its log: it must")
        }
    }
}

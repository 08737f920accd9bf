import Glibc
import RollcallBasis

/// The names that a report does not tell: each is replaced by one of ours, the same one wherever it
/// stands, so that what belongs together can be seen. Texts of which nobody knows what stands in them
/// keep the words of a known vocabulary, and nothing else. Source: V19.
struct ReportNames {
    /// Labels, members and fields that hold somebody's name: of a region, a receiver, a source.
    static let kinds: Set<String> = [
        "region", "source", "receiver", "fallback", "input", "subscription", "member", "leader",
        "cell", "manufacturer", "token", "target",
    ]
    /// Those of which the values are words of ours.
    static let words: Set<String> = [
        "status", "from", "to", "le", "code", "route", "cause", "verdict", "suspected", "platform",
        "result", "outcome", "reason", "alertname", "severity", "extent", "alertstate", "state",
        "kind", "stage", "decision", "form", "phase", "duty_state", "version", "mode", "sink",
        "change", "level",
        "component", "signal", "model", "server", "format", "role", "not_expected", "field",
        "value",
    ]
    /// Replaced where nothing else can be said.
    static let gone = "…"

    private let shows: Bool
    private var aliases: [String: String] = [:]
    private var counts: [String: Int] = [:]

    /// Names are told as they are if `shows`.
    init(shows: Bool) { self.shows = shows }

    /// Returns the name that stands for `name`, which is one of `kind`.
    mutating func alias(_ name: String, of kind: String) -> String {
        if name.isEmpty || shows { return name }
        // Ours, and no name of anybody.
        if ["other", "default", "log"].contains(name) { return name }
        if let known = aliases[name] { return known }
        counts[kind, default: 0] += 1
        let alias = "\(kind)-\(counts[kind] ?? 0)"
        aliases[name] = alias
        return alias
    }

    /// Returns the value of a label, a field or a member by its name: a number, a time or a word of ours
    /// as it is, a name by its alias, of all others nothing.
    mutating func value(_ value: String, of key: String) -> String {
        if Self.kinds.contains(key) { return alias(value, of: key) }
        if Self.isNumber(value) || Self.isTime(value) { return value }
        if key == "version", ReportWords.isVersion(value) { return value }
        if Self.words.contains(key), Self.isWord(value, isPath: key == "route") { return value }
        return Self.gone
    }

    /// Returns a text with what is known of it, for an error or a finding.
    func text(_ text: String) -> String {
        var shown: [String] = []
        for token in text.split(separator: " ").map(String.init) {
            let kept = self.token(token)
            if kept == Self.gone, shown.last == Self.gone { continue }
            shown.append(kept)
        }
        return shown.joined(separator: " ")
    }

    private func token(_ token: String) -> String {
        let edges = "()[],;:.!?\"'`"
        let front = token.prefix { edges.contains($0) }
        let rest = token.dropFirst(front.count)
        let back = String(rest.reversed().prefix { edges.contains($0) }.reversed())
        let core = String(rest.dropLast(back.count))
        if core.isEmpty { return token }
        if let alias = aliases[core] { return front + alias + back }
        return ReportWords.isKnown(core) ? front + core + back : Self.gone
    }

    /// True for digits, with a sign, a point and an exponent as metrics have them.
    static func isNumber(_ text: String) -> Bool {
        if ["true", "false", "+Inf", "-Inf", "NaN"].contains(text) { return true }
        return !text.isEmpty && text.utf8.count <= 24
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }
            && text.utf8.contains { (0x30...0x39).contains($0) }
    }

    /// True for a time in UTC as Rollcall writes it.
    static func isTime(_ text: String) -> Bool {
        (20...24).contains(text.utf8.count) && text.hasSuffix("Z") && text.hasPrefix("2")
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || "-:.TZ".utf8.contains($0) }
    }

    /// True for what may be a word of ours, or the path of a route.
    private static func isWord(_ text: String, isPath: Bool) -> Bool {
        let signs = isPath ? "_-/{}." : "_-"
        return text.utf8.count <= 48
            && text.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
                    || signs.utf8.contains(byte)
            }
    }
}

/// The words that a text of unknown content may keep: those of errors of the system, of SQLite and of
/// Rollcall itself. Whatever is none of them may be a path, a host or a name.
enum ReportWords {
    /// True for one of them, a short number, or the name of a setting.
    static func isKnown(_ word: String) -> Bool {
        let lower = word.lowercased()
        if known.contains(lower) || keys.contains(word) { return true }
        let digits = word.utf8.allSatisfy { (0x30...0x39).contains($0) }
        if digits { return word.utf8.count <= 6 }
        // "turn=12", "s" behind a number, and words with a hyphen.
        let parts = lower.split { "-=_".contains($0) }
        return parts.count > 1
            && parts.allSatisfy { part in
                known.contains(String(part))
                    || part.utf8.count <= 6 && part.utf8.allSatisfy { (0x30...0x39).contains($0) }
            }
    }

    /// True for digits and points, with a word of ours behind.
    static func isVersion(_ text: String) -> Bool {
        text.utf8.count <= 32
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte)
                    || ".-+~".utf8.contains(byte)
            }
    }

    private static let keys = Set(Setting.all.map(\.key))

    private static let known: Set<String> = {
        var words = Set(ours.split(whereSeparator: { $0.isWhitespace }).map(String.init))
        for number in CInt(1)...133 {
            for word in String(cString: strerror(number)).split(separator: " ") {
                words.insert(word.lowercased().filter { $0.isLetter })
            }
        }
        words.formUnion(Setting.all.flatMap(\.parts))
        return words
    }()

    /// Words of StoreError, HTTPCallError, of SQLite's and of systemd's messages, and of the log.
    private static let ours = """
        a about above accept accepted active address after again against all already an and another \
        answer answers any are as asked at attempt attempts autocheckpoint bad be because been before \
        began behind begin beside blob block blocks bodies body both busy but by bytes cache call called \
        calls can cannot changed check checkpoint checkpoints closed code code= column columns commit \
        commits complete config connect connected connection constraint content contradicts copied copy \
        core corrupt corrupted could count crash create cut damaged data database deactivated decision \
        decisions deleted descriptor detail device differ differences disk do does done down dumped \
        during each egress else empty encoded encrypted end ended engine epoch errno error errors \
        exceeded exited exit expected extended failed failing fails failure fatal fault file files filled \
        first for form found frame frames free from fsync full gap gaps generic given goes gone group had \
        has have head held here host how if in index indexes inserted integrity into io is it its journal \
        keep kept key killed kill known lacks larger last late leader left less limit limits line lines \
        lock locked locking log logic long longer lost lsn made main make malformed many match may member \
        members memory message messages meta missing mode more moved moving much must name names never \
        new newer next no nobody nor not nothing now null number of off ok old older on once one only open \
        opened or order other otherwise out outbox own pack packed page pages part path place please \
        points pragma process push pushes put range read reading readonly reads received receiver \
        recovery refused regions released rename renamed replaced report reset responder responding \
        restart restore retry rollback rolled row rows run running same sample samples schema second \
        seconds segment segments select sequence server service setting settings shm sigabrt sigkill \
        signal sigsegv sigterm since slice slices space speak sql sqlite stand stands start started \
        starting status stop stopped stopping store stored stores storage succeeded synchronous system \
        table tables taken takes term than that the their then there these they this through time timed \
        timeout times tls to too transaction tried truncate try turn turns two undefined unknown until \
        unable unfinished unique up update use used user valid value values version wal was watch what \
        when where which who whole will with within without writable write writes writing written wrong yet \
        abrt kill main pid scheduled job counter main process automatic result libcurl libmicrohttpd gnutls http https smtp \
        certificate verify handshake resolve ssl peer reset accepted peers etcd postgres mqtt broker
        """
}

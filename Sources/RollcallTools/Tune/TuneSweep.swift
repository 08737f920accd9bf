import Glibc
import RollcallBasis
import RollcallCore
import RollcallSupport

/// One setting, or several together, that is tried instead of the present ones.
package struct TuneCandidate: Sendable {
    /// A setting by its name and its value, as a file has them.
    package struct Change: Equatable, Sendable {
        package var key: String
        package var value: String
    }

    /// The changes of a candidate; none for the present settings.
    package let changes: [Change]
    /// Makes any policy one of the candidate's.
    let adapt: @Sendable (Policy) -> Policy

    /// The present settings.
    static let present = TuneCandidate(changes: [], adapt: { $0 })

    /// `offline_after=240s`, with as much of the names as it takes.
    package var text: String {
        if changes.isEmpty { return "present settings" }
        return changes.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
    }
}

/// Candidates that differ in the same settings.
package struct TuneAxis: Sendable {
    /// The settings' names.
    package let keys: [String]
    /// The values that they have now.
    package let present: [String]
    /// The places of its candidates.
    package internal(set) var places: [Int]
    /// False where nothing that is counted tells which value is better.
    package var isEvaluated: Bool { !keys.allSatisfy { $0.hasPrefix("nudges.") } }
    /// The name for people.
    package var title: String { keys.joined(separator: ", ") }
}

/// The settings to be tried: the present ones and some candidates.
package struct TuneSweep: Sendable {
    /// Candidates at most.
    package static let candidatesMax = 200

    /// The present settings first.
    package private(set) var candidates = [TuneCandidate.present]
    package private(set) var axes: [TuneAxis] = []
    private let base: Policy

    /// Values of one setting: `liveness.on_duty.offline_after=120s,180s`.
    private struct Wish {
        var key: String
        var values: [String]
    }

    /// A sweep around `base`. `wishes` are as `--set` has them; without any it is the usual one, with
    /// the factors of `platforms` only. With `isGrid` every value meets every other.
    /// - Throws: `TuneError.usage` if a wish makes no sense, or there is nothing or too much to
    ///   compare.
    package init(
        base: Policy, wishes: [String], isGrid: Bool, platforms: Set<Platform>
    ) throws(TuneError) {
        self.base = base
        if wishes.isEmpty {
            if isGrid { throw .usage("--grid needs --set") }
            for (key, values) in Self.usual(base, platforms) { try add(key, values, isWish: false) }
            return
        }
        var read: [Wish] = []
        for text in wishes {
            let wish = try Self.read(text)
            if read.contains(where: { $0.key == wish.key }) {
                throw .usage("--set \(wish.key): named twice; put a comma between its values")
            }
            read.append(wish)
        }
        if isGrid {
            try addGrid(read)
        } else {
            for wish in read { try add(wish.key, wish.values, isWish: true) }
        }
        if candidates.count == 1 {
            throw .usage("--set: every value is the present one, so there is nothing to compare")
        }
    }

    private static func read(_ text: String) throws(TuneError) -> Wish {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
            throw .usage("--set \(text): like liveness.on_duty.offline_after=120s,240s expected")
        }
        let key = String(parts[0])
        guard TuneSetting.named(key) != nil else {
            if Setting.all.contains(where: { $0.key == key }) {
                throw .usage(
                    "--set \(key): decides nothing that a replay could show, or is no single value")
            }
            let hint = Spelling.hint(for: key, among: TuneSetting.all.map(\.key))
            throw .usage("--set \(key): unknown setting\(hint)")
        }
        let values = parts[1].split(separator: ",", omittingEmptySubsequences: false)
        guard values.allSatisfy({ !$0.isEmpty }) else {
            throw .usage("--set \(text): a value is missing")
        }
        return Wish(key: key, values: values.map(String.init))
    }

    // MARK: - Candidates

    /// Adds one axis. What is no wish is left out where it makes no sense.
    /// - Throws: `TuneError.usage` if a wish makes no sense, or there are too many candidates.
    private mutating func add(
        _ key: String, _ values: [String], isWish: Bool
    ) throws(TuneError) {
        var axis = TuneAxis(keys: [key], present: [TuneText.value(key, base)], places: [])
        for value in values {
            let made: (TuneCandidate, Policy)
            do throws(TuneError) {
                made = try candidate([.init(key: key, value: value)])
            } catch {
                if isWish { throw error }
                continue
            }
            if made.1 == base { continue }
            axis.places.append(candidates.count)
            candidates.append(made.0)
        }
        if !axis.places.isEmpty { axes.append(axis) }
        try checkCount()
    }

    private mutating func addGrid(_ wishes: [Wish]) throws(TuneError) {
        let count = wishes.reduce(1) {
            $0.multipliedReportingOverflow(by: $1.values.count).partialValue
        }
        guard (1...Self.candidatesMax).contains(count), wishes.count <= 16 else {
            throw .usage(
                "--grid: \(count) settings, of \(Self.candidatesMax) at most: leave some values out"
            )
        }
        var axis = TuneAxis(
            keys: wishes.map(\.key), present: wishes.map { TuneText.value($0.key, base) },
            places: [])
        for number in 0..<count {
            var rest = number
            var changes: [TuneCandidate.Change] = []
            for wish in wishes.reversed() {
                changes.insert(
                    .init(key: wish.key, value: wish.values[rest % wish.values.count]), at: 0)
                rest /= wish.values.count
            }
            let made = try candidate(changes)
            if made.1 == base { continue }
            axis.places.append(candidates.count)
            candidates.append(made.0)
        }
        axes = [axis]
    }

    private func checkCount() throws(TuneError) {
        guard candidates.count - 1 <= Self.candidatesMax else {
            throw .usage("--set: more than \(Self.candidatesMax) settings: leave some values out")
        }
    }

    /// Returns a candidate and what it makes of the base. Values are read as a file's are.
    /// - Throws: `TuneError.usage` if a value makes no sense.
    private func candidate(
        _ changes: [TuneCandidate.Change]
    ) throws(TuneError) -> (TuneCandidate, Policy) {
        var sources = SettingSources()
        sources.opensSecrets = false
        for change in changes { sources.flags[change.key] = change.value }
        let others = TuneSetting.all.map { (key: $0.key, value: TuneText.value($0.key, base)) }
        let read: Policy
        do throws(ConfigurationError) {
            read = try Configuration(yaml: TuneText.yaml(others), sources: &sources).policy
        } catch {
            let text = changes.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
            throw .usage("--set \(text): \(error.message)")
        }
        let settings = changes.compactMap { TuneSetting.named($0.key) }
        let tried = Configuration(policy: read)
        let adapt: @Sendable (Policy) -> Policy = { policy in
            var adapted = Configuration(policy: policy)
            for setting in settings { setting.copy(from: tried, to: &adapted) }
            return adapted.policy
        }
        let shown = changes.map { change in
            TuneCandidate.Change(key: change.key, value: TuneText.value(change.key, read))
        }
        return (TuneCandidate(changes: shown, adapt: adapt), adapt(base))
    }

    // MARK: - The usual sweep

    private static func usual(
        _ base: Policy, _ platforms: Set<Platform>
    ) -> [(String, [String])] {
        var list = profile(
            "on_duty", base.onDuty, degraded: [0.67, 1.33], offline: [0.67, 0.83, 1.33, 2])
        list += profile("on_mission", base.onMission, degraded: [0.67], offline: [0.75, 1.5])
        for (name, profile) in [("on_duty", base.onDuty), ("on_mission", base.onMission)]
        where profile.background.isSet {
            let offline = [0.75, 1.5].map { rounded(profile.background.offlineAfter, $0) }
            list.append(
                ("liveness.\(name).background.offline_after", offline.map { SettingText.of($0) }))
        }
        list.append(("liveness.low_power_factor", ["\(base.lowPowerFactor * 1.5)"]))
        let factors = [(Platform.ios, base.iosFactor), (.android, base.androidFactor)]
        for (platform, factor) in factors where platforms.contains(platform) {
            list.append(("liveness.platform_factors.\(platform.word)", ["\(factor * 1.5)"]))
        }
        let alerts = base.alerts
        if alerts.highOfflineRate.isEnabled {
            let shares = [alerts.offlineAbove / 2, min(10_000, alerts.offlineAbove * 2)]
            list.append(("alerts.HighOfflineRate.above", shares.map { "\(Double($0) / 10_000)" }))
            list.append(waits("HighOfflineRate", alerts.highOfflineRate, [2]))
        }
        if alerts.noOnlineResponders.isEnabled {
            list.append(waits("NoOnlineResponders", alerts.noOnlineResponders, [3]))
        }
        if alerts.responderFlapping.isEnabled {
            let changes = alerts.flappingChanges
            list.append(("alerts.ResponderFlapping.changes", ["\(changes - 1)", "\(changes + 2)"]))
        }
        if alerts.responderOffline.isEnabled {
            list.append(waits("ResponderOffline", alerts.responderOffline, [2]))
        }
        if base.nudges.mode != .disabled {
            let stale = base.nudges.staleAfter.standard
            list.append(
                ("nudges.stale_after", [0.5, 2].map { SettingText.of(rounded(stale, $0)) }))
        }
        return list
    }

    private static func profile(
        _ name: String, _ profile: Policy.Profile, degraded: [Double], offline: [Double]
    ) -> [(String, [String])] {
        [
            (
                "liveness.\(name).degraded_after",
                degraded.map {
                    // One that expects no better than was promised calls everybody late each time.
                    SettingText.of(
                        max(
                            rounded(profile.degradedAfter, $0), rounded(profile.expected, 1.25)))
                }
            ),
            (
                "liveness.\(name).offline_after",
                offline.map { SettingText.of(rounded(profile.offlineAfter, $0)) }
            ),
        ]
    }

    private static func waits(
        _ name: String, _ rule: AlertRules.Rule, _ factors: [Double]
    ) -> (String, [String]) {
        let base = max(rule.pendingFor, .seconds(60))
        return ("alerts.\(name).for", factors.map { SettingText.of(rounded(base, $0)) })
    }

    /// Scaled to what people would write: whole steps of 5 s, of a minute from 20 minutes on.
    private static func rounded(_ span: Milliseconds, _ factor: Double) -> Milliseconds {
        let scaled = span.scaled(by: factor).count
        let step: Int64 = scaled >= 1_200_000 ? 60_000 : scaled >= 20_000 ? 5000 : 1000
        return Milliseconds(max(step, (scaled + step / 2) / step * step))
    }
}

/// The reason why nothing was tuned.
package enum TuneError: Error, CustomStringConvertible {
    /// The command line.
    case usage(String)
    case input(InputFileError)
    /// A thread could not be started.
    case thread(errno: CInt)
    case page(path: String, errno: CInt)

    package var description: String {
        switch self {
        case .usage(let text): text
        case .input(let error): "\(error)"
        case .thread(let code): "pthread_create: \(String(cString: strerror(code)))"
        case .page(let path, let code):
            "\(path): cannot be written: \(String(cString: strerror(code)))"
        }
    }
}

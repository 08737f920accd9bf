import RollcallCore

/// The numbers of a sentence: of how many who are expected how many can be reached.
extension Sentence {
    /// People who are looked at one by one where counts do not tell who can be reached.
    private static let lookedAtMax = 20_000

    /// So many of so many can be reached.
    struct Share {
        fileprivate(set) var reachable: Int
        fileprivate(set) var expected: Int
        /// True if fewer may be.
        fileprivate(set) var isAtMost = false
        /// Those who are ONLINE and were not heard since nobody watched.
        fileprivate(set) var unheard = 0
        /// Those of cells of which nothing is heard (K4).
        fileprivate(set) var unlit = 0

        /// The share without so many of whom nobody can be reached.
        func apart(from others: Int) -> Share {
            var share = self
            share.expected -= others
            return share
        }

        func words(_ what: String = "can be reached") -> String {
            let most = isAtMost ? "at most " : ""
            let head = "\(most)\(reachable.grouped) of \(expected.grouped) \(what)"
            let more = [
                unheard > 0 ? unheardWords : "",
                unlit > 0 ? "of \(unlit.grouped) nothing is known" : "",
            ]
            return ([head] + more.filter { !$0.isEmpty }).joined(separator: "; ")
        }

        /// `4 have not been heard again yet`.
        var unheardWords: String {
            "\(unheard.grouped) \(unheard == 1 ? "has" : "have") not been heard again yet"
        }
    }

    static func share(_ engine: Engine) -> Share {
        let unlit = engine.unlit
        let place = Int(Status.online.rawValue)
        let online = engine.aggregates.byStatus[place] - unlit.byStatus[place]
        var share = Share(reachable: online, expected: engine.aggregates.active)
        share.unlit = unlit.active
        if engine.clock.isBlind {
            share.reachable = 0
        } else if online > 0, engine.policy.role != .fleet, isInDoubt(engine) {
            if engine.roster.count <= lookedAtMax {
                share.reachable = (0..<engine.roster.count).count { number in
                    let person = engine.roster[number]
                    return person.isActive && engine.reachable(person) == .yes
                }
                share.unheard = online - share.reachable
            } else {
                share.isAtMost = true
            }
        }
        return share
    }

    /// True if somebody who is ONLINE may not have been heard since nobody watched (L11): for as long as
    /// it takes until the last of them is OFFLINE, or was heard.
    private static func isInDoubt(_ engine: Engine) -> Bool {
        let clock = engine.clock
        guard clock.lastBlindEnd > .distantPast else { return false }
        let longest = max(engine.policy.onDuty.offlineAfter, engine.policy.onMission.offlineAfter)
        return clock.now - clock.lastBlindEnd < Milliseconds(2 * longest.count)
    }
}

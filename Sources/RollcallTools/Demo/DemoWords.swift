import RollcallCore
import RollcallSupport

/// The words of the demo for answers: shorter than `rollcall explain`, which says what each proves.
enum DemoWords {
    /// Behind what the script did not bring about.
    static let strange = " (not in the script: this machine was too busy)"

    /// A change of status; not to OFFLINE, of which its gap tells.
    static func status(_ person: JSONTree, from: String) -> String {
        switch person["status"]?.text {
        case "DEGRADED"?: "DEGRADED: no contact for 4 s"
        case "ONLINE"? where from == "OFFLINE": "ONLINE again"
        case "ONLINE"? where from == "DEGRADED": "ONLINE: was only late"
        case "ONLINE"?: "ONLINE"
        case "NOT_EXPECTED"?:
            "NOT_EXPECTED (\(person["not_expected"]?.shown ?? "?"))"
        case let other: other.map { ConsoleText.safe($0) } ?? "?"
        }
    }

    /// A gap that reached OFFLINE.
    static func offline(_ suspected: String) -> String {
        let reason: String? =
            switch suspected {
            case "permission_denied", "location_services_off": "the phone had said so"
            case "no_network": "its queue was growing"
            case "battery_empty": "its battery was almost empty"
            case "low_power": "it was saving power"
            case "mass_gap": "many fell silent together"
            case "app_suspended": "the app was in the background"
            case "app_terminated": "the app was in the foreground"
            default: nil
            }
        return "OFFLINE, suspected: \(suspected)\(reason.map { " (\($0))" } ?? "")"
    }

    /// Returns what a gap was, and by what that is known.
    static func verdict(_ gap: JSONTree, _ verdict: String) -> String {
        let seen = gap["return"] ?? .null
        let proof: String? =
            switch verdict {
            case "network":
                "\(seen["captured_inside"]?.whole ?? 0) locations were captured meanwhile"
            case "app_stopped": "nothing was captured meanwhile"
            case "permission_denied", "location_services_off": "the returning phone said so"
            case "duty_ended": "they were not expected any more"
            default: nil
            }
        return "verdict: \(verdict)\(proof.map { " (\($0))" } ?? "")"
    }

    /// Returns how old a location is that somebody is nudged for.
    static func staleness(_ entry: JSONTree) -> String {
        let seconds = entry["stale_seconds"]?.whole.map { "\($0) s" } ?? "too"
        return "the last location is \(seconds) old"
    }

    /// Returns what came of a nudge.
    static func followed(_ word: String) -> String {
        switch word {
        case "located": "located (a location came)"
        case "contact": "contact (without a location)"
        case "silent": "silent (nothing came)"
        case "unseen": "unseen (nothing came, but we could not see for a while)"
        default: word
        }
    }

    /// Returns what an alert is about: its region or source, else the fleet.
    static func place(_ labels: JSONTree?) -> String {
        labels?["region"]?.shown ?? labels?["source"]?.shown ?? "fleet"
    }
}

/// Something that Rollcall said: an answer of its API, or a message that it sent. The script waits
/// for these, and for nothing else.
enum DemoSign: Hashable, Sendable {
    /// All forty are ONLINE.
    case everybodyOnline
    /// A person's status, `NOT_EXPECTED` too.
    case status(String, String)
    /// A gap reached OFFLINE, with what is suspected.
    case gap(String, suspected: String)
    /// A verdict on a gap.
    case verdict(String, String)
    /// A person has no gap at all, and is not expected.
    case noGap(String)
    /// An alert is `firing`, or `resolved` after that. Without a region: `fleet`.
    case alert(String, of: String, state: String)
    /// A receiver got a message that says so.
    case page(String, of: String, state: String)
    /// The ledger says that a person was nudged.
    case nudge(String)
    /// The push for a person came.
    case push(String)
    /// An outcome of a nudge.
    case followed(String, String)

    /// As what did not come is told.
    var words: String {
        switch self {
        case .everybodyOnline: "everybody ONLINE"
        case .status(let id, let word): "\(id) \(word)"
        case .gap(let id, let cause): "a gap of \(id), suspected: \(cause)"
        case .verdict(let id, let word): "the verdict on \(id): \(word)"
        case .noGap(let id): "\(id) not expected and without a gap"
        case .alert(let name, let place, let state): "\(name) of \(place) \(state)"
        case .page(let name, let place, let state): "a page: \(name) of \(place) \(state)"
        case .nudge(let id): "a nudge of \(id)"
        case .push(let id): "a push to \(id)"
        case .followed(let id, let word): "the outcome of the nudge of \(id): \(word)"
        }
    }
}

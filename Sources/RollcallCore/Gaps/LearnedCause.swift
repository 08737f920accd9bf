/// The cause that verdicts speak for where the rules suspected another one. Source: P7.
struct LearnedCause {
    /// Verdicts that must have said something about such gaps.
    static let verdictsMin = 200

    /// The suspicion by the rules.
    private let ruled: GapCause
    /// By verdict.
    private var counts: [Int]

    /// Of gaps of which the rules suspected `ruled`, how often which verdict followed.
    init(ruled: GapCause, _ counts: [Int]) {
        self.ruled = ruled
        self.counts = counts
    }

    /// Takes in those of other phones.
    mutating func add(_ others: [Int]) {
        for place in counts.indices { counts[place] += others[place] }
    }

    private func count(_ verdict: GapVerdict) -> Int { counts[Int(verdict.rawValue)] }

    /// Groups of verdicts that are the same cause: who installed anew had stopped.
    private var spoken: [(verdict: GapVerdict, count: Int)] {
        [
            (.permissionDenied, count(.permissionDenied)),
            (.locationServicesOff, count(.locationServicesOff)), (.network, count(.network)),
            (.appStopped, count(.appStopped) + count(.reinstalled)),
        ]
    }

    /// Those that bear the rules out. That nothing was found is what is expected of a gap that nothing
    /// explains, and of a phone that was never heard.
    private var agreeing: Int {
        switch ruled {
        case .permissionDenied: count(.permissionDenied)
        case .locationServicesOff: count(.locationServicesOff)
        case .noNetwork, .massGap: count(.network)
        case .batteryEmpty, .lowPower, .appSuspended, .appTerminated:
            count(.appStopped) + count(.reinstalled)
        case .neverHeard, .unexplained: count(.unexplained)
        }
    }

    /// True if enough verdicts said something. One that a duty's end brought says nothing about the
    /// phone, and an unexplained one only where it agrees.
    var areEnough: Bool {
        let isUnexplained = ruled == .neverHeard || ruled == .unexplained
        let said = spoken.reduce(isUnexplained ? agreeing : 0) { $0 + $1.count }
        return said >= Self.verdictsMin
    }

    /// The likelier cause; nil if it is the rules' own, or no likelier.
    func cause(_ telemetry: Telemetry) -> GapCause? {
        guard let most = spoken.max(by: { $0.count < $1.count }), most.count > agreeing else {
            return nil
        }
        switch most.verdict {
        case .permissionDenied: return .permissionDenied
        case .locationServicesOff: return .locationServicesOff
        case .network: return .noNetwork
        default:
            let wasInFront = telemetry.isInForeground || telemetry.isTerminated
            return wasInFront ? .appTerminated : .appSuspended
        }
    }
}

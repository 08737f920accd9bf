/// Regions whose names an erasure took away: who else had them is not known any more, and a region
/// may name a person. Source: I11, DELETE /v1/responders/{id}.
extension Engine {
    /// True of the name of a region that nobody has and the settings do not name.
    package func hasForgotten(region: [UInt8]) -> Bool {
        !region.isEmpty && regions.known(region) == nil && !policy.coverageRegions.contains(region)
    }

    /// True of an alert about such a region.
    func hasForgotten(_ key: AlertKey) -> Bool {
        if case .region(let name) = key.subject { hasForgotten(region: name) } else { false }
    }

    /// `decision` without the names of forgotten regions; nil if it names none.
    package func forgetting(_ decision: Decision) -> Decision? {
        switch decision {
        case .alert(let at, var report):
            let before = report
            forget(&report.key)
            forget(&report.labels)
            return report == before ? nil : .alert(at: at, report)
        case .notice(let at, let notice): return forgetting(notice).map { .notice(at: at, $0) }
        case .mute(let at, var mute):
            let before = mute
            forget(&mute.key)
            if case .inhibited(var by) = mute.reason {
                forget(&by)
                mute.reason = .inhibited(by: by)
            }
            return mute == before ? nil : .mute(at: at, mute)
        case .status, .gap, .nudge, .wake, .blind, .update: return nil
        }
    }

    /// `notice` without the names of forgotten regions; nil if it names none.
    package func forgetting(_ notice: Notice) -> Notice? {
        var copy = notice
        for index in copy.members.indices { forget(&copy.members[index].labels) }
        return copy == notice ? nil : copy
    }

    private func forget(_ key: inout AlertKey) {
        if hasForgotten(key) { key.subject = .region([]) }
    }

    private func forget(_ labels: inout [Label]) {
        for index in labels.indices
        where labels[index].name == Label.region && hasForgotten(region: labels[index].value) {
            labels[index].value = []
        }
    }
}

extension Label {
    /// The name of the label that names a region.
    static let region = Array("region".utf8)
}

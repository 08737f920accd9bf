/// Regions whose names an erasure takes away: those of somebody who is erased, if nobody has them
/// any more. A region may name a person. Source: I11, DELETE /v1/responders/{id}.
extension Engine {
    /// True of the name of a region of somebody erased that nobody has any more and the settings do
    /// not name.
    package func hasForgotten(region: [UInt8], of erased: ErasedRegions) -> Bool {
        !region.isEmpty && erased.contains(region) && regions.known(region) == nil
            && !policy.coverageRegions.contains(region)
    }

    /// True of an alert about such a region.
    func hasForgotten(_ key: AlertKey, of erased: ErasedRegions) -> Bool {
        guard case .region(let name) = key.subject else { return false }
        return hasForgotten(region: name, of: erased)
    }

    /// `decision` without the names of forgotten regions; nil if it names none.
    package func forgetting(_ decision: Decision, of erased: ErasedRegions) -> Decision? {
        switch decision {
        case .alert(let at, var report):
            let before = report
            forget(&report.key, of: erased)
            forget(&report.labels, of: erased)
            return report == before ? nil : .alert(at: at, report)
        case .notice(let at, let notice):
            return forgetting(notice, of: erased).map { .notice(at: at, $0) }
        case .mute(let at, var mute):
            let before = mute
            forget(&mute.key, of: erased)
            if case .inhibited(var by) = mute.reason {
                forget(&by, of: erased)
                mute.reason = .inhibited(by: by)
            }
            return mute == before ? nil : .mute(at: at, mute)
        case .status, .gap, .nudge, .wake, .blind, .skew, .update, .person, .action, .delivery,
            .push:
            return nil
        }
    }

    /// `notice` without the names of forgotten regions; nil if it names none.
    package func forgetting(_ notice: Notice, of erased: ErasedRegions) -> Notice? {
        var copy = notice
        for index in copy.members.indices { forget(&copy.members[index].labels, of: erased) }
        if var storm = copy.storm {
            for index in storm.top.indices { forget(&storm.top[index].labels, of: erased) }
            copy.storm = storm
        }
        return copy == notice ? nil : copy
    }

    private func forget(_ key: inout AlertKey, of erased: ErasedRegions) {
        if hasForgotten(key, of: erased) { key.subject = .region([]) }
    }

    private func forget(_ labels: inout [Label], of erased: ErasedRegions) {
        for index in labels.indices
        where labels[index].name == Label.region
            && hasForgotten(region: labels[index].value, of: erased)
        {
            labels[index].value = []
        }
    }
}

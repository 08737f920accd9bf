/// A list of those that `rollcall status` tells, for CSV and ids.
package enum StatusPart: String, CaseIterable, Sendable {
    /// Gaps of those who are OFFLINE.
    case silent
    /// The fleet by region.
    case regions
    /// Alerts that fire or are pending.
    case alerts

    /// The columns of its records.
    var columns: RecordColumns {
        switch self {
        case .silent: .gaps
        case .regions: .regions
        case .alerts: .alerts
        }
    }
}

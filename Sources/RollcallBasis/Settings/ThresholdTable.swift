import RollcallCore
import RollcallSupport

/// The thresholds of everybody there may be: by duty, where the app is, platform and power mode. A
/// promise can only lengthen them. Source: L4, P5.
struct ThresholdTable {
    private struct Row {
        var duty: DutyState
        var isBehind: Bool
        var platform: Platform
        var isLowPower: Bool
        var expected: Milliseconds
        var degraded: Milliseconds
        var offline: Milliseconds

        /// The word of a phone for where its app is.
        var appState: StaticString { isBehind ? "background" : "foreground" }
    }

    private let rows: [Row]

    init(_ policy: Policy) {
        var rows: [Row] = []
        for duty in [DutyState.onDuty, .onMission] {
            for isBehind in [false, true] {
                for platform in [Platform.ios, .android, .other] {
                    for isLowPower in [false, true] {
                        var person = Responder()
                        person.duty = duty
                        person.isBehind = isBehind
                        person.platform = platform
                        person.telemetry.powerMode = isLowPower ? 2 : 1
                        person.factor = policy.factor(person)
                        let limits = policy.thresholds(person)
                        rows.append(
                            Row(
                                duty: duty, isBehind: isBehind, platform: platform,
                                isLowPower: isLowPower, expected: policy.profile(person).expected,
                                degraded: limits.degraded, offline: limits.offline))
                    }
                }
            }
        }
        self.rows = rows
    }

    /// A heading, and a line for each duty, place of the app and platform.
    var lines: [String] {
        let head = [
            "duty", "app", "platform", "reports every", "DEGRADED, OFFLINE", "in low power mode",
        ]
        var cells = [head]
        for pair in stride(from: 0, to: rows.count, by: 2) {
            let (row, saving) = (rows[pair], rows[pair + 1])
            cells.append([
                "\(row.duty.word)", "\(row.appState)", "\(row.platform.word)",
                SettingText.of(row.expected), Self.limits(row), Self.limits(saving),
            ])
        }
        let widths = head.indices.map { column in cells.map { $0[column].count }.max() ?? 0 }
        let table = cells.map { row in
            var line = "  "
            for (column, cell) in row.enumerated() {
                let room = column == row.count - 1 ? 0 : widths[column] + 2 - cell.count
                line += cell + String(repeating: " ", count: room)
            }
            return line
        }
        return ["Without contact, and without a promise:"] + table
    }

    private static func limits(_ row: Row) -> String {
        "\(SettingText.of(row.degraded)), \(SettingText.of(row.offline))"
    }

    /// Returns the table as JSON, a row for each power mode, in seconds.
    var tree: JSONTree {
        .list(
            rows.map { row in
                [
                    "duty_state": .text("\(row.duty.word)"), "app_state": .text("\(row.appState)"),
                    "platform": .text("\(row.platform.word)"),
                    "power_mode": .text(row.isLowPower ? "low_power" : "normal"),
                    "expected_seconds": Self.seconds(row.expected),
                    "degraded_after_seconds": Self.seconds(row.degraded),
                    "offline_after_seconds": Self.seconds(row.offline),
                ]
            })
    }

    private static func seconds(_ span: Milliseconds) -> JSONTree {
        .number(Double(span.count) / 1000)
    }
}

import Logging
import RollcallCore
import Testing

@testable import RollcallBasis

@Suite struct NotificationLogTests {
    @Test func `the log gets a pager's words, and no person's name`() {
        let capture = LogCapture()
        let named = NotificationSamples.alert {
            $0.details.append(Label(Array("responders".utf8), Array("r-1, r-2".utf8)))
        }
        let over = NotificationSamples.alert(
            endsAt: NotificationSamples.time + Milliseconds(125_250))
        let warning = NotificationSamples.alert {
            $0.labels = NotificationSamples.labels([("severity", "warning")])
            $0.annotations = NotificationSamples.labels([("summary", "a\nb")])
            $0.details = []
        }
        NotificationLog.write(NotificationSamples.message([named]), to: capture.logger)
        NotificationLog.write(
            NotificationSamples.message([named, over], memberCount: 1), to: capture.logger)
        NotificationLog.write(
            NotificationSamples.message([over], kind: .resolved), to: capture.logger)
        NotificationLog.write(
            NotificationSamples.message([warning], kind: .repeated), to: capture.logger)
        let rest =
            "alertname=NoOnlineResponders causes=4 low_power, 2 no_network count=6"
        let end = "region=north runbook_url=https://runbooks/a?b&c severity=critical"
        let start = "starts_at=2026-11-21T03:00:00.000Z"
        let firing =
            "critical alert firing: Nobody can be reached in north, 6 of 6 silent \(rest) \(end) \(start)"
        #expect(
            capture.lines == [
                firing, firing,
                "info alert resolved: Nobody can be reached in north, 6 of 6 silent "
                    + "alertname=NoOnlineResponders causes=4 low_power, 2 no_network count=6 "
                    + "ends_at=2026-11-21T03:02:05.250Z \(end) \(start)",
                "warning alert still firing: a\nb severity=warning \(start)",
            ])
    }
}

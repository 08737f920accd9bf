import RollcallCore
import Synchronization

/// How those who are told of alerts are reached, and phones, as the settings say now: a reload changes it while
/// messages are on their way, and each attempt looks anew.
package final class ReceiverBook: Sendable {
    private struct Page: Sendable {
        var addresses: [[UInt8]: ReceiverAddress] = [:]
        var alivePing = AlivePingSettings()
        var externalURL = ""
        var pushSink: PushSink?

        init(_ configuration: Configuration) {
            for address in configuration.receivers {
                addresses[Array(address.name.utf8)] = address
            }
            alivePing = configuration.alivePing
            externalURL = configuration.doors.externalURL?.text ?? ""
            pushSink = configuration.pushSink
        }
    }

    private let page: Mutex<Page>

    /// What `configuration` says.
    package init(_ configuration: Configuration) { page = Mutex(Page(configuration)) }

    /// Holds what other settings say from now on.
    package func follow(_ configuration: Configuration) {
        let new = Page(configuration)
        page.withLock { $0 = new }
    }

    /// How a receiver is reached; nil if the settings do not know it any more.
    package func address(of receiver: [UInt8]) -> ReceiverAddress? {
        page.withLock { $0.addresses[receiver] }
    }

    /// Whom we tell that the watch works.
    package var alivePing: AlivePingSettings { page.withLock { $0.alivePing } }

    /// Who carries pushes to phones; nil if the settings name nobody.
    package var pushSink: PushSink? { page.withLock { $0.pushSink } }

    /// Where people reach us, for links; empty if that is not known.
    package var externalURL: String { page.withLock { $0.externalURL } }
}

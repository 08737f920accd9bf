import RollcallCore
import RollcallSupport
import Synchronization

/// The ways to those who are told of alerts, and to phones, as the settings say now: a reload
/// changes them while messages are on their way, and each attempt looks anew.
package final class ReceiverBook: Sendable {
    private struct Page: Sendable {
        var addresses: [[UInt8]: ReceiverAddress] = [:]
        /// Those of receivers that settings name which are not in force yet.
        var coming: [[UInt8]: ReceiverAddress] = [:]
        var alivePing = AlivePingSettings()
        var externalURL = ""
        var pushSink: PushSink?

        init(_ configuration: Configuration) {
            for address in configuration.receivers {
                addresses[Array(address.name.utf8)] = address
            }
            alivePing = configuration.alivePing
            externalURL = configuration.accessPolicy.externalURL?.text ?? ""
            pushSink = configuration.pushSink
        }

        func changes(from old: Page) -> EndpointChanges {
            var changes = EndpointChanges()
            for (name, address) in addresses {
                for target in address.urls.indices {
                    changes.queues[QueueKey(receiver: name, target: target)] =
                        address.change(from: old.addresses[name], target: target)
                }
            }
            changes.sink = pushSink?.change(from: old.pushSink) ?? .same
            return changes
        }
    }

    private let page: Mutex<Page>

    /// A book of the ways that `configuration` says.
    package init(_ configuration: Configuration) { page = Mutex(Page(configuration)) }

    /// Settings are about to be in force: receivers that they bring are reached from now on, since a
    /// message may be decided for them with the new rules, before anybody else knows that those hold.
    package func prepare(_ configuration: Configuration) {
        let new = Page(configuration).addresses
        page.withLock { $0.coming = new }
    }

    /// Holds what other settings say from now on, and tells which ways differ from those before.
    package func follow(_ configuration: Configuration) -> EndpointChanges {
        let new = Page(configuration)
        return page.withLock { page in
            defer { page = new }
            return new.changes(from: page)
        }
    }

    /// Returns how a receiver is reached; nil if the settings do not know it any more.
    package func address(of receiver: [UInt8]) -> ReceiverAddress? {
        page.withLock { $0.addresses[receiver] ?? $0.coming[receiver] }
    }

    /// The place that we tell that the watch works.
    package var alivePing: AlivePingSettings { page.withLock { $0.alivePing } }

    /// The sink that carries pushes to phones; nil if the settings name nobody.
    package var pushSink: PushSink? { page.withLock { $0.pushSink } }

    /// The URL at which people reach us, for links; empty if that is not known.
    package var externalURL: String { page.withLock { $0.externalURL } }
}

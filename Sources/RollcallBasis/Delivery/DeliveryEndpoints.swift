import Logging
import RollcallCore

/// The ways of messages to their receivers, as far as the state writer has to know them.
package struct DeliveryEndpoints: Sendable {
    /// Sends a message to an address' URL of a number; returns what came of it. Blocks its thread,
    /// and belongs to it.
    package typealias Send = (NotificationMessage, ReceiverAddress, _ target: Int, Timestamp) ->
        AttemptResult

    /// Returns how a receiver is reached now; nil if the settings do not say.
    package var address: @Sendable ([UInt8]) -> ReceiverAddress? = { _ in nil }
    /// Returns where people reach us, for links; empty if that is not known.
    package var externalURL: @Sendable () -> String = { "" }
    /// Makes what sends, on the thread that it belongs to.
    package var makeSend: @Sendable (Logger) -> Send = { log in
        let caller = ReceiverCaller(log: log)
        return { caller.send($0, to: $1, target: $2, now: $3) }
    }
    /// The permit without which a member of several may not reach out (S6).
    package let permit = SendingPermit()
    package var times = OutboxTimes()
    package var pushTimes = PushTimes()
    /// The time that a stop leaves what is being sent to come back.
    package var sendingLeaveMax = Milliseconds.seconds(2)
    /// Returns who carries pushes to phones now; nil if the settings name nobody.
    package var pushSink: @Sendable () -> PushSink? = { nil }
    /// Makes what sends pushes, on the thread that it belongs to.
    package var makePushCaller: @Sendable (Logger) -> PushCalls = { _ in
        let caller = PushCaller()
        return PushCalls(
            send: { caller.send($0, to: $1, now: $2) },
            receipts: { caller.receipts($0, from: $1, now: $2) })
    }

    /// Nobody can be reached.
    package init() {}

    /// As the settings say, also after a reload.
    package init(_ book: ReceiverBook) {
        address = { book.address(of: $0) }
        externalURL = { book.externalURL }
        pushSink = { book.pushSink }
        makeSend = { [permit] log in
            let caller = ReceiverCaller(log: log, permit: permit)
            return { caller.send($0, to: $1, target: $2, now: $3) }
        }
        makePushCaller = { [permit] _ in
            let caller = PushCaller(permit: permit)
            return PushCalls(
                send: { caller.send($0, to: $1, now: $2) },
                receipts: { caller.receipts($0, from: $1, now: $2) })
        }
    }
}

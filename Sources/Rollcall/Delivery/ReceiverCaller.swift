import Logging
import RollcallCore

/// Delivers messages to one receiver's address, one at a time.
///
/// It blocks its thread for at most ten seconds a message and belongs to one thread at a time, as
/// `HTTPCaller` does. It keeps the connection for the next message.
package final class ReceiverCaller {
    private let log: Logger

    /// A caller without connections; `log` is where messages to receivers of kind `log` go.
    package init(log: Logger) {
        self.log = log
    }

    /// Sends the message to the address' URL number `target` and says what came of it. `now` is the
    /// wall's time.
    package func send(
        _ message: PageMessage, to address: ReceiverAddress, target: Int, now: Timestamp
    ) -> AttemptResult {
        AttemptResult(.refused, error: "not yet", mayHaveArrived: false)
    }
}

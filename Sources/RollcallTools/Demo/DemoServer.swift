import Logging
import RollcallBasis

/// The server of a demo, as far as the demo knows it: whoever asks for the demo starts the real one.
package struct DemoServer {
    /// The reason why it does not come up.
    package struct Fault: Error {
        /// True if somebody else listens where it should.
        package let isAddressTaken: Bool
        package let description: String

        /// The demo says `description`, unless the address is taken: then it advises another.
        package init(isAddressTaken: Bool, description: String) {
            self.isAddressTaken = isAddressTaken
            self.description = description
        }
    }

    /// Starts one with these settings, which a reload reads again from the source, and which writes
    /// to this log. Throws `Fault` if it does not come up.
    package typealias Start =
        @Sendable (
            _ configuration: Configuration, _ source: SettingsSource, _ log: Logger
        ) throws(Fault) -> DemoServer

    /// The port that it listens on.
    package let port: Int
    private let end: @Sendable () -> Void

    /// The demo asks for `port`, and calls `stop` once at its end, which returns when all is stored.
    package init(port: Int, stop: @escaping @Sendable () -> Void) {
        self.port = port
        end = stop
    }

    /// Ends it. Returns when all of it is done.
    func stop() { end() }
}

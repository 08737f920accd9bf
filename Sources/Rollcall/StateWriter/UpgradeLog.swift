import Logging
import RollcallBasis
import RollcallStore
import RollcallSupport

/// Says to the log, and to whoever waits for the start, how a store is brought up to date.
enum UpgradeLog {
    /// Bytes between two words to whoever waits.
    private static let everyBytes: Int64 = 64 << 20

    /// One who is told, for a server with these settings; `onWait` is told how far it is.
    static func watch(
        _ configuration: Configuration, _ log: Logger, onWait: @escaping @Sendable (String) -> Void
    ) -> StoreUpgrade.Watch {
        StoreUpgrade.Watch(keepsCopy: configuration.keepsUpgradeCopy) { step in
            switch step {
            case .begins(let plan, let keepsCopy):
                onWait("Bringing the store up to date")
                let words: Logger.Message =
                    keepsCopy
                    ? "the store is of an older version: a copy is kept, then it is brought up to date"
                    : "the store is of an older version, and is brought up to date without a copy"
                log.warning(
                    words,
                    metadata: [
                        "from": "\(plan.from)", "to": "\(StoreUpgrade.Version.current)",
                        "bytes": "\(plan.bytes)",
                    ])
            case .copied(let bytes, let all):
                // A word comes with each piece of some megabytes; of comparing, from where copying ended.
                guard bytes % everyBytes < StoreUpgrade.pieceBytes else { return }
                onWait("Copying the store before an upgrade, \(bytes * 100 / max(1, all)) %")
            case .kept(let plan):
                onWait("Bringing the store up to date")
                log.warning(
                    "a copy of the store is kept: rollcall downgrade puts it back",
                    metadata: ["file": "\(plan.copyPath)"])
            case .done(let plan):
                log.info("the store is up to date", metadata: ["from": "\(plan.from)"])
            }
        }
    }
}

import RollcallBasis
import RollcallCluster
import RollcallCore
import RollcallSupport

extension MemberSeat.Parts {
    /// The member that settings describe; nil if they describe a watch on one machine. `onCopy` is
    /// called when the process has to begin again.
    /// - Throws: `SecretFault` if a secret cannot be read.
    package init?(
        _ configuration: Configuration, onCopy: @escaping @Sendable () -> Void
    ) throws(SecretFault) {
        let cluster = configuration.cluster
        guard cluster.isOn else { return nil }
        var settings = Member.Settings(
            name: cluster.memberName, incarnation: UInt64.random(in: 1 ... .max))
        settings.silence = cluster.silence
        settings.chance = Milliseconds(Int64.random(in: 0...300))
        let token =
            try cluster.tokenFile.isEmpty
            ? nil : SecretFile.read(cluster.tokenFile, of: "cluster.token_file")
        self.init(
            log: try Self.log(cluster).log, settings: settings,
            peers: PeerCaller(token: token, storePath: configuration.storagePath))
        address = cluster.address?.text ?? ""
        self.onCopy = onCopy
        guard !cluster.splitFrom.isEmpty else { return }
        var other = cluster
        (other.prefix, other.postgresTable) = (cluster.splitLog, cluster.splitLog)
        let (log, close) = try Self.log(other)
        origin = SplitOrigin(
            cell: Array(cluster.splitFrom.utf8), own: Array(cluster.cell.utf8), log: log,
            close: close)
    }

    /// The log that settings describe, and what ends its threads.
    private static func log(
        _ cluster: ClusterSettings
    ) throws(SecretFault) -> (log: any TurnLog, close: @Sendable () -> Void) {
        if cluster.postgresURL.isEmpty {
            let store = EtcdStore(try EtcdSettings(cluster))
            return (RingLog(store, prefix: Array(cluster.prefix.utf8)), { store.close() })
        }
        // A watch has a table of its own.
        let store = PostgresStore(try PostgresSettings(cluster))
        return (RingLog(store, prefix: []), { store.close() })
    }
}

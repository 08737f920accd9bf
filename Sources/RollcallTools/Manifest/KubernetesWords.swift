import RollcallBasis

/// The places of a manifest in which a chart of Helm has values.
struct KubernetesWords {
    /// The name of the workload, its Service and its ConfigMap.
    var name = "rollcall"
    /// The image of the container.
    var image = "registry.example.org/rollcall:CHANGE"
    /// The Secret with the files that the settings name.
    var secret = SecretMounts.secret
    /// The room for the store.
    var storage = "12Gi"
    /// The container's share of the machine, indented as a block or in one line.
    var resources = """

                    requests: {cpu: 50m, memory: 64Mi}
                    limits: {memory: 512Mi}
        """
    /// The labels of a PodMonitor.
    var monitorLabels = " {release: prometheus}"
    /// Those that may write and ask: peers of a NetworkPolicy, likewise.
    var clients = """

                # CHANGE: your backends, and whoever looks at the page.
                - podSelector: {matchLabels: {app: backend}}
        """
    /// Those that scrape.
    var scrapers = """

                # CHANGE: the namespace of Prometheus.
                - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}
        """

    /// The scheme that is spoken where batches arrive.
    var scheme = "http"
    /// True if TLS is spoken there.
    var hasTLS: Bool { scheme == "https" }

    /// True if they are values of a chart.
    var isChart = false

    /// Those of a chart: its values by name.
    static let helm = KubernetesWords(
        name: "{{ .Release.Name }}", image: "{{ .Values.image }}",
        secret: "{{ .Values.secretName }}",
        storage: "{{ .Values.storage }}",
        resources: "\n{{ toYaml .Values.resources | indent 12 }}",
        monitorLabels: "\n{{ toYaml .Values.podMonitor.labels | indent 4 }}",
        clients: "\n{{ toYaml .Values.networkPolicy.clients | indent 8 }}",
        scrapers: "\n{{ toYaml .Values.networkPolicy.scrapers | indent 8 }}",
        scheme: "{{ .Values.scheme }}", isChart: true)
}

extension KubernetesWords {
    /// Those of `settings`.
    init(_ settings: ManifestSettings?) {
        storage = Self.storage(settings?.configuration ?? Configuration())
        if let settings { scheme = settings.scheme }
    }

    /// Returns the room for a store: `storage.size` and half of it again, as much as it for the copy of an
    /// upgrade, and 2 GiB for the log, which is 1 GiB while a backup copies, and for what that leaves.
    static func storage(_ configuration: Configuration) -> String {
        let halves = configuration.keepsUpgradeCopy ? 5 : 3
        let bytes = configuration.storageBytesMax / 2 * halves
        return "\((bytes + (1 << 30) - 1) >> 30 + 2)Gi"
    }
}

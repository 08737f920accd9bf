import RollcallBasis
import RollcallSupport

/// The chart that `rollcall manifest helm` writes: the manifest of `--standalone`, with values in its places.
package struct HelmChart {
    private let settings: ManifestSettings
    private let version: String

    /// A chart for `settings`, which become a value; without them for standard ones.
    package init(_ settings: ManifestSettings? = nil, version: String = BuildInformation.version) {
        self.settings = settings ?? KubernetesStandalone.standard
        self.version = version
    }

    /// Writes the chart into a folder, which is made if there is none; returns the paths of its files. Values
    /// that somebody has edited are not overwritten, nor is anything else then.
    /// - Throws: `InputFileError.cannotWriteFile` if the system does not take one, `unusable` if one is there
    ///   with other content.
    package func write(into folder: String) throws(InputFileError) -> [String] {
        try FileFolder(path: folder, replaces: false).write(files)
    }

    /// All files of it by name.
    package var files: [(name: String, text: String)] {
        let words = KubernetesWords.helm
        let rollcall =
            KubernetesManifest.config(words) + "{{ .Values.settings | indent 4 }}\n"
            + KubernetesStandalone.service(words)
            + KubernetesStandalone.workload(settings, words, Self.annotations)
        return [
            ("Chart.yaml", chart), ("values.yaml", values),
            ("templates/rollcall.yaml", Self.template(rollcall)),
            (
                "templates/networkpolicy.yaml",
                Self.template(KubernetesPolicy.standalone(words), if: "networkPolicy")
            ),
            (
                "templates/podmonitor.yaml",
                Self.template(
                    KubernetesScrape.monitor.monitor(words, app: words.name), if: "podMonitor")
            ),
            ("templates/NOTES.txt", Self.notes),
        ]
    }

    private static let annotations = """

        {{- if not .Values.podMonitor.enabled }}
              annotations: {prometheus.io/scrape: "true", prometheus.io/port: "10113"}
        {{- end }}
        """

    /// Without comments, which the values have.
    private static func template(_ text: String, if value: String? = nil) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            .filter { $0.drop(while: { $0 == " " }).first != "#" }
        let text = lines.joined(separator: "\n")
        guard let value else { return text }
        return "{{- if .Values.\(value).enabled }}\n\(text){{- end }}\n"
    }

    private var chart: String {
        """
        apiVersion: v2
        name: rollcall
        description: Says who of your people in the field can be reached now.
        type: application
        version: \(version)
        appVersion: "\(version)"
        kubeVersion: ">=1.29.0-0"

        """
    }

    private var values: String {
        let mounts = SecretMounts(settings)
        let words = KubernetesWords(settings)
        let items =
            mounts.beside.allSatisfy { $0.key == $0.path }
            ? " []\n" : "\n" + SecretMounts.items(mounts.beside, indent: "  ")
        return """
            # Values of Rollcall's chart, written by `rollcall manifest helm`. What is yours to decide is marked
            # CHANGE. The release's name is the name of its Service: backends send to NAME:10112.

            # CHANGE: there is no published image. In a clone, `.packages/image` builds one.
            image: registry.example.org/rollcall:\(version)

            # CHANGE: the Secret with the files that the settings name. Make it first:
            #   \(mounts.command)
            secretName: \(SecretMounts.secret)

            # The keys of it that are files beside the settings, with their names there; empty for all keys, by
            # their own names.
            secretItems:\(items)
            # https where web.config_file of the settings speaks TLS.
            scheme: \(words.scheme)

            # As in rollcall.yml; `rollcall config` prints all settings, `rollcall check FILE` looks at yours.
            settings: |
            \(KubernetesManifest.block(settings.yaml, head: "# Flags win over what stands here.").indentedAsValue)
            # CHANGE: room for storage.size and half of it again, its log, and the copy of an upgrade.
            storage: \(words.storage)

            # CHANGE: 30 MB when idle, 440 MB for a million people. No limit of processor time: who is throttled
            # judges late.
            resources:
              requests: {cpu: 50m, memory: 64Mi}
              limits: {memory: 512Mi}

            # Who reaches it, for clusters whose network heeds policies.
            networkPolicy:
              enabled: true
              # CHANGE: your backends, and whoever looks at the page.
              clients:
                - podSelector: {matchLabels: {app: backend}}
              # CHANGE: the namespace of Prometheus.
              scrapers:
                - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}

            # For Prometheus's operator. Without it Pods have annotations; give the job that reads them
            # `honor_labels: true`.
            podMonitor:
              enabled: false
              # CHANGE: the labels by which your Prometheus picks monitors.
              labels: {release: prometheus}

            """
    }

    private static let notes = """
        Rollcall is at {{ .Values.scheme }}://{{ .Release.Name }}.{{ .Release.Namespace }}.svc:10112

        To look at it:
          kubectl --namespace {{ .Release.Namespace }} port-forward statefulset/{{ .Release.Name }} 10112
          and open {{ .Values.scheme }}://127.0.0.1:10112/ in a browser; it asks for a token, or for a user.

        """
}

extension String {
    /// A block of a ConfigMap, indented by four, as one of a value, indented by two.
    fileprivate var indentedAsValue: String {
        split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.hasPrefix("    ") ? String($0.dropFirst(2)) : String($0) }
            .joined(separator: "\n")
    }
}

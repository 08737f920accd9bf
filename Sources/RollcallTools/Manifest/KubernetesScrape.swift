/// The ways in which Prometheus may find a Pod of Kubernetes: annotations, which a common scrape configuration reads,
/// or a PodMonitor, which Prometheus's operator reads and a cluster without it refuses.
enum KubernetesScrape: Sendable {
    case annotations, monitor

    /// The annotations of a Pod, behind its labels.
    var annotations: String {
        guard self == .annotations else { return "" }
        return """

                  # For a job that scrapes Pods by annotations; give it `honor_labels: true`, and for the
                  # rules the label job="rollcall".
                  annotations: {prometheus.io/scrape: "true", prometheus.io/port: "10113"}
            """
    }

    /// The PodMonitor of Pods of `app`, where there is one.
    func monitor(_ words: KubernetesWords, app: String) -> String {
        guard self == .monitor else { return "" }
        return """
            ---
            apiVersion: monitoring.coreos.com/v1
            kind: PodMonitor
            metadata:
              name: "\(words.name)"
              # CHANGE: the labels by which your Prometheus picks monitors.
              labels:\(words.monitorLabels)
            spec:
              selector:
                matchLabels: {app: "\(app)"}
              podMetricsEndpoints:
                - port: metrics
                  interval: 15s
                  scrapeTimeout: 5s
                  # Rollcall's labels stay as they are documented.
                  honorLabels: true
                  # The rules ask for this job, and Pods keep their names when they move.
                  relabelings:
                    - {targetLabel: job, replacement: rollcall}
                    - sourceLabels: [__meta_kubernetes_namespace, __meta_kubernetes_pod_name]
                      separator: /
                      targetLabel: instance

            """
    }
}

/// The languages in which `GET /metrics` is offered, beside text. Source: V22.
package struct MetricsSettings: Equatable, Sendable {
    /// True if who asks for protobuf gets it, with native histograms.
    package var offersNativeHistograms = false

    package init() {}
}

extension Setting {
    /// The settings of the page of metrics.
    static let metrics = [
        Setting(
            "metrics.native_histograms", .flag, \.metrics.offersNativeHistograms,
            "true: for a Prometheus that asks for protobuf")
    ]
}

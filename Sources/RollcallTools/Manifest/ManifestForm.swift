extension Manifest {
    /// Rollcall's place in Kubernetes.
    package enum Place: Sendable {
        /// Beside a backend, in its Pod.
        case sidecar
        /// In a Pod of its own.
        case standalone
    }

    /// The ways in which a manifest may be printed.
    package struct Form: Sendable {
        /// For so many members of one watch; nil for one alone.
        package var members: Int?
        /// The place of one alone in Kubernetes.
        package var place: Place
        /// True for a PodMonitor instead of annotations.
        package var hasPodMonitor: Bool
        /// The rules that are printed.
        package var rules = RuleOptions()

        /// A form; without arguments one alone, beside a backend.
        package init(
            members: Int? = nil, place: Place = .sidecar, hasPodMonitor: Bool = false
        ) {
            self.members = members
            self.place = place
            self.hasPodMonitor = hasPodMonitor
        }

        var scrape: KubernetesScrape { hasPodMonitor ? .monitor : .annotations }
    }
}

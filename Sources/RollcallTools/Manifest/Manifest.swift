import Glibc
import RollcallBasis
import RollcallCore

/// The files that `rollcall manifest` prints, for whoever runs or scrapes Rollcall.
package enum Manifest: String, CaseIterable, Sendable {
    case systemd, kubernetes, prometheus, etcd, nginx, envoy

    /// The numbers of members that a manifest can be made for.
    package static let members = 2...3

    /// True if the file is another one where there are several members.
    package var isOfMembers: Bool { ![.prometheus, .nginx, .envoy].contains(self) }

    /// The file's text. `settings` are those that it is to start with; without them it needs none.
    /// With `members` it is for so many members of one watch.
    package func text(_ settings: ManifestSettings? = nil, members: Int? = nil) -> String {
        switch (self, members) {
        case (.systemd, nil): SystemdUnit.text(settings)
        case (.systemd, let members?): SystemdMember.text(settings, members)
        case (.kubernetes, nil): KubernetesManifest.text(settings)
        case (.kubernetes, let members?):
            KubernetesMembers.text(settings?.forMembers, members)
        case (.prometheus, _): PrometheusScrape.text(settings)
        case (.nginx, _): NginxMirror.text(settings)
        case (.envoy, _): EnvoyMirror.text(settings)
        case (.etcd, let members): EtcdUnit.text(members ?? Self.members.upperBound)
        }
    }

    /// Writes the text to standard output.
    /// - Throws: `InputFileError.cannotWrite` if the system does not take it.
    package func write(
        _ settings: ManifestSettings?, members: Int? = nil
    ) throws(InputFileError) {
        if members != nil { try settings?.checkForMembers() }
        var bytes = Array(text(settings, members: members).utf8)
        try StandardOutput.write(&bytes)
    }
}

/// A settings file that a manifest is made for.
package struct ManifestSettings: Sendable {
    /// The file, absolute: a unit starts in `/`.
    package let path: String
    /// The text of the file.
    package let yaml: String
    /// Files beside it that it names, as they are written there.
    package var files: [String] = []
    /// True if secrets stand in it.
    package var holdsSecrets = false
    /// The address at which Prometheus finds the metrics, `host:port`.
    package let scrapeAddress: String
    /// The address at which a proxy beside Rollcall reaches it, `host:port`.
    package let address: String
    /// The settings that concern the other members.
    let cluster: ClusterSettings

    /// Settings of the text `yaml`, in the file at `path`.
    package init(path: String, yaml: String, configuration: Configuration = Configuration()) {
        self.path = path
        self.yaml = yaml
        cluster = configuration.cluster
        address = Self.reachable(configuration.listenAddress)
        let metrics = configuration.accessPolicy.metricsListenAddress
        scrapeAddress = Self.reachable(metrics.isEmpty ? configuration.listenAddress : metrics)
    }

    /// Reads the file at `path`, which must hold settings that `serve` would take.
    /// - Throws: `InputFileError` if it cannot be read, or its settings are wrong.
    package init(path: String) throws(InputFileError) {
        let yaml = try InputFile.text(path)
        let configuration: Configuration
        var sources = SettingSources()
        sources.opensSecrets = false
        do throws(ConfigurationError) {
            configuration = try Configuration(yaml: yaml, sources: &sources)
        } catch {
            throw .wrongConfiguration(path: path, error)
        }
        guard let resolved = realpath(path, nil) else {
            throw .cannotRead(path: path, errno: errno)
        }
        defer { free(resolved) }
        self.init(path: String(cString: resolved), yaml: yaml, configuration: configuration)
        files = sources.files
        holdsSecrets = !sources.inlineSecrets.isEmpty
    }

    /// One listens on every address, but scrapes one.
    private static func reachable(_ address: String) -> String {
        let wildcards = [("0.0.0.0:", "127.0.0.1:"), ("[::]:", "[::1]:")]
        for (wildcard, loopback) in wildcards where address.hasPrefix(wildcard) {
            return loopback + address.dropFirst(wildcard.count)
        }
        return address
    }
}

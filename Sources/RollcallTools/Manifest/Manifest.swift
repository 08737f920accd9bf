import Glibc
import RollcallBasis
import RollcallCore

/// The files that `rollcall manifest` prints, for whoever runs or scrapes Rollcall.
package enum Manifest: String, CaseIterable, Sendable {
    case systemd, kubernetes, prometheus, rules, alertmanager, etcd, nginx, envoy

    /// The numbers of members that a manifest can be made for.
    package static let members = 2...3

    /// True if the file is another one where there are several members.
    package var isOfMembers: Bool {
        ![.prometheus, .rules, .alertmanager, .nginx, .envoy].contains(self)
    }

    /// The file's text. `settings` are those that it is to start with; without them it needs none.
    package func text(_ settings: ManifestSettings? = nil, _ form: Form = Form()) -> String {
        let configuration = settings?.configuration ?? Configuration()
        return switch (self, form.members) {
        case (.systemd, nil): SystemdUnit.text(settings)
        case (.systemd, let members?): SystemdMember.text(settings, members)
        case (.kubernetes, nil) where form.place == .standalone:
            KubernetesStandalone.text(settings, form.scrape)
        case (.kubernetes, nil): KubernetesManifest.text(settings, form.scrape)
        case (.kubernetes, let members?):
            KubernetesMembers.text(settings?.forMembers, members, form.scrape)
        case (.prometheus, _): PrometheusScrape.text(settings)
        case (.rules, _) where form.rules.printsTests:
            RuleCases.text(configuration, form.rules)
        case (.rules, _): RulesFile.text(configuration, form.rules)
        case (.alertmanager, _): AlertmanagerFile.text(configuration)
        case (.nginx, _): NginxMirror.text(settings)
        case (.envoy, _): EnvoyMirror.text(settings)
        case (.etcd, let members): EtcdUnit.text(members ?? Self.members.upperBound)
        }
    }

    /// Writes the text to standard output.
    /// - Throws: `InputFileError.cannotWrite` if the system does not take it.
    package func write(
        _ settings: ManifestSettings?, _ form: Form = Form()
    ) throws(InputFileError) {
        try settings?.check(for: self, form)
        var bytes = Array(text(settings, form).utf8)
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
    /// The reason why the web configuration cannot be read, if it cannot.
    private(set) var webFault: InputFileError?
    /// The address at which a proxy beside Rollcall reaches it, `host:port`.
    package let address: String
    /// The settings themselves. No secret is read from a file for them, and of the web configuration only what
    /// it says, with the files that it names among `files`.
    private(set) var configuration: Configuration
    /// True if who asks shows a token.
    private(set) var hasTokens = false
    /// Those that concern the other members.
    var cluster: ClusterSettings { configuration.cluster }

    /// Settings of the text `yaml`, in the file at `path`.
    package init(path: String, yaml: String, configuration: Configuration = Configuration()) {
        self.path = path
        self.yaml = yaml
        self.configuration = configuration
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
        hasTokens = sources.tokens > 0
        holdsSecrets = !sources.inlineSecrets.isEmpty
        readWeb()
    }

    /// Reads the web configuration where it lies now: beside these settings, also if a unit will have it among
    /// its credentials.
    private mutating func readWeb() {
        let name = configuration.accessPolicy.web.name
        guard !name.isEmpty else { return }
        let below = SystemdCredentials.name(name) ?? name
        let folder = String(path.prefix(through: path.lastIndex(of: "/") ?? path.startIndex))
        do throws(InputFileError) {
            let web = try WebSettings(
                outline: name, at: below.hasPrefix("/") ? below : folder + below)
            configuration.accessPolicy.web = web
            files += web.files.filter { !files.contains($0) }
        } catch {
            webFault = error
        }
    }

    /// The scheme that is spoken at `address`.
    var scheme: String { configuration.accessPolicy.web.tls == nil ? "http" : "https" }

    /// One listens on every address, but scrapes one.
    private static func reachable(_ address: String) -> String {
        let wildcards = [("0.0.0.0:", "127.0.0.1:"), ("[::]:", "[::1]:")]
        for (wildcard, loopback) in wildcards where address.hasPrefix(wildcard) {
            return loopback + address.dropFirst(wildcard.count)
        }
        return address
    }
}

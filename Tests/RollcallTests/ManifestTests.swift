import Foundation
import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallTools

/// What `rollcall manifest` prints for given settings; the tools that read it are asked elsewhere.
@Suite struct ManifestTests {
    private func settings(_ yaml: String, path: String = "/etc/rollcall/rollcall.yml") throws
        -> ManifestSettings
    {
        ManifestSettings(path: path, yaml: yaml, configuration: try Configuration(yaml: yaml))
    }

    private func lines(_ text: String) -> [Substring] {
        text.split(separator: "\n", omittingEmptySubsequences: false)
    }

    @Test(arguments: Manifest.allCases)
    func `a manifest ends with one line break and fits a terminal`(manifest: Manifest) {
        let lines = lines(manifest.text())
        #expect(lines.last == "")
        #expect(lines.dropLast().last?.isEmpty == false)
        #expect(lines.filter { $0.last == " " || $0.contains("\t") } == [])
        // A type's name is one word, however long, and so is what a matcher matches, and a link.
        let words = ["\"@type\"", "_matchers: [", "{{- if match "]
        #expect(
            lines.filter { line in line.count > 100 && !words.contains { line.contains($0) } } == []
        )
    }

    @Test(arguments: [Manifest.nginx, .envoy])
    func `a mirror leads to where Rollcall listens, and says nothing of members`(
        manifest: Manifest
    ) throws {
        let isNginx = manifest == .nginx
        let cases: [(yaml: String, nginx: String, host: String, port: Int)] = [
            ("{}", "127.0.0.1:10112", "127.0.0.1", 10112),
            ("web: {listen_address: '0.0.0.0:80'}", "127.0.0.1:80", "127.0.0.1", 80),
            ("web: {listen_address: '[::]:81'}", "[::1]:81", "::1", 81),
            ("web: {listen_address: '10.0.0.7:82'}", "10.0.0.7:82", "10.0.0.7", 82),
            // The listener for metrics takes no batches.
            (
                "web: {metrics_listen_address: '127.0.0.1:83'}", "127.0.0.1:10112", "127.0.0.1",
                10112
            ),
        ]
        for (yaml, nginx, host, port) in cases {
            let text = manifest.text(try settings(yaml))
            let line =
                isNginx
                ? "    server \(nginx);\n"
                : "socket_address: {address: \"\(host)\", port_value: \(port)}\n"
            #expect(text.contains(line), "\(yaml)")
        }
        #expect(manifest.text() == manifest.text(try settings("{}")))
        #expect(!manifest.isOfMembers)
    }

    @Test(arguments: [Manifest.systemd, .kubernetes, .etcd], [2, 3])
    func `a manifest for members says for how many, and ends with one line break`(
        manifest: Manifest, members: Int
    ) {
        let text = manifest.text(nil, Manifest.Form(members: members))
        #expect(lines(text).last == "")
        #expect(lines(text).dropLast().last?.isEmpty == false)
        #expect(lines(text).filter { $0.last == " " || $0.contains("\t") } == [])
        if manifest != .etcd { #expect(text.contains("--members \(members)")) }
        #expect(manifest == .etcd || manifest.text() != text)
    }

    @Test func `a unit keeps what it promises`() {
        let lines = Set(lines(Manifest.systemd.text()))
        for directive in [
            "Type=notify", "ExecReload=/bin/kill -HUP $MAINPID", "WatchdogSec=60s",
            "WatchdogSignal=SIGKILL", "TimeoutStopSec=20s", "Restart=always", "RestartSec=1s",
            "StartLimitIntervalSec=0", "KillMode=mixed", "OOMScoreAdjust=-500", "LimitCORE=0",
            "DynamicUser=yes", "StateDirectory=rollcall", "UMask=0077", "NoNewPrivileges=yes",
            "ProtectSystem=strict", "PrivateTmp=yes", "PrivateDevices=yes",
            "MemoryDenyWriteExecute=yes", "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX",
            "SystemCallFilter=@system-service", "SystemCallFilter=~@privileged @resources",
            "ExecStart=/usr/local/bin/rollcall serve --storage.path ${STATE_DIRECTORY}/rollcall.db",
        ] {
            #expect(lines.contains(directive[...]), "\(directive)")
        }
    }

    @Test func `a unit starts with the settings it was made for`() throws {
        let text = Manifest.systemd.text(try settings("", path: "/etc/roll call/50%.yml"))
        #expect(
            lines(text).contains(
                #"ExecStart=/usr/local/bin/rollcall serve --storage.path ${STATE_DIRECTORY}/"#
                    + #"rollcall.db --config.file "/etc/roll call/50%%.yml""#))
    }

    @Test(arguments: ["/tmp/a.yml", "/var/tmp/a.yml", "/home/kim/a.yml", "/root/a.yml"])
    func `settings that a unit does not see are copied to where it does`(path: String) throws {
        let given = try settings("", path: path)
        let text = Manifest.systemd.text(given)
        let members = Manifest.systemd.text(given, Manifest.Form(members: 3))
        #expect(text.contains("#   install -D -m 0644 \(path) /etc/rollcall/rollcall.yml\n"))
        #expect(text.contains("rollcall.db --config.file /etc/rollcall/rollcall.yml\n"))
        // Whoever follows the unit's own instructions gets this unit.
        for (manifest, command) in [(text, ""), (members, " --members 3")] {
            let line = "#   rollcall manifest systemd\(command) --config.file \(path) > /etc/"
            #expect(manifest.contains(line))
        }
        #expect(!Manifest.systemd.text(try settings("")).contains("install -D"))
    }

    @Test(arguments: [
        ("/tmp/a.yml", "/tmp/a.yml"), ("a b", "'a b'"), ("it's", #"'it'\''s'"#), ("$(x)", "'$(x)'"),
        ("", "''"), ("a\nb", #"'a\u{A}b'"#), ("*", "'*'"), ("a;b", "'a;b'"), ("~/x", "'~/x'"),
        ("Büro", "'Büro'"),
    ])
    func `an argument is quoted as a shell wants it`(argument: String, quoted: String) {
        #expect(ShellText.quoted(argument) == quoted)
    }

    private func named(_ files: [String], holdsSecrets: Bool = false) throws -> String {
        var settings = try settings("")
        (settings.files, settings.holdsSecrets) = (files, holdsSecrets)
        return Manifest.kubernetes.text(settings)
    }

    @Test func `a Pod has what it needs to page, and every file that its settings name`() throws {
        #expect(Manifest.kubernetes.text().contains("`.packages/image` builds one"))
        let text = try named([
            "a.token", "keys/b.key", "/run/keys/b.key", "/run/keys/c c", "../other/d",
            "/etc/rollcall/e", "/etc/ssl/certs/ca-certificates.crt",
        ])
        #expect(
            text.contains(
                "kubectl create secret generic rollcall-secrets --from-file=a.token=a.token "
                    + "--from-file=b.key=keys/b.key --from-file=e=/etc/rollcall/e "
                    + "--from-file=b.key-2=/run/keys/b.key '--from-file=c-c=/run/keys/c c' "
                    + "--from-file=d=../other/d\n"))
        #expect(!text.contains("optional"))
        for line in [
            #"                  - {key: "b.key", path: "keys/b.key"}"#,
            #"              - {key: "c-c", path: "c c"}"#,
            #"            - {name: rollcall-secrets-1, mountPath: "/run/keys", readOnly: true}"#,
            #"            - {name: rollcall-secrets-2, mountPath: "/etc/other", readOnly: true}"#,
        ] { #expect(lines(text).contains { $0.hasSuffix(line.drop { $0 == " " }) }, "\(line)") }
        #expect(!text.contains("hides nothing"))
        #expect(try named([], holdsSecrets: true).contains("a ConfigMap hides nothing"))
        #expect(try named([]).contains("optional: true\n"))
    }

    @Test func `a file has one place, and nothing is mounted below what is read`() throws {
        let text = try named([
            "a.token", "./a.token", "/etc/rollcall/a.token", "/run/keys/b", "/run/c",
            "/run/keys/d/e",
        ])
        #expect(text.components(separatedBy: "mountPath: ").count == 1 + 3)
        for line in [
            #"mountPath: "/run", readOnly: true}"#, #"{key: "a.token", path: "a.token"}"#,
            #"{key: "b", path: "keys/b"}"#, #"{key: "c", path: "c"}"#,
            #"{key: "e", path: "keys/d/e"}"#,
        ] { #expect(text.components(separatedBy: line).count == 2, "\(line)") }
        #expect(text.contains("automountServiceAccountToken: false"))
        #expect(try !named(["/srv/a"]).contains("automountServiceAccountToken"))
    }

    @Test(arguments: [
        ("{}", "12Gi"), ("storage: {size: 64MiB}", "3Gi"), ("storage: {size: 10GiB}", "27Gi"),
        ("storage: {size: 10GiB, upgrade_copy: false}", "17Gi"),
        ("storage: {size: 16TiB}", "40962Gi"),
    ])
    func `a volume has room for storage size, its log and a copy`(yaml: String, room: String) throws
    {
        let settings = try settings(yaml)
        for form in [
            Manifest.Form(), Manifest.Form(place: .standalone), Manifest.Form(members: 2),
        ] {
            let text = Manifest.kubernetes.text(settings, form)
            #expect(text.contains("requests: {storage: \"\(room)\"}"))
        }
        let values = HelmChart(settings).files.first { $0.name == "values.yaml" }
        #expect(values?.text.contains("\nstorage: \(room)\n") == true)
    }

    @Test(arguments: [
        ("", []), ("?sslmode=verify-full", []), ("?sslrootcert=system", []),
        ("?sslrootcert=/a%20b.pem&sslcert=c&sslkey=d%2Fe&sslcrl=f", ["/a b.pem", "c", "d/e", "f"]),
        ("?sslkey=%zz&sslcert=&passfile=g", []),
    ])
    func `a URL of PostgreSQL names files`(query: String, files: [String]) {
        var cluster = ClusterSettings()
        cluster.postgresURL = "postgresql://rollcall@db1,db2/rollcall\(query)"
        #expect(cluster.postgresFiles == files)
    }

    @Test(
        arguments: [
            ("/etc/rollcall.yml", "/etc/rollcall.yml"), ("", #""""#), ("a b", #""a b""#),
            ("100%", "100%%"), ("$HOME", "$$HOME"), (#"a"b\c"#, #""a\"b\\c""#),
            ("it's", #""it's""#), (";", #"";""#), ("a\nb\u{7F}", #""a\x0ab\x7f""#),
            ("Büro", "Büro"),
        ])
    func `an argument is quoted as a unit wants it`(argument: String, quoted: String) {
        #expect(SystemdUnit.quoted(argument) == quoted)
    }

    @Test func `a scrape goes where the settings listen`() throws {
        for (address, target) in [
            ("127.0.0.1:9000", "127.0.0.1:9000"), ("0.0.0.0:9000", "127.0.0.1:9000"),
            ("[::]:9000", "[::1]:9000"), ("[::1]:9000", "[::1]:9000"),
        ] {
            let yaml = "web: {listen_address: \"\(address)\"}"
            let text = Manifest.prometheus.text(try settings(yaml))
            #expect(text.contains("      - targets: [\"\(target)\"]\n"))
        }
        #expect(Manifest.prometheus.text().contains("      - targets: [\"127.0.0.1:10112\"]\n"))
    }

    @Test func `a config map holds the settings line by line`() throws {
        let yaml =
            "  # mine\n  coverage:\r\n    regions: [north]\n\n\n  storage: {path: a.db}\n\n\n"
        let text = Manifest.kubernetes.text(try settings(yaml))
        #expect(
            text.contains(
                """
                  rollcall.yml: |
                    # Flags win over what stands here.
                      # mine
                      coverage:
                        regions: [north]


                      storage: {path: a.db}
                ---

                """))
    }
}

import RollcallCore
import Testing

@testable import Rollcall

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
        #expect(lines.filter { $0.count > 100 || $0.last == " " || $0.contains("\t") } == [])
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

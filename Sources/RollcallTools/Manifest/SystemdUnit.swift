/// The unit that `rollcall manifest systemd` prints: `Type=notify`, fed watchdog, hardened.
///
/// `Type=notify-reload` would need systemd 253, and Debian 12 has 252.
enum SystemdUnit {
    static func text(_ settings: ManifestSettings?) -> String {
        let hidden = settings.flatMap { isHidden($0.path) ? $0.path : nil }
        let path = hidden == nil ? settings?.path : settingsPath
        let argument = path.map { " --config.file \(quoted($0))" } ?? ""
        // What the unit does not see is copied to where it does.
        let copy =
            hidden.map { "#   install -D -m 0644 \(ShellText.quoted($0)) \(settingsPath)\n" } ?? ""
        return title + copy + install(settings) + head + command + argument + "\n" + reload
            + (SystemdCredentials.text(settings) ?? example) + watch
            + hardening
    }

    /// The path at which settings belong.
    static let settingsPath = "/etc/rollcall/rollcall.yml"

    /// True of what the unit does not see: PrivateTmp and ProtectHome put something else there.
    static func isHidden(_ path: String) -> Bool {
        ["/tmp/", "/var/tmp/", "/home/", "/root/", "/run/user/"].contains { path.hasPrefix($0) }
    }

    /// Its first lines.
    static let title = """
        # Rollcall for systemd 247 or newer, printed by `rollcall manifest systemd`.
        #
        #   install -m 0755 rollcall /usr/local/bin/rollcall

        """

    /// The lines that print it again, for the same settings, and start it.
    static func install(_ settings: ManifestSettings?, _ members: String = "") -> String {
        let file = settings.map { " --config.file \(ShellText.quoted($0.path))" } ?? ""
        return """
            #   rollcall manifest systemd\(members)\(file) > /etc/systemd/system/rollcall.service
            #   systemctl daemon-reload && systemctl enable --now rollcall
            #

            """
    }

    private static let head = """
        # What is yours to decide is marked CHANGE. `systemctl status rollcall` shows the address, and
        # `journalctl -u rollcall` the log.

        [Unit]
        Description=Rollcall, who of your people can be reached now
        # CHANGE: for an address other than loopback, network-online.target, and Wants= of it.
        After=network.target
        # Started again for ever: nobody else keeps this watch.
        StartLimitIntervalSec=0

        [Service]
        Type=notify
        NotifyAccess=main
        # CHANGE: settings, by `rollcall manifest systemd --config.file /etc/rollcall/rollcall.yml`. The
        # file must be readable by everybody and not be below /home, /root or /tmp.

        """

    /// The line that starts it, up to its settings.
    static let command =
        "ExecStart=/usr/local/bin/rollcall serve --storage.path ${STATE_DIRECTORY}/rollcall.db"

    private static let reload = """
        ExecReload=/bin/kill -HUP $MAINPID

        """

    /// The lines about secrets where no settings name any.
    private static let example = """
        # CHANGE: secrets stay with root; in the settings
        # token_file: /run/credentials/rollcall.service/backend-1
        #LoadCredential=backend-1:/etc/rollcall/backend-1.token

        """

    /// The lines that say how it is started, watched and ended.
    static let watch = """

        # After a crash the tail of the journal is folded again: about 2 s for a million people.
        TimeoutStartSec=5min
        # SIGTERM answers what waits and writes a checkpoint, which takes less than 10 s.
        TimeoutStopSec=20s
        KillMode=mixed
        # Fed by the loop that judges people, so one that hangs is killed and started anew; what was
        # acknowledged is stored. A full disk does not stop the loop. 60 s, because the kernel gives up
        # on a SCSI or NVMe disk after 30 s: then Rollcall hears of it and says why it ends (74).
        WatchdogSec=60s
        # Not SIGABRT: Swift's crash handler may outlive it, and there is no core to be had.
        WatchdogSignal=SIGKILL
        Restart=always
        RestartSec=1s
        OOMScoreAdjust=-500

        # One descriptor a connection (limits.connections), and a few files.
        LimitNOFILE=2048
        # Memory holds what is known of people, so it must not end up in a core file.
        LimitCORE=0
        TasksMax=64
        # CHANGE: 30 MB when idle, 440 MB for a million people.
        #MemoryMax=1G

        """

    /// The lines that say what it may do, and who starts it.
    static let hardening = """
        # A user of its own that owns /var/lib/rollcall and nothing else.
        DynamicUser=yes
        StateDirectory=rollcall
        StateDirectoryMode=0700
        UMask=0077
        NoNewPrivileges=yes
        CapabilityBoundingSet=
        AmbientCapabilities=
        PrivateUsers=yes
        ProtectSystem=strict
        ProtectHome=yes
        PrivateTmp=yes
        PrivateDevices=yes
        DevicePolicy=closed
        ProtectClock=yes
        ProtectControlGroups=yes
        ProtectHostname=yes
        ProtectKernelLogs=yes
        ProtectKernelModules=yes
        ProtectKernelTunables=yes
        # Not ProcSubset=pid: process_start_time_seconds is read from /proc/stat.
        ProtectProc=invisible
        KeyringMode=private
        LockPersonality=yes
        MemoryDenyWriteExecute=yes
        RemoveIPC=yes
        RestrictNamespaces=yes
        RestrictRealtime=yes
        RestrictSUIDSGID=yes
        # AF_UNIX is for the notifications to systemd.
        RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
        # CHANGE: without receivers elsewhere nothing but this machine is talked to.
        #IPAddressDeny=any
        #IPAddressAllow=localhost
        SystemCallArchitectures=native
        SystemCallFilter=@system-service
        SystemCallFilter=~@privileged @resources
        SystemCallErrorNumber=EPERM

        [Install]
        WantedBy=multi-user.target

        """

    /// An argument as systemd.service(5), "Command lines", reads it back: `%` and `$` are doubled,
    /// and what is no plain character is quoted.
    static func quoted(_ argument: String) -> String {
        var text = ""
        var isPlain = !argument.isEmpty
        for character in argument.unicodeScalars {
            switch character {
            case "%", "$": text += "\(character)\(character)"
            case "\"", "\\":
                text += "\\\(character)"
                isPlain = false
            case _ where character.value < 0x20 || character.value == 0x7F:
                text += "\\x" + (character.value < 16 ? "0" : "")
                text += String(character.value, radix: 16)
                isPlain = false
            default:
                text.unicodeScalars.append(character)
                if character == " " || character == "'" || character == ";" { isPlain = false }
            }
        }
        return isPlain ? text : "\"\(text)\""
    }
}

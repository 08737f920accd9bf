/// The unit that `rollcall manifest systemd --members 3` prints: that of one machine, with a name and
/// an address of its own. It is the same at each of them.
enum SystemdMember {
    static func text(_ settings: ManifestSettings?, _ members: Int) -> String {
        let path = settings.map(\.path) ?? SystemdUnit.settingsPath
        let isHidden = SystemdUnit.isHidden(path)
        let seen = isHidden ? SystemdUnit.settingsPath : path
        let copy = isHidden ? "#   install -D -m 0644 \(ShellText.quoted(path)) \(seen)\n" : ""
        return SystemdUnit.title + copy
            + SystemdUnit.install(settings, " --members \(members)") + intent(members)
            + (settings == nil ? example(members) : "#\n") + unit
            + SystemdUnit.command + " --config.file \(SystemdUnit.quoted(seen))\n" + secrets
            + (settings == nil ? credentials : SystemdCredentials.text(settings) ?? "")
            + SystemdUnit.watch + SystemdUnit.hardening
    }

    private static func intent(_ members: Int) -> String {
        """
        # It is one of \(members) members, on machines that reach each other by their hosts' names, with
        # the etcd of `rollcall manifest etcd --members \(members)`. What is yours to decide is marked CHANGE.

        """
    }

    private static func example(_ members: Int) -> String {
        let lines = MemberSettings.machine.split(separator: "\n").map { "#   \($0)\n" }
        return """
            # CHANGE: settings in \(SystemdUnit.settingsPath), the same at all, such as

            """ + lines.joined() + "#\n"
    }

    private static let unit = """

        [Unit]
        Description=Rollcall, a member of a watch on several machines
        Wants=network-online.target
        # It starts without etcd too, and waits for it.
        After=network-online.target rollcall-etcd.service
        # Started again for ever.
        StartLimitIntervalSec=0

        [Service]
        Type=notify
        NotifyAccess=main
        # The member's name is the host's; it belongs to the store of this machine. CHANGE: the address
        # at which the other members and your backend reach this one, if it is not the host's name.
        Environment=ROLLCALL_CLUSTER_MEMBER=%H
        Environment=ROLLCALL_CLUSTER_ADDRESS=http://%H:10112

        """

    private static let secrets = """
        ExecReload=/bin/kill -HUP $MAINPID
        # Secrets stay with root; the settings name /run/credentials/rollcall.service/members.token.

        """

    private static let credentials = MemberSettings.files.map {
        "LoadCredential=\($0):/etc/rollcall/\($0)\n"
    }.joined()
}

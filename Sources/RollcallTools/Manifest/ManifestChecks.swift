import RollcallBasis

/// The settings that a manifest is not made for, because what starts by it would not work.
extension ManifestSettings {
    /// Refuses settings that `manifest` cannot be made for.
    /// - Throws: `InputFileError.unusable` with what is wrong or missing.
    func check(for manifest: Manifest, _ form: Manifest.Form) throws(InputFileError) {
        switch (manifest, form.members) {
        case (.kubernetes, nil) where form.place == .standalone: try checkForStandalone()
        case (.kubernetes, nil): try checkForPodAlone()
        case (.kubernetes, _?):
            try checkForMembers()
            try forMembers.checkForPod()
        case (.systemd, _?): try checkForMembers()
        case (.prometheus, _): try checkWeb()
        default: break
        }
    }

    /// Refuses settings with which one in a Pod of its own would not start.
    /// - Throws: `InputFileError.unusable` with what is missing.
    package func checkForStandalone() throws(InputFileError) {
        try checkForPodAlone()
        let access = configuration.accessPolicy
        guard !hasTokens, access.web.users.isEmpty, !access.asksForCertificates else { return }
        throw .unusable(
            path: path,
            "web.tokens: in a Pod of its own it listens beyond loopback, for tokens, users or "
                + "verified client certificates alone")
    }

    /// Refuses several members' settings for one, which in a Pod would wait for the others.
    private func checkForPodAlone() throws(InputFileError) {
        try checkForPod()
        guard cluster.isOn else { return }
        throw .unusable(
            path: path, "cluster.log: one of several members: --members 2 or 3 prints all of them")
    }

    /// Refuses files that can have no place in a Pod.
    private func checkForPod() throws(InputFileError) {
        try checkWeb()
        for file in files {
            if let refusal = SecretMounts.refusal(of: file) {
                throw .unusable(path: path, refusal)
            }
        }
    }

    /// Refuses a web configuration that cannot be read here.
    private func checkWeb() throws(InputFileError) {
        guard let webFault else { return }
        throw .unusable(
            path: path,
            "web.config_file: it says what is spoken and which files belong to it, and must be "
                + "readable here: \(webFault.sentence)")
    }
}

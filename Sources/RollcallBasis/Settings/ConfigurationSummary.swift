import RollcallCore
import RollcallSupport

/// The meaning of a configuration, in words.
extension Configuration {
    /// A sentence or two for each part, in the order of the file.
    package var summary: [String] {
        if cluster.isGateway {
            return [listening, limitWordsOfGateway] + [cellWords ?? "", changing]
        }
        var sentences = [listening] + inputWords + [keeping]
        sentences += [
            Self.words("On duty", policy.onDuty), Self.words("On a mission", policy.onMission),
        ]
        sentences += [
            Self.words("On duty", policy.onDuty.background),
            Self.words("On a mission", policy.onMission.background),
        ].compactMap { $0 }
        sentences.append(promises)
        if let factors { sentences.append(factors) }
        sentences += [serverWords, forgetting, feedWords, limitWords]
        if !policy.coverageRegions.isEmpty {
            let names = policy.coverageRegions.map { String(decoding: $0, as: UTF8.self) }
            sentences.append("Must always be staffed: \(names.joined(separator: ", ")).")
        }
        sentences +=
            alertWords + notifyingWords + otlpWords + nudgeWords + subscriptions.map(\.words)
        if cluster.isOn { sentences.append(clusterWords) }
        if let words = cellWords { sentences.append(words) }
        sentences.append(changing)
        return sentences
    }

    private var listening: String {
        let reach =
            HTTPListener.isLoopback(listenAddress) == true
            ? "only this machine can reach it" : "other machines can reach it"
        let tokens =
            accessPolicy.access.isOpen
            ? accessPolicy.web.users.isEmpty ? "Nobody needs a token." : "There are no tokens."
            : "It lets in who has a token: "
                + accessPolicy.access.tokens.map { token in
                    let scopes = token.words.joined(separator: " and ")
                    return "\(token.name) (\(scopes))"
                }.joined(separator: ", ") + "."
        let probes =
            accessPolicy.metricsListenAddress.isEmpty
            ? "" : " Metrics and health are open at \(accessPolicy.metricsListenAddress)."
        let hosts =
            accessPolicy.trustedHosts.isEmpty
            ? ""
            : " On loopback Host may also be "
                + accessPolicy.trustedHosts.joined(separator: ", ") + "."
        return "It listens at \(listenAddress); \(reach). \(tokens)\(webWords)\(probes)\(hosts)"
    }

    private var webWords: String {
        let web = accessPolicy.web
        var words = ""
        if let tls = web.tls {
            words += " It speaks TLS, \(tls.oldest.rawValue) to \(tls.newest.rawValue)"
            words += tls.clientAuth == .none ? "." : ", with \(tls.clientAuth.rawValue)."
        }
        if !web.users.isEmpty {
            let names = web.users.map(\.name).sorted().joined(separator: ", ")
            words += " Who shows a password may do everything: \(names)."
        }
        if !web.fields.isEmpty {
            words += " Answers have \(web.fields.map(\.name).joined(separator: ", "))."
        }
        return words
    }

    private var keeping: String {
        "Its store is \(storagePath). It keeps \(Self.words(policy.retention)) of history, or "
            + "\(SettingText.of(bytes: storageBytesMax, between: " ")) if that is less."
    }

    private static func words(_ duty: String, _ profile: Policy.Profile) -> String {
        "\(duty), a phone is to report every \(words(profile.expected)). Without contact it is "
            + "DEGRADED after \(words(profile.degradedAfter)) and OFFLINE after "
            + "\(words(profile.offlineAfter))."
    }

    private static func words(_ duty: String, _ profile: Policy.Background) -> String? {
        guard profile.isSet else { return nil }
        return "\(duty), with the app in the background, it is to report every "
            + "\(words(profile.expected)), and is DEGRADED after "
            + "\(words(profile.degradedAfter)) and OFFLINE after "
            + "\(words(profile.offlineAfter))."
    }

    private var promises: String {
        func most(_ span: Milliseconds) -> String? {
            span.count < 3 ? nil : "spares nobody OFFLINE for more than \(Self.words(span))"
        }
        let word = "What a phone says of its next report"
        switch (most(policy.promiseMax), most(policy.missionPromiseMax)) {
        case (let onDuty?, let onMission?): return "\(word) \(onDuty), on a mission \(onMission)."
        case (let onDuty?, nil): return "\(word) \(onDuty), and on a mission counts for nothing."
        case (nil, let onMission?): return "\(word) counts on a mission only, and \(onMission)."
        case (nil, nil): return "\(word) counts for nothing."
        }
    }

    private var factors: String? {
        let factors = [
            ("in low power mode", policy.lowPowerFactor), ("on iOS", policy.iosFactor),
            ("on Android", policy.androidFactor),
        ].filter { $0.1 != 1.0 }
        if factors.isEmpty { return nil }
        let words = factors.map { "\($0.0) by \($0.1)" }.joined(separator: ", ")
        return "These thresholds are multiplied, \(words)."
    }

    private var serverWords: String {
        switch policy.serverTransitions {
        case .adopt: "Your server's own changes of status are evidence and may be adopted."
        case .observe: "Your server's own changes of status are counted and adopted never."
        }
    }

    private var forgetting: String {
        "Who is OFFLINE for \(Self.words(policy.forgetAfter)) is no longer expected, until they "
            + "report again."
    }

    private var feedWords: String {
        "A stalled feed may be suspected once \(policy.feedMinActive) were ONLINE and nobody sent "
            + "a batch for \(Self.words(policy.feedStallAfter))."
    }

    private var limitWords: String {
        "A body holds at most \(SettingText.of(bytes: bodyBytesMax, between: " ")), "
            + "\(scanLimits.itemsMax) items and \(scanLimits.depthMax) levels; there are at most "
            + "\(connectionsMax) connections, \(policy.respondersMax) people and, in metrics, "
            + "\(policy.regionLabelsMax) regions. Known at once are at most "
            + "\(policy.regionNamesMax) regions, \(policy.circleNamesMax) circles, "
            + "\(scanLimits.circlesMax) of them a person, and \(policy.versionNamesMax) versions."
    }

    private var limitWordsOfGateway: String {
        "A body holds at most \(SettingText.of(bytes: bodyBytesMax, between: " ")) and "
            + "\(scanLimits.itemsMax) items; there are at most \(connectionsMax) connections."
    }

    private var clusterWords: String {
        let name = String(decoding: cluster.memberName, as: UTF8.self)
        let endpoints = cluster.endpoints.map { String(decoding: $0, as: UTF8.self) }
        let engine =
            cluster.postgresURL.isEmpty
            ? "etcd at \(endpoints.joined(separator: ", ")), under \(cluster.prefix)"
            : "PostgreSQL at \(cluster.postgresURL), in the table \(cluster.postgresTable)"
        let address = cluster.address.map { "The others reach it at \($0.text)." }
        return "It is member \(name) of a watch whose log is in \(engine). "
            + "\(Self.words(cluster.silence)) after the leader's last beat another member stands. "
            + (address ?? "The others cannot reach it: cluster.address is not set.")
    }

    private var cellWords: String? {
        switch cluster.cellRole {
        case .alone:
            guard cluster.isGateway else { return nil }
            let urls = cluster.fleetCell.map { String(decoding: $0, as: UTF8.self) }
            return "It is a gateway's, which has no people and no store: rollcall gateway asks the "
                + "fleet cell at \(urls.joined(separator: ", ")) whose people are whose."
        case .cell(let name):
            return "It is cell \(String(decoding: name, as: UTF8.self)) of a fleet: it takes "
                + "nobody before the fleet cell has handed it the map, and then its own people "
                + "only."
        case .fleet(let cells):
            let names = cells.map { String(decoding: $0.name, as: UTF8.self) }
            return "It is the fleet cell of \(names.joined(separator: ", ")), and has no people. "
                + "Its first map gives each of them a share; one that is named later gets no "
                + "people."
        }
    }

    private var changing: String {
        var fixed = Setting.all.filter { $0.effect == .start }.map(\.key)
        fixed = fixed.filter { !$0.hasPrefix("cluster.") } + ["all of cluster"]
        return "A reload changes all but \(fixed.joined(separator: ", ")): these need a restart."
    }

    static func words(_ span: Milliseconds) -> String {
        SettingText.of(span, between: " ")
    }
}

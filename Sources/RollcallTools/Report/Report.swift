import Glibc
import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallSupport

/// One text about a server for a report of a bug, without personal data and secrets: of a server that
/// runs, hangs or is dead. Each part says what it could not get, and why. Source: V19.
package struct Report {
    /// The places of the server, its settings and its store.
    package struct Place: Sendable {
        /// The server, and what lets in.
        package var address: ServerAddress
        /// True if the address is the one at which the settings have it listen, or the usual one: nobody
        /// gave another.
        package var isAddressAssumed: Bool
        /// The store, as it was given; nil for what the settings say.
        package var storagePath: String?
        /// The settings; nil if no file of them is known.
        package var source: SettingsSource
        /// True if regions, sources and receivers are told by their names.
        package var showsNames: Bool

        /// All of it is known by whoever asks.
        package init(
            address: ServerAddress, isAddressAssumed: Bool, storagePath: String?,
            source: SettingsSource, showsNames: Bool
        ) {
            self.address = address
            self.isAddressAssumed = isAddressAssumed
            self.storagePath = storagePath
            self.source = source
            self.showsNames = showsNames
        }
    }

    /// Seconds that a part may take.
    private static let partSeconds = 15
    private static let storeSeconds = 30

    private let place: Place
    private var names: ReportNames
    private var text = ""

    /// A report of what is at `place`.
    package init(_ place: Place) {
        self.place = place
        names = ReportNames(shows: place.showsNames)
    }

    /// Makes it.
    package mutating func make(at now: Timestamp) -> String {
        text = """
            Rollcall report, \(RFC3339.string(now))

            For whoever looks for a bug. It holds no ids of people, installs or phones, no circles, no \
            addresses and no secrets. \(place.showsNames ? "Names of regions, sources and receivers stand in it." : "Names of regions, sources and receivers are replaced: region-1.") \
            Read it before you send it.

            """
        part(
            "Versions",
            BoundedWait.lines(seconds: Self.partSeconds) { ReportMachine.sayVersions($0) })
        part("Machine", BoundedWait.lines(seconds: Self.partSeconds) { ReportMachine.sayLoad($0) })
        let server = askServer()
        let configuration = readSettings()
        appendSettings(server.report, configuration)
        let store = ReportStore(
            path: storePath(configuration), now: now)
        let number = server.report?["process"]?.whole.map { Int($0) } ?? store.process
        part(
            "Process",
            number.map { number in
                BoundedWait.lines(seconds: Self.partSeconds) {
                    ReportProcess(number: number).say($0)
                }
            } ?? ["not had: neither a server nor the store's lock names one"])
        part(
            "Disk",
            BoundedWait.lines(seconds: Self.partSeconds) {
                ReportMachine.sayDisk(of: store.path, $0)
            })
        let names = self.names
        part(
            "Store",
            BoundedWait.lines(seconds: Self.storeSeconds) { lines in
                store.sayFiles(lines)
                store.sayContent(lines) { names.text($0) }
            })
        appendLog(server.report)
        return text
    }

    private mutating func part(_ title: String, _ lines: [String]) {
        text += "\n== \(title)\n"
        for line in lines { text += ConsoleText.safe(line) + "\n" }
    }

    // MARK: - The server

    private mutating func askServer() -> (report: JSONTree?, silence: String?) {
        let server: ReportServer
        do throws(HTTPCallError) {
            server = try ReportServer(place.address)
        } catch {
            part("Server", ["not had: there is no libcurl to ask it by"])
            return (nil, "there is no libcurl")
        }
        var lines = place.isAddressAssumed ? [assumption] : []
        for (title, resource) in [("health", Resource.healthy), ("readiness", .ready)] {
            switch server.ask(resource, names) {
            case .none(let reason): lines.append("\(title): not had: \(reason)")
            case .answer(let status, let body, let took):
                let words = status == 200 ? "" : " \(names.text(Self.detail(body)))"
                lines.append("\(title): \(status)\(words), in \(Self.milliseconds(took)) ms")
            }
        }
        part("Server", lines)
        part("Status", status(server))
        part("Metrics", metrics(server))
        var report: JSONTree?
        var reasons: [String] = []
        switch server.ask(.report, names) {
        case .none(let reason): reasons = ["not had: \(reason)"]
        case .answer(200, let body, _): report = try? JSONTree(reading: body)
        case .answer(let status, _, _):
            reasons = ["not had: \(server.refusal(status, .admin))"]
        }
        if let report {
            var shown = ["version: \(names.value(report["version"]?.text ?? "", of: "version"))"]
            for member in report["libraries"]?.members ?? [] {
                shown.append(
                    "\(names.text(member.name)): \(names.value(member.value.text ?? "", of: "version"))"
                )
            }
            reasons = shown
        }
        part("What the server tells of itself", reasons)
        return (report, server.silence)
    }

    private var assumption: String {
        place.source.path == nil
            ? "asked at the usual address: neither --server nor a file of settings says another"
            : "asked where the settings have it listen: --server says another"
    }

    private static func milliseconds(_ span: Duration) -> Int { Int(span / .milliseconds(1)) }

    private static func detail(_ body: [UInt8]) -> String {
        (try? JSONTree(reading: body))?["detail"]?.text ?? ""
    }

    private mutating func status(_ server: ReportServer) -> [String] {
        switch server.ask(.status, names) {
        case .none(let reason): return ["not had: \(reason)"]
        case .answer(200, let body, _):
            guard let tree = try? JSONTree(reading: body) else { return ["not had: it is no JSON"] }
            return ReportAnswers.tree(tree, &names)
        case .answer(let status, _, _): return ["not had: \(server.refusal(status, .read))"]
        }
    }

    private mutating func metrics(_ server: ReportServer) -> [String] {
        switch server.ask(.metrics, names) {
        case .none(let reason): return ["not had: \(reason)"]
        case .answer(200, let body, let took):
            let lines = ReportAnswers.metrics(String(decoding: body, as: UTF8.self), &names)
            return [
                "\(body.count) bytes in \(Self.milliseconds(took)) ms; without buckets and what is 0"
            ] + lines
        case .answer(let status, _, _): return ["not had: \(server.refusal(status, .read))"]
        }
    }

    // MARK: - Settings

    private func readSettings() -> Result<Configuration, InputFileError> {
        let source = place.source
        return Result { () throws(InputFileError) in try source.read() }
    }

    private func storePath(_ configuration: Result<Configuration, InputFileError>) -> String {
        var path = place.storagePath ?? Configuration().storagePath
        if place.storagePath == nil, case .success(let found) = configuration {
            path = found.storagePath
        }
        return (try? StoreFile.resolve(path)) ?? path
    }

    private mutating func appendSettings(
        _ report: JSONTree?, _ configuration: Result<Configuration, InputFileError>
    ) {
        if let report {
            let settings = report["settings"]?.elements ?? []
            let shown = settings.filter { !($0["default"]?.isTrue ?? false) }.compactMap {
                setting in
                setting["setting"]?.text.map { "\($0): \(setting["value"]?.text ?? "")" }
            }
            let rest = settings.count - shown.count
            part("Settings as the server has them", shown + ["\(rest) others have their defaults"])
        } else {
            part("Settings as the server has them", ["not had: see above"])
        }
        let title = "Settings as the file and the variables of this command say"
        switch configuration {
        case .success(let configuration):
            let settings = Setting.all.map { ReportedSetting($0, configuration) }
            let shown = settings.filter { !$0.isDefault }.map { "\($0.key): \($0.value)" }
            let file = place.source.path == nil ? ["no file was named (--config.file)"] : []
            part(
                title,
                file + shown + ["\(settings.count - shown.count) others have their defaults"])
        case .failure(let error):
            part(title, ["not had: \(names.text(error.sentence))"])
        }
    }

    // MARK: - The log

    private mutating func appendLog(_ report: JSONTree?) {
        if let lines = report?["log"]?.elements.compactMap(\.text) {
            return part("Log, from the server", ReportLog.shown(lines, &names))
        }
        switch ReportJournal.lines(count: ReportLog.linesMax) {
        case .success(let lines): part("Log, from systemd", ReportLog.shown(lines, &names))
        case .failure(let error):
            part("Log", ["not had from the server: see above", "not had from systemd: \(error)"])
        }
    }
}

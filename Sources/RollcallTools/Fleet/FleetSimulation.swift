import RollcallBasis
import RollcallCore
import RollcallSupport

/// The work of `rollcall simulate`, and what it says at the end.
package struct FleetSimulation: Sendable {
    private let options: FleetOptions
    private let truth: String?
    /// The policy that was given to decide by; nil for the defaults.
    private let policy: Policy?

    /// Reads what decides.
    /// - Throws: `FleetError.wrongOption` for settings that cannot be read.
    package init(
        _ options: FleetOptions, truth: String?, configurationPath: String?
    ) throws(FleetError) {
        self.options = options
        self.truth = truth
        do throws(InputFileError) {
            policy = try configurationPath.map { (path) throws(InputFileError) in
                try InputFile.configuration(path).policy
            }
        } catch {
            throw .wrongOption("\(error)")
        }
    }

    /// The report on a history that was written.
    package struct Written: Sendable {
        /// In words.
        package let text: String
        /// As a JSON document.
        package let json: String
    }

    /// Writes a file for `rollcall replay`, and returns what came of it.
    /// - Throws: `FleetError` if an option makes no sense, a file is there, or it cannot be
    ///   written.
    package func write(file path: String) throws(FleetError) -> Written {
        let settings = try options.settings(endingAt: nil)
        var progress = Self.progress(settings)
        let text = policy.map { String(decoding: PolicyTree.text($0), as: UTF8.self) }
        let history = try FleetFile.write(
            settings, to: path, truth: truth, policy: text,
            progress: &progress)
        return Self.written(history, settings, path == "-" ? "standard output" : path)
    }

    /// Writes a store for `rollcall serve`, and returns what came of it.
    /// - Throws: `FleetError` if an option makes no sense, a file is there, or the store cannot be
    ///   written.
    package func write(store path: String) throws(FleetError) -> Written {
        let settings = try options.settings(endingAt: ClockReading.now().wall)
        var progress = Self.progress(settings)
        let history = try FleetStore.write(
            settings, to: path, policy: policy ?? Configuration().policy, truth: truth,
            progress: &progress)
        return Self.written(history, settings, path)
    }

    /// Lets the fleet report to the server at `url` until its time is over or `isInterrupted`, and
    /// returns what came of it.
    /// - Throws: `FleetError` if an option makes no sense, the server refuses what it is told, or a
    ///   file cannot be written.
    package func report(
        to url: String, speed: String, tokenPath: String?, isInterrupted: @Sendable () -> Bool
    ) throws(FleetError) -> FleetSummary {
        let address: ServerAddress
        do throws(QuestionError) {
            address = try ServerAddress(
                url: url, flag: "--target", tokenPath: tokenPath,
                environment: SettingsSource.environment)
        } catch {
            throw .wrongOption("\(error)")
        }
        var options = options
        if options.days == nil, options.span == nil { options.span = "8h" }
        let settings = try options.settings(endingAt: nil)
        let target = try FleetTarget(
            settings, to: address, speed: try FleetTarget.speed(speed))
        return try target.run(truth: truth, isInterrupted: isInterrupted)
    }

    private static func progress(_ settings: FleetSettings) -> ProgressLine {
        ProgressLine(total: settings.span.count / FleetPlan.minute, unit: "minutes")
    }

    private static func written(
        _ history: FleetHistory, _ settings: FleetSettings, _ place: String
    ) -> Written {
        let causes = history.causes.sorted { $0.key.rawValue < $1.key.rawValue }.map {
            JSONTree.Member(name: $0.key.rawValue, value: .integer(Int64($0.value)))
        }
        let tree: JSONTree = [
            "written": .text(place), "lines": .integer(Int64(history.lines)),
            "batches": .integer(Int64(history.batches)),
            "responders": .integer(Int64(settings.responders)), "silences": .object(causes),
            "since": .text(RFC3339.string(settings.start)),
            "until": .text(RFC3339.string(settings.end)),
        ]
        return Written(text: words(history, settings, place), json: tree.printed)
    }

    private static func words(
        _ history: FleetHistory, _ settings: FleetSettings, _ place: String
    ) -> String {
        "\(ConsoleText.safe(place)): \(history.lines) lines, \(history.batches) batches of "
            + "\(settings.responders) people, \(history.gaps) silences, from "
            + "\(RFC3339.string(settings.start)) to \(RFC3339.string(settings.end))"
    }
}

import ArgumentParser
import RollcallBasis
import RollcallCore
import RollcallSupport
import RollcallTools

/// `rollcall map`: what an input would take of a recorded body.
struct MapCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "map",
        abstract: "Print what an input would take of a recorded body, line by line.",
        discussion: """
            FILE (- is standard input) holds one body as a phone sent it. --input names an input of \
            the settings; --preset takes one as it is without any. What else the request said is \
            given by --header, --user, --query, --path and --topic. Nothing is sent or kept. Ends \
            with 1 if nothing would be taken.
            """
    )

    @Argument(help: "The body; - for standard input.", completion: .file())
    var file: String

    @Option(help: "An input of the settings.")
    var input: String?

    @Option(
        help: "A preset instead: \(InputPreset.allCases.map(\.rawValue).joined(separator: ", ")).",
        completion: .list(InputPreset.allCases.map(\.rawValue)))
    var preset: String?

    @Option(name: .customLong("config.file"), help: "The settings.", completion: .file())
    var configurationFile: String?

    @Option(help: "A header field, such as 'X-Limit-U: jane'.")
    var header: [String] = []

    @Option(help: "The user of Basic.")
    var user: String?

    @Option(help: "The query, as it stands behind the question mark.")
    var query: String?

    @Option(help: "What stands behind the input's name in the path.")
    var path: String?

    @Option(help: "The topic, for a message by a broker.")
    var topic: String?

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        guard (input == nil) != (preset == nil) else {
            throw ValidationError("give either --input or --preset")
        }
        if let preset, InputPreset(rawValue: preset) == nil {
            let all = InputPreset.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("--preset must be one of \(all)")
        }
    }

    func run() throws {
        let (input, enrols) = try orExit { try chosen() }
        let body = try orExit { try InputFile.text(file) }
        var request = InputMapReport.Request()
        request.headers = header
        request.user = user
        request.query = query
        request.path = path
        request.topic = topic
        let report = InputMapReport(
            Array(body.utf8), request, input: input, enrols: enrols, now: ClockReading.now().wall)
        print(json ? report.json : report.text, terminator: "")
        if !report.hasItems { throw ExitCode(1) }
    }

    private func chosen() throws -> (InputSettings, enrols: Bool) {
        if let preset = preset.flatMap({ InputPreset(rawValue: $0) }) {
            return (InputSettings(name: preset.rawValue, preset: preset), true)
        }
        let source = SettingsSource(
            path: configurationFile, flags: [:], isInsecure: true,
            environment: SettingsSource.environment)
        let configuration = try source.read()
        let names = configuration.inputs.map(\.name)
        guard let found = configuration.inputs.first(where: { $0.name == input }) else {
            let known = names.isEmpty ? "the settings have none" : names.joined(separator: ", ")
            throw ValidationError("no input \(input ?? ""): \(known)")
        }
        return (found, found.enrols(isOpen: configuration.isOpenToThisMachine))
    }
}

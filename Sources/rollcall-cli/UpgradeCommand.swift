import ArgumentParser
import RollcallBasis
import RollcallTools

/// `rollcall upgrade`: a store is brought up to this version, or what that means is told.
struct UpgradeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upgrade",
        abstract:
            "Bring a store up to this version, or tell what that means and how long it takes.",
        discussion: """
            serve does the same at its first start. A copy of the store is kept beside it before \
            anything changes, unless storage.upgrade_copy is false: in the file of --config.file, or by \
            ROLLCALL_STORAGE_UPGRADE_COPY. With --check nothing is changed, and the store may be served \
            meanwhile; ends with 1 if there is no room for the copy.
            """
    )

    @Argument(help: "The store.", completion: .file())
    var store: String

    @Option(
        name: .customLong("config.file"),
        help: "Settings, YAML, of which storage.upgrade_copy counts.",
        completion: .file())
    var configurationFile: String?

    @Flag(help: "Tell what would be done, and how long it takes.")
    var check = false

    @Flag(help: "Print JSON; with --check.")
    var json = false

    func run() throws {
        let source = SettingsSource(
            path: configurationFile, flags: [:], isInsecure: true,
            environment: SettingsSource.environment)
        let keepsCopy = try orExit { try source.read().keepsUpgradeCopy }
        do throws(UpgradeError) {
            let check = try UpgradeCheck(store, keepsCopy: keepsCopy)
            if !self.check {
                print(
                    try UpgradeCheck.upgrade(store, keepsCopy: keepsCopy) { advise($0) },
                    terminator: "")
                return
            }
            print(json ? check.json : check.text, terminator: "")
            guard check.isPossible else {
                throw UpgradeError.noRoom("there is no room for the copy")
            }
        } catch {
            complain("\(error)")
            throw ExitCode(error.exitCode)
        }
    }
}

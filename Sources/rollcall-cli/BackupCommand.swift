import ArgumentParser
import RollcallTools

/// `rollcall backup`: a verified copy of a store.
struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy a store, also of a running server, and verify the copy.",
        discussion: """
            The server goes on meanwhile; run it on the same machine, as the same user. The copy \
            holds everything that was acknowledged before it began. It gets its name once it is \
            verified and durable, for its owner alone, and overwrites nothing. Ends with 1 if the \
            store is damaged, with 75 if the same works a little later. To restore, stop the \
            server, put the copy in the store's place, leave the .epoch file, and start it.
            """
    )

    @Argument(help: "The file to be made.", completion: .file())
    var file: String

    @Option(
        name: .customLong("storage.path"),
        help: "The database; ROLLCALL_STORAGE_PATH says it too. (default: ./rollcall.db)",
        completion: .file())
    var storagePath: String?

    @Flag(help: "Print what was made as JSON.")
    var json = false

    func run() throws {
        do throws(BackupError) {
            let made = try StoreBackup(storePath: storagePath, to: file).run()
            print(json ? made.json : made.text, terminator: "")
        } catch {
            complain("\(error)")
            throw ExitCode(error.exitCode)
        }
    }
}

import ArgumentParser
import RollcallTools

/// `rollcall downgrade`: a store goes back to what it was before an upgrade.
struct DowngradeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "downgrade",
        abstract: "Put the copy back that an upgrade kept of a store, for the older program.",
        discussion: """
            Tells what came since and will not be known, and does nothing; with --yes it is done. The \
            newer store is kept beside it. Refuses while a server runs, if the copy is damaged, and if \
            somebody was erased since. Run it with the newer program, then start the older one.
            """
    )

    @Argument(help: "The store.", completion: .file())
    var store: String

    @Flag(help: "Do it.")
    var yes = false

    @Flag(help: "Also if it cannot be read who is being erased.")
    var unread = false

    func run() throws {
        do throws(UpgradeError) {
            let downgrade = try StoreDowngrade(store)
            print(downgrade.text, terminator: "")
            if yes {
                print(try downgrade.run(unread: unread), terminator: "")
                return
            }
        } catch {
            complain("\(error)")
            throw ExitCode(error.exitCode)
        }
        complain("nothing was done: --yes does it")
        throw ExitCode(1)
    }
}

import Glibc
import RollcallBasis
import RollcallSupport

/// `rollcall demo --members 3`: the same server three times, as one watch.
extension Demo {
    /// The numbers of members that there may be.
    package static let members = 2...3

    /// Runs the story of several members; returns the exit code.
    /// - Throws: `Fault` if etcd is missing (69), or something does not start.
    func run(members count: Int, _ folder: DemoFolder, _ signals: sigset_t) throws(Fault) -> CInt {
        let caller: HTTPCaller
        do throws(HTTPCallError) {
            caller = try HTTPCaller()
        } catch {
            throw Fault(exitCode: 69, description: "\(error)")
        }
        let receivers: DemoReceivers
        do throws(HTTPServerError) {
            receivers = try DemoReceivers()
        } catch {
            throw Fault(exitCode: 1, description: "\(error)")
        }
        defer { receivers.stop() }
        let members = try DemoMembers(
            count, address: options.listenAddress, folder, receivers, caller)
        defer { members.stop() }
        say(Self.greeting(count, isEndless: !options.endsAfterScript))
        var watch = DemoWatch(
            members, receivers, caller, .ofDemo(), program: options.program,
            signals: signals)
        do throws(DemoWatch.End) {
            try watch.play()
        } catch {
            switch error {
            case .stopped:
                say("\nThe story was not at its end yet.\n")
                return options.endsAfterScript ? 1 : 0
            case .missed(let what):
                watch.say(.demo, "NOT SEEN in time: \(what)")
                return 1
            }
        }
        if !options.endsAfterScript {
            watch.say(.demo, "That was the story. It goes on without deaths, until Ctrl-C.")
            watch.stay()
        }
        say(
            "\nMembers and etcd end now. On machines of your own: \(options.program) manifest systemd "
                + "--members \(count),\nand the page \"Several machines\".\n")
        return 0
    }

    private static func greeting(_ count: Int, isEndless: Bool) -> String {
        """
        \(count) real Rollcalls on one real etcd, as processes of this machine. Newcomers report to whoever
        leads, dozens a second; then the leader is killed. Another goes on \(DemoMembers.silence) after
        its last beat.

        "truth" is what really happens; "rollcall" is what the members answer, and page what they
        sent. Half a minute of story\(isEndless ? ", then more. Ctrl-C ends it" : "").


        """
    }
}

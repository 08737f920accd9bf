import ArgumentParser
import RollcallTools

/// `rollcall cluster`: how a watch on several machines stands, and who is a member of it.
struct ClusterCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract:
            "Tell how a watch on several machines stands; say who is a member, and who leads.",
        subcommands: [
            Status.self, Cells.self, Add.self, Remove.self, Drain.self, Join.self, Adopt.self,
        ],
        defaultSubcommand: Status.self
    )

    /// `rollcall cluster status`.
    struct Status: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Tell who leads, what each member holds, and which erasures are not over.",
            discussion: """
                Asks a running member. Ends with 1 if it knows of nobody who leads, or does not hold \
                all of the log.
                """
        )

        @OptionGroup var list: ListOptions

        @OptionGroup var server: ServerOptions

        func run() throws {
            var isWell = true
            let form = try list.form(server)
            try server.list { (questions, style, now) throws(QuestionError) in
                let answer = try ClusterQuestion(form)
                    .answer(from: questions, style: style, now: now)
                isWell = answer.isWell
                return answer.printout
            }
            if !isWell { throw ExitCode(1) }
        }
    }

    /// `rollcall cluster cells`.
    struct Cells: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Tell which cells a fleet is divided into, and how far each is.",
            discussion: """
                Asks the fleet cell, which knows how its cells stand, or one of them, which knows \
                the map only. Ends with 1 if there is no map yet, or a cell is not known to have it.
                """
        )

        @OptionGroup var list: ListOptions

        @OptionGroup var server: ServerOptions

        func run() throws {
            var isWell = true
            let form = try list.form(server)
            try server.list { (questions, style, now) throws(QuestionError) in
                let answer = try CellsQuestion(form)
                    .answer(from: questions, style: style, now: now)
                isWell = answer.isWell
                return answer.printout
            }
            if !isWell { throw ExitCode(1) }
        }
    }

    /// `rollcall cluster add`.
    struct Add: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Name a member of the watch.",
            discussion: """
                Until somebody names or removes one, whoever follows the log is a member. From then \
                on others only follow. Ask the leader.
                """
        )

        @Argument(help: "Its name, as cluster.member says it there.")
        var member: String

        @OptionGroup var server: ServerOptions

        func run() throws { try server.ask(.add(member)) }
    }

    /// `rollcall cluster remove`.
    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Take a member out that will not come back.",
            discussion: """
                Erasures and the log's beginning do not wait for it any more: destroy its disk. One \
                that still runs only follows. Ask the leader.
                """
        )

        @Argument(help: "Its name.")
        var member: String

        @OptionGroup var server: ServerOptions

        func run() throws { try server.ask(.remove(member)) }
    }

    /// `rollcall cluster drain`.
    struct Drain: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Let the member that is asked leave the lead to others.",
            discussion: """
                At once, and for 5 min unless nobody else leads. For what is to be done to its \
                machine.
                """
        )

        @OptionGroup var server: ServerOptions

        func run() throws { try server.ask(.drain) }
    }

    /// `rollcall cluster join`.
    struct Join: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Let the member that is asked take a copy of another's store.",
            discussion: """
                Its own is put aside, beside it. For a member that says that it has lost the log, \
                while others follow it.
                """
        )

        @OptionGroup var server: ServerOptions

        func run() throws { try server.ask(.join) }
    }

    /// `rollcall cluster adopt`.
    struct Adopt: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Begin a lost log anew with what the member that is asked holds.",
            discussion: """
                For RollcallLogLost, when no member leads: ask the one with the highest position. \
                What it does not hold is lost. The others put their stores aside and take a copy.
                """
        )

        @Flag(help: "Also if a member that is reached holds more.")
        var force = false

        @OptionGroup var server: ServerOptions

        func run() throws { try server.ask(.adopt(isForced: force)) }
    }
}

extension ServerOptions {
    /// Asks a member to do something, and prints what came of it.
    fileprivate func ask(_ kind: ClusterRequest.Kind) throws {
        try print { (questions, _, _) throws(QuestionError) in
            try ClusterRequest(kind, isJSON: json).answer(from: questions)
        }
    }
}

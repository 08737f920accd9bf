/// The facts of manual pages that the tree of commands does not say: exit codes, variables and files.
enum ManFacts {
    /// A name, its words, and the commands that it concerns.
    struct Fact: Sendable {
        let name: String
        let words: String
        /// The commands; empty if `option` says which.
        var commands: Set<String> = []
        /// It concerns each command with this option.
        var option: String?

        /// True if it concerns a command with these options.
        func isOf(_ command: String, _ options: Set<String>) -> Bool {
            commands.contains(command) || option.map(options.contains) ?? commands.isEmpty
        }
    }

    /// An exit code, as the page Reference has it.
    struct Code: Sendable {
        let number: Int
        private let fact: Fact

        /// The sentence of it.
        var words: String { fact.words }

        init(_ number: Int, _ words: String, _ commands: Set<String> = [], option: String? = nil) {
            self.number = number
            fact = Fact(name: "\(number)", words: words, commands: commands, option: option)
        }

        /// True if a command with these options may end with it.
        func isOf(_ command: String, _ options: Set<String>) -> Bool {
            fact.isOf(command, options)
        }
    }

    /// The codes, in their order; some numbers have several sentences.
    static let codes = [
        Code(0, "Everything was done."),
        Code(
            1, "The server answered an error, there is no such id, or a list is not whole.",
            option: "server"),
        Code(
            1, "It could not start: the store, its lock or the address.",
            ["serve", "gateway", "demo"]),
        Code(
            1, "It was not done, or something is weak, differs or is damaged, as the text says.",
            [
                "ask", "drill", "check", "replay", "backup", "map", "cluster", "upgrade",
                "downgrade",
            ]),
        Code(64, "A flag, a file of settings or an input is wrong."),
        Code(69, "No answer came, or there is no libcurl.", ["simulate"], option: "server"),
        Code(69, "There is no libcurl, or no etcd for `--members`.", ["demo"]),
        Code(
            74,
            "Standard output does not take what is printed; of `serve`: the store failed for good."),
        Code(
            75, "Not now; the same works a little later.", ["export", "replay", "backup"]),
        Code(
            130, "A second signal came while it stopped; what was acknowledged is stored.",
            ["serve"]),
        Code(
            141, "Nobody reads standard output any more, and SIGPIPE is ignored.", option: "server"),
    ]

    /// The variables that are read.
    static let variables = [
        Fact(
            name: "ROLLCALL_SERVER", words: "The server that is asked, without `--server`.",
            option: "server"),
        Fact(
            name: "ROLLCALL_TOKEN_FILE",
            words: "A file that holds the token, without `--token-file`.",
            option: "token-file"),
        Fact(name: "ROLLCALL_TOKEN", words: "The token itself.", option: "token-file"),
        Fact(
            name: "ROLLCALL_STORAGE_PATH", words: "The store, without `--storage.path`.",
            commands: ["serve", "export", "backup", "report"]),
        Fact(
            name: "ROLLCALL_...",
            words: "Each setting has its variable: `web.listen_address` is "
                + "ROLLCALL_WEB_LISTEN_ADDRESS. A flag wins over it, it over the file.",
            commands: ["serve"]),
        Fact(
            name: "NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID",
            words: "What systemd(1) wants to be told.", commands: ["serve"]),
        Fact(
            name: "SSL_CERT_FILE", words: "The certificate authorities that are trusted.",
            commands: ["serve", "simulate"], option: "server"),
        Fact(
            name: "NO_COLOR, CLICOLOR, CLICOLOR_FORCE",
            words:
                "No colours if NO_COLOR is not empty or CLICOLOR is 0; colours also where there is no "
                + "terminal if CLICOLOR_FORCE is neither empty nor 0.",
            commands: ["demo", "tune"], option: "server"),
        Fact(
            name: "COLUMNS", words: "So many columns, whatever the terminal has.", option: "server"),
        Fact(
            name: "TERM",
            words: "A terminal that is `dumb` gets neither colours nor `rollcall watch`.",
            option: "server"),
        Fact(name: "TZ", words: "The zone of times with `--local`.", option: "local"),
    ]

    /// The files that are read and written.
    static let files = [
        Fact(
            name: "./rollcall.db", words: "The store, if nothing names another.",
            commands: ["serve", "export", "backup", "report"]),
        Fact(
            name: "./rollcall.db.epoch",
            words:
                "The mark of the store, which tells an older copy of it. It stays when a backup is "
                + "restored.", commands: ["serve", "backup"]),
    ]
}

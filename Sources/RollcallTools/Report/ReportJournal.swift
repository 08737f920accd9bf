import Glibc

/// The last lines that systemd keeps of the service.
enum ReportJournal {
    private static let unit = "rollcall.service"
    private static let seconds = 5
    private static let bytesMax = 512 << 10

    /// Returns the lines, or why there are none.
    static func lines(count: Int) -> Result<[String], ReportJournalError> {
        guard let program = DemoProcess.path(of: "journalctl") else {
            return .failure(
                ReportJournalError(description: "there is no journalctl on this machine"))
        }
        let arguments = [
            "--quiet", "--no-pager", "--output=cat", "--lines=\(count)", "--unit=\(unit)",
        ]
        guard let text = output(of: program, arguments) else {
            return .failure(
                ReportJournalError(description: "journalctl did not answer within \(seconds) s"))
        }
        let lines = text.split(separator: "\n").map(String.init)
        guard !lines.isEmpty else {
            return .failure(
                ReportJournalError(
                    description: "systemd keeps none of \(unit), or none that this user may read"))
        }
        return .success(lines)
    }

    private static func output(of program: String, _ arguments: [String]) -> String? {
        var ends: [CInt] = [0, 0]
        guard pipe(&ends) == 0 else { return nil }
        defer { close(ends[0]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addclose(&actions, ends[0])
        posix_spawn_file_actions_addclose(&actions, ends[1])
        let words = ([program] + arguments).map { strdup($0) }
        defer { for word in words { free(word) } }
        var number: pid_t = 0
        let failure = posix_spawn(&number, program, &actions, nil, words + [nil], environ)
        close(ends[1])
        guard failure == 0 else { return nil }
        var bytes: [UInt8] = []
        let until = ContinuousClock.now + .seconds(seconds)
        var part = [UInt8](repeating: 0, count: 64 << 10)
        var isWhole = false
        while ContinuousClock.now < until, bytes.count < bytesMax {
            var waiting = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, 100) > 0 else { continue }
            let count = read(ends[0], &part, part.count)
            if count <= 0 {
                isWhole = true
                break
            }
            bytes += part.prefix(count)
        }
        kill(number, SIGKILL)
        waitpid(number, nil, 0)
        return isWhole || !bytes.isEmpty ? String(decoding: bytes, as: UTF8.self) : nil
    }
}

/// The reason why there are no lines of systemd's journal.
struct ReportJournalError: Error, CustomStringConvertible {
    let description: String
}

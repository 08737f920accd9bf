import RollcallBasis
import RollcallCore

/// A replay from a file to standard output.
package struct ReplayFile {
    /// Bytes printed at a time.
    private static let chunkBytes = 1 << 20

    private let path: String
    private let configurationPath: String?
    private let reportsUpdates: Bool

    /// A replay of the file at `path` (`-`: standard input) by the settings of the file at
    /// `configurationPath`, else by its own `policy` lines.
    package init(path: String, configurationPath: String?, reportsUpdates: Bool) {
        self.path = path
        self.configurationPath = configurationPath
        self.reportsUpdates = reportsUpdates
    }

    /// Reads, folds and prints until the file ends.
    ///
    /// Throws `InputFileError` for files that cannot be read and lines that are wrong. What was
    /// decided before the wrong line has been printed by then.
    package func run() throws(InputFileError) {
        var replay = try makeReplay()
        var input = try ReplayInput(path: path)
        var output: [UInt8] = []
        while let line = try input.next() { try fold(line, &replay, &output) }
        replay.finish(to: &output)
        try StandardOutput.write(&output)
    }

    private func fold(
        _ line: [UInt8], _ replay: inout Replay, _ output: inout [UInt8]
    ) throws(InputFileError) {
        do throws(ReplayError) {
            try replay.fold(line, to: &output)
        } catch {
            try StandardOutput.write(&output)
            throw .wrongLine(error)
        }
        if output.count > Self.chunkBytes { try StandardOutput.write(&output) }
    }

    private func makeReplay() throws(InputFileError) -> Replay {
        guard let configurationPath else {
            return Replay(policy: Policy(), reportsUpdates: reportsUpdates) { body in
                try Configuration(yaml: String(decoding: body, as: UTF8.self)).policy
            }
        }
        return Replay(
            policy: try InputFile.configuration(configurationPath).policy,
            reportsUpdates: reportsUpdates)
    }
}

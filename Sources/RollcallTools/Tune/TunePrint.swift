import Glibc
import RollcallBasis
import RollcallCore
import RollcallSupport

/// `rollcall tune`: runs a job and prints what came out of it.
package struct TunePrint {
    private let options: TuneJob.Options
    private let isJSON: Bool
    private let pagePath: String?

    /// Prints a table, or JSON, and writes a page with plots to `pagePath` if there is one.
    package init(_ options: TuneJob.Options, isJSON: Bool, pagePath: String?) {
        self.options = options
        self.isJSON = isJSON
        self.pagePath = pagePath
    }

    /// Runs it, and prints. The page is written before anything is printed.
    /// - Throws: `TuneError` if the job fails, the page cannot be written, or standard output takes
    ///   nothing.
    package func run() throws(TuneError) {
        let result = try TuneJob(options).run()
        if let pagePath { try write(TunePage(result: result).text, to: pagePath) }
        var output: [UInt8] = []
        if isJSON {
            TuneDocument(result: result).tree.append(to: &output)
            output.append(UInt8(ascii: "\n"))
        } else {
            let style = ConsoleStyle.ofStandardOutput(isLocal: false)
            output = Array(TuneTable(result: result, style: style).text.utf8)
        }
        do throws(InputFileError) {
            try StandardOutput.write(&output)
        } catch {
            throw .input(error)
        }
    }

    private func write(_ text: String, to path: String) throws(TuneError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw .page(path: path, errno: errno) }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        var at = 0
        while at < bytes.count {
            let count = bytes[at...].withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0 && errno != EINTR { throw .page(path: path, errno: errno) }
            at += max(0, count)
        }
    }
}

import FoundationEssentials
import Glibc
import RollcallBasis

/// A folder of the demo's own for its settings and its store, and nobody else's to read.
struct DemoFolder: Sendable {
    let path: String

    /// Makes one below the folder for temporary files.
    /// - Throws: `InputFileError`, with what the system says, if it cannot.
    init() throws(InputFileError) {
        let parent =
            SettingsSource.environment["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
        var template = Array("\(parent)/rollcall-demo.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw .unusable(
                path: parent, "no folder can be made there: \(String(cString: strerror(errno)))")
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The file of settings.
    var settings: String { "\(path)/rollcall.yml" }
    /// The store, unless it is to be kept elsewhere.
    var store: String { "\(path)/rollcall.db" }

    /// Writes the settings.
    /// - Throws: `InputFileError` if they cannot be written.
    func write(_ settings: DemoSettings) throws(InputFileError) {
        guard
            FileManager.default.createFile(
                atPath: self.settings, contents: Data(settings.text.utf8))
        else { throw .unusable(path: self.settings, "cannot be written") }
    }

    /// Removes it with everything in it.
    func remove() { try? FileManager.default.removeItem(atPath: path) }
}

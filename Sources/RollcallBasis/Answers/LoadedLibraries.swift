import RollcallStore
import RollcallSupport

/// The libraries that this process stands on, as they are loaded. Source: V19.
package enum LoadedLibraries {
    /// Names and versions.
    package static var all: [(name: String, version: String)] {
        [("SQLite", SQLiteLibrary.version)] + NetworkLibraries.versions
    }
}

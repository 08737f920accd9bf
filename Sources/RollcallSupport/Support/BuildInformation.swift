/// The facts about this program.
package enum BuildInformation {
    /// The version of the product.
    package static let version = "0.2.0"
    /// The compiler's language version that it was made with.
    package static let swift = "6.3"
    /// The text that `--version` prints.
    package static let text = "rollcall, version \(version) (swift \(swift))"
}

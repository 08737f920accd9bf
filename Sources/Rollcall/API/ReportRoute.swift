import Glibc
import RollcallBasis
import RollcallSupport

/// `GET /-/report`. Source: V19.
extension Router {
    /// Answers from what is in memory and needs nobody: whoever asks may do so because the keeper, or
    /// the disk, hangs.
    func showReport(_ answer: @escaping Answer) {
        let tree: JSONTree = [
            "version": .text(BuildInformation.version), "process": .integer(Int64(getpid())),
            "libraries": .object(
                LoadedLibraries.all.map { .init(name: $0.name, value: .text($0.version)) }),
            "settings": .list(
                reloader.settings.map { setting in
                    [
                        "setting": .text(setting.key), "value": .text(setting.value),
                        "default": .boolean(setting.isDefault),
                    ]
                }),
            "log": .list(tail.lines.map { .text($0) }),
        ]
        var body: [UInt8] = []
        tree.append(to: &body)
        answer(.json(body + [0x0A]), InputStats())
    }
}

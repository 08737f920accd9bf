import RollcallBasis
import RollcallCore
import RollcallSupport

/// `POST /-/reload`. Source: V3.
extension Router {
    /// Has the settings read again and tells what came of it.
    func reloadSettings(_ request: HTTPRequest, _ answer: @escaping Answer) {
        reloader.reload(by: action(.reload, request)) { outcome in
            switch outcome {
            case .reloaded(let change, let file):
                answer(.json(Self.body(change, file)), InputStats())
            case .refused(let reason):
                answer(
                    .problem(
                        422, "Unprocessable Content",
                        detail: "the settings from before stay: \(reason)"), InputStats())
            case .unavailable(let reason): answer(Self.unavailable(reason), InputStats())
            }
        }
    }

    private static func body(_ change: SettingsChange, _ file: String?) -> [UInt8] {
        var body: [UInt8] = []
        JSONWriter.raw("{\"file\":", to: &body)
        if let file {
            JSONWriter.string(file.utf8, to: &body)
        } else {
            JSONWriter.raw("null,\"detail\":\"there is no file to read again\"", to: &body)
        }
        JSONWriter.raw(",\"changed\":", to: &body)
        append(change.changed, to: &body)
        JSONWriter.raw(",\"needs_restart\":", to: &body)
        append(change.needsRestart, to: &body)
        JSONWriter.raw("}\n", to: &body)
        return body
    }

    private static func append(
        _ differences: [SettingsChange.Difference], to body: inout [UInt8]
    ) {
        JSONWriter.list(differences, to: &body) { difference, body in
            JSONWriter.raw("{\"setting\":", to: &body)
            JSONWriter.string(difference.key.utf8, to: &body)
            JSONWriter.raw(",\"from\":", to: &body)
            JSONWriter.string(difference.from.utf8, to: &body)
            JSONWriter.raw(",\"to\":", to: &body)
            JSONWriter.string(difference.to.utf8, to: &body)
            JSONWriter.raw("}", to: &body)
        }
    }
}

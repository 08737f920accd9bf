import RollcallCore
import RollcallSupport

/// An input: a way in for what phones and other servers send anyway. Source: M1, M3, M4.
package struct InputSettings: Sendable {
    /// Letters of a name at most.
    package static let nameMax = 64
    /// Inputs at most.
    package static let countMax = 64

    /// Its name: the last part of `/v1/in/NAME`.
    package var name = ""
    /// The client whose bodies it takes; nil for a mapping of one's own.
    package var preset: InputPreset?
    /// The mappings in the order in which they are tried: of JSON, of a form.
    package var mappings: [InputMapping] = []
    /// Facts that hold for all that comes by it.
    package var fixed = InputFixed()
    /// True if it enrols somebody unknown; nil if that follows from who is let in.
    package var enrols: Bool?
    /// The key from which phones' passwords are made, if each has its own.
    package var deviceKey: DeviceKey?
    package var answer = InputAnswer()
    /// The subscription of the input at a broker; nil if it has none.
    package var mqtt: MQTTSettings?

    /// An input that takes nothing.
    package init() {}

    /// An input of a preset as it is without a word more.
    package init(name: String, preset: InputPreset) {
        self.name = name
        self.preset = preset
        answer = preset.answer
        // The presets are ours, and tests compile each.
        mappings = preset.descriptions.compactMap { try? InputMapping($0) }
    }

    /// True if it takes forms, and so may be asked by GET.
    package var takesForms: Bool { mappings.contains(where: \.description.isForm) }

    /// Returns true if the input enrols somebody unknown, where `isOpen` says that only this
    /// machine is let in, and without a token.
    package func enrols(isOpen: Bool) -> Bool { enrols ?? isOpen }

    /// The mapping for a body: a form where it cannot be anything else. That a request says that it is
    /// one means nothing, as `curl -d` says so of everything; a body tells by its first byte.
    package func mapping(of body: [UInt8]) -> InputMapping? {
        let first = body.first { $0 > 0x20 }
        let isJSON = first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
        let form = mappings.first(where: \.description.isForm)
        let document = mappings.first { !$0.description.isForm }
        return (!isJSON ? form : nil) ?? document ?? form
    }
}

extension InputSettings: Equatable {
    package static func == (a: InputSettings, b: InputSettings) -> Bool {
        a.name == b.name && a.preset == b.preset && a.fixed == b.fixed && a.enrols == b.enrols
            && a.deviceKey == b.deviceKey && a.answer == b.answer && a.mqtt == b.mqtt
            && a.mappings.map(\.description) == b.mappings.map(\.description)
    }
}

extension InputSettings {
    /// As a file has it, but for the mapping's inside and secrets.
    var shown: SettingValue { .mapping([("name", .word(name))] + members) }

    /// Returns the settings that stand behind the input's name.
    var members: [(key: String, value: SettingValue)] {
        var members: [(key: String, value: SettingValue)] = []
        if let preset { members.append(("preset", .word(preset.rawValue))) }
        if !fixed.region.isEmpty { members.append(("region", .text(fixed.region))) }
        if let duty = fixed.duty { members.append(("duty_state", .word("\(duty.word)"))) }
        if let platform = fixed.platform {
            members.append(("platform", .word("\(platform.word)")))
        }
        if let enrols { members.append(("enrol", .plain(enrols ? "true" : "false"))) }
        if let mqtt { members.append(("mqtt", mqtt.shown)) }
        return members
    }

    /// Says in words what the input takes.
    func words(isOpen: Bool) -> String {
        let whose = preset.map { "as \($0.title) sends it" } ?? "by a mapping of its own"
        var fields: [String] = []
        for field in mappings.flatMap({ $0.description.facts.map(\.field.rawValue) })
        where !fields.contains(field) {
            fields.append(field)
        }
        let facts = fields.isEmpty ? "no facts" : fields.joined(separator: ", ")
        let keys = deviceKey == nil ? "" : " Each phone has a password of its own."
        let enrolling =
            enrols(isOpen: isOpen)
            ? "It enrols who is unknown." : "Who is unknown is counted and not enrolled."
        let broker = mqtt.map { " \($0.words)" } ?? ""
        return "/v1/in/\(name) is read \(whose): whose it is, when it was captured, and \(facts); "
            + "no coordinates. \(enrolling)\(keys)\(broker)"
    }
}

extension Configuration {
    /// True if only this machine is let in, and without a token: then an input enrols who is unknown
    /// unless it says otherwise (M3).
    package var isOpenToThisMachine: Bool {
        accessPolicy.letIn.isOpen && HTTPListener.isLoopback(listenAddress) == true
    }

    /// A sentence or two for each input.
    var inputWords: [String] { inputs.map { $0.words(isOpen: isOpenToThisMachine) } }
}

import RollcallCore
import RollcallSupport
import Yams

/// Reads the list `inputs`. Source: M1.
extension InputSettings {
    /// Reads all inputs at the top of a file.
    /// - Throws: `ConfigurationError` if one is wrong, or there are too many.
    static func list(
        _ top: inout ConfigurationTree
    ) throws(ConfigurationError) -> [InputSettings] {
        var inputs: [InputSettings] = []
        try top.sections("inputs") { (tree) throws(ConfigurationError) in
            let input = try read(&tree)
            if inputs.contains(where: { $0.name == input.name }) {
                throw tree.fault("name", "is another input's already", input.name)
            }
            if let mqtt = input.mqtt,
                let other = inputs.first(where: {
                    $0.mqtt?.address == mqtt.address && $0.mqtt?.clientID == mqtt.clientID
                })
            {
                // The broker ends the one when the other comes, and gives its messages to that.
                throw tree.fault(
                    "mqtt.client_id", "must not be that of \(other.name) at the same broker",
                    mqtt.clientID)
            }
            if inputs.count == countMax {
                throw tree.fault(
                    "name", "is one too many: there may be \(countMax) inputs", input.name)
            }
            inputs.append(input)
        }
        return inputs
    }

    private static func read(
        _ tree: inout ConfigurationTree
    ) throws(ConfigurationError) -> InputSettings {
        var input = InputSettings()
        input.name = try tree.name(atMost: nameMax)
        input.preset = try tree.oneOf("preset", InputPreset.allCases)
        if let preset = input.preset { input.answer = preset.answer }
        try input.readFixed(&tree)
        try input.readKey(&tree)
        if tree.has("enrol") {
            var enrols = false
            try tree.read("enrol", .flag, &enrols)
            input.enrols = enrols
        }
        try input.readAnswer(&tree)
        input.mqtt = try MQTTSettings.read(&tree, input: input.name, preset: input.preset)
        var descriptions = input.preset?.descriptions ?? [InputDescription()]
        try tree.description(&descriptions[0], isPreset: input.preset != nil)
        for place in descriptions.indices.dropFirst() where tree.isGiven("id") {
            descriptions[place].ids += descriptions[0].ids.filter(\.isOutsideOfBody)
        }
        for description in descriptions {
            do throws(InputFault) {
                input.mappings.append(try InputMapping(description))
            } catch {
                throw tree.fault("name", "cannot be read by: \(error.reason)", input.name)
            }
        }
        return input
    }

    private mutating func readFixed(
        _ tree: inout ConfigurationTree
    ) throws(ConfigurationError) {
        var region = ""
        try tree.read("region", .text, &region)
        fixed.region = Array(region.utf8)
        guard fixed.region.count <= ItemScanner.nameBytesMax, !PlaceText.isIn(fixed.region),
            !fixed.region.contains(where: { $0 < 0x20 || $0 == 0x7F })
        else {
            throw tree.fault(
                "region", "must have at most \(ItemScanner.nameBytesMax) bytes, and be no place", ""
            )
        }
        let duties: [DutyState] = [.offDuty, .onDuty, .onMission]
        fixed.duty = try tree.word("duty_state", duties.map { ("\($0.word)", $0) })
        let platforms: [Platform] = [.ios, .android]
        fixed.platform = try tree.word("platform", platforms.map { ("\($0.word)", $0) })
    }

    private mutating func readKey(
        _ tree: inout ConfigurationTree
    ) throws(ConfigurationError) {
        var secret: Secret?
        try tree.secret("device_key", &secret)
        guard let secret else { return }
        guard secret.bytes.count >= DeviceKey.bytesMin else {
            throw tree.fault(
                "device_key",
                "must have at least \(DeviceKey.bytesMin) bytes: openssl rand -hex 32",
                "", or: ["device_key_file"])
        }
        deviceKey = DeviceKey(secret.bytes)
    }

    private mutating func readAnswer(
        _ tree: inout ConfigurationTree
    ) throws(ConfigurationError) {
        guard tree.has("answer") else { return }
        var answer = answer
        try tree.part("answer") { (part) throws(ConfigurationError) in
            try part.read("status", .integer(in: 200...299), &answer.status)
            try part.read("body", .text, &answer.body)
            guard answer.body.utf8.count <= 4096 else {
                throw part.fault("body", "must have at most 4096 bytes", "")
            }
        }
        self.answer = answer
    }
}

extension InputDescription.Identity {
    /// True of what does not stand in the body.
    fileprivate var isOutsideOfBody: Bool {
        switch self {
        case .place, .topicIn: false
        case .topic, .header, .user, .query, .path: true
        }
    }
}

extension ConfigurationTree {
    /// Reads one of some words; nil if nobody gave it.
    /// - Throws: `ConfigurationError` if it is none of them.
    fileprivate mutating func word<Value>(
        _ key: String, _ words: [(String, Value)]
    ) throws(ConfigurationError) -> Value? {
        guard let node = takeFromFile(key), node.null == nil else { return nil }
        let text = node.string ?? ""
        if let found = words.first(where: { $0.0 == text }) { return found.1 }
        let names = words.map(\.0)
        throw fault(
            key,
            "must be one of \(names.joined(separator: ", "))"
                + Spelling.hint(for: text, among: names), text)
    }

    fileprivate mutating func oneOf<Value: RawRepresentable<String>>(
        _ key: String, _ all: [Value]
    ) throws(ConfigurationError) -> Value? {
        try word(key, all.map { ($0.rawValue, $0) })
    }
}

import RollcallCore
import RollcallSupport
import Yams

/// Reads what an input takes of a body: the settings that a mapping is made of. Source: M1.
extension ConfigurationTree {
    /// Reads a mapping into `description`, which is a preset's already if `isPreset`: then what is
    /// given takes the place of what it says.
    /// - Throws: `ConfigurationError` if something is wrong or, without a preset, missing.
    mutating func description(
        _ description: inout InputDescription, isPreset: Bool
    ) throws(ConfigurationError) {
        if let ids = try nodes("id") {
            description.ids = []
            for node in ids { description.ids.append(try identity(node)) }
        }
        guard !description.ids.isEmpty || isWrong("id") else {
            throw fault("id", "must say where the id comes from, such as [{pointer: /id}]", "")
        }
        if let items = try nodes("items") {
            description.items = []
            for node in items {
                description.items.append(try pointer(node.string, "items", mayBePlace: true))
            }
        }
        try captured(&description)
        if let node = takeFromFile("sequence") {
            let isNone = node.null != nil || node.string == "none"
            description.sequence = isNone ? nil : try place(node, "sequence")
        }
        try sent(&description)
        if let skips = try nodes("skip") {
            for node in skips { description.rules.insert(try skip(node), at: 0) }
        }
        try part("facts") { (tree) throws(ConfigurationError) in
            for field in InputField.allCases {
                guard let node = tree.takeFromFile(field.rawValue), node.null == nil else {
                    continue
                }
                description.facts.removeAll { $0.field == field }
                description.facts.append(try tree.fact(field, node))
            }
        }
        guard !isPreset else { return }
        var format = ""
        try read("format", .text, &format)
        guard ["", "json", "form"].contains(format) else {
            throw fault("format", "must be json or form", format)
        }
        description.isForm = format == "form"
        try read("forwarded", .flag, &description.isForwarded)
    }

    // MARK: - Parts

    private mutating func captured(
        _ description: inout InputDescription
    ) throws(ConfigurationError) {
        guard let node = takeFromFile("captured_at"), node.null == nil else { return }
        if node.string == "arrival" {
            description.capture = .arrival
        } else {
            let (place, unit) = try time(node, "captured_at")
            description.capture = .at([place], unit)
        }
    }

    private mutating func sent(
        _ description: inout InputDescription
    ) throws(ConfigurationError) {
        guard let node = takeFromFile("sent_at"), node.null == nil else { return }
        let (place, unit) = try time(node, "sent_at")
        description.sent = [place]
        description.sentUnit = unit
    }

    private func time(
        _ node: Node, _ key: String
    ) throws(ConfigurationError) -> (InputDescription.Place, InputDescription.Unit) {
        let place = try place(node, key, others: ["unit"])
        guard let text = node.mapping?["unit"]?.string else { return (place, .auto) }
        guard let unit = InputDescription.Unit(rawValue: text), unit != .osmand else {
            throw fault(key, "unit must be s, ms or auto", text)
        }
        return (place, unit)
    }

    private func identity(
        _ node: Node
    ) throws(ConfigurationError) -> InputDescription.Identity {
        guard let mapping = node.mapping else { return .place(try place(node, "id", root: true)) }
        guard let name = mapping.first?.key.string, let value = mapping.first?.value.string,
            mapping.count == 1
        else {
            throw fault("id", "must be a list like [{pointer: /id}, {basic: user}]", "")
        }
        switch name {
        case "pointer", "root", "item": return .place(try place(node, "id", root: true))
        case "header": return .header(value)
        case "query": return .query(value)
        case "path": return .path
        case "basic":
            guard value == "user" else { throw fault("id", "knows of basic only the user", value) }
            return .user
        case "topic":
            guard let part = Int(value), (1...16).contains(part) else {
                throw fault("id", "topic must be the number of a part, from 1", value)
            }
            return .topic(part: part)
        default:
            throw fault(
                "id", "must be one of pointer, root, item, header, basic, query, path, topic", name)
        }
    }

    private func skip(_ node: Node) throws(ConfigurationError) -> InputDescription.Rule {
        let place = try place(node, "skip", others: ["values"])
        let values = node.mapping?["values"]?.sequence?.compactMap(\.string) ?? []
        guard !values.isEmpty else {
            throw fault("skip", "must be a list like [{pointer: /type, values: [ping]}]", "")
        }
        return InputDescription.Rule(place, values.map { ($0, .skip) })
    }

    private func fact(
        _ field: InputField, _ node: Node
    ) throws(ConfigurationError) -> InputDescription.Fact {
        let key = field.rawValue
        let place = try place(node, key, others: ["scale", "values"])
        var fact = InputDescription.Fact(field, [place])
        if let scale = node.mapping?["scale"] {
            guard let number = scale.decimal else {
                throw fault(key, "scale must be a number", scale.string ?? "")
            }
            fact.scale = number
        }
        for (text, word) in node.mapping?["values"]?.mapping ?? [:] {
            fact.values.append((text.string ?? "", word.null == nil ? word.string ?? "" : ""))
        }
        // Told here, where the line is known.
        var probe = InputDescription()
        probe.ids = [.path]
        probe.facts = [fact]
        do throws(InputFault) {
            _ = try InputMapping(probe)
        } catch {
            throw fault(key, "cannot be read: \(error.reason)", "")
        }
        return fact
    }

    // MARK: - Pointers

    /// Reads where a value stands: a pointer, or a mapping with `pointer`, `root` or `item`. Of an id,
    /// which is the body's, a pointer is relative to the `root`, of all else to the item.
    private func place(
        _ node: Node, _ key: String, root: Bool = false, others: [String] = []
    ) throws(ConfigurationError) -> InputDescription.Place {
        if let text = node.string {
            return InputDescription.Place(try pointer(text, key), isOfRoot: root)
        }
        let places = ["pointer", "root", "item"]
        let known = places + others
        let names = node.mapping?.keys.compactMap(\.string) ?? []
        if let unknown = names.first(where: { !known.contains($0) }) {
            throw fault(
                key,
                "knows \(known.joined(separator: ", "))"
                    + Spelling.hint(for: unknown, among: known), unknown)
        }
        let given = places.filter { names.contains($0) }
        guard let name = given.first, given.count == 1 else {
            throw fault(key, "must have one of \(places.joined(separator: ", "))", "")
        }
        let pointer = try pointer(node.mapping?[name]?.string, key)
        let isOfRoot = name == "root" || (name == "pointer" && root)
        return InputDescription.Place(pointer, isOfRoot: isOfRoot)
    }

    private func pointer(
        _ text: String?, _ key: String, mayBePlace: Bool = false
    ) throws(ConfigurationError) -> InputPointer {
        do throws(InputFault) {
            guard let text else { throw InputFault("must be a JSON pointer, such as /id") }
            let pointer = try InputPointer(text)
            if pointer.isPlace, !mayBePlace {
                throw InputFault("would read coordinates, which are never taken")
            }
            return pointer
        } catch {
            throw fault(key, error.reason, text ?? "")
        }
    }

    /// Reads a list, or one thing that stands for a list of it; nil if nobody gave it.
    private mutating func nodes(_ key: String) throws(ConfigurationError) -> [Node]? {
        guard let node = takeFromFile(key), node.null == nil else { return nil }
        guard let list = node.sequence else { return [node] }
        guard list.count <= 16 else { throw fault(key, "must have at most 16 entries", "") }
        return Array(list)
    }
}

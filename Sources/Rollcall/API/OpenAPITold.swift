import RollcallCore

/// The schemas of what is told. Source: I7.
extension OpenAPI {
    static var told: JSONTree {
        [
            "Name": [
                "type": "string", "minLength": 1,
                "maxLength": .integer(Int64(ItemScanner.nameBytesMax)),
                "pattern": "^[^\\u0000-\\u001f\\u007f]*$",
                "description": """
                1 to \(ItemScanner.nameBytesMax) bytes of UTF-8 without control characters, \
                compared as bytes.
                """,
            ],
            "Time": [
                "description": """
                RFC 3339, or a number: below 10¹¹ seconds since 1970, from there to below 10¹⁴ \
                milliseconds. Anything else is a problem. What was captured more than 30 days before \
                it was received is no location; a fact told for before counts as 30 days old.
                """,
                "oneOf": [
                    ["type": "string", "format": "date-time"],
                    [
                        "type": "number", "minimum": 0,
                        "maximum": .integer(99_999_999_999_999),
                    ],
                ],
            ],
            "Status": words(Status.allCases.map(\.word)),
            "DutyState": words(DutyState.allCases.filter { $0 != .none }.map(\.word)),
            "Sharing": words(Sharing.allCases.map(\.word)),
            "Circles": [
                "type": "array", "items": schema("Name"),
                "maxItems": .integer(Int64(ItemScanner.circlesMax)),
            ],
            "Batch": batch, "Telemetry": telemetry, "Update": update, "Transition": transition,
            "Facts": facts, "Heartbeat": heartbeat,
            "Sending": object(
                "When the body is sent; only as the first of several.", required: ["sent_at"],
                ["sent_at": schema("Time")]),
        ]
    }

    /// The platforms that a phone can name; every other word is taken as `other`, and noted.
    private static let platform = words(
        Platform.allCases.filter { $0 != .unknown && $0 != .other }.map(\.word))

    private static var batch: JSONTree {
        let told: JSONTree = [
            "responder_id": schema("Name"),
            "received_at": described(
                "When the backend heard the phone; without it, now. A backend that buffers "
                    + "must send it.", schema("Time")),
            "duty_state": schema("DutyState"), "region": schema("Name"),
            "circles": schema("Circles"), "sharing": schema("Sharing"), "platform": platform,
            "os_version": schema("Name"), "app_version": schema("Name"),
            "install_id": described(
                "Changes with each installation: its sequences begin anew.", schema("Name")),
            "battery_level": ["type": "number", "minimum": 0, "maximum": 1],
            "telemetry": schema("Telemetry"),
            "updates": [
                "type": "array", "items": schema("Update"),
                "description": "May be empty or absent: contact without a location.",
            ],
        ]
        return object(
            "What a phone sent, forwarded by the backend. The fields of `telemetry` may stand "
                + "beside it, too: inside wins.",
            required: ["responder_id"], told.with(.object(telemetryMembers)))
    }

    private static var telemetryMembers: [JSONTree.Member] {
        var members: [JSONTree.Member] = Telemetry.fields.map { field in
            // The first value stands for what was not told, the last for a word that is not known.
            let known = Array(field.values.dropFirst().dropLast())
            let schema: JSONTree =
                field.values.count == 3 ? ["type": "boolean"] : words(known)
            return .init(name: "\(field.name)", value: schema)
        }
        let depth: JSONTree = [
            "type": "integer", "minimum": 0, "description": "Updates waiting on the phone.",
        ]
        members.append(.init(name: "queue_depth", value: depth))
        return members
    }

    private static var telemetry: JSONTree {
        object(
            "What the phone says of itself, taken as a whole: what it does not say is unknown. "
                + "Words that are not known are taken as `other`, and noted.",
            required: [], .object(telemetryMembers))
    }

    private static var update: JSONTree {
        object(
            "One update of the phone.", required: ["sequence"],
            [
                "sequence": [
                    "type": "integer", "format": "int64", "minimum": 0,
                    "description": "Rising with each update of an installation.",
                ],
                "captured_at": described(
                    "The fix's time by the phone's clock; without it there was no location.",
                    schema("Time")),
                "fix": ["type": "string", "description": "`cached`: a known position sent anew."],
            ])
    }

    private static var transition: JSONTree {
        object(
            "The server's own status change.", required: ["responder_id", "from", "to"],
            [
                "responder_id": schema("Name"), "from": schema("Status"), "to": schema("Status"),
                "at": described("Without it, now.", schema("Time")),
                "id": described("Serves to count a retry once.", schema("Name")),
                "reason": ["type": "string", "description": "Not read."],
            ])
    }

    private static var facts: JSONTree {
        object(
            "What the backend knows of somebody.", required: ["responder_id"],
            [
                "responder_id": schema("Name"), "duty_state": schema("DutyState"),
                "region": schema("Name"), "circles": schema("Circles"),
                "sharing": schema("Sharing"),
                "paused_until": described(
                    "In the future it pauses until then; in the past it ends a pause.",
                    schema("Time")),
                "platform": platform,
                "push_token": [
                    "type": "string", "minLength": 1,
                    "maxLength": .integer(Int64(ItemScanner.tokenBytesMax)),
                ],
                "nudge_sound": described(
                    "There is no off: it counts as the default.",
                    words(["default", "silent", "off"])),
                "at": described("When it became true; without it, now.", schema("Time")),
            ])
    }

    private static var heartbeat: JSONTree {
        object(
            "A promise to write.", required: ["every_seconds"],
            [
                "source": described("Instead of the query's.", schema("Name")),
                "every_seconds": [
                    "type": "number",
                    "minimum": .integer(Int64(Router.everySeconds.lowerBound)),
                    "maximum": .integer(Int64(Router.everySeconds.upperBound)),
                ],
                "sent_at": described("Instead of the header's.", schema("Time")),
            ])
    }

    /// A schema with a description; beside a reference too, which OpenAPI 3.1 allows.
    static func described(_ description: String, _ schema: JSONTree) -> JSONTree {
        schema.with(["description": .text(description)])
    }
}

import RollcallCore

/// The schemas of what is answered.
extension OpenAPI {
    static var answered: JSONTree {
        [
            "Instant": ["type": "string", "format": "date-time"],
            "InstantOrNever": ["type": ["string", "null"], "format": "date-time"],
            "Reachable": words(Reachable.allCases.map(\.word)),
            "Problem": object(
                "RFC 9457. It never repeats what was sent, but for names of unknown fields.",
                required: problemNames, problem.with(unknownFields)),
            "Note": note, "UpdateCounts": updateCounts,
            "Verdict": object(
                "What became of the items: accepted + duplicates + rejected = items.",
                required: verdict.names,
                verdict.with([
                    "retired": described("Of the last part of a roster: who was retired.", count)
                ])),
            "RejectedProblem": object(
                "Every item was rejected.", required: problemNames + verdict.names,
                problem.with(verdict)),
            "HeartbeatAnswer": object(
                "It holds from now on.", required: ["accepted"],
                unknownFields.with(["accepted": ["const": 1]])),
            "Responder": responderAnswer, "ReportedTelemetry": reported,
            "ResponderList": object(
                "Some people.", required: ["responders", "next"],
                [
                    "responders": ["type": "array", "items": schema("Responder")],
                    "next": [
                        "type": ["string", "null"], "description": "For `after`; null at the end.",
                    ],
                ]),
            "ErasureAccepted": object(
                "An erasure has begun.", required: ["erasure"], ["erasure": count]),
            "Erasure": erasureAnswer, "Reload": reload, "SettingChange": settingChange,
        ]
    }

    private static let count: JSONTree = ["type": "integer", "minimum": 0]
    private static let text: JSONTree = ["type": "string"]
    private static let flag: JSONTree = ["type": "boolean"]
    private static let instant = schema("Instant")
    private static let instantOrNever = schema("InstantOrNever")

    // MARK: - Verdicts

    private static let problem: JSONTree = [
        "type": ["type": "string", "format": "uri-reference"], "title": text,
        "status": ["type": "integer", "minimum": 400, "maximum": 599], "detail": text,
    ]
    /// Of answers to small documents: what they hold that nobody knows.
    static let unknownFields: JSONTree = [
        "problems": described(
            "Unknown fields of the body, and a `sent_at` that cannot be read, if there are any.",
            [
                "type": "array", "items": schema("Note"),
                "maxItems": .integer(Int64(UnknownField.namedMax + 1)),
            ])
    ]
    private static let problemNames = problem.names

    private static var verdict: JSONTree {
        let notes: JSONTree = [
            "type": "array", "items": schema("Note"),
            "maxItems": .integer(Int64(ItemScanner.notesMax)),
        ]
        let most = "The first \(ItemScanner.notesMax)"
        return [
            "accepted": count,
            "duplicates": described("Known already; the same as accepted to who sends.", count),
            "rejected": described("\(most) items that were not taken.", notes),
            "problems": described("\(most) parts that were left out of items taken.", notes),
            "updates": schema("UpdateCounts"),
        ]
    }

    private static var note: JSONTree {
        object(
            "One thing that was not taken.", required: ["index", "pointer", "detail"],
            [
                "index": described("The item's place in the body, from 0.", count),
                "pointer": described(
                    "The field, as a JSON pointer from the item on; empty for a header's.", text),
                "detail": text,
            ])
    }

    private static var updateCounts: JSONTree {
        let outcomes = UpdateOutcome.allCases.map { "\($0.word)" }
        return object(
            "What became of the updates.", required: outcomes,
            .object(outcomes.map { .init(name: $0, value: count) }))
    }

    // MARK: - People

    private static var responderAnswer: JSONTree {
        object(
            "One person.",
            required: [
                "responder_id", "status", "since", "as_of", "confirmed", "reachable",
                "last_contact_at", "last_location_at", "region", "circles", "sharing", "platform",
            ],
            [
                "responder_id": schema("Name"),
                "status": words(Status.allCases.map(\.word) + ["NOT_EXPECTED"]),
                "not_expected": described(
                    "Why; only with status NOT_EXPECTED.",
                    words(NotExpected.allCases.map(\.word))),
                "since": described(
                    "Since when the status holds: the deadline itself.", instantOrNever),
                "as_of": instant,
                "confirmed": described(
                    "False while the watch is blind and, after it, until contact or OFFLINE.", flag),
                "reachable": described(
                    "`yes` only if ONLINE, confirmed and heard in time.", schema("Reachable")),
                "last_contact_at": instantOrNever, "last_location_at": instantOrNever,
                "dark_seconds": described(
                    "Only while out of contact longer than allowed: for how much watched time so "
                        + "far, as far as `GET /v1/dark` does not count it yet.",
                    ["type": "number", "minimum": 0]),
                "duty_state": schema("DutyState"), "region": schema("Name"),
                "circles": schema("Circles"), "sharing": schema("Sharing"),
                "paused_until": instant, "platform": words(Platform.allCases.map(\.word)),
                "os_version": schema("Name"), "app_version": schema("Name"),
                "battery_level": ["type": "number", "minimum": 0, "maximum": 1],
                "telemetry": schema("ReportedTelemetry"),
            ])
    }

    private static var reported: JSONTree {
        object(
            "What the phone last said; what it did not say is left out.", required: [],
            reportedMembers)
    }

    /// The members that a phone tells of itself.
    static var reportedMembers: JSONTree {
        var members: [JSONTree.Member] = Telemetry.fields.map { field in
            let told = Array(field.values.dropFirst())
            return .init(
                name: "\(field.name)", value: field.values.count == 3 ? flag : words(told))
        }
        members.append(.init(name: "queue_depth", value: count))
        return .object(members)
    }

    private static var erasureAnswer: JSONTree {
        let members: JSONTree = [
            "erasure": count, "state": words(["running", "done"]), "requested_at": instant,
            "due_at": instant, "finished_at": instantOrNever,
            "rows": described("Rows of the journal removed so far.", count),
            "decisions": described("Decisions removed so far.", count),
            "kept": described(
                "What an erasure does not look into: texts that people wrote.",
                ["type": "array", "items": text]),
        ]
        return object("How far an erasure is.", required: members.names, members)
    }

    // MARK: - Ourselves

    private static var reload: JSONTree {
        let changes: JSONTree = ["type": "array", "items": schema("SettingChange")]
        return object(
            "What a reload changed.", required: ["file", "changed", "needs_restart"],
            [
                "file": ["type": ["string", "null"]],
                "detail": described("Only without a file.", text),
                "changed": described("What holds from now on.", changes),
                "needs_restart": described("What was not taken without a restart.", changes),
            ])
    }

    private static var settingChange: JSONTree {
        let members: JSONTree = ["setting": text, "from": text, "to": text]
        return object("A setting. Secrets are not shown.", required: members.names, members)
    }
}

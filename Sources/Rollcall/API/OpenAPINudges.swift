import RollcallCore

/// Nudges and wakes. Source: N8, N9.
extension OpenAPI {
    // MARK: - Operations

    static var getNudges: JSONTree {
        let names = ["nudgeResponder", "nudgeChoice", "cursor", "nudgeLimit"]
        return operation(
            "listNudges", .nudges, "GET", .answers, "Who was nudged, who was not, and why",
            """
            Every nudge, and every "no" to somebody whose location was old enough, written when the \
            reason changes; newest first, with what became of the push and what followed within \
            half an hour. All filters must hold. Go on with `after` = `next` until it is null: a \
            page may be empty and have a `next`, as at most \(HistoryLimits().nudgesListed) entries \
            are looked at for one.
            """,
            parameters: names.map { reference("parameters", $0) },
            answers: ["200": answer("A page.", schema("NudgeList"), example: Samples.nudges)],
            problems: [404])
    }

    static var nudge: JSONTree {
        let show = operation(
            "getNudge", .nudge, "GET", .answers, "Would this person be nudged now?",
            "If not, why not, with every reason that holds, and when at the earliest.",
            answers: ["200": answer("The answer.", schema("NudgeAnswer"), example: Samples.nudge)],
            problems: [404])
        return ["parameters": [reference("parameters", "id")], "get": show]
    }

    static var postWake: JSONTree {
        operation(
            "wake", .wakes, "POST", .writes, "Somebody looks at a circle",
            """
            Wakes the phones of its other members by a silent push, so that the map shows where \
            they are now, or says why not. Of the members by their ids the first \
            \(WakeCall.membersMax) are looked at; `beyond` counts the rest. A circle that nobody is \
            in has none. Who they are (`decisions`) is told to tokens with the scope `read` alone.
            """,
            parameters: ["source", "sentAt", "strict"].map { reference("parameters", $0) },
            body: reference("requestBodies", "WakeRequest"),
            answers: ["200": answer("Committed.", schema("WakeAnswer"), example: Samples.wakes)],
            problems: [422, 429])
    }

    // MARK: - Parameters

    static var nudgeParameters: [(String, JSONTree)] {
        let limit: JSONTree = [
            "type": "integer", "minimum": 1, "maximum": .integer(Int64(Router.limitMax)),
            "default": .integer(Int64(Router.limitStandard)),
        ]
        return [
            ("nudgeResponder", inQuery("responder_id", "Of this person.", schema("Name"))),
            ("nudgeChoice", inQuery("decision", "Decided so.", schema("NudgeChoice"))),
            ("nudgeLimit", inQuery("limit", "Entries in the answer at most.", limit)),
        ]
    }

    // MARK: - Schemas

    private static let count: JSONTree = ["type": "integer", "minimum": 0]
    private static let text: JSONTree = ["type": "string"]
    private static let flag: JSONTree = ["type": "boolean"]
    private static let instant = schema("Instant")
    private static let instantOrNever = schema("InstantOrNever")

    private static func orNull(_ schema: JSONTree) -> JSONTree {
        ["anyOf": [schema, ["type": "null"]]]
    }

    private static let reason = words(NudgeReason.allCases.map(\.word))
    private static let followed = words(NudgeOutcome.allCases.map(\.word))

    /// The standing of nudges, beside what is asked for.
    private static var standing: JSONTree {
        [
            "mode": words(NudgeRules.Mode.allCases.map(\.word)),
            "sink": words(NudgeRules.Sink.allCases.map(\.word)),
            "frozen_until": described(
                "Nobody is nudged before: the clock stepped, or the store is an older one.",
                instantOrNever),
            "watching": flag,
        ]
    }

    static var nudges: JSONTree {
        let list: JSONTree = [
            "nudges": ["type": "array", "items": schema("Nudge")],
            "next": described("For `after`; null at the end.", ["type": ["string", "null"]]),
        ]
        let page = list.with(standing).with(["as_of": instant])
        return [
            "NudgeChoice": words(NudgeJSON.Choice.allCases.map(\.word)), "Nudge": entry,
            "NudgeList": object("Some entries.", required: page.names, page),
            "Push": push, "NudgeAnswer": nudgeAnswer, "WakeRequest": wakeRequest,
            "WakeAnswer": wakeAnswer,
        ]
    }

    private static var entry: JSONTree {
        let members: JSONTree = [
            "id": count, "at": instant, "responder_id": schema("Name"),
            "decision": described(
                "`dry_run`: to be nudged, but nothing was sent.", schema("NudgeChoice")),
            "reason": described("Of `hold`.", orNull(words(NudgeReason.written.map(\.word)))),
            "until": described("Of `throttled`: when that ends.", instantOrNever),
            "dry_run": flag, "cause": schema("GapCause"),
            "stale_seconds": described("How old the location was; watched time.", count),
            "last_location_at": instantOrNever, "platform": words(Platform.allCases.map(\.word)),
            "nudge_id": described(
                "Under which the sink knows it; null if nothing was to be sent.",
                ["type": ["string", "null"]]),
            "push": orNull(schema("Push")),
            "followed": described(
                "What followed within half an hour; null until that is known.", orNull(followed)),
            "text": described("All of it in plain words.", text),
        ]
        return object("An entry of the ledger.", required: members.names, members)
    }

    private static var push: JSONTree {
        let members: JSONTree = [
            "state": words(PushMessage.State.allCases.map(\.word)), "attempts": count,
            "outcome": described(
                "Null until it is over.", orNull(words(PushOutcome.allCases.map(\.word)))),
            "finished_at": instantOrNever,
        ]
        return object("What became of a push so far.", required: members.names, members)
    }

    private static var nudgeAnswer: JSONTree {
        let seconds: JSONTree = ["type": ["integer", "null"], "minimum": 0]
        let head: JSONTree = [
            "responder_id": schema("Name"), "nudge": flag,
            "decision": described(
                "`none`: their location is not too old, or was never known, or nobody is nudged.",
                words(["send", "hold", "none"])),
            "reasons": ["type": "array", "items": reason],
            "text": described("The answer in plain words.", text),
            "stale_seconds": described("Null if there never was a location.", seconds),
            "stale_after_seconds": count, "last_location_at": instantOrNever,
            "last_nudged_at": described("In the present mode.", instantOrNever),
            "earliest_at": described(
                "When time alone lets a nudge go; null if something else must change first.",
                instantOrNever),
            "cause": orNull(schema("GapCause")),
        ]
        let members = head.with(standing).with(["as_of": instant])
        return object("Would they be nudged now?", required: members.names, members)
    }

    private static var wakeRequest: JSONTree {
        let members: JSONTree = [
            "circle": schema("Name"),
            "viewer": described("Who looks: their own phone is not woken.", schema("Name")),
        ]
        return object("Somebody looks at a circle.", required: members.names, members)
    }

    private static var wakeAnswer: JSONTree {
        let decision = object(
            "One member.", required: ["responder_id", "decision"],
            [
                "responder_id": schema("Name"), "decision": words(["wake", "skip"]),
                "reason": described("Of `skip`.", words(WakeReason.allCases.map(\.word))),
            ])
        let members: JSONTree = [
            "circle": schema("Name"), "woken": described("Members who are woken.", count),
            "skipped": described(
                "Members who are not, by reason; reasons of nobody are left out.",
                ["type": "object", "additionalProperties": count]),
            "beyond": described("Members of whom nothing was decided.", count),
            "mode": words(NudgeRules.Mode.allCases.map(\.word)),
            "sent": described("False if the mode is not `live`: nothing goes out then.", flag),
        ]
        let ofReaders: JSONTree = [
            "decisions": described(
                "For tokens with the scope `read`.", ["type": "array", "items": decision])
        ]
        return object(
            "What was decided.", required: members.names,
            members.with(ofReaders).with(unknownFields))
    }

    // MARK: - Events of a timeline

    static var nudgeEvent: JSONTree {
        event(
            "nudge", "An entry of the nudge ledger, or what followed a nudge.", [],
            [
                "decision": schema("NudgeChoice"), "reason": reason, "until": instant,
                "followed": followed, "cause": schema("GapCause"), "stale_seconds": count,
                "last_location_at": instant,
            ])
    }

    static var wakeEvent: JSONTree {
        event("wake", "Their phone was to be woken.", ["push"], ["push": count])
    }
}

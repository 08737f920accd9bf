import RollcallCore

/// The operations that tell of the past: gaps, dark time, timelines. Source: Contract/Gaps, V5.
extension OpenAPI {
    // MARK: - Operations

    static var getGaps: JSONTree {
        let names = [
            "state", "cause", "verdict", "platform", "region", "responder", "since", "until", "by",
            "cursor", "limit",
        ]
        return operation(
            "listGaps", .gaps, "GET", .answers, "Who was silent, why, and what it was",
            """
            Gaps that reached OFFLINE, newest first. All filters must hold. Go on with `after` = \
            `next` until it is null: a page may be empty and have a `next`, as at most \
            \(HistoryLimits().gapsListed) gaps are looked at for one. With `by` the answer is a \
            table, most gaps first; one of which 5 % and a second or more was blind is held \
            against nobody and counted under `blind` alone.
            """,
            parameters: names.map { reference("parameters", $0) },
            answers: [
                "200": answer(
                    "A page, or a table.", ["anyOf": [schema("GapList"), schema("GapTable")]],
                    example: Samples.gaps)
            ], problems: [404])
    }

    static var getDark: JSONTree {
        let names = [
            "darkBy", "firstDay", "lastDay", "region", "platform", "responder", "darkAfter",
            "limit",
        ]
        return operation(
            "sumDark", .dark, "GET", .answers, "How long people could not be reached or located",
            """
            Sums of daily rows. A day's row counts for the region and platform that were the \
            person's last of the day. `after` and `limit` go with `by=responder`.
            """,
            parameters: names.map { reference("parameters", $0) },
            answers: ["200": answer("The sums.", schema("DarkTable"), example: Samples.dark)],
            problems: [404])
    }

    static var timeline: JSONTree {
        let names = ["since", "until", "contacts", "eventCursor", "eventLimit"]
        let show = operation(
            "getTimeline", .timeline, "GET", .answers, "What happened to one person",
            """
            Statuses, gaps, batches, what was told, and the blind windows between them, newest \
            first. Never a coordinate: none is stored. Go on with `after` = `next`; a page may be \
            shorter than `limit` and have a `next`.
            """,
            parameters: names.map { reference("parameters", $0) },
            answers: ["200": answer("A page.", schema("Timeline"), example: Samples.timeline)],
            problems: [404])
        return ["parameters": [reference("parameters", "id")], "get": show]
    }

    // MARK: - Parameters

    static var historyParameters: [(String, JSONTree)] {
        let cursor: JSONTree = ["type": "string", "pattern": "^[0-9]+(\\.[0-9]+)*$"]
        let time: JSONTree = ["type": "string"]
        let day: JSONTree = ["type": "string", "format": "date"]
        return [
            (
                "state",
                inQuery(
                    "state", "Whether it is over.", words(GapQuery.State.allCases.map(\.word)))
            ),
            ("cause", inQuery("cause", "Suspected of this.", schema("GapCause"))),
            ("verdict", inQuery("verdict", "Found to be this.", schema("GapVerdict"))),
            (
                "platform",
                inQuery("platform", "Of this platform.", words(Platform.allCases.map(\.word)))
            ),
            ("responder", inQuery("responder", "Of this person.", schema("Name"))),
            (
                "since",
                inQuery("since", "From then on: RFC 3339, or milliseconds since 1970.", time)
            ),
            ("until", inQuery("until", "Before then, likewise.", time)),
            ("firstDay", inQuery("since", "The first day, UTC.", day)),
            (
                "lastDay",
                inQuery(
                    "until",
                    "The last day, else today; at most \(DarkQuery.daysMax) days.", day)
            ),
            (
                "by",
                inQuery(
                    "by",
                    "What to count by, with commas between: "
                        + list(GapQuery.Key.allCases.map(\.word)), ["type": "string"])
            ),
            (
                "darkBy",
                inQuery(
                    "by",
                    "What to sum up by, two at most, with commas between: "
                        + list(DarkQuery.Key.allCases.map(\.word)),
                    ["type": "string", "default": "region"])
            ),
            ("cursor", inQuery("after", "The `next` of the answer before.", cursor)),
            ("darkAfter", inQuery("after", "The `next` of the answer before.", cursor)),
            ("eventCursor", inQuery("after", "The `next` of the answer before.", cursor)),
            (
                "contacts",
                inQuery(
                    "contacts", "False leaves the batches out.",
                    ["type": "boolean", "default": true])
            ),
            (
                "eventLimit",
                inQuery(
                    "limit", "Events in the answer at most.",
                    [
                        "type": "integer", "minimum": 1,
                        "maximum": .integer(Int64(Router.limitMax)),
                        "default": .integer(Int64(TimelineQuery.limitStandard)),
                    ])
            ),
        ]
    }

    private static func list(_ words: [StaticString]) -> String {
        words.map { "`\($0)`" }.joined(separator: ", ") + "."
    }

    // MARK: - Schemas

    private static let count: JSONTree = ["type": "integer", "minimum": 0]
    private static let seconds: JSONTree = ["type": "number", "minimum": 0]
    private static let flag: JSONTree = ["type": "boolean"]
    private static let instant = schema("Instant")
    private static let next: JSONTree = [
        "type": ["string", "null"], "description": "For `after`; null at the end.",
    ]

    static var history: JSONTree {
        [
            "GapCause": words(GapCause.allCases.map(\.word)),
            "GapVerdict": words(GapVerdict.allCases.map(\.word)),
            "GapGroup": group, "GapEvidence": evidence, "Gap": gap, "GapTable": gapTable,
            "GapList": object(
                "Some gaps.", required: ["gaps", "next", "as_of"],
                [
                    "gaps": ["type": "array", "items": schema("Gap")], "next": next,
                    "as_of": instant,
                ]),
            "DarkTable": darkTable, "Timeline": timelineAnswer, "Event": event,
        ]
    }

    private static var group: JSONTree {
        object(
            "Those who fell silent together.", required: ["id", "of", "members", "active"],
            [
                "id": count, "of": words(["region", "feed"]), "region": schema("Name"),
                "members": count, "active": count,
            ])
    }

    /// Facts of a suspicion, or of a return; what is not known is left out.
    private static var evidence: JSONTree {
        let reported = reportedMembers
        return object(
            "Facts that a suspicion or a verdict rests on; what is not known is left out.",
            required: [],
            reported.with([
                "last_contact_at": instant, "battery_level": ["type": "number"],
                "queue_depths": ["type": "array", "items": count],
                "platform": words(Platform.allCases.map(\.word)), "group": schema("GapGroup"),
                "returned_at": instant, "updates": count, "captured_inside": count,
                "first_captured_inside_at": instant, "last_captured_inside_at": instant,
                "new_install": flag, "opened_at": instant, "length_ms": count, "blind_ms": count,
            ]))
    }

    private static var gap: JSONTree {
        let members: JSONTree = [
            "gap": count, "responder_id": schema("Name"),
            "state": described(
                "`returned`: over, the verdict comes within two minutes.",
                words(["open", "returned", "closed"])),
            "opened_at": instant, "offline_at": schema("InstantOrNever"),
            "closed_at": schema("InstantOrNever"),
            "length_seconds": described("Watched time; of an open one up to now.", seconds),
            "suspected": schema("GapCause"), "first_suspected": schema("GapCause"),
            "verdict": ["anyOf": [schema("GapVerdict"), ["type": "null"]]],
            "region": ["type": "string"], "platform": words(Platform.allCases.map(\.word)),
            "blind_seconds": described("How long of it we were blind.", seconds),
            "left_out": described(
                "5 % of it or more, and at least a second, was blind: it is held against nobody.",
                flag),
            "group": ["anyOf": [schema("GapGroup"), ["type": "null"]]],
            "evidence": schema("GapEvidence"),
            "return": ["anyOf": [schema("GapEvidence"), ["type": "null"]]],
            "text": described("Cause and evidence in words; times in UTC.", ["type": "string"]),
        ]
        return object("A gap.", required: members.names, members)
    }

    private static var gapTable: JSONTree {
        let spans: JSONTree = [
            "anyOf": [
                object(
                    "Watched time.", required: ["median", "longest"],
                    ["median": seconds, "longest": seconds]),
                ["type": "null"],
            ]
        ]
        let verdicts = GapVerdict.allCases.map { JSONTree.Member(name: "\($0.word)", value: count) }
        let row = object(
            "Gaps that agree in the words of `by`.",
            required: ["gaps", "open", "blind", "seconds", "verdicts"],
            [
                "cause": schema("GapCause"),
                "verdict": ["anyOf": [schema("GapVerdict"), ["type": "null"]]],
                "region": ["type": "string"], "platform": words(Platform.allCases.map(\.word)),
                "gaps": count, "open": count,
                "blind": described("Not among the others: held against nobody.", count),
                "seconds": spans,
                "verdicts": object("Those that there are.", required: [], .object(verdicts)),
            ])
        let members: JSONTree = [
            "by": ["type": "array", "items": words(GapQuery.Key.allCases.map(\.word))],
            "since": schema("InstantOrNever"), "until": schema("InstantOrNever"),
            "rows": ["type": "array", "items": row], "gaps": count,
            "blind": described("Left out of `gaps`, over all rows.", count),
            "truncated": described("True if there was more than one answer counts over.", flag),
            "as_of": instant,
        ]
        return object("Gaps, counted.", required: members.names, members)
    }

    private static var darkTable: JSONTree {
        let day: JSONTree = ["type": "string", "format": "date"]
        let row = object(
            "A sum.", required: ["contact_seconds", "location_seconds", "responders"],
            [
                "region": ["type": "string"], "platform": words(Platform.allCases.map(\.word)),
                "responder_id": schema("Name"), "day": day,
                "contact_seconds": described("Nothing was heard for too long.", seconds),
                "location_seconds": described("No location covers it.", seconds),
                "responders": described("People who had any.", count),
            ])
        let members: JSONTree = [
            "by": ["type": "array", "items": words(DarkQuery.Key.allCases.map(\.word))],
            "since": day, "until": day, "rows": ["type": "array", "items": row], "next": next,
            "truncated": described("True if there was more than one answer sums up.", flag),
            "as_of": instant,
        ]
        return object("Dark time, summed up.", required: members.names, members)
    }

    // MARK: - Timelines

    private static var timelineAnswer: JSONTree {
        object(
            "Some events of one person.", required: ["responder_id", "events", "next", "as_of"],
            [
                "responder_id": schema("Name"),
                "events": ["type": "array", "items": schema("Event")], "next": next,
                "as_of": instant,
            ])
    }

    /// One kind of event.
    static func event(
        _ kind: StaticString, _ description: String, _ required: [String], _ members: JSONTree
    ) -> JSONTree {
        let head: JSONTree = ["at": instant, "kind": ["const": .text("\(kind)")]]
        return object(
            description, required: ["at", "kind"] + required, head.with(members))
    }

    private static var event: JSONTree {
        let status = words(Status.allCases.map(\.word) + ["NOT_EXPECTED"])
        return [
            "anyOf": [
                event(
                    "status", "A change of status.", ["from", "to", "origin"],
                    [
                        "from": status, "to": status,
                        "origin": words(Origin.allCases.map(\.word)),
                    ]),
                event(
                    "gap", "What was thought of a gap.", ["state", "suspected", "evidence"],
                    [
                        "state": words(GapState.allCases.map(\.word)),
                        "suspected": schema("GapCause"), "verdict": schema("GapVerdict"),
                        "evidence": schema("GapEvidence"),
                    ]),
                event(
                    "blind",
                    "The watch lost sight for a second or more, or had it back; what begins again "
                        + "within 10 s keeps its `since`.", ["state", "since", "reason"],
                    [
                        "state": words(["begin", "end"]), "since": instant,
                        "reason": words(BlindReason.allCases.map(\.word)),
                    ]),
                contact,
                event(
                    "told", "What the backend said of them.", [],
                    toldMembers.with(["told_at": instant, "paused_until": instant])),
                event(
                    "server", "The server's own transition.", ["from", "to", "told_at"],
                    ["from": schema("Status"), "to": schema("Status"), "told_at": instant]),
                nudgeEvent, wakeEvent,
            ]
        ]
    }

    private static var contact: JSONTree {
        let sequences: JSONTree = [
            "type": "array", "items": ["type": "integer"], "minItems": 2, "maxItems": 2,
        ]
        return event(
            "contact", "A batch.", ["received_at", "updates"],
            [
                "received_at": instant, "updates": count,
                "sequences": described("The lowest and the highest.", sequences),
                "captured": object(
                    "By the phone's clock.", required: ["first", "last"],
                    ["first": instant, "last": instant]),
                "cached": described("Updates that repeat a known position.", count),
                "facts": object(
                    "What the batch said.", required: [],
                    toldMembers.with(reportedMembers).with([
                        "os_version": schema("Name"), "app_version": schema("Name"),
                        "battery_level": ["type": "number", "minimum": 0, "maximum": 1],
                    ])),
            ])
    }

    /// The members that both phones and backends tell.
    private static var toldMembers: JSONTree {
        [
            "duty_state": schema("DutyState"), "region": schema("Name"),
            "circles": schema("Circles"), "sharing": schema("Sharing"),
            "platform": words(Platform.allCases.map(\.word)),
        ]
    }
}

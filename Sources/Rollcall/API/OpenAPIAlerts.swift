import RollcallCore

/// Alerts, silences and drills. Source: A7, A10, A11.
extension OpenAPI {
    // MARK: - Operations

    static var getAlerts: JSONTree {
        operation(
            "listAlerts", .alerts, "GET", .answers, "What is pending or fires",
            """
            With who was told, and who was not and why. Silences and inhibition mute \
            notifications, never alerts.
            """,
            answers: ["200": answer("As it is now.", schema("AlertList"), example: Samples.alerts)])
    }

    static var getAlertHistory: JSONTree {
        let names = [
            "alertname", "alertRegion", "receiver", "firedSince", "beforeIncident",
            "incidentLimit",
        ]
        return operation(
            "listIncidents", .alertHistory, "GET", .answers, "Why was I (not) paged?",
            """
            What fired, newest first: numbers, threshold, people, every change, who was told and \
            who was not and why, every attempt. All filters must hold. Go on with `before` = `next` \
            until it is null. At most \(AlertHistory.decisionsMax) decisions are looked at for one \
            answer; `truncated` tells if there were more.
            """,
            parameters: names.map { reference("parameters", $0) },
            answers: [
                "200": answer("A page.", schema("IncidentList"), example: Samples.incidents)
            ])
    }

    static var getSilences: JSONTree {
        operation(
            "listSilences", .silences, "GET", .answers, "Who is muted, and until when",
            "Those in force by their ends, then those that were over within the last 24 hours.",
            answers: [
                "200": answer("Silences.", schema("SilenceList"), example: Samples.silences)
            ])
    }

    static var postSilence: JSONTree {
        operation(
            "beginSilence", .silences, "POST", .operation, "Mutes notifications",
            """
            It begins at once and ends by itself. Alerts fire and end as ever; what was told of \
            before and ends meanwhile is told to have ended. Alertmanager's names `endsAt`, \
            `createdBy` and `startsAt` are understood.
            """,
            parameters: [reference("parameters", "strict")],
            body: reference("requestBodies", "SilenceRequest"),
            answers: [
                "200": answer("It holds.", schema("SilenceBegun"), example: Samples.silenceBegun)
            ], problems: [422],
            details: [
                409: answer(
                    "\(Silence.countMax) silences are in force already: end one. Or something else "
                        + "was asked for under this `id`.",
                    schema("Problem"), type: "application/problem+json")
            ])
    }

    static var silence: JSONTree {
        let show = operation(
            "getSilence", .silence, "GET", .answers, "One silence",
            answers: ["200": answer("The silence.", schema("SilenceAnswer"))], problems: [404])
        let end = operation(
            "endSilence", .silence, "DELETE", .operation, "Ends a silence",
            "404 if none in force has this number. Nothing that was told already is told again.",
            answers: ["200": answer("It is over.", schema("SilenceAnswer"))], problems: [404])
        return ["parameters": [reference("parameters", "number")], "get": show, "delete": end]
    }

    /// The answer about a drill.
    private static let drilled: JSONTree = [
        "200": answer("Its end.", schema("Drill"), example: Samples.drill),
        "202": answer(
            "Its end is not known yet: ask `GET /v1/drill/{number}` again.", schema("Drill")),
    ]

    static var postDrill: JSONTree {
        operation(
            "drill", .drills, "POST", .operation, "Tests the way to a receiver",
            """
            A clearly marked test alert, whatever the receiver's matchers and the silences say. It \
            ends by itself once it arrived.
            """,
            body: reference("requestBodies", "DrillRequest"), answers: drilled,
            problems: [404, 422])
    }

    static var drill: JSONTree {
        let show = operation(
            "getDrill", .drill, "GET", .answers, "What became of a drill", answers: drilled,
            problems: [404])
        return ["parameters": [reference("parameters", "number")], "get": show]
    }

    // MARK: - Parameters

    static var alertParameters: [(String, JSONTree)] {
        let number: JSONTree = ["type": "integer", "format": "int64", "minimum": 0]
        let limit: JSONTree = [
            "type": "integer", "minimum": 1, "maximum": .integer(Int64(Router.limitMax)),
            "default": .integer(Int64(AlertHistoryQuery.limitStandard)),
        ]
        return [
            ("alertname", inQuery("alertname", "Of this name.", schema("AlertName"))),
            ("alertRegion", inQuery("region", "About this region.", ["type": "string"])),
            (
                "receiver",
                inQuery(
                    "receiver", "Of which this receiver was told, or was not and should.",
                    ["type": "string"])
            ),
            (
                "firedSince",
                inQuery(
                    "since", "Fired from then on: RFC 3339, or milliseconds since 1970.",
                    ["type": "string"])
            ),
            ("beforeIncident", inQuery("before", "The `next` of the answer before.", number)),
            ("incidentLimit", inQuery("limit", "Incidents in the answer at most.", limit)),
        ]
    }

    // MARK: - Schemas

    private static let count: JSONTree = ["type": "integer", "minimum": 0]
    private static let number: JSONTree = ["type": "number"]
    private static let text: JSONTree = ["type": "string"]
    private static let flag: JSONTree = ["type": "boolean"]
    private static let instant = schema("Instant")
    private static let instantOrNever = schema("InstantOrNever")
    private static let fallbackOf = described(
        "Told because this receiver has not taken it, as its `fallback`.", text)
    private static let labels: JSONTree = [
        "type": "object", "additionalProperties": ["type": "string"],
    ]

    private static func list(_ items: JSONTree) -> JSONTree { ["type": "array", "items": items] }

    private static func orNull(_ type: String) -> JSONTree { ["type": [.text(type), "null"]] }

    static var alerts: JSONTree {
        [
            "AlertName": words(AlertName.allCases.map(\.word)), "Alert": alert,
            "AlertList": object(
                "Alerts by name and labels.",
                required: ["as_of", "watching", "alerts", "truncated"],
                [
                    "as_of": instant, "watching": flag, "alerts": list(schema("Alert")),
                    "truncated": described(
                        "True if there were more than \(AlertJSON.alertsMax).", flag),
                ]),
            "MuteReason": muteReason, "Reach": reach, "Incident": incident,
            "DeliveryTarget": target,
            "IncidentList": object(
                "What fired.", required: ["as_of", "incidents", "next", "truncated"],
                [
                    "as_of": instant, "incidents": list(schema("Incident")),
                    "next": described("For `before`; null at the end.", orNull("string")),
                    "truncated": described(
                        "True if there was more than one answer looks at.", flag),
                ]),
            "Silence": silenceSchema, "SilenceRequest": silenceRequest,
            "SilenceAnswer": object(
                "A silence.", required: ["silence"], ["silence": schema("Silence")]),
            "SilenceBegun": object(
                "A silence, and what of it was probably not meant.",
                required: ["silence", "warnings"],
                unknownFields.with([
                    "silence": schema("Silence"),
                    "warnings": described(
                        "A name that nothing has, or that nothing is muted now.", list(text)),
                ])),
            "SilenceList": object(
                "Silences.", required: ["as_of", "silences"],
                ["as_of": instant, "silences": list(schema("Silence"))]),
            "DrillRequest": object(
                "A test of the way to a receiver.", required: ["receiver"],
                ["receiver": described("Its name in the settings.", text)]),
            "Drill": drillSchema,
        ]
    }

    private static var alert: JSONTree {
        let members: JSONTree = [
            "alertname": schema("AlertName"),
            "state": words([AlertState.pending.word, AlertState.firing.word]),
            "severity": words(Severity.allCases.map(\.word)), "labels": labels,
            "annotations": labels,
            "value": described("A share for HighOfflineRate, else a number of somebody.", number),
            "count": described("Of `total` people or sources so many are meant.", count),
            "total": count,
            "active_at": described("Since when it is true.", instantOrNever),
            "starts_at": described("When it fired; null while it is pending.", instantOrNever),
            "incident": described(
                "The firing's number; null while it is pending.", orNull("integer")),
            "told": list(
                object(
                    "A receiver that took the news.", required: ["receiver", "at"],
                    ["receiver": text, "at": instant, "fallback_of": fallbackOf])),
            "receivers": list(schema("Reach")), "muted": list(schema("MuteReason")),
        ]
        return object("An alert.", required: members.names, members)
    }

    private static var reach: JSONTree {
        let required: JSONTree = [
            "receiver": text, "state": words(Reach.State.allCases.map(\.word)),
            "decided_at": instant, "attempts": count,
        ]
        return object(
            "An address that is to be told, and how far that has come: `taken` is a committed 2xx.",
            required: required.names,
            required.with([
                "target": described("Which of the receiver's addresses, if it has several.", count),
                "fallback_of": fallbackOf,
                "last_error": described("Of the last attempt.", text),
                "next_attempt_at": described("Not before then.", instant), "taken_at": instant,
                "storm": described(
                    "The storm, by its number, that tells of it together with others there.", count),
            ]))
    }

    private static var muteReason: JSONTree {
        object(
            "A receiver that is not told, or not by a message of its own, and why.",
            required: ["receiver", "reason"],
            [
                "at": instant, "receiver": text,
                "reason": words(["silence", "inhibited", "blind", "storm"]),
                "silence": described("The silence's number.", count),
                "storm": described("The number of the storm that tells of it.", count),
                "by": described("The labels of an alert that says more.", labels),
            ])
    }

    private static var target: JSONTree {
        let attempt: JSONTree = [
            "at": instant,
            "took_ms": described("Null if nobody knows what came of it.", orNull("integer")),
            "status": described("Of the answer; null without one.", orNull("integer")),
            "error": orNull("string"),
        ]
        let outcome: JSONTree = [
            "anyOf": [words(NoticeOutcome.allCases.map(\.word)), ["type": "null"]]
        ]
        let members: JSONTree = [
            "target": described("Which of the receiver's addresses, from 0.", count),
            "state": words(Reach.State.allCases.map(\.word)),
            "outcome": described("Null until it is known.", outcome),
            "attempts": list(object("One attempt.", required: attempt.names, attempt)),
        ]
        return object("One address of a receiver.", required: members.names, members)
    }

    private static var incident: JSONTree {
        let cause: JSONTree = ["cause": schema("GapCause"), "count": count]
        let change: JSONTree = [
            "at": instant, "state": words(["pending", "firing", "resolved"]),
            "value": orNull("number"),
        ]
        let notice: JSONTree = [
            "notice": count, "receiver": text, "kind": words(Notice.Kind.allCases.map(\.word)),
            "at": instant, "targets": list(schema("DeliveryTarget")),
        ]
        let members: JSONTree = [
            "incident": count, "alertname": schema("AlertName"),
            "severity": words(Severity.allCases.map(\.word)), "labels": labels,
            "annotations": labels, "state": words(["firing", "resolved"]), "pending_at": instant,
            "starts_at": instant, "ended_at": instantOrNever, "value": number, "count": count,
            "total": count, "threshold": orNull("number"), "for_ms": count,
            "causes": list(object("A suspected cause.", required: cause.names, cause)),
            "members": described("Those concerned, as far as they are named.", list(text)),
            "changes": list(object("A change of state.", required: change.names, change)),
            "muted": list(schema("MuteReason")),
            "notices": list(object("One message.", required: notice.names, notice)),
            "receivers": list(schema("Reach")),
        ]
        return object("One firing, with the numbers of then.", required: members.names, members)
    }

    private static var silenceSchema: JSONTree {
        let members: JSONTree = [
            "id": count, "state": words(["active", "over"]),
            "matchers": described("As they would be sent.", list(text)), "starts_at": instant,
            "ends_at": instant, "author": text, "comment": text,
            "muting": described("Alerts that fire and are muted by it.", list(text)),
            "request_id": described("The `id` it was asked for under.", orNull("string")),
        ]
        return object("A mute of notifications.", required: members.names, members)
    }

    private static var silenceRequest: JSONTree {
        let matcher: JSONTree = [
            "type": "string", "pattern": "^[a-zA-Z_][a-zA-Z0-9_]*!?=.*$",
            "description": "`name=value`, `name!=value`, or several values with `|` between them.",
        ]
        let matchers: JSONTree = [
            "type": "array", "items": matcher, "minItems": 1,
            "maxItems": .integer(Int64(MatcherText.countMax)),
            "description": """
            All must hold; one must name a value that an alert must have. An object of names and \
            values, and objects as Alertmanager has them, are taken too.
            """,
        ]
        func bounded(_ most: Int) -> JSONTree {
            ["type": "string", "minLength": 1, "maxLength": .integer(Int64(most))]
        }
        return object(
            "What is muted, until when, by whom and why.",
            required: ["matchers", "author", "comment"],
            [
                "matchers": matchers,
                "ends_at": described("Either this or `duration`.", instant),
                "duration": described("`90m`, `2h`, `1d`.", text),
                "author": bounded(SilenceRequest.authorMax),
                "comment": bounded(SilenceRequest.commentMax),
                "id": described(
                    "A name of your own, not a number. The same again is answered with the same "
                        + "silence, as long as that is listed.",
                    ["type": "string", "maxLength": .integer(Int64(SilenceRequest.authorMax))]),
            ])
    }

    private static var drillSchema: JSONTree {
        let outcome: JSONTree = [
            "anyOf": [words(NoticeOutcome.allCases.map(\.word)), ["type": "null"]]
        ]
        let members: JSONTree = [
            "drill": count, "receiver": text,
            "outcome": described("Null until it is known.", outcome),
            "took_ms": described("From the question to the receiver's answer.", orNull("integer")),
            "targets": list(schema("DeliveryTarget")),
        ]
        return object("What became of a drill.", required: members.names, members)
    }
}

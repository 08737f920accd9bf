import RollcallCore

/// The operations that tell how the fleet and the watch stand at this moment. Source: V5.
extension OpenAPI {
    // MARK: - Operations

    static var getStatus: JSONTree {
        operation(
            "getStatus", .status, "GET", .answers, "The watch, counts, sources",
            "In a few numbers also the store, alerts, nudges, receivers and settings.",
            answers: ["200": answer("As it is now.", schema("StatusAnswer"))])
    }

    static var getStatusHistory: JSONTree {
        operation(
            "getStatusHistory", .statusHistory, "GET", .answers,
            "How many stood how, and when nobody was watching",
            """
            Without `since` the last 12 hours. Of each step the last count; a step without one is \
            left out, and so is what was counted while blind. `step` is `1m` to `1d`; at most \
            \(StatusHistoryQuery.samplesMax) of them fit an answer, and without it the shortest is \
            taken that gives \(StatusHistoryQuery.samplesStandard) at most. Counts are taken once a \
            minute and kept as long as the journal.
            """,
            parameters: ["since", "until", "step"].map { reference("parameters", $0) },
            answers: [
                "200": answer(
                    "The stretch.", schema("StatusHistory"), example: Samples.statusHistory)
            ])
    }

    static var getRegions: JSONTree {
        operation(
            "listRegions", .regions, "GET", .answers, "Each region's people, by status",
            """
            In the order of their names' bytes. Go on with `after` = `next` until it is null. A \
            region that everybody left is left out unless it must be staffed; of more than \
            \(Router.regionsLookedAtMax) the later ones are too, and `truncated` says so.
            """,
            parameters: [reference("parameters", "after"), reference("parameters", "regionLimit")],
            answers: ["200": answer("Regions.", schema("RegionList"), example: Samples.regions)])
    }

    // MARK: - Parameters

    static var presentParameters: [(String, JSONTree)] {
        let limit: JSONTree = [
            "type": "integer", "minimum": 1, "maximum": .integer(Int64(Router.limitMax)),
            "default": .integer(Int64(Router.regionsStandard)),
        ]
        return [
            ("regionLimit", inQuery("limit", "Regions in the answer at most.", limit)),
            (
                "step",
                inQuery(
                    "step", "The distance of two counts, such as `5m`.",
                    ["type": "string", "pattern": "^[0-9]+(ms|s|m|h|d)$"])
            ),
        ]
    }

    // MARK: - Schemas

    private static let count: JSONTree = ["type": "integer", "minimum": 0]
    private static let text: JSONTree = ["type": "string"]
    private static let flag: JSONTree = ["type": "boolean"]
    private static let instant = schema("Instant")
    private static let instantOrNever = schema("InstantOrNever")

    static var present: JSONTree {
        [
            "StatusAnswer": statusAnswer, "Source": source, "SourceClock": sourceClock,
            "StoreStanding": store, "StateLoss": stateLoss,
            "ReceiverStanding": receiver, "StatusHistory": statusHistory, "Region": region,
            "RegionList": object(
                "Some regions.", required: ["as_of", "regions", "next", "truncated"],
                [
                    "as_of": instant, "regions": ["type": "array", "items": schema("Region")],
                    "next": [
                        "type": ["string", "null"], "description": "For `after`; null at the end.",
                    ],
                    "truncated": described("True if there were too many to look at.", flag),
                ]),
        ]
    }

    private static var statusAnswer: JSONTree {
        let blind = object(
            "One reason to be blind.", required: ["reason", "since"],
            ["reason": words(BlindReason.allCases.map(\.word)), "since": instant])
        let members: JSONTree = [
            "version": text, "as_of": instant,
            "started_at": described("Since when this process runs.", instant),
            "watching": flag,
            "blind": ["type": "array", "items": blind],
            "responders": counts("Those expected.", ["active"] + Status.allCases.map(\.word)),
            "not_expected": counts(
                "Those not expected, by first reason.",
                ["all"] + NotExpected.allCases.map(\.word)),
            "gaps": openGaps,
            "last_batch_at": instantOrNever,
            "sources": [
                "type": "array", "items": schema("Source"),
                "maxItems": .integer(Int64(Feed.sourcesMax)),
            ],
            "clocks": [
                "type": "array", "items": schema("SourceClock"),
                "maxItems": .integer(Int64(2 * Feed.sourcesMax)),
                "description": "Sources whose clocks are off, or whose times lag.",
            ],
            "store": schema("StoreStanding"),
            "alerts": counts(
                "Alerts by state, without the watchdog, which always fires; silences in force.",
                ["firing", "pending", "silences"]),
            "nobody_reached": nobodyReached,
            "nudges": nudgesStanding,
            "receivers": [
                "type": "array", "items": schema("ReceiverStanding"),
                "maxItems": .integer(Int64(Receiver.countMax)),
            ],
            "settings": settings,
        ]
        return object(
            "How the watch stands.", required: members.names,
            members.with(["not_watching_since": described("Only while not watching.", instant)]))
    }

    private static var nobodyReached: JSONTree {
        let members: JSONTree = [
            "alerts": described("How many.", count), "since": instant,
            "incidents": [
                "type": "array", "items": count,
                "maxItems": .integer(Int64(Unreached.incidentsMax)),
            ],
            "reason": [
                "type": "string", "enum": ["not_taken", "no_receiver"],
            ],
        ]
        let nobody = object(
            """
            Critical alerts that fire for a minute, are not muted, and that no receiver has taken.
            """, required: members.names, members)
        return ["anyOf": [nobody, ["type": "null"]]]
    }

    private static func counts(_ description: String, _ names: [StaticString]) -> JSONTree {
        let members = names.map { JSONTree.Member(name: "\($0)", value: count) }
        return object(description, required: names.map { "\($0)" }, .object(members))
    }

    private static var openGaps: JSONTree {
        let causes = GapCause.allCases.map { JSONTree.Member(name: "\($0.word)", value: count) }
        return object(
            "The gaps that are open at `as_of`, whether they overlap blindness or not.",
            required: ["open", "suspected"],
            [
                "open": count,
                "suspected": object(
                    "By suspected cause; absent is none.", required: [], .object(causes)),
            ])
    }

    private static var source: JSONTree {
        let members: JSONTree = [
            "source": schema("Name"), "up": flag, "every_seconds": ["type": "number"],
            "last_beat_at": instant,
        ]
        return object("A declared source.", required: members.names, members)
    }

    private static var sourceClock: JSONTree {
        let states = SkewState.allCases.filter { $0 != .right && $0 != .unmeasured }.map(\.word)
        let seconds: JSONTree = ["type": "number"]
        let members: JSONTree = [
            "source": schema("Name"),
            "state": described(
                "`late`: it does not say when it sends, so that nobody can tell a clock that is "
                    + "behind from times that are forwarded late.",
                words(states + [ClockJSON.late])),
            "skew_seconds": described(
                "By how much its clock was behind ours in the last minute; below 0 ahead. Not of "
                    + "`late`.", seconds),
            "correction_seconds": described(
                "What is added to its `received_at` and `at`. Not of `late`.", seconds),
            "lag_seconds": described(
                "The smallest lag of its `received_at` in a minute. Of `late` alone.", seconds),
            "text": described("All of it in plain words.", text),
        ]
        return object(
            "A source whose clock is off, or whose times lag.",
            required: ["source", "state", "text"], members)
    }

    private static var store: JSONTree {
        let members: JSONTree = [
            "state": described("`failing`: it takes no commits.", words(["ok", "failing"])),
            "size_bytes": described("As `storage.size` counts them; some seconds old.", count),
            "size_max_bytes": described("The cap `storage.size`.", count),
            "nearly_full": described("Above 80 % of it: the oldest history goes soon.", flag),
            "oldest_at": described("Of the oldest row that is kept.", instantOrNever),
            "checkpoint_at": described("The newest checkpoint.", instantOrNever),
            "lost": ["anyOf": [schema("StateLoss"), ["type": "null"]]],
        ]
        return object("How the store stands.", required: members.names, members)
    }

    private static var stateLoss: JSONTree {
        let members: JSONTree = [
            "at": described("When that was noticed.", instant),
            "cause": words(StateLossCause.allCases.map(\.word)),
            "kept": described(
                "Files that were put aside.", ["type": "array", "items": text]),
        ]
        return object("What was lost with a store.", required: members.names, members)
    }

    private static var nudgesStanding: JSONTree {
        let members: JSONTree = [
            "mode": words(NudgeRules.Mode.allCases.map(\.word)),
            "sink": words(NudgeRules.Sink.allCases.map(\.word)),
            "frozen_until": described("Null unless they are frozen.", instantOrNever),
            "pending": described("Pushes that the sink has not taken yet.", count),
        ]
        return object("How nudges stand.", required: members.names, members)
    }

    private static var receiver: JSONTree {
        let members: JSONTree = [
            "name": schema("Name"), "kind": words(ReceiverKind.allCases.map(\.word)),
            "pending": described("Messages that it has not taken yet.", count),
        ]
        return object("How a receiver stands.", required: members.names, members)
    }

    private static var settings: JSONTree {
        let members: JSONTree = [
            "loaded_at": described("When those in force were read.", instant),
            "last_reload_ok": described("False if the last reading was refused.", flag),
        ]
        return object("How the settings stand.", required: members.names, members)
    }

    private static var statusHistory: JSONTree {
        let names = Status.allCases.map(\.word) + ["not_expected"]
        let sample = object(
            "How many stood how.", required: ["at"] + names.map { "\($0)" },
            JSONTree.object([.init(name: "at", value: instant)])
                .with(.object(names.map { .init(name: "\($0)", value: count) })))
        let window = object(
            "Nobody was watching.", required: ["reason", "since", "until"],
            [
                "reason": words(BlindReason.allCases.map(\.word)), "since": instant,
                "until": described("Null while it goes on.", instantOrNever),
            ])
        let members: JSONTree = [
            "as_of": instant, "since": instant, "until": instant,
            "step_seconds": ["type": "integer", "minimum": 60, "maximum": 86_400],
            "samples": ["type": "array", "items": sample],
            "blind": ["type": "array", "items": window],
            "truncated": described("True if there was more than one answer looks at.", flag),
        ]
        return object("A stretch of the past, oldest first.", required: members.names, members)
    }

    private static var region: JSONTree {
        let members: JSONTree = [
            "region": schema("Name"), "active": count,
            "responders": counts("Those expected.", Status.allCases.map(\.word)),
            "not_expected": count,
            "flapping": described("Of the expected, who keeps dropping out.", count),
            "must_be_staffed": described("It is in `coverage.regions`.", flag),
        ]
        return object("A region.", required: members.names, members)
    }
}

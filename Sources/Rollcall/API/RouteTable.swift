import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallSupport

/// The table of all routes. Routing, `Allow`, scopes, the reading of parameters, the labels of
/// metrics and the OpenAPI document come from it.
extension Route {
    static let all: [Route] =
        writes + inputs + people + history + alerting + standing + cluster + cells + sessions
        + operation
        + pages

    // MARK: - Writes

    private static let writes: [Route] = [
        Route(
            .post, .batches, "postBatches", .batches, .ingest, .writes, "What phones sent",
            """
            What phones sent with their locations, forwarded by the backend; a batch is contact. \
            It enrols somebody unknown ON_DUTY in region `default` unless it says otherwise. With \
            `tell=true` the answer has `you`, in the body's form: how each of them stands once all of \
            it is committed, and what should be put right on the phone.
            """,
            shared: [.source, .strict, .you, .sentAt], body: "Batches",
            answers: [200: "BatchVerdict", 422: "Refused"], problems: [421, 429]
        ) { $0.postItems(.batch, $1.request, $1.answer) },
        Route(
            .post, .transitions, "postTransitions", .transitions, .ingest, .writes,
            "The server's own status changes",
            """
            Evidence, not orders: `to: ONLINE` is contact at `at`; `DEGRADED` and `OFFLINE` are \
            adopted if worse than what is known and later than the last contact.
            """,
            shared: [.source, .strict, .sentAt, .idempotencyKey], body: "Transitions",
            answers: [200: "Verdict", 422: "Refused"], problems: [421, 429]
        ) { $0.postItems(.transition, $1.request, $1.answer) },
        Route(
            .post, .responders, "postResponders", .responders, .ingest, .writes,
            "Facts that the backend knows",
            """
            None of them is contact. A duty state told here wins over one in batches received \
            within 60 s after it. Naming an erased person takes them up again.
            """,
            shared: [.source, .strict, .sentAt], body: "Facts",
            answers: [200: "Verdict", 422: "Refused"], problems: [421, 429]
        ) { $0.postItems(.responder, $1.request, $1.answer) },
        Route(
            .put, .responders, "putResponders", .responders, .ingest, .writes, "The whole roster",
            """
            Who is not in it is retired. In parts: each with the same `roster` and `more=true`, \
            the last without `more`, no 10 minutes apart, another `roster` each time. \
            `shrink=allow` needs the scope `admin`. One rejected item refuses the request whole: \
            nobody is retired because an item could not be read.
            """,
            shared: [.source, .strict, .sentAt], query: Router.rosterParameters, body: "Facts",
            answers: [200: "Verdict", 409: "RosterConflict", 422: "Refused"], problems: [421, 429],
            // To take everybody off the list but a few is more than to write.
            scopeOfRequest: { request, _ in
                request.query.contains { $0.name == "shrink" && $0.value == "allow" } ? .admin : nil
            }
        ) { $0.putRoster($1, $2.request, $2.answer) },
        Route(
            .post, .heartbeat, "postHeartbeat", .heartbeat, .ingest, .writes,
            "Arms a source's dead-man's switch",
            """
            Promises a write every `every_seconds`; any write of the source counts. Once 2.5 of \
            them are missing of every source, the watch is blind and says so.
            """,
            shared: [.source, .sentAt, .strict], body: "Heartbeat",
            answers: [200: "HeartbeatAnswer", 409: "TooManySources"], problems: [422]
        ) { $0.postHeartbeat($1.request, $1.answer) },
        Route(
            .delete, .heartbeat, "deleteHeartbeat", .heartbeat, .ingest, .writes,
            "Disarms a source's switch",
            """
            The same answer for a source that was not declared. That of another than the token's \
            own needs the scope `admin`.
            """,
            shared: [.source], answers: [200: "HeartbeatAnswer"], problems: [422],
            // To switch off somebody else's dead-man's switch is more than to write.
            scopeOfRequest: { request, token in
                request.query.contains { $0.name == "source" && $0.value != token?.name }
                    ? .admin : nil
            }
        ) { $0.postHeartbeat($1.request, $1.answer) },
        Route(
            .post, .nudges, "ask", .nudges, .ingest, .writes, "Somebody asks a person to reconnect",
            """
            With the scope `act` it is answered the decision with its reason; with `ingest` alone a \
            backend passes on what a member of a circle asks, whose id is `by`, and learns whether \
            somebody was asked, not why not: once an hour and six times a day at most, whoever asks.
            """,
            shared: [.source, .strict, .idempotencyKey], body: "AskRequest",
            answers: [200: "Asked"], problems: [404, 409, 421, 422, 429],
            scopeOfRequest: { _, token in Router.scopeToAsk(token) }
        ) { $0.postNudge($1.request, $1.answer) },
        Route(
            .post, .wakes, "wake", .wakes, .ingest, .writes, "Somebody looks at a circle",
            """
            Wakes the phones of its other members by a silent push, so that the map shows where \
            they are now, or says why not. Of the members by their ids the first \
            \(WakeCall.membersMax) are looked at; `beyond` counts the rest. A circle that nobody is \
            in has none. Who they are (`decisions`) is told to tokens with the scope `read` alone.
            """,
            shared: [.source, .sentAt, .strict, .idempotencyKey], body: "WakeRequest",
            answers: [200: "WakeAnswer"], problems: [422, 429]
        ) { $0.postWake($1.request, $1.answer) },
    ]

    // MARK: - History

    private static let history: [Route] = [
        Route(
            .get, .events, "getEvents", .events, .read, .answers,
            "Everything that is decided, in order",
            """
            Each decision is one event: `status`, `gap`, `verdict`, `alert`, `nudge`, `blind`, \
            `delivery` (what became of a message or a push), `action` (who silenced, drilled or \
            reloaded what) and `person` (enrolled, retired, erased). All filters must hold. Go on \
            with `after` = `next`, for ever: at the end the page is empty, or comes after `wait` \
            seconds. 410 if what was behind a cursor is gone (retention), or the store is another \
            one. With `Accept: text/event-stream` the answer is a stream without an end; it goes on \
            behind `Last-Event-ID`, and somebody who takes nothing for \
            \(EventReaders.takesWithin.count / 1000) s is cut. Of somebody erased only that is told, \
            with their id for \(ErasedIDs.keptFor.count / 60_000) minutes.
            """,
            query: EventQuery.parameters, answers: [200: "Events"], problems: [410, 421]
        ) { $0.showEvents($1, $2.request, $2.answer) },
        Route(
            .get, .timeline, "getTimeline", .responders, .read, .answers,
            "What happened to one person",
            """
            Statuses, gaps, batches, what was told, and the blind windows between them, newest \
            first. Never a coordinate: none is stored. Go on with `after` = `next`; a page may be \
            shorter than `limit` and have a `next`.
            """,
            query: TimelineQuery.parameters, answers: [200: "Timeline"], problems: [404, 421]
        ) { $0.showTimeline($2.target.id, $1, $2.answer) },
        Route(
            .get, .gaps, "listGaps", .gaps, .read, .answers,
            "Who was silent, why, and what it was",
            """
            Gaps that reached OFFLINE, newest first. All filters must hold. Go on with `after` = \
            `next` until it is null: a page may be empty and have a `next`, as at most \
            \(HistoryLimits().gapsListed) gaps are looked at for one. With `by` the answer is a \
            table, most gaps first; one of which 5 % and a second or more was blind is held \
            against nobody and counted under `blind` alone. `after` and `limit` go without `by`.
            """,
            query: GapQuery.parameters, answers: [200: "Gaps"], problems: [404, 421]
        ) { $0.showGaps($1, $2.answer) },
        Route(
            .get, .dark, "sumDark", .dark, .read, .answers,
            "How long people could not be reached or located",
            """
            Sums of daily rows. A day's row counts for the region and platform that were the \
            person's last of the day. `after` and `limit` go with `by=responder`.
            """,
            query: DarkQuery.parameters, answers: [200: "DarkTable"], problems: [404, 421]
        ) { $0.showDark($1, $2.answer) },
        Route(
            .get, .nudges, "listNudges", .nudges, .read, .answers,
            "Who was nudged, who was not, and why",
            """
            Every nudge, and every "no" to somebody whose location was old enough, written when the \
            reason changes; newest first, with what became of the push and what followed within \
            half an hour. All filters must hold. Go on with `after` = `next` until it is null: a \
            page may be empty and have a `next`, as at most \(HistoryLimits().nudgesListed) entries \
            are looked at for one. With `by` a table of the nudges that were sent: how many, and what \
            followed them; a nudge counts for the phone that its person has now.
            """,
            query: NudgeQuery.parameters, answers: [200: "Nudges"], problems: [404, 421]
        ) { $0.showNudges($1, $2.answer) },
    ]

    // MARK: - Alerts

    private static let alerting: [Route] = [
        Route(
            .get, .alerts, "listAlerts", .alerts, .read, .answers, "What is pending or fires",
            """
            With who was told, and who was not and why. Silences and inhibition mute \
            notifications, never alerts.
            """,
            query: NoQuery.parameters, answers: [200: "AlertList"]
        ) { $0.showAlerts($2.answer) },
        Route(
            .get, .alertHistory, "listIncidents", .alerts, .read, .answers,
            "Why was I (not) paged?",
            """
            What fired, newest first: numbers, threshold, people, every change, who was told and \
            who was not and why, every attempt. All filters must hold. Go on with `before` = `next` \
            until it is null. At most \(AlertHistory.decisionsMax) decisions are looked at for one \
            answer; `truncated` tells if there were more.
            """,
            query: AlertHistoryQuery.parameters, answers: [200: "IncidentList"]
        ) { $0.showAlertHistory($1, $2.answer) },
        Route(
            .post, .take, "takeIncident", .incidents, .act, .operation,
            "Somebody sees to an incident",
            """
            `key` is the number that answers call `incident`, or the key that pagers know it by, of a \
            storm too. Until it ends, in an hour unless it says otherwise and in 12 h at most, nobody \
            is told again, and nothing escalates (`escalate_after`, `fallback`). Who takes it next takes it \
            over. 409 of one that is over, and of the watchdog, which is none.
            """,
            shared: [.strict, .idempotencyKey], body: "TakeRequest",
            answers: [200: "Take", 409: "Conflict"], problems: [404, 422]
        ) { $0.postTake($1.target.key, $1.request, $1.answer) },
        Route(
            .delete, .take, "releaseIncident", .incidents, .act, .operation,
            "Nobody sees to it any more", "What is due is told at once. 404 if nobody had it.",
            shared: [.idempotencyKey], answers: [200: "Released", 409: "Conflict"],
            problems: [404, 422]
        ) { $0.endTake($1.target.key, $1.request, $1.answer) },
        Route(
            .get, .silences, "listSilences", .silences, .read, .answers,
            "Who is muted, and until when",
            "Those in force by their ends, then those that were over within the last 24 hours.",
            query: NoQuery.parameters, answers: [200: "SilenceList"]
        ) { $0.listSilences($2.answer) },
        Route(
            .post, .silences, "beginSilence", .silences, .act, .operation,
            "Mutes notifications",
            """
            It begins at once and ends by itself. Alerts fire and end as ever; what was told of \
            before and ends meanwhile is told to have ended. Alertmanager's names `endsAt`, \
            `createdBy` and `startsAt` are understood.
            """,
            shared: [.strict, .idempotencyKey], body: "SilenceRequest",
            answers: [200: "SilenceBegun", 409: "SilenceConflict"], problems: [422]
        ) { $0.postSilence($1.request, $1.answer) },
        Route(
            .get, .silence, "getSilence", .silences, .read, .answers, "One silence",
            answers: [200: "Silence"], problems: [404]
        ) { $0.showSilence($1.target.number, $1.answer) },
        Route(
            .delete, .silence, "endSilence", .silences, .act, .operation, "Ends a silence",
            "404 if none in force has this number. Nothing that was told already is told again.",
            shared: [.idempotencyKey],
            answers: [200: "SilenceEnded"], problems: [404, 422]
        ) { $0.endSilence($1.target.number, $1.request, $1.answer) },
        Route(
            .post, .drills, "drill", .drills, .act, .operation, "Tests the way to a receiver",
            """
            A clearly marked test alert, whatever the receiver's matchers and the silences say. It \
            ends by itself once it arrived.
            """,
            shared: [.idempotencyKey], body: "DrillRequest",
            answers: [200: "Drill", 202: "DrillUnderway"],
            problems: [404, 422]
        ) { $0.postDrill($1.request, $1.answer) },
        Route(
            .get, .drill, "getDrill", .drills, .read, .operation, "What became of a drill",
            answers: [200: "Drill", 202: "DrillUnderway"], problems: [404]
        ) { $0.showDrill($1.target.number, $1.answer) },
    ]

    // MARK: - How it stands

    private static let standing: [Route] = [
        Route(
            .get, .status, "getStatus", .status, .read, .answers, "The watch, counts, sources",
            "In a few numbers also the store, alerts, nudges, receivers and settings.",
            answers: [200: "StatusAnswer"]
        ) { $0.showStatus($1.answer) },
        Route(
            .get, .statusHistory, "getStatusHistory", .status, .read, .answers,
            "How many stood how, and when nobody was watching",
            """
            Without `since` the last 12 hours. Of each step the last count; a step without one is \
            left out, and so is what was counted while blind. `step` is `1m` to `1d`; at most \
            \(StatusHistoryQuery.samplesMax) of them fit an answer, and without it the shortest is \
            taken that gives \(StatusHistoryQuery.samplesStandard) at most. Counts are taken once a \
            minute and kept as long as the journal.
            """,
            query: StatusHistoryQuery.parameters, answers: [200: "StatusHistory"]
        ) { $0.showStatusHistory($1, $2.answer) },
        Route(
            .get, .regions, "listRegions", .status, .read, .answers,
            "Each region's people, by status",
            """
            In the order of their names' bytes. Go on with `after` = `next` until it is null. A \
            region that everybody left is left out unless it must be staffed; of more than \
            \(Resource.regionsLookedAtMax) the later ones are too, and `truncated` says so.
            """,
            query: RegionQuery.parameters, answers: [200: "RegionList"]
        ) { $0.listRegions($1, $2.answer) },
        Route(
            .get, .regionHistory, "getRegionHistory", .status, .read, .answers,
            "How each region stood, and what fired there",
            """
            Without `since` the last 6 hours. The worst regions of now come first, then those that \
            everybody left; go on with `after` = `next` until it is null. A cell is the worst count of \
            its step: the smallest share of those expected who were ONLINE. Without `step` the shortest \
            is taken that gives \(RegionHistoryQuery.stepsStandard) at most. Counts are taken once a \
            minute, of \(SampledRegion.countMax) regions and those that must be staffed; `truncated` \
            says that there were more, or more to look at.
            """,
            query: RegionHistoryQuery.parameters, answers: [200: "RegionHistory"]
        ) { $0.showRegionHistory($1, $2.answer) },
    ]

    // MARK: - Operation

    private static let operation: [Route] = [
        Route(
            .get, .metrics, "getMetrics", .metrics, .read, .operation, "Metrics for Prometheus",
            """
            Text 0.0.4, or OpenMetrics 1.0 with exemplars for who asks for it by `Accept`, or with \
            `metrics.native_histograms` protobuf (`io.prometheus.client.MetricFamily`, delimited); by \
            gzip for who asks for that by `Accept-Encoding`. On a listener of its own \
            (`web.metrics_listen_address`) it needs no token.
            """,
            answers: [200: "Metrics"]
        ) { $0.showMetrics($1.request, $1.answer) },
        Route(
            .get, .healthy, "getHealthy", .health, nil, .operation, "Does the loop go round?",
            "503 if it stood still for too long. Never waits for the store.",
            answers: [200: "Probe"]
        ) { $1.answer($0.health, InputStats()) },
        Route(
            .get, .ready, "getReady", .health, nil, .operation, "Are writes taken?",
            """
            503 while the server stops, the store takes no commits, or the keeper has not answered \
            for more than 5 s.
            """,
            answers: [200: "Probe"]
        ) { $1.answer($0.readiness, InputStats()) },
        Route(
            .get, .leader, "getLeader", .health, nil, .operation, "Does this member lead?",
            """
            For load balancers: 200 at the one member that takes writes, and on one machine; 503 at \
            the others, with `Rollcall-Leader` where the leader's address is known.
            """,
            answers: [200: "Probe"]
        ) { $1.answer($0.leadership, InputStats()) },
        Route(
            .post, .reload, "reload", .reload, .admin, .operation, "Reads the settings again",
            "All or nothing: with 422 none was taken and those from before stay.",
            answers: [200: "Reload", 422: "BadSettings"]
        ) { $0.reloadSettings($1.request, $1.answer) },
        Route(
            .get, .report, "getReport", .status, .admin, .operation,
            "What `rollcall report` cannot know from outside",
            """
            This process, the settings as it has them, without names, addresses and secrets, and the \
            last lines of its log as they were written. Never waits for the keeper or the store.
            """,
            answers: [200: "Report"]
        ) { $0.showReport($1.answer) },
        Route(
            .get, .openAPI, "getOpenAPI", .openAPI, .read, .operation, "This document",
            answers: [200: "Document"]
        ) { $1.answer(.json(OpenAPI.bytes), InputStats()) },
    ]
}

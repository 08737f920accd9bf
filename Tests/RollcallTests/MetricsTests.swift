import Glibc
import Rollcall
import RollcallCore
import RollcallSupport
import Testing

@Suite struct MetricsTests {
    private static let start = RunningTime(milliseconds: 1_795_230_000_000)

    private func post(
        _ kind: ItemKind, _ body: String, to engine: inout Engine, at seconds: Int64 = 0
    ) throws -> InputStats {
        let scan = try ItemScanner.scan(Array(body.utf8).span, kind: kind)
        let receipt = engine.fold(
            .items(scan.items, source: []), at: Self.start + .seconds(seconds))
        var input = InputStats()
        input.add(scan)
        input.add(receipt)
        return input
    }

    /// Three people in three regions, one off duty; then the store fails.
    private func example() throws -> (engine: Engine, edge: EdgeStats) {
        var policy = Policy()
        policy.regionLabelsMax = 2
        policy.coverageRegions = [Array("Köln \"Süd\" \\ 1\nWest".utf8)]
        policy.receivers = [Receiver(name: Array("oncall".utf8), kind: .pagerduty)]
        var engine = Engine(policy: policy)
        let edge = EdgeStats()
        _ = engine.fold(.start(), at: Self.start)
        let source = Array("pod \"a\"".utf8)
        _ = engine.fold(.heartbeat(source: source, every: .seconds(3600)), at: Self.start)
        _ = engine.fold(.skew(source: source, Milliseconds(31_020)), at: Self.start)
        let arrival = Timestamp(milliseconds: Self.start.milliseconds)
        edge.clocks.note(
            Array("pod b".utf8), sentAt: nil, receivedAt: arrival - Milliseconds(12_100),
            arrival: arrival)
        for elapsed: Int64 in [0, 60_000] { _ = edge.clocks.takeMinute(at: elapsed) }
        let input = try post(
            .batch,
            #"""
            [{"responder_id":"1","region":"north","platform":"ios","lat":50.9,
              "telemetry":{"power_mode":"low_power","location_services":true,"queue_depth":7},
              "updates":[{"sequence":1,"captured_at":1795229996000},{"sequence":1},{},
                         {"sequence":2,"captured_at":1795229999250}]},
             {"responder_id":"2","region":"south","duty_state":"ON_MISSION","platform":"android",
              "updates":[{"sequence":5,"captured_at":1795230009000}]},
             {"responder_id":"3"},{}]
            """#, to: &engine)
        edge.answered(.batches, code: 200, after: .microseconds(123), input: input)
        edge.answered(.other, code: 418, after: .seconds(6))
        _ = try post(
            .responder, #"{"responder_id":"4","duty_state":"OFF_DUTY"}"#, to: &engine, at: 1)
        _ = try post(
            .transition, #"{"responder_id":"3","from":"ONLINE","to":"OFFLINE"}"#, to: &engine,
            at: 2)
        engine.advance(to: Self.start + .seconds(61))
        for turn: Int64 in [7, 8] {
            let wall = Timestamp(milliseconds: 1_795_230_000_000 + turn)
            edge.detected(late: Milliseconds(30), turn: turn, at: wall)
        }
        edge.committed(after: .milliseconds(1))
        edge.reloaded(isSuccessful: true, at: Timestamp(milliseconds: 1_795_229_990_500))
        edge.reloaded(isSuccessful: false, at: Timestamp(milliseconds: 1_795_229_995_500))
        _ = engine.fold(.store(isFailing: true), at: Self.start + .seconds(62))
        engine.settle()
        engine.advance(to: Self.start + Milliseconds(64_500))
        return (engine, edge)
    }

    /// The lines of a page, without exemplars.
    private func page(_ format: Exposition.Format) throws -> [String] {
        try wholePage(format).map { line in
            line.ranges(of: " # {").first.map { String(line[..<$0.lowerBound]) } ?? line
        }
    }

    private func wholePage(_ format: Exposition.Format) throws -> [String] {
        let (engine, edge) = try example()
        var store = StoreStats(version: "0.1.0")
        store.journalOldestAt = Timestamp(milliseconds: 1_795_229_999_250)
        var listener = HTTPStats()
        listener.connectionsOpen = 3
        listener.connectionsMax = 512
        listener.headersCut = 4
        listener.responsesCut = 1
        let bytes = MetricsExposition.bytes(
            engine: engine, edge: edge, store: store, listener: listener, process: nil,
            format: format)
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { String($0) }
    }

    /// The page as people read it: a family's name stands in its metadata only, samples that
    /// differ in the last label only stand in one line, a histogram without observations is one line
    /// with `none`, and lines in a row that end alike are counted.
    private func condensed(_ page: [String]) -> String {
        var lines: [(series: Substring, samples: [String])] = []
        var family = ""
        for line in page {
            if line.hasPrefix("# TYPE ") { family = String(line.split(separator: " ")[2]) }
            let line = line.hasPrefix(family) ? "…" + line.dropFirst(family.count) : line
            guard !line.hasPrefix("#"), let start = line.ranges(of: "=\"").last,
                let end = line.ranges(of: "\"} ").last
            else {
                lines.append((line[...], []))
                continue
            }
            let series = line[..<start.lowerBound]
            let sample = line[start.upperBound..<end.lowerBound] + " " + line[end.upperBound...]
            if lines.last?.series == series {
                lines[lines.count - 1].samples.append(String(sample))
            } else {
                lines.append((series, [String(sample)]))
            }
        }
        var text: [String] = []
        for (series, samples) in lines {
            let isNil = samples.first?.hasSuffix(" 0") ?? series.hasSuffix(" 0")
            let isSummary = series.contains("_count") || series.contains("_sum")
            if isNil && isSummary && text.last?.hasSuffix("} none") == true { continue }
            let isUnused = series.hasSuffix("le") && samples.allSatisfy { $0.hasSuffix(" 0") }
            let list = isUnused ? "none" : samples.joined(separator: ", ")
            text.append(samples.isEmpty ? String(series) : "\(series)…} \(list)")
        }
        return counted(text).joined(separator: "\n")
    }

    /// The lines, with four or more in a row that end alike as the first of them and a number.
    private func counted(_ lines: [String]) -> [String] {
        func end(_ line: String) -> Substring? {
            line.ranges(of: "…} ").first.map { line[$0.upperBound...] }
        }
        var text: [String] = []
        var place = 0
        while place < lines.count {
            let alike = lines[place...].prefix { end($0) != nil && end($0) == end(lines[place]) }
            text.append(lines[place])
            if alike.count >= 4 { text.append("… \(alike.count - 1) more like it") }
            place += alike.count >= 4 ? alike.count : 1
        }
        return text
    }

    @Test func `the page holds every family with every series that is known in advance`() throws {
        let lines = condensed(try page(.openMetrics))
        #expect(lines.difference(from: expectedPage).map { "\($0)" } == [])
    }

    @Test func `both formats hold the same series with the same values`() throws {
        let samples = try Exposition.Format.allCases.map { format in
            try page(format).filter { !$0.hasPrefix("#") }
        }
        #expect(samples[0] == samples[1])
    }

    @Test(
        arguments: [
            (nil, .text), ("", .text), ("*/*", .text), ("text/plain", .text), ("image/png", .text),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", .text),
            ("application/openmetrics-text; version=1.0.0; charset=utf-8", .openMetrics),
            ("Application/OpenMetrics-Text ; Version=\"1.0.0\"", .openMetrics),
            ("application/openmetrics-text", .openMetrics),
            ("application/openmetrics-text;version=0.0.1", .text),
            ("application/openmetrics-text;version=2.0.0,*/*;q=0.1", .text),
            ("application/openmetrics-text;q=0,text/plain;q=0.1", .text),
            ("text/plain;version=0.0.4;q=0.3,application/openmetrics-text;q=0.300", .text),
            ("text/plain;version=0.0.4;q=0.3,application/openmetrics-text;q=0.301", .openMetrics),
            ("text/plain;version=1.0.0,application/openmetrics-text;q=0.1", .openMetrics),
            ("application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily,*/*", .text),
            (";;;=,q=,\u{0},application/openmetrics-text;q=x", .openMetrics),
            (
                "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
                    + "application/openmetrics-text;version=0.0.1;q=0.5,"
                    + "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
                    + "text/plain;version=0.0.4;q=0.3,*/*;q=0.2", .openMetrics
            ),
        ] as [(String?, Exposition.Format)])
    func `who asks for OpenMetrics gets it and everybody else gets text`(
        accept: String?, format: Exposition.Format
    ) {
        #expect(MetricsNegotiation().language(accept: accept) == .written(format))
    }

    @Test func `V17: a bucket of lateness names its newest turn, in OpenMetrics`() throws {
        let exemplars = try wholePage(.openMetrics).filter { $0.contains(" # {") }
        #expect(
            exemplars == [
                #"rollcall_detection_lateness_seconds_bucket{le="0.05"} 2 # {turn="8"} 0.03 1795230000.008"#
            ])
        #expect(try wholePage(.text).filter { $0.contains(" # {") } == [])
    }

    @Test func `a code out of range counts as the nearest one`() {
        let edge = EdgeStats()
        for code in [Int.min, 600] { edge.answered(.other, code: code, after: .seconds(-1)) }
        var page = Exposition(format: .text)
        edge.append(to: &page)
        let lines = String(decoding: page.finish(), as: UTF8.self).split(separator: "\n")
        #expect(lines.contains("rollcall_http_requests_total{route=\"other\",code=\"100\"} 1"))
        #expect(lines.contains("rollcall_http_requests_total{route=\"other\",code=\"599\"} 1"))
    }

    @Test func `the process is read from a line of stat whatever its name holds`() {
        var stats = ProcessStats()
        let line =
            "7 (roll) (call 1) S 1 7 7 0 -1 4 9 0 0 0 150 25 0 0 20 0 3 0 999 4096000 500 1 1 1\n"
        stats.take(stat: Array(line.utf8), ticksPerSecond: 100, pageBytes: 4096)
        stats.maxFileDescriptors = 1024
        stats.logLinesLost = 12
        stats.startedAt = Timestamp(milliseconds: 1_795_230_000_000)
        var page = Exposition(format: .openMetrics)
        stats.append(to: &page)
        #expect(
            String(decoding: page.finish(), as: UTF8.self) == """
                # TYPE process_cpu_seconds counter
                # UNIT process_cpu_seconds seconds
                # HELP process_cpu_seconds Total user and system CPU time spent in seconds.
                process_cpu_seconds_total 1.75
                # TYPE process_max_fds gauge
                # HELP process_max_fds Maximum number of open file descriptors.
                process_max_fds 1024
                # TYPE process_virtual_memory_bytes gauge
                # UNIT process_virtual_memory_bytes bytes
                # HELP process_virtual_memory_bytes Virtual memory size in bytes.
                process_virtual_memory_bytes 4096000
                # TYPE process_resident_memory_bytes gauge
                # UNIT process_resident_memory_bytes bytes
                # HELP process_resident_memory_bytes Resident memory size in bytes.
                process_resident_memory_bytes 2048000
                # TYPE process_start_time_seconds gauge
                # UNIT process_start_time_seconds seconds
                # HELP process_start_time_seconds Start time of the process since unix epoch in \
                seconds.
                process_start_time_seconds 1795230000
                # TYPE process_threads gauge
                # HELP process_threads Number of OS threads in the process.
                process_threads 3
                # TYPE rollcall_log_lines_lost counter
                # HELP rollcall_log_lines_lost Lines of the log that nobody took.
                rollcall_log_lines_lost_total 12
                # EOF

                """)
    }

    @Test(arguments: ["", "7 (x", "7 (x)", "7 (x) S 1 x"])
    func `what is no line of stat says nothing`(line: String) {
        var stats = ProcessStats()
        stats.take(stat: Array(line.utf8), ticksPerSecond: 100, pageBytes: 4096)
        #expect(stats == ProcessStats())
    }

    @Test func `this process can be read`() throws {
        let stats = ProcessStats.read()
        #expect(try #require(stats.openFileDescriptors) >= 3)
        #expect(try #require(stats.residentMemoryBytes) > 1_000_000)
        #expect(try #require(stats.threads) >= 1)
        let age = Int64(time(nil)) - (try #require(stats.startedAt)).milliseconds / 1000
        #expect((-2...3600).contains(age))
        #expect(ProcessStats.read().startedAt == stats.startedAt)
    }
}

/// The condensed page of `example()` in OpenMetrics.
private let expectedPage = #"""
    # TYPE responders_by_status gauge
    # HELP responders_by_status Responders expected to report, by status.
    …{status…} ONLINE 1, DEGRADED 0, UNKNOWN 0, OFFLINE 2
    # TYPE location_update_delay_seconds histogram
    # UNIT location_update_delay_seconds seconds
    # HELP location_update_delay_seconds Time from capture of a location to receipt by the backend.
    …_bucket{le…} 0.5 0, 1.0 1, 2.0 1, 5.0 2, 10.0 2, 15.0 2, 30.0 2, 60.0 2, 90.0 2, 180.0 2, \#
    300.0 2, 600.0 2, 1800.0 2, 3600.0 2, 14400.0 2, +Inf 2
    …_count 2
    …_sum 4.75
    # TYPE status_transitions counter
    # HELP status_transitions Status changes of responders, whoever saw them.
    …_total{from="ONLINE",to…} DEGRADED 1, UNKNOWN 0, OFFLINE 1
    …_total{from="DEGRADED",to…} ONLINE 0, UNKNOWN 0, OFFLINE 1
    …_total{from="UNKNOWN",to…} ONLINE 3, DEGRADED 0, OFFLINE 0
    …_total{from="OFFLINE",to…} ONLINE 0, DEGRADED 0, UNKNOWN 0
    # TYPE rollcall_watching gauge
    # HELP rollcall_watching 1 while the watch can see; 0 while it is blind.
    … 0
    # TYPE rollcall_blind gauge
    # HELP rollcall_blind 1 while the watch is blind for the reason.
    …{reason…} heartbeat 0, overload 0, stopped 0, store 1, suspended 0
    # TYPE rollcall_blind_seconds counter
    # UNIT rollcall_blind_seconds seconds
    # HELP rollcall_blind_seconds Time that the watch was blind for the reason; reasons overlap.
    …_total{reason…} heartbeat 0, overload 0, stopped 0, store 2.5, suspended 0
    # TYPE rollcall_last_batch_timestamp_seconds gauge
    # UNIT rollcall_last_batch_timestamp_seconds seconds
    # HELP rollcall_last_batch_timestamp_seconds When the last batch came from anyone; 0 before any.
    … 1795230000
    # TYPE rollcall_feed_up gauge
    # HELP rollcall_feed_up 1 while the declared source beats.
    …{source…} pod \"a\" 1
    # TYPE rollcall_source_skew_seconds gauge
    # UNIT rollcall_source_skew_seconds seconds
    # HELP rollcall_source_skew_seconds By how much the clock of a source that sends sent_at is behind ours.
    …{source…} pod \"a\" 31.02
    # TYPE rollcall_responders gauge
    # HELP rollcall_responders Responders expected to report, by region and status.
    …{region="default",status…} ONLINE 0, DEGRADED 0, UNKNOWN 0, OFFLINE 1
    …{region="Köln \"Süd\" \\ 1\nWest",status…} ONLINE 0, DEGRADED 0, UNKNOWN 0, OFFLINE 0
    …{region="other",status…} ONLINE 1, DEGRADED 0, UNKNOWN 0, OFFLINE 1
    # TYPE rollcall_regions_folded gauge
    # HELP rollcall_regions_folded Regions without a label of their own, \#
    summed as region \"other\".
    … 2
    # TYPE rollcall_names gauge
    # HELP rollcall_names Regions, circles and versions known now; \#
    settings under limits bound each.
    …{kind…} region 3, circle 0, version 0
    # TYPE rollcall_responders_not_expected gauge
    # HELP rollcall_responders_not_expected Responders not expected to report, by first reason.
    …{reason…} retired 0, forgotten 0, no_duty 0, off_duty 1, paused 0
    # TYPE rollcall_telemetry_responders gauge
    # HELP rollcall_telemetry_responders Responders expected to report, \#
    by what the phone last said.
    …{field="permission_status",value…} unknown 3, granted 0, denied 0, other 0
    …{field="location_services",value…} unknown 2, true 1, false 0
    …{field="power_mode",value…} unknown 2, normal 0, low_power 1, other 0
    …{field="app_state",value…} unknown 3, foreground 0, background 0, other 0, suspended 0, \#
    terminated 0
    …{field="network_type",value…} unknown 3, wifi 0, cellular 0, none 0, other 0
    # TYPE rollcall_gaps counter
    # HELP rollcall_gaps Gaps that reached OFFLINE while the watch saw them, by suspected cause.
    …_total{cause="permission_denied",platform…} unknown 0, ios 0, android 0, other 0
    … 8 more like it
    …_total{cause="unexplained",platform…} unknown 1, ios 0, android 1, other 0
    # TYPE rollcall_gap_verdicts counter
    # HELP rollcall_gap_verdicts Gaps that are over, by what was suspected and what they were.
    …_total{suspected="permission_denied",verdict="reinstalled",platform…} unknown 0, ios 0, \#
    android 0, other 0
    … 69 more like it
    # TYPE rollcall_gaps_by_manufacturer counter
    # HELP rollcall_gaps_by_manufacturer Gaps that are over, by the manufacturer of the phone \#
    and what they were.
    …_total{manufacturer="other",verdict…} reinstalled 0, permission_denied 0, \#
    location_services_off 0, network 0, app_stopped 0, duty_ended 0, unexplained 0
    # TYPE rollcall_gap_return_seconds histogram
    # UNIT rollcall_gap_return_seconds seconds
    # HELP rollcall_gap_return_seconds Watched time from leaving ONLINE to the return, by the \#
    manufacturer of the phone.
    …_bucket{manufacturer="other",le…} none
    # TYPE rollcall_gap_duration_seconds histogram
    # UNIT rollcall_gap_duration_seconds seconds
    # HELP rollcall_gap_duration_seconds Watched time from leaving ONLINE to the end of gaps, \#
    by verdict.
    …_bucket{verdict="reinstalled",le…} none
    … 6 more like it
    # TYPE rollcall_gaps_blind counter
    # HELP rollcall_gaps_blind Gaps of which 5 % and 1 s or more were blind: left out, by what they are \#
    missing in.
    …_total{stage…} offline 0, verdict 0
    # TYPE rollcall_dark_seconds counter
    # UNIT rollcall_dark_seconds seconds
    # HELP rollcall_dark_seconds Watched time of expected responders out of contact, \#
    or covered by no location.
    …_total{kind="contact",region="default",platform…} unknown 0, ios 0, android 0, other 0
    …_total{kind="contact",region="Köln \"Süd\" \\ 1\nWest",platform…} unknown 0, ios 0, \#
    android 0, other 0
    …_total{kind="contact",region="other",platform…} unknown 0, ios 0, android 32, other 0
    …_total{kind="location",region="default",platform…} unknown 0, ios 0, android 0, other 0
    …_total{kind="location",region="Köln \"Süd\" \\ 1\nWest",platform…} unknown 0, ios 0, \#
    android 0, other 0
    …_total{kind="location",region="other",platform…} unknown 0, ios 0, android 0, other 0
    # TYPE rollcall_promised_seconds counter
    # UNIT rollcall_promised_seconds seconds
    # HELP rollcall_promised_seconds Watched time in which responders were not out of contact by \#
    their phones' word alone.
    …_total{platform…} unknown 0, ios 0, android 0, other 0
    # TYPE rollcall_alerts gauge
    # HELP rollcall_alerts Alerts that are pending or firing.
    …{alertname="HighOfflineRate",severity="warning",alertstate…} pending 1, firing 0
    …{alertname="NoOnlineResponders",severity="critical",alertstate…} pending 2, firing 1
    …{alertname="ResponderFlapping",severity="warning",alertstate…} pending 0, firing 0
    … 7 more like it
    # TYPE rollcall_silences_active gauge
    # HELP rollcall_silences_active Silences in force.
    … 0
    # TYPE rollcall_incidents_taken gauge
    # HELP rollcall_incidents_taken Incidents that somebody sees to.
    … 0
    # TYPE rollcall_notifications counter
    # HELP rollcall_notifications Messages that came to their end, by receiver and what became of \#
    them.
    …_total{receiver="oncall",outcome…} delivered 0, expired 0, dropped 0, abandoned 0, removed 0
    # TYPE rollcall_fallbacks counter
    # HELP rollcall_fallbacks Alerts that were given to a fallback, by the receiver that had not taken \#
    them.
    # TYPE rollcall_responders_flapping gauge
    # HELP rollcall_responders_flapping Responders that change between ONLINE and OFFLINE too often, \#
    by region.
    …{region…} default 0, Köln \"Süd\" \\ 1\nWest 0, other 0
    # TYPE rollcall_responders_missed gauge
    # HELP rollcall_responders_missed Responders that ResponderOffline counts, by region; 0 while it is \#
    switched off.
    …{region…} default 0, Köln \"Süd\" \\ 1\nWest 0, other 0
    # TYPE rollcall_nudges counter
    # HELP rollcall_nudges Decisions about people whose location was too old, by why.
    …_total{decision="send",reason…} due 0
    …_total{decision="dry_run",reason…} due 0
    …_total{decision="hold",reason…} solo 0, no_token 0, throttled 0, rate 0, blind 0
    # TYPE rollcall_nudge_outcomes counter
    # HELP rollcall_nudge_outcomes What followed nudges within half an hour.
    …_total{outcome="located",platform…} unknown 0, ios 0, android 0, other 0
    … 3 more like it
    # TYPE rollcall_asks counter
    # HELP rollcall_asks Asks for people by others, by what came of them and why.
    …_total{decision="send",reason…} asked 0
    …_total{decision="dry_run",reason…} asked 0
    …_total{decision="hold",reason…} off_duty 0, paused 0, solo 0, no_token 0, throttled 0, rate 0, \#
    blind 0, fresh 0, outsider 0, disabled 0
    # TYPE rollcall_wakes counter
    # HELP rollcall_wakes Decisions about phones of circles that somebody looked at, by why.
    …_total{decision="wake",reason…} asked 0
    …_total{decision="skip",reason…} off_duty 0, paused 0, fresh 0, woken 0, low_power 0, \#
    no_token 0
    # TYPE rollcall_pushes counter
    # HELP rollcall_pushes Pushes that came to their end, by kind and what became of them.
    …_total{kind="nudge",outcome…} delivered 0, unknown 0, expired 0, failed 0, unregistered 0, \#
    dropped 0, removed 0
    …_total{kind="wake",outcome…} delivered 0, unknown 0, expired 0, failed 0, unregistered 0, \#
    dropped 0, removed 0
    # TYPE rollcall_location_update_delay_seconds histogram
    # UNIT rollcall_location_update_delay_seconds seconds
    # HELP rollcall_location_update_delay_seconds Time from capture to receipt by the backend.
    …_bucket{duty_state="OFF_DUTY",platform="unknown",le…} none
    … 4 more like it
    …_bucket{duty_state="ON_DUTY",platform="ios",le…} 0.5 0, 1.0 1, 2.0 1, 5.0 2, 10.0 2, \#
    15.0 2, 30.0 2, 60.0 2, 90.0 2, 180.0 2, 300.0 2, 600.0 2, 1800.0 2, 3600.0 2, 14400.0 2, \#
    +Inf 2
    …_count{duty_state="ON_DUTY",platform…} ios 2
    …_sum{duty_state="ON_DUTY",platform…} ios 4.75
    …_bucket{duty_state="ON_DUTY",platform="android",le…} none
    … 5 more like it
    # TYPE rollcall_update_interval_seconds histogram
    # UNIT rollcall_update_interval_seconds seconds
    # HELP rollcall_update_interval_seconds Time between captures of a responder's locations.
    …_bucket{duty_state="OFF_DUTY",le…} none
    …_bucket{duty_state="ON_DUTY",le…} 5.0 1, 10.0 1, 15.0 1, 20.0 1, 30.0 1, 45.0 1, 60.0 1, \#
    75.0 1, 90.0 1, 120.0 1, 180.0 1, 300.0 1, 600.0 1, 1800.0 1, 3600.0 1, +Inf 1
    …_count{duty_state…} ON_DUTY 1
    …_sum{duty_state…} ON_DUTY 3.25
    …_bucket{duty_state="ON_MISSION",le…} none
    # TYPE rollcall_queue_depth histogram
    # HELP rollcall_queue_depth Updates that waited in a phone's queue, as told with its batches.
    …_bucket{le…} 0.0 0, 1.0 0, 2.0 0, 5.0 0, 10.0 1, 20.0 1, 50.0 1, 100.0 1, 200.0 1, \#
    500.0 1, 1000.0 1, +Inf 1
    …_count 1
    …_sum 7
    # TYPE rollcall_location_age_seconds gaugehistogram
    # UNIT rollcall_location_age_seconds seconds
    # HELP rollcall_location_age_seconds Watched age of the last location of expected responders.
    …_bucket{le…} 15.0 0, 30.0 0, 60.0 0, 90.0 2, 180.0 2, 300.0 2, 600.0 2, 1800.0 2, \#
    3600.0 2, 7200.0 2, 14400.0 2, +Inf 2
    …_gcount 2
    …_gsum 124.75
    # TYPE rollcall_server_transitions counter
    # HELP rollcall_server_transitions Status changes that the server told, as it named them.
    …_total{from="ONLINE",to…} ONLINE 0, DEGRADED 0, UNKNOWN 0, OFFLINE 1
    …_total{from="DEGRADED",to…} ONLINE 0, DEGRADED 0, UNKNOWN 0, OFFLINE 0
    …_total{from="UNKNOWN",to…} ONLINE 0, DEGRADED 0, UNKNOWN 0, OFFLINE 0
    …_total{from="OFFLINE",to…} ONLINE 0, DEGRADED 0, UNKNOWN 0, OFFLINE 0
    # TYPE rollcall_disagreements counter
    # HELP rollcall_disagreements Server transitions that the model did not follow.
    …_total{model="ONLINE",server…} DEGRADED 0, OFFLINE 0
    …_total{model="DEGRADED",server…} ONLINE 0, OFFLINE 0
    …_total{model="UNKNOWN",server…} ONLINE 0, DEGRADED 0, OFFLINE 0
    …_total{model="OFFLINE",server…} ONLINE 0, DEGRADED 0
    # TYPE rollcall_batches counter
    # HELP rollcall_batches Batches that came, those already known too.
    …_total 3
    # TYPE rollcall_updates counter
    # HELP rollcall_updates Updates by what became of them.
    …_total{outcome…} accepted 3, duplicate 1, late 0
    # TYPE rollcall_clock_skewed_updates counter
    # HELP rollcall_clock_skewed_updates Updates captured over 2 s after receipt: wrong clocks.
    …_total 1
    # TYPE rollcall_installs_reset counter
    # HELP rollcall_installs_reset Installs that took the place of another one of a responder.
    …_total 0
    # TYPE rollcall_journal_events counter
    # HELP rollcall_journal_events Rows written to the journal.
    …_total 5
    # TYPE rollcall_journal_oldest_timestamp_seconds gauge
    # UNIT rollcall_journal_oldest_timestamp_seconds seconds
    # HELP rollcall_journal_oldest_timestamp_seconds When the oldest journal row was written, \#
    or 0.
    … 1795229999.25
    # TYPE rollcall_store_used_bytes gauge
    # UNIT rollcall_store_used_bytes bytes
    # HELP rollcall_store_used_bytes Bytes of the store that hold something, as storage.size \#
    counts them: without its log.
    … 0
    # TYPE rollcall_store_size_limit_bytes gauge
    # UNIT rollcall_store_size_limit_bytes bytes
    # HELP rollcall_store_size_limit_bytes The cap storage.size: from 15/16 of it on the oldest \#
    history goes.
    … 0
    # TYPE rollcall_erasures_pending gauge
    # HELP rollcall_erasures_pending Erased people of whom the store still holds something.
    … 0
    # TYPE rollcall_checkpoint_age_seconds gauge
    # UNIT rollcall_checkpoint_age_seconds seconds
    # HELP rollcall_checkpoint_age_seconds Age of the newest checkpoint; absent before the first.
    # TYPE rollcall_state_lost_timestamp_seconds gauge
    # UNIT rollcall_state_lost_timestamp_seconds seconds
    # HELP rollcall_state_lost_timestamp_seconds When the store was begun anew or found too old, \#
    or 0.
    … 0
    # TYPE rollcall_store_segments_mended gauge
    # HELP rollcall_store_segments_mended Segments of packed history whose rows the last start \#
    found damaged and made anew.
    … 0
    # TYPE rollcall_refold_differences counter
    # HELP rollcall_refold_differences Decisions that came out otherwise when folded again.
    …_total 0
    # TYPE rollcall_alerts_unreached gauge
    # HELP rollcall_alerts_unreached Alerts that fire for a minute, are not muted, and that no receiver has taken.
    …{severity…} critical 0, warning 0, info 0
    # TYPE rollcall_build info
    # HELP rollcall_build What this program is.
    …_info{version…} 0.1.0 1
    # TYPE rollcall_alert_receivers gauge
    # HELP rollcall_alert_receivers Receivers other than logs that Rollcall tells of alerts of a name and severity.
    …{alertname="HighOfflineRate",severity="warning",extent…} all 1, some 0
    …{alertname="NoOnlineResponders",severity="critical",extent…} all 1, some 0
    …{alertname="ResponderFlapping",severity="warning",extent…} all 1, some 0
    …{alertname="ResponderOffline",severity="info",extent…} all 0, some 0
    …{alertname="RollcallOverloaded",severity="critical",extent…} all 1, some 0
    … 5 more like it
    # TYPE rollcall_snapshot_age_seconds gauge
    # UNIT rollcall_snapshot_age_seconds seconds
    # HELP rollcall_snapshot_age_seconds How old this page is: 0 unless the keeper was too busy to \#
    write a new one.
    … 0
    # TYPE rollcall_rejected_items counter
    # HELP rollcall_rejected_items Items that were not taken at all.
    …_total{reason…} malformed 0, missing 1, out_of_range 0, duplicate_key 0, unknown_value 0, \#
    responder_limit 0, erased 0, name_limit 0, coordinate 0, \#
    unknown_field 0, unknown_responder 0
    # TYPE rollcall_item_problems counter
    # HELP rollcall_item_problems Fields and updates left out of items taken.
    …_total{reason…} malformed 0, missing 1, out_of_range 0, duplicate_key 0, unknown_value 0, \#
    responder_limit 0, erased 0, name_limit 0, coordinate 0, \#
    unknown_field 0, unknown_responder 0
    # TYPE rollcall_private_fields_dropped counter
    # HELP rollcall_private_fields_dropped Fields dropped unread, named like a place.
    …_total 1
    # TYPE rollcall_times_read counter
    # HELP rollcall_times_read Times that were read, by what they were taken for; numbers are told by \#
    magnitude.
    …_total{form…} rfc3339 0, seconds 0, milliseconds 3
    # TYPE rollcall_source_lag_seconds gauge
    # UNIT rollcall_source_lag_seconds seconds
    # HELP rollcall_source_lag_seconds Smallest lag of received_at in a minute; of sources that do not \#
    send sent_at.
    …{source…} pod b 12.1
    # TYPE rollcall_http_requests counter
    # HELP rollcall_http_requests HTTP requests answered.
    …_total{route="batches",code…} 200 1, 400 0, 401 0, 403 0, 408 0, 413 0, 415 0, 422 0, \#
    429 0, 503 0
    …_total{route="inputs",code…} 200 0, 401 0, 403 0, 404 0, 405 0, 408 0, 413 0, 415 0, \#
    429 0, 503 0
    …_total{route="transitions",code…} 200 0, 400 0, 401 0, 403 0, 408 0, 413 0, 415 0, 422 0, \#
    429 0, 503 0
    …_total{route="responders",code…} 200 0, 202 0, 400 0, 401 0, 403 0, 404 0, 408 0, 409 0, \#
    413 0, 415 0, 422 0, 429 0, 503 0
    …_total{route="heartbeat",code…} 200 0, 400 0, 401 0, 403 0, 408 0, 413 0, 415 0, 422 0, \#
    429 0, 503 0
    …_total{route="gaps",code…} 200 0, 400 0, 401 0, 403 0, 404 0, 503 0
    …_total{route="events",code…} 200 0, 400 0, 401 0, 403 0, 410 0, 503 0
    …_total{route="dark",code…} 200 0, 400 0, 401 0, 403 0, 404 0, 503 0
    …_total{route="nudges",code…} 200 0, 400 0, 401 0, 403 0, 404 0, 409 0, 422 0, 429 0, 503 0
    …_total{route="wakes",code…} 200 0, 400 0, 401 0, 403 0, 408 0, 413 0, 415 0, 422 0, \#
    429 0, 503 0
    …_total{route="alerts",code…} 200 0, 400 0, 401 0, 403 0, 503 0
    …_total{route="incidents",code…} 200 0, 400 0, 401 0, 403 0, 404 0, 409 0, 422 0, 503 0
    …_total{route="silences",code…} 200 0, 400 0, 401 0, 403 0, 404 0, 409 0, 422 0, 503 0
    …_total{route="drills",code…} 200 0, 202 0, 400 0, 401 0, 403 0, 404 0, 422 0, 503 0
    …_total{route="erasures",code…} 200 0, 401 0, 403 0, 404 0, 503 0
    …_total{route="status",code…} 200 0, 401 0, 403 0, 503 0
    …_total{route="metrics",code…} 200 0, 401 0, 403 0, 503 0
    …_total{route="health",code…} 200 0, 503 0
    …_total{route="reload",code…} 200 0, 401 0, 403 0, 422 0, 503 0
    …_total{route="session",code…} 200 0, 401 0, 403 0, 422 0, 429 0, 503 0
    …_total{route="openapi",code…} 200 0, 401 0, 403 0, 503 0
    …_total{route="page",code…} 200 0, 401 0, 403 0, 503 0
    …_total{route="other",code…} 404 0, 405 0, 418 1
    # TYPE rollcall_http_request_duration_seconds histogram
    # UNIT rollcall_http_request_duration_seconds seconds
    # HELP rollcall_http_request_duration_seconds Time that requests took to be answered.
    …_bucket{route="batches",le…} 0.0001 0, 0.00025 1, 0.0005 1, 0.001 1, 0.0025 1, 0.005 1, \#
    0.01 1, 0.02 1, 0.05 1, 0.1 1, 0.25 1, 0.5 1, 1.0 1, 2.5 1, 5.0 1, +Inf 1
    …_count{route…} batches 1
    …_sum{route…} batches 0.000123
    …_bucket{route="inputs",le…} none
    … 20 more like it
    …_bucket{route="other",le…} 0.0001 0, 0.00025 0, 0.0005 0, 0.001 0, 0.0025 0, 0.005 0, \#
    0.01 0, 0.02 0, 0.05 0, 0.1 0, 0.25 0, 0.5 0, 1.0 0, 2.5 0, 5.0 0, +Inf 1
    …_count{route…} other 1
    …_sum{route…} other 6
    # TYPE rollcall_idempotency_keys counter
    # HELP rollcall_idempotency_keys Names of requests (Idempotency-Key), by what became of them.
    …_total{outcome…} kept 0, repeated 0, other_request 0, malformed 0, forgotten 0
    # TYPE rollcall_event_streams gauge
    # HELP rollcall_event_streams Streams of events that are open.
    … 0
    # TYPE rollcall_event_streams_cut counter
    # HELP rollcall_event_streams_cut Streams of events that were ended because their readers took nothing.
    …_total 0
    # TYPE rollcall_subscription_lag_seconds gauge
    # UNIT rollcall_subscription_lag_seconds seconds
    # HELP rollcall_subscription_lag_seconds Age of the oldest event that waits for a subscriber; \#
    0 if none does.
    # TYPE rollcall_subscription_events counter
    # HELP rollcall_subscription_events Events that subscribers took, and those that were too old \#
    to be sent.
    # TYPE rollcall_subscription_attempts_failed counter
    # HELP rollcall_subscription_attempts_failed Attempts to send events that the subscriber \#
    did not take.
    # TYPE rollcall_subscription_stopped gauge
    # HELP rollcall_subscription_stopped 1 if the subscriber refused for good: nothing is sent \#
    before a reload.
    # TYPE rollcall_commit_duration_seconds histogram
    # UNIT rollcall_commit_duration_seconds seconds
    # HELP rollcall_commit_duration_seconds Time that a commit of the store took.
    …_bucket{le…} 0.0001 0, 0.00025 0, 0.0005 0, 0.001 1, 0.0025 1, 0.005 1, 0.01 1, 0.02 1, \#
    0.05 1, 0.1 1, 0.25 1, 0.5 1, 1.0 1, 2.5 1, 5.0 1, +Inf 1
    …_count 1
    …_sum 0.001
    # TYPE rollcall_turn_duration_seconds histogram
    # UNIT rollcall_turn_duration_seconds seconds
    # HELP rollcall_turn_duration_seconds Time that a turn of the keeper took, \#
    for which everybody waits.
    …_bucket{le…} none
    # TYPE rollcall_chore_duration_seconds histogram
    # UNIT rollcall_chore_duration_seconds seconds
    # HELP rollcall_chore_duration_seconds Time that the store's chores added to a turn, \#
    their share of its commit included.
    …_bucket{le…} none
    # TYPE rollcall_detection_lateness_seconds histogram
    # UNIT rollcall_detection_lateness_seconds seconds
    # HELP rollcall_detection_lateness_seconds Time from a deadline to the commit of its change.
    …_bucket{le…} 0.001 0, 0.005 0, 0.01 0, 0.025 0, 0.05 2, 0.1 2, 0.25 2, 0.5 2, 1.0 2, \#
    2.5 2, 5.0 2, 10.0 2, +Inf 2
    …_count 2
    …_sum 0.06
    # TYPE rollcall_outbox_pending gauge
    # HELP rollcall_outbox_pending Messages that a receiver has not taken yet.
    …{receiver…} oncall 0
    # TYPE rollcall_notification_attempts counter
    # HELP rollcall_notification_attempts Attempts to deliver a message.
    …_total{receiver="oncall",result…} delivered 0, failed 0, refused 0
    # TYPE rollcall_notification_latency_seconds histogram
    # UNIT rollcall_notification_latency_seconds seconds
    # HELP rollcall_notification_latency_seconds Time from a decision until its receiver took \#
    the message.
    …_bucket{receiver="oncall",le…} none
    # TYPE rollcall_pushes_pending gauge
    # HELP rollcall_pushes_pending Pushes to phones that the sink has not taken yet.
    … 0
    # TYPE rollcall_alive_pings counter
    # HELP rollcall_alive_pings Pings to alive_ping.url that were due.
    …_total{outcome…} sent 0, failed 0, withheld 0
    # TYPE rollcall_otlp_exports counter
    # HELP rollcall_otlp_exports Requests that pushed metrics by OTLP.
    …_total{outcome…} delivered 0, partial 0, failed 0, refused 0
    # TYPE rollcall_otlp_rejected_points counter
    # HELP rollcall_otlp_rejected_points Points of metrics that the collector did not take of a \#
    request that it took.
    …_total 0
    # TYPE rollcall_otlp_last_success_timestamp_seconds gauge
    # UNIT rollcall_otlp_last_success_timestamp_seconds seconds
    # HELP rollcall_otlp_last_success_timestamp_seconds When the collector last took metrics, or 0.
    … 0
    # TYPE rollcall_config_last_reload_successful gauge
    # HELP rollcall_config_last_reload_successful 1 if the settings could be taken when they were read last.
    … 0
    # TYPE rollcall_config_last_reload_success_timestamp_seconds gauge
    # UNIT rollcall_config_last_reload_success_timestamp_seconds seconds
    # HELP rollcall_config_last_reload_success_timestamp_seconds When settings were read last that could be taken.
    … 1795229990.5
    # TYPE rollcall_http_connections gauge
    # HELP rollcall_http_connections Connections open now.
    … 3
    # TYPE rollcall_http_connections_max gauge
    # HELP rollcall_http_connections_max Connections that may be open at once.
    … 512
    # TYPE rollcall_http_connections_cut counter
    # HELP rollcall_http_connections_cut Connections ended because they were slow, too many, \#
    or idle while all were in use.
    …_total{phase…} header 4, body 0, answer 1, idle 0, newcomer 0
    # EOF
    """#

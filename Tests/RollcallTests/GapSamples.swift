/// Answers of a server as they are agreed on, for the commands that ask one.
enum GapSamples {
    /// `GET /v1/gaps`, two pages of it.
    static let firstPage = """
        {"gaps":[
        {"gap":19,"responder_id":"r-23","state":"open","opened_at":"2026-11-21T05:50:05.000Z",
         "offline_at":"2026-11-21T05:51:35.000Z","closed_at":null,"length_seconds":595.0,
         "suspected":"no_network","first_suspected":"no_network","verdict":null,
         "region":"north","platform":"android","blind_seconds":0.0,"group":null,
         "evidence":{"network_type":"none"},"return":null},
        {"gap":18,"responder_id":"r-4","state":"returned","opened_at":"2026-11-21T05:40:10.000Z",
         "offline_at":"2026-11-21T05:41:40.000Z","closed_at":"2026-11-21T05:59:00.000Z",
         "length_seconds":1130.0,"suspected":"low_power","first_suspected":"low_power",
         "verdict":null,"region":"south","platform":"ios","blind_seconds":0.0,"group":null,
         "evidence":{"power_mode":"low_power"},"return":{"updates":2}}
        ],"next":"18","as_of":"2026-11-21T06:00:00.000Z"}
        """
    static let secondPage = """
        {"gaps":[
        {"gap":17,"responder_id":"r-17","state":"closed","opened_at":"2026-11-21T03:01:35.000Z",
         "offline_at":"2026-11-21T03:03:05.000Z","closed_at":"2026-11-21T03:09:30.000Z",
         "length_seconds":475.0,"suspected":"app_suspended","first_suspected":"app_suspended",
         "verdict":"network","region":"north","platform":"ios","blind_seconds":0.0,"group":null,
         "evidence":{"app_state":"background"},"return":{"captured_inside":3}},
        {"gap":16,"responder_id":"r-8","state":"closed","opened_at":"2026-11-20T22:15:00.000Z",
         "offline_at":"2026-11-20T22:16:30.000Z","closed_at":"2026-11-21T00:20:30.000Z",
         "length_seconds":7350.0,"suspected":"mass_gap","first_suspected":"app_suspended",
         "verdict":"app_stopped","region":"north","platform":"ios","blind_seconds":420.5,
         "left_out":true,
         "group":{"id":3,"of":"region","members":7,"active":20},"evidence":{},"return":{}}
        ],"next":null,"as_of":"2026-11-21T06:00:00.000Z"}
        """

    /// `GET /v1/gaps?by=cause,platform`.
    static let counts = """
        {"by":["cause","platform"],"since":"2026-11-20T06:00:00.000Z","until":null,"rows":[
        {"cause":"app_suspended","platform":"ios","gaps":21,"open":1,"blind":2,
         "seconds":{"median":510.0,"longest":7200.0,"total":20700.0},
         "verdicts":{"network":4,"app_stopped":15,"reinstalled":1}},
        {"cause":"no_network","platform":"android","gaps":18,"open":0,"blind":0,
         "seconds":{"median":95.5,"longest":1260.0,"total":4000.0},"verdicts":{"network":18}},
        {"cause":"location_services_off","platform":"other","gaps":1,"open":1,"blind":1,
         "seconds":{"median":3600.0,"longest":3600.0,"total":3600.0},"verdicts":{}}],
         "gaps":40,"truncated":false}
        """

    /// `GET /v1/status`, as far as it is read.
    static let status = """
        {"version":"0.1.0","as_of":"2026-11-21T06:00:00.000Z","watching":true,"blind":[],
         "responders":{"active":41,"ONLINE":33,"DEGRADED":1,"UNKNOWN":1,"OFFLINE":6},
         "not_expected":{"all":3},"sources":[]}
        """

    /// `GET /v1/responders/r-17`.
    static let person = """
        {"responder_id":"r-17","status":"ONLINE","since":"2026-11-21T04:12:20.000Z",
         "as_of":"2026-11-21T06:00:00.000Z","confirmed":true,"reachable":"yes",
         "last_contact_at":"2026-11-21T05:59:48.000Z","last_location_at":"2026-11-21T05:59:44.000Z",
         "duty_state":"ON_MISSION","region":"north","circles":[],"sharing":"active",
         "platform":"ios","telemetry":{"app_state":"foreground"}}
        """

    /// `GET /v1/dark?responder=r-17&by=day`.
    static let dark = """
        {"by":["day"],"since":"2026-11-20","until":"2026-11-21","rows":[
         {"day":"2026-11-20","contact_seconds":0.0,"location_seconds":0.0,"responders":1},
         {"day":"2026-11-21","contact_seconds":475.0,"location_seconds":55.5,"responders":1}],
         "next":null,"as_of":"2026-11-21T06:00:00.000Z"}
        """

    private static let foreground =
        #""facts":{"permission_status":"granted","app_state":"foreground","network_type":"wifi","#
        + #""battery_level":0.91}"#
    private static let background =
        #""facts":{"permission_status":"granted","app_state":"background","#
        + #""network_type":"cellular","queue_depth":0,"battery_level":0.62}"#
    private static let evidence =
        #""evidence":{"last_contact_at":"2026-11-21T03:00:05.000Z","permission_status":"granted","#
        + #""location_services":true,"power_mode":"normal","app_state":"background","#
        + #""network_type":"cellular","queue_depths":[3,1,0],"battery_level":0.62,"#
        + #""platform":"ios""#

    /// What happened to r-17, oldest first; a line for each event.
    static let day: [String] = [
        #""at":"2026-11-20T21:58:10.000Z","kind":"told","duty_state":"ON_DUTY","region":"north""#,
        status("2026-11-20T21:58:10.000Z", "NOT_EXPECTED", "UNKNOWN", "duty"),
        contact("2026-11-20T21:58:22.000Z", #""updates":1,"#, foreground),
        status("2026-11-20T21:58:22.000Z", "UNKNOWN", "ONLINE", "contact"),
        contact("2026-11-20T21:59:22.000Z", #""updates":4,"#, foreground),
        contact("2026-11-20T22:00:22.000Z", #""updates":3,"cached":1,"#, foreground),
        contact("2026-11-20T22:01:20.000Z", #""updates":3,"#, background),
        contact("2026-11-21T03:00:05.000Z", #""updates":2,"#, background),
        status("2026-11-21T03:01:35.000Z", "ONLINE", "DEGRADED", "deadline"),
        gap("2026-11-21T03:01:35.000Z", "open", evidence + "}"),
        status("2026-11-21T03:03:05.000Z", "DEGRADED", "OFFLINE", "deadline"),
        gap("2026-11-21T03:03:05.000Z", "judged", evidence + "}"),
        contact(
            "2026-11-21T03:09:30.000Z",
            #""updates":3,"captured":{"first":"2026-11-21T03:02:00.000Z","#
                + #""last":"2026-11-21T03:09:00.000Z"},"#,
            background),
        status("2026-11-21T03:09:30.000Z", "OFFLINE", "ONLINE", "contact"),
        gap(
            "2026-11-21T03:09:30.000Z", "closed",
            evidence + #","opened_at":"2026-11-21T03:01:35.000Z","length_ms":475000}"#),
        gap(
            "2026-11-21T03:11:30.000Z", #"verdict","verdict":"network"#,
            #""evidence":{"returned_at":"2026-11-21T03:09:30.000Z","updates":3,"captured_inside":3,"#
                + #""first_captured_inside_at":"2026-11-21T03:02:00.000Z","#
                + #""last_captured_inside_at":"2026-11-21T03:09:00.000Z","#
                + #""opened_at":"2026-11-21T03:01:35.000Z","length_ms":475000}"#),
        blind("2026-11-21T03:15:00.000Z", "begin", "2026-11-21T03:12:00.000Z", "stopped"),
        blind("2026-11-21T03:15:00.000Z", "end", "2026-11-21T03:12:00.000Z", "stopped"),
        contact("2026-11-21T03:15:30.000Z", #""updates":1,"#, background),
        #""at":"2026-11-21T04:00:10.000Z","kind":"server","from":"ONLINE","to":"DEGRADED","#
            + #""told_at":"2026-11-21T04:00:05.000Z""#,
        contact("2026-11-21T04:10:30.000Z", #""updates":0,"#, background),
        status("2026-11-21T04:12:00.000Z", "ONLINE", "DEGRADED", "deadline"),
        gap("2026-11-21T04:12:00.000Z", "open", evidence + "}"),
        contact("2026-11-21T04:12:20.000Z", #""updates":1,"#, background),
        status("2026-11-21T04:12:20.000Z", "DEGRADED", "ONLINE", "contact"),
        gap(
            "2026-11-21T04:12:20.000Z", "closed",
            evidence + #","opened_at":"2026-11-21T04:12:00.000Z","length_ms":20000}"#),
        #""at":"2026-11-21T05:30:00.000Z","kind":"told","duty_state":"ON_MISSION""#,
        contact("2026-11-21T05:30:15.000Z", #""updates":2,"#, foreground),
        contact("2026-11-21T05:59:48.000Z", #""updates":2,"#, foreground),
    ]

    /// The answer of `GET /v1/responders/{id}/timeline` with these events, given oldest first.
    static func timeline(_ events: [String]) -> String {
        let newestFirst = events.reversed().map { "{\($0)}" }.joined(separator: ",\n")
        return #"{"responder_id":"r-17","events":["# + newestFirst + #"],"next":null}"#
    }

    static func status(_ at: String, _ from: String, _ to: String, _ origin: String) -> String {
        #""at":"\#(at)","kind":"status","from":"\#(from)","to":"\#(to)","origin":"\#(origin)""#
    }

    static func contact(_ at: String, _ updates: String, _ facts: String) -> String {
        #""at":"\#(at)","kind":"contact","received_at":"\#(at)",\#(updates)\#(facts)"#
    }

    static func gap(
        _ at: String, _ state: String, suspected: String = "app_suspended", _ evidence: String
    ) -> String {
        #""at":"\#(at)","kind":"gap","state":"\#(state)","suspected":"\#(suspected)",\#(evidence)"#
    }

    static func blind(
        _ at: String, _ state: String, _ since: String, _ reason: String
    ) -> String {
        #""at":"\#(at)","kind":"blind","state":"\#(state)","since":"\#(since)","reason":"\#(reason)""#
    }
}

/// The document's samples of alerts.
extension OpenAPI.Samples {
    private static let labels: JSONTree = [
        "alertname": "NoOnlineResponders", "region": "north", "severity": "critical",
    ]
    private static let annotations: JSONTree = [
        "description": """
        None of 6 active responders is ONLINE for 1 min; 6 are silent: 4 low_power, 2 no_network. \
        Responders: r-1, r-2, r-3, r-4, r-5, r-6.
        """,
        "summary": "north: nobody online, 6 of 6 out of contact: 4 low_power, 2 no_network",
    ]
    private static let reach: JSONTree = [
        "receiver": "oncall", "state": "taken", "decided_at": "2026-11-21T03:10:05.000Z",
        "attempts": 1, "taken_at": "2026-11-21T03:10:05.146Z",
    ]
    static let alerts: JSONTree = [
        "as_of": "2026-11-21T03:12:00.000Z", "watching": true,
        "alerts": [
            [
                "alertname": "NoOnlineResponders", "state": "firing", "severity": "critical",
                "labels": labels, "annotations": annotations, "value": 6, "count": 6, "total": 6,
                "active_at": "2026-11-21T03:09:05.000Z", "starts_at": "2026-11-21T03:10:05.000Z",
                "incident": 17,
                "told": [["receiver": "oncall", "at": "2026-11-21T03:10:05.146Z"]],
                "receivers": [reach],
                "muted": [["receiver": "chat", "reason": "silence", "silence": 3]],
            ]
        ], "truncated": false,
    ]
    private static let target: JSONTree = [
        "target": 0, "state": "taken", "outcome": "delivered",
        "attempts": [
            [
                "at": "2026-11-21T03:10:05.012Z", "took_ms": 134, "status": 202, "error": nil,
            ]
        ],
    ]
    static let incidents: JSONTree = [
        "as_of": "2026-11-21T03:40:00.000Z",
        "incidents": [
            [
                "incident": 17, "alertname": "NoOnlineResponders", "severity": "critical",
                "labels": labels, "annotations": annotations, "state": "resolved",
                "pending_at": "2026-11-21T03:09:05.000Z", "starts_at": "2026-11-21T03:10:05.000Z",
                "ended_at": "2026-11-21T03:31:40.000Z", "value": 6, "count": 6, "total": 6,
                "threshold": nil, "for_ms": 60000,
                "causes": [
                    ["cause": "low_power", "count": 4], ["cause": "no_network", "count": 2],
                ], "members": ["r-1", "r-2", "r-3", "r-4", "r-5", "r-6"],
                "changes": [
                    ["at": "2026-11-21T03:09:05.000Z", "state": "pending", "value": 6],
                    ["at": "2026-11-21T03:10:05.000Z", "state": "firing", "value": 6],
                    ["at": "2026-11-21T03:31:40.000Z", "state": "resolved", "value": 6],
                ],
                "muted": [
                    [
                        "at": "2026-11-21T03:10:05.000Z", "receiver": "chat",
                        "reason": "silence", "silence": 3,
                    ]
                ],
                "notices": [
                    [
                        "notice": 5, "receiver": "oncall", "kind": "fired",
                        "at": "2026-11-21T03:10:05.000Z", "targets": [target],
                    ],
                    [
                        "notice": 6, "receiver": "oncall", "kind": "resolved",
                        "at": "2026-11-21T03:31:40.000Z", "targets": [target],
                    ],
                ],
                "receivers": [reach],
            ]
        ], "next": nil, "truncated": false,
    ]
    static let silenceRequest: JSONTree = [
        "matchers": ["alertname=HighOfflineRate", "region=north|south"], "duration": "2h",
        "author": "kim", "comment": "exercise",
    ]
    private static let oneSilence: JSONTree = [
        "id": 3, "state": "active",
        "matchers": ["alertname=HighOfflineRate", "region=north|south"],
        "starts_at": "2026-11-21T03:00:00.000Z", "ends_at": "2026-11-21T05:00:00.000Z",
        "author": "kim", "comment": "exercise", "muting": ["HighOfflineRate{region=\"north\"}"],
        "request_id": nil,
    ]
    static let silence: JSONTree = ["silence": oneSilence]
    static let silenceBegun: JSONTree = ["silence": oneSilence, "warnings": []]
    static let silences: JSONTree = [
        "as_of": "2026-11-21T03:12:00.000Z", "silences": [oneSilence],
    ]
    static let drillRequest: JSONTree = ["receiver": "oncall"]
    static let drill: JSONTree = [
        "drill": 12, "receiver": "oncall", "outcome": "delivered", "took_ms": 134,
        "targets": [target],
    ]
}

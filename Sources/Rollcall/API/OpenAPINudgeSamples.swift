/// The document's samples of nudges.
extension OpenAPI.Samples {
    private static let standing: JSONTree = [
        "mode": "live", "sink": "webhook", "frozen_until": nil, "watching": true,
    ]
    private static let list: JSONTree = [
        "nudges": [
            [
                "id": 4120, "at": "2026-11-21T15:14:18.000Z", "responder_id": "r-17",
                "decision": "send", "reason": nil, "until": nil, "dry_run": false,
                "cause": "app_suspended", "stale_seconds": 14400,
                "last_location_at": "2026-11-21T11:14:18.000Z", "platform": "ios",
                "nudge_id": "nudge_8f3a5b0c9d1e2f40_31",
                "push": [
                    "state": "over", "attempts": 1, "outcome": "delivered",
                    "finished_at": "2026-11-21T15:14:18.310Z",
                ],
                "followed": "located", "text": "nudged; a location came 4m 2s later",
            ],
            [
                "id": 4077, "at": "2026-11-21T14:02:00.000Z", "responder_id": "r-4",
                "decision": "hold", "reason": "solo", "until": nil, "dry_run": false,
                "cause": "unexplained", "stale_seconds": 14400,
                "last_location_at": "2026-11-21T10:02:00.000Z", "platform": "android",
                "nudge_id": nil, "push": nil, "followed": nil,
                "text": "not nudged: nobody else of their circles is active",
            ],
        ], "next": nil,
    ]
    static let nudges = list.with(standing).with(["as_of": "2026-11-21T15:30:00.000Z"])
    private static let now: JSONTree = [
        "responder_id": "r-17", "nudge": false, "decision": "hold", "reasons": ["throttled"],
        "text": "not nudged now: they were nudged 15m ago; in 5h 45m at the earliest",
        "stale_seconds": 15300, "stale_after_seconds": 14400,
        "last_location_at": "2026-11-21T11:14:18.000Z",
        "last_nudged_at": "2026-11-21T15:14:18.000Z", "earliest_at": "2026-11-21T21:14:18.000Z",
        "cause": "app_suspended",
    ]
    static let nudge = now.with(standing).with(["as_of": "2026-11-21T15:29:18.000Z"])
    static let wakeRequest: JSONTree = ["circle": "c-9", "viewer": "r-1"]
    static let wakes: JSONTree = [
        "circle": "c-9", "woken": 1, "skipped": ["fresh": 1], "beyond": 0, "mode": "live",
        "sent": true,
        "decisions": [
            ["responder_id": "r-17", "decision": "wake"],
            ["responder_id": "r-4", "decision": "skip", "reason": "fresh"],
        ],
    ]
}

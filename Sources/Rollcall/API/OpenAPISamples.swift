/// The document's samples: sent to a server, and answered by one.
extension OpenAPI {
    enum Samples {
        static let batch: JSONTree = [
            "responder_id": "r-17", "received_at": "2026-11-21T15:14:22.161Z",
            "duty_state": "ON_DUTY", "region": "north", "circles": ["c-9"], "platform": "ios",
            "install_id": "b1f0", "battery_level": 0.62,
            "telemetry": [
                "permission_status": "granted", "location_services": true, "power_mode": "normal",
                "app_state": "background", "network_type": "cellular", "queue_depth": 2,
            ],
            "updates": [
                ["sequence": 4711, "captured_at": "2026-11-21T15:14:18Z"],
                ["sequence": 4712, "captured_at": "2026-11-21T15:14:21Z", "fix": "cached"],
            ],
        ]
        static let transition: JSONTree = [
            "responder_id": "r-17", "from": "ONLINE", "to": "OFFLINE",
            "at": "2026-11-21T15:20:00Z", "id": "t-1",
        ]
        static let facts: JSONTree = [
            "responder_id": "r-17", "duty_state": "ON_MISSION", "region": "north",
            "circles": ["c-9", "c-10"], "sharing": "active",
        ]
        static let heartbeat: JSONTree = ["source": "backend-1", "every_seconds": 10]

        static let verdict: JSONTree = [
            "accepted": 2, "duplicates": 0,
            "rejected": [["index": 1, "pointer": "/responder_id", "detail": "required"]],
            "problems": [
                ["index": 2, "pointer": "/battery_level", "detail": "0 to 1 expected"]
            ],
            "updates": ["accepted": 3, "duplicate": 1, "late": 0],
        ]
        static let refusal: JSONTree = [
            "type": "about:blank", "title": "Unprocessable Content", "status": 422,
            "detail": "every item was rejected", "accepted": 0, "duplicates": 0,
            "rejected": [["index": 0, "pointer": "/responder_id", "detail": "required"]],
            "problems": [], "updates": ["accepted": 0, "duplicate": 0, "late": 0],
        ]
        static let shrinkingRoster: JSONTree = [
            "type": "about:blank", "title": "Conflict", "status": 409,
            "detail": """
            this roster would retire 12 of 12 active people; if it is meant, send it again \
            with shrink=allow
            """,
        ]
        static let responder: JSONTree = [
            "responder_id": "r-17", "status": "ONLINE", "since": "2026-11-21T15:14:22.161Z",
            "as_of": "2026-11-21T15:14:22.170Z", "confirmed": true, "reachable": "yes",
            "last_contact_at": "2026-11-21T15:14:22.161Z",
            "last_location_at": "2026-11-21T15:14:18.000Z", "duty_state": "ON_DUTY",
            "region": "north", "circles": [], "sharing": "active", "platform": "ios",
            "telemetry": [
                "app_state": "background", "network_type": "cellular", "queue_depth": 2,
            ],
        ]
        static let statusHistory: JSONTree = [
            "as_of": "2026-11-21T15:30:00.000Z", "since": "2026-11-21T03:30:00.000Z",
            "until": "2026-11-21T15:30:00.000Z", "step_seconds": 300,
            "samples": [
                [
                    "at": "2026-11-21T15:29:00.412Z", "UNKNOWN": 0, "ONLINE": 30, "DEGRADED": 5,
                    "OFFLINE": 6, "not_expected": 3,
                ]
            ],
            "blind": [
                [
                    "reason": "stopped", "since": "2026-11-21T04:10:05.000Z",
                    "until": "2026-11-21T04:12:31.220Z",
                ]
            ], "truncated": false,
        ]
        static let regions: JSONTree = [
            "as_of": "2026-11-21T15:30:00.000Z",
            "regions": [
                [
                    "region": "north", "active": 41,
                    "responders": ["UNKNOWN": 0, "ONLINE": 30, "DEGRADED": 5, "OFFLINE": 6],
                    "not_expected": 3, "flapping": 0, "must_be_staffed": true,
                ]
            ], "next": nil, "truncated": false,
        ]
        static let gaps: JSONTree = [
            "gaps": [
                [
                    "gap": 17, "responder_id": "r-17", "state": "closed",
                    "opened_at": "2026-11-21T15:15:52.161Z",
                    "offline_at": "2026-11-21T15:17:22.161Z",
                    "closed_at": "2026-11-21T15:24:22.161Z", "length_seconds": 510.0,
                    "suspected": "app_suspended", "first_suspected": "app_suspended",
                    "verdict": "network", "region": "north", "platform": "ios",
                    "blind_seconds": 0.0, "left_out": false, "group": nil,
                    "evidence": [
                        "last_contact_at": "2026-11-21T15:14:22.161Z", "app_state": "background",
                        "platform": "ios",
                    ],
                    "return": [
                        "returned_at": "2026-11-21T15:24:22.161Z", "updates": 3,
                        "captured_inside": 2,
                        "first_captured_inside_at": "2026-11-21T15:16:18.000Z",
                        "last_captured_inside_at": "2026-11-21T15:20:18.000Z",
                    ],
                    "text": """
                    It was: network (suspected: app_suspended). 2 locations were captured \
                    15:16:18–15:20:18 UTC while out of contact: the app ran, the network did not. \
                    This goes by the phone's own clock; it does not say whose network failed, nor \
                    that the app ran all the time.
                    """,
                ]
            ], "next": "1795274152161.17", "as_of": "2026-11-21T15:30:00.000Z",
        ]
        static let dark: JSONTree = [
            "by": ["region"], "since": "2026-11-01", "until": "2026-11-21",
            "rows": [
                [
                    "region": "north", "contact_seconds": 510.0, "location_seconds": 480.0,
                    "responders": 12,
                ]
            ], "next": nil, "truncated": false, "as_of": "2026-11-21T15:30:00.000Z",
        ]
        static let timeline: JSONTree = [
            "responder_id": "r-17",
            "events": [
                [
                    "at": "2026-11-21T15:14:22.170Z", "kind": "status", "from": "UNKNOWN",
                    "to": "ONLINE", "origin": "contact",
                ],
                [
                    "at": "2026-11-21T15:14:22.170Z", "kind": "contact",
                    "received_at": "2026-11-21T15:14:22.161Z", "updates": 2,
                    "sequences": [4711, 4712],
                    "captured": [
                        "first": "2026-11-21T15:14:18.000Z", "last": "2026-11-21T15:14:21.000Z",
                    ], "cached": 1, "facts": ["duty_state": "ON_DUTY", "app_state": "background"],
                ],
            ], "next": nil, "as_of": "2026-11-21T15:14:30.000Z",
        ]
        static let erasure: JSONTree = [
            "erasure": 7, "state": "done", "requested_at": "2026-11-21T15:14:30.000Z",
            "due_at": "2026-11-21T15:24:30.000Z", "finished_at": "2026-11-21T15:14:30.412Z",
            "rows": 3, "decisions": 1, "kept": ["authors and comments of silences"],
        ]
        static let reload: JSONTree = [
            "file": "rollcall.yml",
            "changed": [
                ["setting": "liveness.on_duty.offline_after", "from": "180s", "to": "240s"]
            ],
            "needs_restart": [["setting": "storage.size", "from": "4GiB", "to": "8GiB"]],
        ]
    }
}

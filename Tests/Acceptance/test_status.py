"""The fleet's last hours, over restarts and crashes.

Source: design §1 J6, J7, §2, §9.
"""

import unittest

from rollcall_process import RollcallTestCase, eventually, milliseconds, now_ms, rfc3339


class StatusHistoryTests(RollcallTestCase):
    """`GET /v1/status/history`: counts by the minute, and when nobody was watching."""

    def history(self, server, query=""):
        answer = server.get(f"/v1/status/history{query}")
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    def test_counts_and_windows_survive_a_crash_and_a_stop(self):
        server = self.serve()
        server.write("/v1/batches", [{"responder_id": "a"}, {"responder_id": "b"}])
        began = now_ms()
        first = self.history(server)
        self.assertIn(len(first["samples"]), (1, 2))
        self.assertEqual(first["blind"], [])
        self.assertEqual((first["step_seconds"], first["truncated"]), (300, False))
        self.assertEqual(
            milliseconds(first["until"]) - milliseconds(first["since"]), 12 * 3_600_000)
        server.kill()
        server.start()
        self.assertEqual(server.stop(), 0)
        server.start()
        after = self.history(server)
        self.assertEqual([w["reason"] for w in after["blind"]], ["stopped", "stopped"])
        ends = [milliseconds(t) for w in after["blind"] for t in (w["since"], w["until"])]
        self.assertEqual(ends, sorted(ends))
        self.assertLessEqual(began - 1000, ends[0])
        self.assertLessEqual(ends[-1], now_ms() + 1000)
        # The minute's row was taken again after each start: both are still waited for.
        self.assertEqual(sum(after["samples"][-1][word] for word in (
            "UNKNOWN", "ONLINE", "DEGRADED", "OFFLINE")), 2)
        self.assertEqual(self.history(server, "?step=1d")["step_seconds"], 86400)
        past = rfc3339(now_ms() - 24 * 3_600_000)
        self.assertEqual(self.history(server, f"?until={past}")["samples"], [])

    def test_what_is_not_seen_is_not_counted(self):
        server = self.serve()
        server.write("/v1/heartbeat?source=pod-1", {"every_seconds": 1})
        server.write("/v1/batches?source=pod-1", {"responder_id": "a"})
        eventually(
            lambda: not server.get("/v1/status").json()["watching"], 10, "a missing source")
        blind = self.history(server)["blind"]
        self.assertEqual([(w["reason"], w["until"]) for w in blind], [("heartbeat", None)])
        server.write("/v1/heartbeat?source=pod-1", {"every_seconds": 60})
        server.write("/v1/batches?source=pod-1", {"responder_id": "a"})
        window = self.history(server)["blind"][0]
        self.assertEqual(window["since"], blind[0]["since"])
        self.assertGreater(window["until"], window["since"])

    def test_too_much_at_once_is_refused_with_a_reason(self):
        server = self.serve()
        for query in ("step=30s", "step=2d", "step=x", "since=x", "limit=3",
                      "since=2026-11-22T00:00:00Z&until=2026-11-22T00:00:00Z"):
            self.problem(server.get(f"/v1/status/history?{query}"), 400)
        now = now_ms()
        for minutes, status in ((1500, 200), (1501, 400)):
            answer = server.get(
                f"/v1/status/history?since={now - minutes * 60_000}&until={now}&step=1m")
            self.assertEqual(answer.status, status)
        self.assertIn("1501 steps are too many, at most 1500", answer.json()["detail"])


if __name__ == "__main__":
    unittest.main()

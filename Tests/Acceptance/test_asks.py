"""Somebody asks a person to reconnect: a member of their circle through the backend, or an operator.

Source: R3.
"""

import base64
import subprocess
import unittest

from loopback_phones import PushHook
from rollcall_process import BINARY, RollcallTestCase, eventually, now_ms, plain_environment, rfc3339

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
CONFIG = """
nudges: {{sink: {{webhook: {{url: "{url}", secret: "{secret}"}}}}}}
web:
  tokens:
    - {{name: desk, scopes: [act, read], token: desk-0123456789abcdef}}
    - {{name: app, scopes: [ingest], token: app-0123456789abcdef}}
    - {{name: eye, scopes: [read], token: eye-0123456789abcdef}}
    - {{name: boss, scopes: [admin], token: boss-0123456789abcdef}}
"""


def bearer(name):
    """The head of somebody who shows their token as they should."""
    return {"Authorization": f"Bearer {name}-0123456789abcdef"}


class AskTests(RollcallTestCase):
    def begin(self, config=CONFIG):
        """A server, its sink, and people in two circles who were last located ten minutes ago."""
        self.sink = PushHook(self)
        server = self.serve(config.format(url=self.sink.url, secret=SECRET))
        at = rfc3339(now_ms() - 600_000)
        people = [
            {"responder_id": name, "received_at": at, "circles": circles,
             "updates": [{"sequence": 1, "captured_at": at}]}
            for name, circles in (
                ("ann", ["home"]), ("ben", ["home"]), ("cat", ["home"]), ("dan", ["work"]),
                ("eve", ["work"]), ("off", ["home"]))]
        self.assertEqual(server.post("/v1/batches", people, bearer("app")).status, 200)
        self.assertEqual(server.post("/v1/responders", [
            {"responder_id": "off", "duty_state": "OFF_DUTY"}], bearer("app")).status, 200)
        return server

    def pushes(self, count):
        """The data of all pushes, once there are so many."""
        return eventually(
            lambda: len(found := self.sink.events("responder.nudge")) >= count
            and [one["data"] for one in found], 10, f"{count} pushes")

    def ask(self, server, name, responder, by=None, status=200, **more):
        """What comes of asking for somebody."""
        body = {"responder_id": responder, **more}
        if by:
            body["by"] = by
        answer = server.post("/v1/nudges", body, bearer(name))
        self.assertEqual(answer.status, status, answer)
        return answer.json()

    def test_a_member_asks_and_learns_only_whether_somebody_was_asked(self):
        server = self.begin()
        said = self.ask(server, "app", "ann", by="ben")
        self.assertEqual(said, {"responder_id": "ann", "answer": "asked"})
        push = self.pushes(1)[0]
        self.assertEqual(
            (push["responder_id"], push["asked"], push["collapse_id"]), ("ann", True, "reconnect"))
        for responder, by in (
                ("ann", "cat"),      # asked within the hour
                ("off", "ben"),      # off duty
                ("dan", "ben"),      # in no circle of theirs
                ("dan", "dan"),      # themselves
                ("dan", "nobody"), ("nobody", "ben")):
            self.assertEqual(
                self.ask(server, "app", responder, by=by),
                {"responder_id": responder, "answer": "not_now"})
        # Nothing further went out.
        self.assertEqual(self.ask(server, "app", "eve", by="dan")["answer"], "asked")
        self.assertEqual([one["responder_id"] for one in self.pushes(2)], ["ann", "eve"])
        self.problem(server.post("/v1/nudges", {"responder_id": "cat"}, bearer("app")), 422)
        # The ledger and the events know who asked.
        entry = server.get("/v1/nudges?responder_id=ann", bearer("desk")).json()["nudges"][0]
        self.assertEqual((entry["decision"], entry["asked"]), ("send", True))
        self.assertIn("because somebody asked", entry["text"])
        events = server.get("/v1/events?kinds=action", bearer("desk")).json()["events"]
        self.assertEqual(
            [(one["action"], one["responder_id"], one["by"], one["token"]) for one in events],
            [("ask", "ann", "ben", "app"), ("ask", "eve", "dan", "app")])
        asks = server.request("GET", "/metrics", headers=bearer("eye")).text
        self.assertIn('rollcall_asks_total{decision="hold",reason="outsider"} 3', asks)
        self.assertIn('rollcall_asks_total{decision="send",reason="asked"} 2', asks)

    def test_an_operator_hears_the_decision_and_its_reason_over_a_kill(self):
        server = self.begin()
        asked = self.ask(server, "desk", "ann", note="needed at the harbour")
        self.assertEqual(
            (asked["decision"], asked["reason"], asked["until"]), ("send", None, None))
        self.assertEqual(self.pushes(1)[0]["nudge_id"], asked["nudge_id"])
        server.kill()
        server.start()
        again = self.ask(server, "boss", "ann", by="kim")
        self.assertEqual((again["decision"], again["reason"]), ("hold", "throttled"))
        self.assertIsNotNone(again["until"])
        self.assertIsNone(again["nudge_id"])
        for responder, reason in (("off", "off_duty"),):
            self.assertEqual(self.ask(server, "desk", responder)["reason"], reason)
        server.post("/v1/batches", {
            "responder_id": "cat", "updates": [{"sequence": 2, "captured_at": rfc3339(now_ms())}]},
            bearer("app"))
        self.assertEqual(self.ask(server, "desk", "cat")["reason"], "fresh")
        self.ask(server, "desk", "nobody", status=404)
        events = server.get("/v1/events?kinds=action", bearer("desk")).json()["events"]
        self.assertEqual(
            [(one["by"], one["comment"]) for one in events], [("desk", "needed at the harbour")])
        # Whoever was erased is in no event any more.
        server.request("DELETE", "/v1/responders/ann", headers=bearer("boss"))
        self.assertEqual(
            server.get("/v1/events?kinds=action", bearer("desk")).json()["events"], [])

    def test_who_may_ask_and_what_is_refused(self):
        server = self.begin()
        self.problem(server.post("/v1/nudges", {"responder_id": "ann"}), 401)
        refused = self.problem(server.post("/v1/nudges", {"responder_id": "ann"}, bearer("eye")), 403)
        self.assertIn("ingest", refused["detail"])
        letters = base64.b64encode(b"any:desk-0123456789abcdef").decode()
        self.problem(server.post(
            "/v1/nudges", {"responder_id": "ann"}, {"Authorization": f"Basic {letters}"}), 403)
        for body in ({}, [], {"responder_id": ""}, {"responder_id": ["ann"]},
                     {"responder_id": "ann", "by": ""}, {"responder_id": "a\nb"},
                     {"responder_id": "ann", "note": "52.520008, 13.404954"},
                     {"responder_id": "x" * 129}, b'{"responder_id":"ann","responder_id":"ben"}'):
            self.problem(server.post("/v1/nudges", body, bearer("desk")), 422)
        self.problem(server.post("/v1/nudges", b"{", bearer("desk")), 400)
        strange = self.ask(server, "desk", "ann", whom="x")
        self.assertEqual(strange["problems"][0]["pointer"], "/whom")

    def test_a_request_that_is_sent_again_asks_once(self):
        server = self.begin()
        for name, more, repeats in (
                ("desk", {}, lambda one: one["decision"] == "send"),
                ("app", {"by": "ben"}, lambda one: one["answer"] == "asked")):
            responder = "ann" if name == "desk" else "cat"
            head = {**bearer(name), "Idempotency-Key": f"{name}-1"}
            body = {"responder_id": responder, **more}
            first = server.post("/v1/nudges", body, head)
            again = server.post("/v1/nudges", body, head)
            self.assertEqual((first.status, again.status), (200, 200), again)
            self.assertEqual(again.headers["idempotent-replayed"], "true")
            self.assertTrue(repeats(first.json()) and repeats(again.json()), again)
        self.assertEqual({one["responder_id"] for one in self.pushes(2)}, {"ann", "cat"})
        page = server.request("GET", "/metrics", headers=bearer("eye")).text
        self.assertIn('rollcall_asks_total{decision="send",reason="asked"} 2', page)

    def test_disabled_and_dry_runs_send_nothing_and_say_so(self):
        server = self.begin(CONFIG.replace("nudges: {{", "nudges: {{mode: dry_run, ", 1))
        self.assertEqual(self.ask(server, "desk", "ann")["decision"], "dry_run")
        self.assertEqual(self.ask(server, "app", "cat", by="ben")["answer"], "not_now")
        with open(server.config_path, encoding="utf-8") as file:
            text = file.read()
        server.configure(text.replace("mode: dry_run", "mode: disabled"))
        self.assertEqual(server.post("/-/reload", b"", bearer("boss")).status, 200)
        self.ask(server, "desk", "ben", status=409)
        self.assertEqual(self.ask(server, "app", "ben", by="ann")["answer"], "not_now")
        self.assertEqual(self.sink.requests, [])

    def test_from_a_terminal_and_a_replay(self):
        server = self.begin()
        path = f"{self.directory}/desk.token"
        with open(path, "w", encoding="utf-8") as file:
            file.write("desk-0123456789abcdef\n")

        def run(*arguments):
            return subprocess.run(
                [BINARY, *arguments, "--server", f"http://127.0.0.1:{server.port}",
                 "--token-file", path], capture_output=True, text=True, timeout=30,
                env=plain_environment())

        done = run("ask", "ann", "--by", "kim")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, "ann: asked: the push is on its way.\n")
        done = run("ask", "ann")
        self.assertEqual(done.returncode, 1)
        self.assertIn("ann: not asked: they were nudged or asked for within the interval", done.stdout)
        self.assertEqual(run("ask", "nobody").returncode, 1)
        self.ask(server, "app", "cat", by="ben")
        self.ask(server, "app", "cat", by="nobody")
        self.pushes(2)
        self.assertEqual(server.stop(), 0)
        self.assert_replays(server)


if __name__ == "__main__":
    unittest.main()

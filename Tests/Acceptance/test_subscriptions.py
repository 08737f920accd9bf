"""Subscriptions: events are sent out, in order and at least once, as CloudEvents that their SDK reads.

Source: Contract/Events, E2.
"""

import hashlib
import hmac
import json
import os
import random
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from cloudevents.http import from_dict
from loopback_receivers import Receiver
from rollcall_process import HERE, RollcallTestCase, eventually, read_line
from standardwebhooks.webhooks import Webhook

# Kills of either side; 200 are promised.
KILLS = int(os.environ.get("ROLLCALL_KILLS", "20"))
SECRET = "whsec_c2l4dGVlbiBieXRlcyBhcmUgbm90IGVub3VnaCBzbyBtb3Jl"
SEED = int(os.environ.get("ROLLCALL_SEED", "1"))


class Subscriber(Receiver):
    """Takes batches of CloudEvents and keeps what is in them, once each."""

    def __init__(self, case):
        self.status = 200
        self.events = []
        self.ids = {}
        self.again = 0
        self.faults = []
        self.messages = {}
        super().__init__(case)

    def judge(self, told):
        if self.status != 200:
            return self.status, {}
        try:
            Webhook(SECRET).verify(told.body, told.headers)
        except Exception as error:  # Whatever it is, the test tells it.
            self.faults.append(f"signature: {error}")
        if not told.headers["content-type"].startswith("application/cloudevents-batch+json"):
            self.faults.append(told.headers["content-type"])
        known = self.messages.setdefault(told.headers["webhook-id"], told.body)
        if known != told.body:
            self.faults.append("another body under the same id")
        batch = told.json()
        if not 1 <= len(batch) <= 101:
            self.faults.append(f"{len(batch)} events in one batch")
        for raw in batch:
            event = from_dict(raw)
            if event["id"] in self.ids:
                self.again += 1
                if self.ids[event["id"]] != raw:
                    self.faults.append(f"another event {event['id']}")
                continue
            self.ids[event["id"]] = raw
            self.events.append(event)
        return 200, {}

    def pause(self, told):
        return 0

    @property
    def numbers(self):
        return [int(one["id"].rpartition("-")[2]) for one in self.events
                if one["type"] != "rollcall.skipped"]


class Slack(Receiver):
    """Slack's API as its documentation has it: messages, and a press of a button, signed.

    Source: https://docs.slack.dev/reference/methods/chat.postMessage,
    https://docs.slack.dev/authentication/verifying-requests-from-slack.
    """

    SIGNING = "8f742231b10e8888abcd99yyyzzz85a5"

    def __init__(self, case):
        self.messages, self.answers, self.faults, self.refusals = [], [], [], 0
        super().__init__(case)

    def pause(self, told):
        return 0

    def judge(self, told):
        body = told.json()
        if told.path == "/answer":
            self.answers.append(body)
            return 200, {}
        if self.refusals:
            self.refusals -= 1
            return 200, {"ok": False, "error": "ratelimited"}
        if told.path != "/api/chat.postMessage" or told.headers["authorization"] != "Bearer xoxb-1":
            self.faults.append(told.path)
        for block in body["blocks"]:
            if block["type"] == "section" and not 1 <= len(block["text"]["text"]) <= 3000:
                self.faults.append("a section's text has 1 to 3000 letters")
        if body["channel"] != "C123" or not body["text"]:
            self.faults.append("no channel or text")
        self.messages.append(body)
        return 200, {"ok": True, "channel": "C123", "ts": "1503435956.000247"}

    def press(self, port, button, user, signing=None, at=None):
        """The status that a press of a button is answered with."""
        payload = json.dumps({
            "type": "block_actions", "user": {"id": "U1", "username": user},
            "actions": [{"action_id": button["action_id"], "value": button["value"]}],
            "response_url": self.url + "answer"})
        body = urllib.parse.urlencode({"payload": payload}).encode()
        at = str(int(at or time.time()))
        code = hmac.new((signing or self.SIGNING).encode(), f"v0:{at}:".encode() + body, hashlib.sha256)
        asked = urllib.request.Request(f"http://127.0.0.1:{port}/slack", body, {
            "Content-Type": "application/x-www-form-urlencoded",
            "X-Slack-Request-Timestamp": at, "X-Slack-Signature": f"v0={code.hexdigest()}"})
        try:
            with urllib.request.urlopen(asked, timeout=10) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code


class SubscriptionTests(RollcallTestCase):
    def config(self, subscriber, more=""):
        path = os.path.join(self.directory, "secret")
        with open(path, "w", encoding="utf-8") as file:
            file.write(SECRET + "\n")
        return (f"subscriptions:\n  - {{name: dispatcher, url: 'http://127.0.0.1:{subscriber.port}/e', "
                f"secret_file: {path}{more}}}\n")

    def begin(self, more="", **options):
        subscriber = Subscriber(self)
        server = self.serve(self.config(subscriber, more), **options)
        eventually(lambda: self.standing(server)["state"] == "idle", 5, "it has begun")
        return subscriber, server

    def standing(self, server):
        return server.get("/v1/status").json()["subscriptions"][0]

    def caught_up(self, server, subscriber, seconds=20):
        wanted = server.events_stored()
        eventually(lambda: set(subscriber.numbers) >= set(wanted), seconds, "all has come")
        return wanted

    def test_events_come_signed_in_order_from_the_head_on(self):
        subscriber = Subscriber(self)
        server = self.serve()
        server.write("/v1/batches", [{"responder_id": "before"}])
        server.stop()
        server = self.serve(self.config(subscriber), name="rollcall")
        eventually(lambda: self.standing(server)["state"] == "idle", 5, "it has begun")
        server.write("/v1/batches", [
            {"responder_id": f"p-{place}", "region": "north"} for place in range(250)])
        eventually(lambda: len(subscriber.events) >= 750, 10, "all of them")
        self.assertEqual(subscriber.faults, [])
        self.assertNotIn("before", {one.get("subject") for one in subscriber.events})
        self.assertEqual(subscriber.numbers, sorted(subscriber.numbers))
        first = subscriber.events[0]
        self.assertEqual(first["type"], "rollcall.person")
        self.assertEqual(first["subject"], "p-0")
        self.assertTrue(first["source"].startswith("/rollcall/"))
        self.assertEqual(first.data["change"], "enrolled")
        self.assertEqual(first.data["cursor"], first["id"])
        # They have arrived; that they were taken is known once the last answer has been read.
        sent = lambda: server.scrape()(
            "rollcall_subscription_events_total", subscription="dispatcher", outcome="sent")
        eventually(lambda: sent() >= 750, 10, "all are known to be taken")
        self.assertEqual(sent(), 750)
        lag = server.scrape()("rollcall_subscription_lag_seconds", subscription="dispatcher")
        self.assertEqual(lag, 0)

    def test_what_is_decided_right_after_a_reload_comes_to_whom_it_added(self):
        subscriber = Subscriber(self)
        server = self.serve("subscriptions: []\n")
        for place in range(10):
            server.configure(self.config(subscriber).replace("dispatcher", f"d-{place}"))
            self.assertEqual(server.post("/-/reload", b"").status, 200)
            server.write("/v1/batches", [{"responder_id": f"p-{place}"}])
            eventually(
                lambda: f"p-{place}" in {one.get("subject") for one in subscriber.events}, 5,
                f"what was decided after reload {place}")
        self.assertEqual(subscriber.faults, [])

    def test_filters_leave_out_and_hold_nothing_up(self):
        subscriber, server = self.begin(", kinds: [status], region: north")
        server.write("/v1/batches", [
            {"responder_id": f"p-{place}", "region": "north" if place % 2 else "south"}
            for place in range(20)])
        eventually(lambda: len(subscriber.events) >= 20, 10, "those of the region")
        time.sleep(1.5)
        self.assertEqual(len(subscriber.events), 20)
        self.assertEqual({one.data["region"] for one in subscriber.events}, {"north"})
        self.assertEqual({one["type"] for one in subscriber.events}, {"rollcall.status"})

    def test_who_is_away_is_tried_again_and_loses_nothing(self):
        subscriber, server = self.begin()
        subscriber.status = 503
        server.write("/v1/batches", [{"responder_id": "a"}])
        eventually(lambda: self.standing(server)["state"] == "trying", 5, "it is tried")
        self.assertIn("503", self.standing(server)["error"])
        self.assertGreaterEqual(self.standing(server)["lag_seconds"], 0.5)
        server.kill()
        server.start()
        server.write("/v1/batches", [{"responder_id": "b"}])
        subscriber.status = 200
        self.caught_up(server, subscriber)
        self.assertEqual(subscriber.faults, [])
        eventually(lambda: self.standing(server)["state"] == "idle", 5, "it is idle again")
        self.assertIsNone(self.standing(server)["error"])

    def test_who_refuses_is_left_alone_until_a_reload(self):
        for status in (410, 302, 400):
            with self.subTest(status=status):
                subscriber = Subscriber(self)
                server = self.serve(self.config(subscriber), name=f"refused-{status}")
                eventually(lambda: self.standing(server)["state"] == "idle", 5, "it has begun")
                subscriber.status = status
                subscriber.fields = {"Location": f"http://127.0.0.1:{subscriber.port}/other"}
                server.write("/v1/batches", [{"responder_id": "a"}])
                eventually(lambda: self.standing(server)["state"] == "stopped", 5, "it is stopped")
                self.assertEqual(server.scrape()(
                    "rollcall_subscription_stopped", subscription="dispatcher"), 1)
                self.assertIn("refuses events for good", server.log())
                count = len(subscriber.requests)
                server.write("/v1/batches", [{"responder_id": "b"}])
                time.sleep(2.5)
                self.assertEqual(len(subscriber.requests), count)
                self.assertEqual({one.path for one in subscriber.requests}, {"/e"})
                subscriber.status, subscriber.fields = 200, {}
                self.assertEqual(server.post("/-/reload", b"").status, 200)
                self.caught_up(server, subscriber)
                server.stop()

    def test_what_is_too_old_is_skipped_and_told(self):
        subscriber = Subscriber(self)
        steps = os.path.join(self.directory, "steps")
        server = self.serve(self.config(subscriber, ", max_lag: 10m"), variables={
            "LD_PRELOAD": self.preloaded("stepped_clock"), "CLOCK_STEPS": steps})
        eventually(lambda: self.standing(server)["state"] == "idle", 5, "it has begun")
        subscriber.status = 503
        server.write("/v1/batches", [{"responder_id": "a"}, {"responder_id": "b"}])
        eventually(lambda: self.standing(server)["state"] == "trying", 5, "it is tried")
        server.kill()
        with open(steps, "w", encoding="utf-8") as file:
            file.write("3600000 3600000")
        server.start()
        server.write("/v1/batches", [{"responder_id": "c"}])
        subscriber.status = 200
        eventually(
            lambda: any(one.get("subject") == "c" for one in subscriber.events), 10, "the rest comes")
        skipped = subscriber.events[0]
        self.assertEqual(skipped["type"], "rollcall.skipped")
        self.assertEqual(skipped.data["events"], 6)
        self.assertNotIn("a", {one.get("subject") for one in subscriber.events})
        # Its clock is an hour ahead of ours.
        self.assertEqual(set(subscriber.faults), {"signature: Message timestamp too new"})
        # They are counted once the subscriber's answer has come.
        eventually(
            lambda: server.scrape()(
                "rollcall_subscription_events_total",
                subscription="dispatcher", outcome="skipped") == 6,
            5, "they are counted")

    def test_over_kills_of_either_side_nothing_is_lost_and_order_is_kept(self):
        choose = random.Random(SEED)
        subscriber, server = self.begin()
        for turn in range(KILLS):
            for _ in range(choose.randrange(1, 6)):
                server.write("/v1/batches", [
                    {"responder_id": f"p-{choose.randrange(1000)}"}
                    for _ in range(choose.randrange(1, 60))])
                time.sleep(choose.random() * 0.3)
            if choose.random() < 0.5:
                server.kill()
                server.start()
            else:
                subscriber.status = choose.choice((500, 503, 429))
                time.sleep(choose.random() * 0.5)
                subscriber.status = 200
        wanted = self.caught_up(server, subscriber, 90)
        self.assertEqual(subscriber.faults, [])
        begun = subscriber.numbers[0]
        self.assertEqual(subscriber.numbers, sorted(subscriber.numbers))
        self.assertEqual(
            [one for one in subscriber.numbers if one <= wanted[-1]],
            [one for one in wanted if one >= begun])
        self.assertEqual(begun, wanted[0])

    def test_the_dispatcher_of_the_page_reassigns_an_incident_and_loses_none(self):
        page = os.path.join(HERE, "../../Sources/Rollcall/Rollcall.docc/Events.md")
        with open(page, encoding="utf-8") as file:
            code = re.search(r"```python\n(# dispatcher.py.*?)```", file.read(), re.DOTALL).group(1)
        self.assertLessEqual(sum(1 for line in code.splitlines() if line.strip()), 45)
        path = os.path.join(self.directory, "dispatcher.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(code)
        # Its port must be known before the server is, and the server's before it is asked.
        free = socket.create_server(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        server = self.serve(
            self.config(type("S", (), {"port": port}), ", kinds: [status]")
            # Who is told of every half second is heard in time on a slow machine, too.
            + "liveness: {on_duty: {expected: 1s, degraded_after: 6s, offline_after: 8s}}\n")
        dispatcher = subprocess.Popen(
            [sys.executable, path], stdout=subprocess.PIPE, text=True, env={
                **os.environ, "ROLLCALL_URL": f"http://127.0.0.1:{server.port}", "SECRET": SECRET,
                "PORT": str(port), "INCIDENTS": json.dumps({"fire-1": "a", "flood-2": "far"})})
        self.addCleanup(dispatcher.wait, 10)
        self.addCleanup(dispatcher.kill)
        self.addCleanup(dispatcher.stdout.close)
        self.assertEqual(read_line(dispatcher.stdout.buffer, 10), f"listening on {port}\n")
        said = []
        deadline = time.monotonic() + 60
        reader = threading.Thread(
            target=lambda: said.append(dispatcher.stdout.buffer.readline().decode()), daemon=True)
        reader.start()
        server.write("/v1/batches", [{"responder_id": "a", "region": "north"}])
        while not said and time.monotonic() < deadline:
            server.write("/v1/batches", [
                {"responder_id": "far", "region": "south"}, {"responder_id": "b", "region": "south"},
                {"responder_id": "near", "region": "north"}])
            time.sleep(0.4)
        self.assertEqual(said, ["fire-1: a is OFFLINE, near goes\n"])

    def test_the_slack_workflow_of_the_page_takes_an_incident(self):
        page = os.path.join(HERE, "../../Sources/Rollcall/Rollcall.docc/Events.md")
        with open(page, encoding="utf-8") as file:
            code = re.search(r"```python\n(# slack.py.*?)```", file.read(), re.DOTALL).group(1)
        path = os.path.join(self.directory, "slack.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(code)
        slack = Slack(self)
        free = socket.create_server(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        token = "slack-0123456789abcdef"
        server = self.serve(
            self.config(type("S", (), {"port": port}), ", kinds: [alert, action]")
            + "liveness: {on_duty: {expected: 1s, degraded_after: 1s, offline_after: 2s}}\n"
            "alerts:\n  HighOfflineRate: {enabled: false}\n"
            "  NoOnlineResponders: {for: 1s, keep_firing_for: 0s}\n"
            f"web: {{tokens: [{{name: slack, scopes: [act, read, ingest], token: {token}}}]}}\n")
        head = {"Authorization": f"Bearer {token}"}
        example = subprocess.Popen(
            [sys.executable, path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={
                **os.environ, "ROLLCALL_URL": f"http://127.0.0.1:{server.port}",
                "ROLLCALL_TOKEN": token, "SECRET": SECRET, "PORT": str(port),
                "SLACK_URL": slack.url + "api/chat.postMessage", "SLACK_CHANNEL": "C123",
                "SLACK_BOT_TOKEN": "xoxb-1", "SLACK_SIGNING_SECRET": Slack.SIGNING})
        self.addCleanup(example.wait, 10)
        self.addCleanup(example.kill)
        self.addCleanup(example.stdout.close)
        self.assertEqual(read_line(example.stdout.buffer, 10), f"listening on {port}\n")
        # Slack refuses the first one: it comes again.
        slack.refusals = 1
        self.assertEqual(
            server.post("/v1/batches", {"responder_id": "a", "region": "north"}, head).status, 200)
        message = eventually(lambda: slack.messages and slack.messages[0], 20, "it is in the channel")
        self.assertEqual(message["text"], "NoOnlineResponders north fires")
        button = message["blocks"][1]["elements"][0]
        self.assertEqual(slack.press(port, button, "kim", signing="wrong"), 401)
        self.assertEqual(slack.press(port, button, "kim", at=time.time() - 301), 401)
        firing = lambda: next(
            one for one in server.get("/v1/alerts", head).json()["alerts"] if one["state"] == "firing")
        self.assertIsNone(firing()["taken"])
        self.assertEqual(slack.press(port, button, "kim"), 204)
        taken = firing()["taken"]
        self.assertEqual(
            (taken["by"], taken["token"], taken["note"]), ("kim", "slack", "from Slack"))
        eventually(
            lambda: any(one["text"].startswith("kim sees to incident ") for one in slack.messages), 20,
            "the channel reads who sees to it")
        server.post("/v1/batches", {"responder_id": "a"}, head)
        # Silent again, a fires once more in two seconds: another incident.
        eventually(
            lambda: any(one["text"] == "NoOnlineResponders north is over" for one in slack.messages), 20,
            "it is over")
        self.assertEqual(slack.press(port, button, "lee"), 204)
        self.assertEqual(slack.answers[-1]["text"], "it is over: there is nothing to see to")
        self.assertEqual(slack.faults, [])

    def test_settings_that_make_no_sense_are_named(self):
        for more, text in ((", kinds: [fish]", "kinds must hold some of"), (", max_lag: 1s", "max_lag"),
                           (", colour: red", "colour")):
            server = self.rollcall(
                self.config(type("S", (), {"port": 9}), more), name=f"wrong-{len(more)}")
            server.spawn()
            self.assertEqual(server.reap(), 64)
            self.assertIn(text, server.log())
        self.assertNotIn(SECRET, json.dumps(server.log()))

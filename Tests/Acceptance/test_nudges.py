"""A family circle: an app that was swiped away gets one visible push after the configured time, not
a second within the interval whatever is killed in between, none when paused; and the ledger says in
plain words why each person was or was not nudged.

Source: N1 to N10, F31 to F34; Standard Webhooks 1.0.0.
"""

import os
import random
import shutil
import subprocess
import time
import unittest

from standardwebhooks.webhooks import Webhook

from loopback_phones import Expo, Phones, PushHook
from rollcall_process import BINARY, RollcallTestCase, eventually, milliseconds, now_ms, rfc3339

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
CONFIG = """
nudges:
  stale_after: 3s
  min_interval: {interval}
  sink: {{webhook: {{url: "{hook}", secret_file: push.secret}}}}
"""
EXPO = """
nudges:
  stale_after: 3s
  min_interval: {interval}
  sink: {{expo: {{url: "{expo}"}}}}
"""
# Long enough for 3 s of staleness on a busy machine.
SOON = 15
NUDGE = "responder.nudge"
WAKE = "responder.wake"


def family(*ids, **facts):
    return [{"responder_id": name, "circles": ["family"], **facts} for name in ids]


class NudgeTestCase(RollcallTestCase):
    def setUp(self):
        super().setUp()
        with open(f"{self.directory}/push.secret", "w", encoding="utf-8") as file:
            file.write(SECRET + "\n")

    def begin(self, people, interval="6h", config=CONFIG, hook=None):
        """A webhook, a ready server, and phones that report to it."""
        hook = hook or PushHook(self)
        server = self.serve(config.format(hook=hook.url, interval=interval))
        phones = Phones(self, server, people).start()
        eventually(
            lambda: len(server.get("/v1/responders?limit=1000").json()["responders"])
            == len(people), SOON,
            "everybody has reported")
        return hook, server, phones

    def crash(self, server):
        """kill -9 and a start on the same store."""
        server.kill()
        time.sleep(0.2)
        server.start()

    def ledger(self, server, who):
        return server.get(f"/v1/nudges?responder_id={who}").json()["nudges"]


class CircleTests(NudgeTestCase):
    def test_a_swiped_away_app_gets_one_push_whatever_is_killed_in_between(self):
        hook, server, phones = self.begin(family("mum", "dad", "teen", platform="ios"))
        phones.swipe_away("teen")
        last = now_ms()
        # Killed before it falls due, and soon after it went out.
        time.sleep(1.5)
        self.crash(server)
        request = hook.first(lambda r: r.json()["type"] == NUDGE, SOON, "a nudge")
        for _ in range(3):
            self.crash(server)
            time.sleep(1.5)
        self.assertEqual(len(hook.events(NUDGE)), 1, "one push, and to nobody else")

        body = Webhook(SECRET).verify(request.body, request.headers)
        data = body["data"]
        # Their phone may have been on its way to the server for a while.
        self.assertLess(abs(milliseconds(data["last_location_at"]) - last), 5000)
        self.assertEqual(request.headers["webhook-id"], data["nudge_id"])
        self.assertEqual(
            {**data, "last_location_at": "", "nudge_id": "", "title": "", "body": "",
             "stale_seconds": 0}, {
                "nudge_id": "", "responder_id": "teen", "title": "", "body": "",
                "sound": "default", "priority": "high", "ttl_seconds": 3600,
                "collapse_id": "reconnect", "platform": "ios", "cause": data["cause"],
                "last_location_at": "", "stale_seconds": 0, "circles": ["family"]})
        # It was down meanwhile, for as long as a start takes.
        self.assertTrue(3 <= data["stale_seconds"] < 10, data)
        self.assertTrue(data["title"] and data["body"])

        entries = self.ledger(server, "teen")
        self.assertEqual([entry["decision"] for entry in entries], ["send"])
        # Killed before the answer was stored, nobody knows what became of it (N7).
        outcome = entries[0]["push"]["outcome"]
        self.assertIn(outcome, ("delivered", "unknown"))
        answer = server.get("/v1/responders/teen/nudge").json()
        self.assertEqual((answer["nudge"], answer["reasons"]), (False, ["throttled"]))
        self.assertIn("nudged", answer["text"])
        self.assertGreater(milliseconds(answer["earliest_at"]), last + 5 * 3_600_000)
        scrape = server.scrape()
        self.assertEqual(scrape("rollcall_nudges_total", decision="send", reason="due"), 1)
        self.assertEqual(scrape("rollcall_pushes_total", kind="nudge", outcome=outcome), 1)

    def test_it_is_asked_again_after_the_interval_and_not_before(self):
        hook, server, phones = self.begin(family("mum", "teen"), interval="5s")
        phones.swipe_away("teen")
        hook.first(lambda r: r.json()["type"] == NUDGE, SOON, "a nudge")
        self.crash(server)
        eventually(lambda: len(hook.events(NUDGE)) >= 3, 4 * SOON, "two more nudges")
        # When it was decided, and not when it arrived, which may be late; and each arrived once.
        times = sorted(milliseconds(entry["at"]) for entry in self.ledger(server, "teen")
                       if entry["decision"] == "send")
        self.assertGreaterEqual(len(times), 3)
        for first, second in zip(times, times[1:]):
            self.assertGreater(second - first, 4500, "once an interval")
        ids = [event["data"]["nudge_id"] for event in hook.events(NUDGE)]
        self.assertEqual(len(ids), len(set(ids)), "each is sent once")
        phones.open("teen")
        eventually(
            lambda: [e for e in self.ledger(server, "teen") if e.get("followed") == "located"],
            SOON, "what followed")

    def test_nobody_who_paused_or_is_off_duty_or_alone_is_asked(self):
        people = family("mum", "paused", "off") + [
            {"responder_id": "alone", "circles": ["nobody else"]}]
        hook, server, phones = self.begin(people)
        server.write("/v1/responders", [
            {"responder_id": "paused", "sharing": "paused"},
            {"responder_id": "off", "duty_state": "OFF_DUTY"}])
        phones.swipe_away("paused", "off", "alone")
        held = eventually(lambda: self.ledger(server, "alone"), SOON, "an entry about who is alone")
        self.assertEqual([(e["decision"], e["reason"]) for e in held], [("hold", "solo")])
        self.assertIn("circle", held[0]["text"])
        time.sleep(2)
        self.assertEqual(hook.events(NUDGE), [])
        for who, reason in (("paused", "paused"), ("off", "off_duty")):
            self.assertEqual(self.ledger(server, who), [], "answered when asked, never written")
            answer = server.get(f"/v1/responders/{who}/nudge").json()
            self.assertEqual((answer["nudge"], answer["reasons"]), (False, [reason]))
            self.assertTrue(answer["text"])

    def test_silent_is_a_sound_and_off_is_not(self):
        hook, server, phones = self.begin(family("mum", "silent", "off"))
        server.write("/v1/responders", [
            {"responder_id": "silent", "nudge_sound": "silent"},
            {"responder_id": "off", "nudge_sound": "off"}])
        phones.swipe_away("silent", "off")
        eventually(lambda: len(hook.events(NUDGE)) == 2, SOON, "two nudges")
        sounds = {e["data"]["responder_id"]: e["data"]["sound"] for e in hook.events(NUDGE)}
        self.assertEqual(sounds, {"silent": "silent", "off": "default"})

    def test_a_denied_permission_is_told_otherwise_than_a_closed_app(self):
        hook, server, phones = self.begin(
            family("mum", "closed") + family(
                "denied", telemetry={"permission_status": "denied"}))
        phones.swipe_away("closed", "denied")
        eventually(lambda: len(hook.events(NUDGE)) == 2, SOON, "two nudges")
        closed, denied = (hook.events(NUDGE, who)[0]["data"] for who in ("closed", "denied"))
        self.assertEqual(denied["cause"], "permission_denied")
        self.assertNotEqual(closed["title"], denied["title"])
        self.assertNotEqual(closed["body"], denied["body"])

    def test_a_dry_run_decides_and_sends_nothing(self):
        config = CONFIG.replace("nudges:\n", "nudges:\n  mode: dry_run\n")
        hook, server, phones = self.begin(family("mum", "teen"), config=config)
        phones.swipe_away("teen")
        entries = eventually(lambda: self.ledger(server, "teen"), SOON, "an entry")
        self.assertEqual([entry["decision"] for entry in entries], ["dry_run"])
        time.sleep(1)
        self.assertEqual(hook.requests, [])


class RestoreTests(NudgeTestCase):
    def test_an_older_store_does_not_nudge_again(self):
        hook, server, phones = self.begin(family("mum", "teen"))
        server.stop()
        shutil.copy(server.store, f"{self.directory}/older.db")
        server.start()
        phones.swipe_away("teen")
        hook.first(lambda r: r.json()["type"] == NUDGE, SOON, "a nudge")
        server.stop()
        shutil.copy(f"{self.directory}/older.db", server.store)
        server.start()
        self.assertIn("nobody is nudged for an interval", server.log())
        self.assertIn("frozen_until", server.get("/v1/nudges").json())
        # Blind since the copy was made: first the time to come back, then the freeze.
        time.sleep(6)
        self.assertEqual(len(hook.events(NUDGE)), 1)

    def test_restarts_during_a_wave_double_none(self):
        rounds = int(os.environ.get("ROLLCALL_KILLS", "20"))
        people = [f"r-{number:03}" for number in range(120)]
        config = CONFIG + "  rate: 20/s\n"
        hook, server, phones = self.begin(family("mum", *people), config=config)
        phones.swipe_away(*people)
        dice = random.Random(7)
        time.sleep(2.5)
        for _ in range(min(rounds, 200)):
            server.kill()
            server.start()
            time.sleep(dice.random() * 0.6)
        eventually(
            lambda: server.scrape()("rollcall_nudges_total", decision="send", reason="due")
            == len(people), 60, "everybody's nudge is decided")
        eventually(
            lambda: server.scrape().total("rollcall_pushes_total", kind="nudge") >= len(people), 30,
            "it is known what became of each")
        time.sleep(1.5)
        told = [event["data"]["responder_id"] for event in hook.events(NUDGE)]
        self.assertEqual(len(told), len(set(told)), "nobody is nudged twice")
        # A kill loses what was on its way, and says so.
        scrape = server.scrape()
        lost = scrape("rollcall_pushes_total", kind="nudge", outcome="unknown")
        self.assertLessEqual(len(people) - len(told), lost)


class ExpoTests(NudgeTestCase):
    TOKEN = "ExponentPushToken[teen]"

    def begin_expo(self, interval="6h"):
        expo = Expo(self)
        config = EXPO.format(expo=expo.url.rstrip("/"), interval=interval)
        server = self.serve(config)
        phones = Phones(self, server, family("mum", "teen", platform="android")).start()
        eventually(
            lambda: len(server.get("/v1/responders").json()["responders"]) == 2, SOON,
            "everybody has reported")
        return expo, server, phones

    def test_a_person_without_a_token_is_nudged_once_it_is_told(self):
        expo, server, phones = self.begin_expo()
        time.sleep(1)
        phones.swipe_away("teen")
        eventually(
            lambda: [(e["decision"], e.get("reason")) for e in self.ledger(server, "teen")]
            == [("hold", "no_token")], SOON, "held for want of a token")
        server.write("/v1/responders", {"responder_id": "teen", "push_token": self.TOKEN})
        message = eventually(lambda: [m for _, m in expo.messages], SOON, "a message")[0]
        self.assertEqual(expo.faults, [])
        self.assertEqual(
            {**message, "title": "", "body": "", "data": message["data"]["kind"]}, {
                "to": self.TOKEN, "title": "", "body": "", "sound": "default",
                "priority": "high", "interruptionLevel": "time-sensitive",
                "channelId": "default", "ttl": 3600, "collapseId": "reconnect",
                "tag": "reconnect", "data": "reconnect_nudge"})
        self.assertNotIn("teen]", server.log(), "a token is never logged")

    def test_a_dead_token_is_not_used_again(self):
        expo, server, phones = self.begin_expo(interval="4s")
        expo.dead.add(self.TOKEN)
        server.write("/v1/responders", {"responder_id": "teen", "push_token": self.TOKEN})
        time.sleep(1)
        phones.swipe_away("teen")
        eventually(lambda: expo.messages, SOON, "a message")
        eventually(
            lambda: server.scrape()("rollcall_pushes_total", kind="nudge", outcome="unregistered")
            == 1, SOON, "it is known to be dead")
        server.write("/v1/responders", {"responder_id": "teen", "push_token": self.TOKEN})
        time.sleep(6)
        self.assertEqual(len(expo.messages), 1)
        server.write("/v1/responders", {
            "responder_id": "teen", "push_token": "ExponentPushToken[new]"})
        eventually(
            lambda: [m for _, m in expo.messages if m["to"] == "ExponentPushToken[new]"], SOON,
            "a message to the new one")

    def test_too_many_requests_are_tried_again_and_a_gateway_time_out_is_not(self):
        expo, server, phones = self.begin_expo()
        server.write("/v1/responders", {"responder_id": "teen", "push_token": self.TOKEN})
        expo.answers = [
            (429, {"errors": [{"code": "TOO_MANY_REQUESTS", "message": "later"}]}),
            (504, {"errors": []})]
        time.sleep(1)
        phones.swipe_away("teen")
        eventually(
            lambda: server.scrape()("rollcall_pushes_total", kind="nudge", outcome="unknown") == 1,
            2 * SOON, "nobody knows what became of it")
        time.sleep(3)
        self.assertEqual(len(expo.requests), 2)
        self.assertEqual(expo.messages, [])


class WakeTests(NudgeTestCase):
    def test_who_looks_at_a_circle_wakes_the_others(self):
        people = [
            {**item, "platform": platform}
            for item, platform in zip(family("mum", "ann", "bob"), ("ios", "ios", "android"))]
        hook, server, phones = self.begin(people + family("paused"))
        # Located more than a minute ago, but not long enough to be nudged.
        old = rfc3339(now_ms() - 90_000)
        server.configure(CONFIG.format(hook=hook.url, interval="6h").replace("3s", "1h"))
        self.assertEqual(server.post("/-/reload", "").status, 200)
        phones.end()
        for number, item in enumerate(people[1:]):
            server.write("/v1/batches", {
                **item, "responder_id": item["responder_id"] + "2", "circles": ["old"],
                "received_at": rfc3339(now_ms()),
                "updates": [{"sequence": number, "captured_at": old}]})
        server.write("/v1/responders", [
            {"responder_id": "paused", "sharing": "paused", "circles": ["old"]},
            {"responder_id": "mum", "circles": ["old"]}])
        call = {"circle": "old", "viewer": "viewer"}
        answer = server.write("/v1/wakes", call)
        self.assertEqual(answer["decisions"], [
            {"responder_id": "ann2", "decision": "wake"},
            {"responder_id": "bob2", "decision": "wake"},
            {"responder_id": "mum", "decision": "skip", "reason": "fresh"},
            {"responder_id": "paused", "decision": "skip", "reason": "paused"}])
        eventually(lambda: len(hook.events(WAKE)) == 2, SOON, "two wakes")
        priorities = {
            event["data"]["responder_id"]: event["data"]["priority"]
            for event in hook.events(WAKE)}
        self.assertEqual(priorities, {"ann2": "normal", "bob2": "high"})
        again = server.write("/v1/wakes", {**call, "viewer": "mum"})
        self.assertEqual(
            [(d["responder_id"], d.get("reason")) for d in again["decisions"]],
            [("ann2", "woken"), ("bob2", "woken"), ("paused", "paused")])
        self.assertEqual(hook.events(NUDGE), [])
        scrape = server.scrape()
        self.assertEqual(scrape("rollcall_wakes_total", decision="wake", reason="asked"), 2)
        self.assertEqual(scrape("rollcall_wakes_total", decision="skip", reason="woken"), 2)


class CommandTests(NudgeTestCase):
    def test_the_command_tells_the_ledger_and_why_not(self):
        hook, server, phones = self.begin(family("mum", "teen"))
        phones.swipe_away("teen")
        hook.first(lambda r: r.json()["type"] == NUDGE, SOON, "a nudge")
        for words in (["nudges"], ["nudges", "teen"]):
            done = subprocess.run(
                [BINARY, *words, "--server", f"http://127.0.0.1:{server.port}"],
                capture_output=True, text=True, timeout=20, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("teen", done.stdout)
            self.assertIn("nudged", done.stdout)


if __name__ == "__main__":
    unittest.main()

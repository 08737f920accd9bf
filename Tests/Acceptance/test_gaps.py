"""Gaps, timelines and dark time, as a real fleet of phones leaves them behind.

Source: Contract/Gaps, V5, F24 to F26.
"""

import json
import os
import time
import unittest

from rollcall_process import RollcallTestCase, eventually, milliseconds, now_ms, rfc3339, sleep_until

MARK = "Zz9marker"
# Three seconds to be late, which leave time for what is told before, and four to be missing.
DEGRADED = 3000
SHORT = """
liveness:
  on_duty: {expected: 100ms, degraded_after: 3s, offline_after: 4s}
"""


def phone(name, first, captured, **more):
    """A batch with a location a tick, captured from then on."""
    return {
        "responder_id": name, "duty_state": "ON_DUTY", "region": "north", "platform": "ios",
        "telemetry": {"app_state": "background", "network_type": "cellular"},
        "updates": [
            {"sequence": first + n, "captured_at": captured + 100 * n} for n in range(3)],
        **more}


class GapTests(RollcallTestCase):
    """`GET /v1/gaps`, `GET /v1/dark` and timelines, over one story and what may befall it."""

    def gaps(self, server, query=""):
        return server.get(f"/v1/gaps{query}").json()["gaps"]

    def heard(self, server, name):
        """When somebody was heard last: whatever a machine that is busy made of it."""
        return milliseconds(server.responder(name)["last_contact_at"])

    def silence(self, server, name=MARK):
        """Two phones fall silent; one returns with a backlog, the other comes back empty."""
        began = now_ms()
        server.write("/v1/batches", [
            phone(name, 0, began, region=f"{name}-region"), phone("r-2", 0, began),
            phone("r-3", 0, began)])
        began = self.heard(server, name)
        eventually(lambda: len(self.gaps(server, "?state=open")) == 3, 10, "three are OFFLINE")
        sleep_until(began + 5000)
        back = now_ms()
        server.write("/v1/batches", [
            phone(name, 3, began + 3200, region=f"{name}-region"), phone("r-2", 3, back)])
        # As long as it was silent beyond the threshold.
        self.length = (self.heard(server, name) - began - DEGRADED) / 1000
        # Of one millisecond with a contact, the contact counts.
        time.sleep(0.02)
        # The verdict comes with the next gap, if not two minutes later.
        for named in (name, "r-2"):
            server.write("/v1/transitions", {
                "responder_id": named, "from": "ONLINE", "to": "OFFLINE", "at": now_ms()})
        self.again = now_ms()
        eventually(
            lambda: len(self.gaps(server, "?verdict=network")) == 1, 10, "a verdict")
        return began

    def check_story(self, server, began, name=MARK):
        """What every one of these answers must say, also after a crash."""
        found = self.gaps(server, f"?responder={name}&state=closed")
        self.assertEqual(len(found), 1)
        gap = found[0]
        self.assertEqual(
            (gap["state"], gap["verdict"], gap["suspected"], gap["region"]),
            ("closed", "network", "app_suspended", f"{name}-region"))
        self.assertEqual(gap["evidence"]["app_state"], "background")
        self.assertGreaterEqual(gap["return"]["captured_inside"], 1)
        self.assertLess(abs(gap["length_seconds"] - self.length), 1.0)
        self.assertGreater(gap["opened_at"], rfc3339(began))
        self.assertEqual(
            self.gaps(server, "?responder=r-2&state=closed")[0]["verdict"], "app_stopped")
        table = server.get("/v1/gaps?by=verdict,platform&state=closed").json()
        self.assertEqual(
            {row["verdict"]: row["gaps"] for row in table["rows"]},
            {"network": 1, "app_stopped": 1})
        self.assertEqual((table["gaps"], table["truncated"]), (2, False))
        dark = server.get("/v1/dark?by=responder").json()["rows"]
        mine = next(row for row in dark if row["responder_id"] == name)
        # Silent again, it goes on.
        since = (now_ms() - self.again) / 1000
        self.assertGreater(mine["contact_seconds"], self.length - 1.0)
        self.assertLess(mine["contact_seconds"], self.length + 1.0 + since)

    def check_timeline(self, server, name=MARK):
        """The whole timeline, in pages of two."""
        events, after = [], ""
        for _ in range(100):
            page = server.get(f"/v1/responders/{name}/timeline?limit=2{after}").json()
            events += page["events"]
            if page["next"] is None:
                break
            after = f"&after={page['next']}"
        kinds = [
            (event["kind"], event.get("verdict") or event.get("to") or event.get("state"))
            for event in reversed(events)]
        expected = [
            ("contact", None), ("status", "ONLINE"), ("status", "DEGRADED"), ("gap", "open"),
            ("status", "OFFLINE"), ("gap", "judged"), ("contact", None), ("status", "ONLINE"),
            ("gap", "closed"), ("server", "OFFLINE"), ("status", "OFFLINE"), ("gap", "network"),
            ("gap", "open")]
        rest = iter(kinds)
        missing = [kind for kind in expected if kind not in rest]
        self.assertEqual(missing, [], kinds)
        contacts = [event for event in events if event["kind"] == "contact"]
        self.assertEqual(contacts[-1]["sequences"], [0, 2])
        self.assertEqual(contacts[-1]["facts"]["app_state"], "background")
        return events

    def test_an_open_gap_tells_what_usually_follows_also_after_a_crash(self):
        """P7, of twenty that fell silent, returned and fell silent again."""
        server = self.serve(SHORT)
        names = [f"p-{number}" for number in range(20)]
        began = now_ms()
        server.write("/v1/batches", [
            phone(name, 0, began, manufacturer="HUAWEI") for name in names])
        began = self.heard(server, "p-3")
        eventually(lambda: len(self.gaps(server, "?state=open")) == 20, 10, "all are OFFLINE")
        self.assertEqual(
            {(gap["usual_return"], gap["odds"]) for gap in self.gaps(server)}, {(None, None)})
        self.assertIsNone(server.get("/v1/responders/p-3").json()["gap"]["odds"])
        sleep_until(began + 5000)
        back = now_ms()
        server.write("/v1/batches", [
            phone(name, 3, began + 3200 if number < 15 else back)
            for number, name in enumerate(names)])
        length = (self.heard(server, "p-3") - began - DEGRADED) / 1000
        self.assertNotIn("gap", server.get("/v1/responders/p-3").json())

        # A new gap first delivers the old one's verdict (F26).
        def check():
            eventually(lambda: len(self.gaps(server, "?state=open")) == 20, 10, "all are again")
            found = self.gaps(server, "?state=open")
            for gap in found:
                self.assertEqual(gap["odds"], {
                    "verdicts": {"network": 15, "app_stopped": 5}, "gaps": 20,
                    "of": "manufacturer"})
                usual = gap["usual_return"]
                self.assertEqual((usual["gaps"], usual["of"]), (20, "phones"))
                self.assertLess(abs(usual["median_seconds"] - length), 1.0)
            person = server.get("/v1/responders/p-3").json()["gap"]
            self.assertEqual(person["odds"], found[0]["odds"])
            self.assertEqual(person["usual_return"], found[0]["usual_return"])

        check()
        closed = self.gaps(server, "?state=closed")
        self.assertEqual(
            {(gap["usual_return"], gap["odds"]) for gap in closed}, {(None, None)})
        server.kill()
        server.start()
        check()
        self.assertEqual(server.scrape()("rollcall_refold_differences_total"), 0)
        self.assertEqual(server.stop(), 0)
        server.start()
        check()

    def test_a_backlog_tells_network_and_its_lack_app_stopped_also_after_a_crash(self):
        server = self.serve(SHORT)
        began = self.silence(server)
        self.check_story(server, began)
        before = self.check_timeline(server)
        server.kill()
        # What is shorter than a second is not told (D5).
        time.sleep(1.2)
        server.start()
        self.assertEqual(server.scrape()("rollcall_refold_differences_total"), 0)
        self.check_story(server, began)
        after = self.check_timeline(server)
        self.assertEqual(after[-len(before):], before)
        self.assertEqual(after[0]["kind"], "blind")
        self.assertEqual(server.stop(), 0)
        server.start()
        self.check_story(server, began)

    def test_nothing_of_an_erased_person_is_told_at_once_and_left_soon(self):
        server = self.serve(SHORT)
        self.silence(server)
        everybody = server.get("/v1/gaps?by=region").json()["rows"]
        self.assertIn(f"{MARK}-region", [row["region"] for row in everybody])
        answer = server.request("DELETE", f"/v1/responders/{MARK}")
        self.assertEqual(answer.status, 202)
        targets = (
            "/v1/gaps", "/v1/gaps?state=open", "/v1/gaps?by=region", "/v1/dark",
            "/v1/dark?by=responder,region", "/v1/responders/r-2/timeline")
        for target in targets:
            self.assertNotIn(MARK, server.get(target).text)
        for target in (f"/v1/responders/{MARK}/timeline", f"/v1/gaps?responder={MARK}",
                       f"/v1/dark?responder={MARK}"):
            self.problem(server.get(target), 404)
        where = answer.headers["location"]
        eventually(lambda: server.get(where).json()["state"] == "done", 20, "the erasure is done")
        # In the log a region's name may stay (D4), and nothing else of the person.
        for name in os.listdir(self.directory):
            with open(os.path.join(self.directory, name), "rb") as file:
                content = file.read()
            if name.endswith(".log"):
                content = content.replace(f"{MARK}-region".encode(), b"")
            self.assertNotIn(MARK.encode(), content, name)
        self.assertEqual(len(self.gaps(server, "?responder=r-2")), 2)
        server.kill()
        server.start()
        for target in targets:
            self.assertNotIn(MARK, server.get(target).text)

    def test_a_gap_over_which_we_were_blind_is_held_against_nobody(self):
        server = self.serve(SHORT)
        server.write("/v1/batches", phone("r-1", 0, now_ms()))
        eventually(lambda: self.gaps(server, "?state=open"), 10, "OFFLINE")
        server.kill()
        # At least a second must be blind (D5).
        time.sleep(1.2)
        server.start()
        server.write("/v1/batches", phone("r-1", 3, now_ms()))
        gap = eventually(
            lambda: self.gaps(server, "?state=closed"), 10, "the gap is over")[0]
        self.assertEqual((gap["state"], gap["verdict"]), ("returned", None))
        self.assertGreater(gap["blind_seconds"], 0)
        row = server.get("/v1/gaps?by=cause").json()["rows"][0]
        self.assertEqual((row["gaps"], row["blind"], row["seconds"]), (0, 1, None))

    def test_no_answer_holds_a_coordinate(self):
        server = self.serve(SHORT)
        place = {"lat": 48.137154, "longitude": 11.576124, "coords": {"speed": 48.137154}}
        batch = phone("r-1", 0, now_ms())
        batch.update(place)
        batch["updates"][0].update(place)
        server.write("/v1/batches", batch)
        eventually(lambda: self.gaps(server), 10, "OFFLINE")
        for target in ("/v1/gaps", "/v1/responders/r-1/timeline", "/v1/dark"):
            text = json.dumps(server.get(target).json())
            for word in ("48.13", "11.57", "coords", "speed"):
                self.assertNotIn(word, text)


if __name__ == "__main__":
    unittest.main()

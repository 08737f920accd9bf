"""One address for two cells and a fleet cell, as real processes: writes that are divided, lists that are
merged, and what is said of a cell that does not answer.

Source: K5.
"""

import http.client
import time
import unittest
import urllib.parse

from gateway_process import Gateway
from rollcall_process import eventually, ndjson, now_ms
from test_cells import INPUTS, SOON, CellTestCase, owner, people

LIVENESS = "liveness: {on_duty: {expected: 1s, degraded_after: 1s, offline_after: 2s}}\n"
LINES = {"Content-Type": "application/x-ndjson"}


class GatewayTestCase(CellTestCase):
    """A fleet of two cells, and a gateway."""

    MORE = {"a": INPUTS, "b": INPUTS, "f": ""}

    def setUp(self):
        super().setUp()
        for name in "abf":
            self.begin(name, self.config(name, self.MORE[name]))
        for name in "ab":
            self.wait_for_map(name)
        self.gateway = self.start_gateway("gateway")

    def start_gateway(self, name, more=""):
        gateway = Gateway(self, self.url("f"), name=name, more=more).start()
        eventually(gateway.is_ready, SOON, "the gateway has the map")
        return gateway

    def mixed(self, count):
        """So many ids of each cell, in turns."""
        return [one for pair in zip(people("a", count), people("b", count)) for one in pair]

    def put(self, target, body, headers=None):
        return self.gateway.request("PUT", target, body, headers)

    def active(self, name):
        return self.servers[name].get("/v1/status").json()["responders"]["active"]


class WriteTests(GatewayTestCase):
    def test_each_cell_gets_its_own_and_the_answer_is_one(self):
        everybody = self.mixed(3)
        answer = self.gateway.post("/v1/batches", [{"responder_id": one} for one in everybody])
        self.assertEqual((answer.status, answer.json()["accepted"]), (200, 6), answer)
        self.assertNotIn("unavailable", answer.json())
        for name in "ab":
            self.assertEqual(self.active(name), 3)
        # Sent again, everything is known.
        moved = [{"responder_id": one, "from": "ONLINE", "to": "DEGRADED", "at": now_ms(), "id": f"t-{one}"}
                 for one in everybody]
        for wanted in ((6, 0), (0, 6)):
            answer = self.gateway.request("POST", "/v1/transitions", ndjson(moved), LINES).json()
            self.assertEqual((answer["accepted"], answer["duplicates"]), wanted, answer)
        # What is wrong stands at its place in the whole.
        bad = [{"responder_id": everybody[0]}, {"responder_id": ""}, {"responder_id": everybody[1], "lat": 1},
               5, {"responder_id": everybody[3], "battery_level": 7}, {"responder_id": everybody[2]}]
        for body, headers in ((bad, {}), (ndjson(bad), LINES)):
            answer = self.gateway.request("POST", "/v1/batches", body, headers).json()
            self.assertEqual(answer["accepted"], 4, answer)
            self.assertEqual([note["index"] for note in answer["rejected"]], [1, 3])
            self.assertEqual([note["index"] for note in answer["problems"]], [4])
        only = self.gateway.post("/v1/batches", [{"responder_id": ""}, 7])
        self.assertEqual(self.problem(only, 422)["accepted"], 0)
        for body, status in ((b"{", 400), (b"[1", 400), (b"[]", 200), (b"", 400)):
            self.assertEqual(self.gateway.post("/v1/batches", body).status, status, body)
        self.problem(self.gateway.post("/v1/batches?sorce=x", everybody[0]), 400)
        strict = self.gateway.post(
            "/v1/batches?strict=true", [{"responder_id": one, "colour": 1} for one in everybody])
        self.assertEqual(self.problem(strict, 422)["accepted"], 0)
        self.assertEqual([note["index"] for note in strict.json()["rejected"]], list(range(6)))

    def test_whoever_sends_learns_how_each_stands(self):
        everybody = self.mixed(2)
        sent = [{"sent_at": now_ms()}] + [{"responder_id": one} for one in everybody]
        for body, headers in ((sent, {}), (ndjson(sent), LINES)):
            answer = self.gateway.request("POST", "/v1/batches?tell=true", body, headers).json()
            self.assertEqual(answer["accepted"], 4, answer)
            self.assertEqual(
                [one and one["status"] for one in answer["you"]], [None] + ["ONLINE"] * 4)

    def test_a_part_that_did_not_land_is_said(self):
        everybody = self.mixed(2)
        items = [{"responder_id": one, "updates": [{"seq": 1, "captured_at": now_ms()}]} for one in everybody]
        self.servers["b"].kill()
        answer = self.gateway.post("/v1/batches", items)
        problem = self.problem(answer, 503)
        self.assertEqual(problem["accepted"], 2)
        self.assertEqual(
            [(one["cell"], one["items"]) for one in problem["unavailable"]], [("b", [1, 3])])
        self.assertIn("retry-after", answer.headers)
        part = self.gateway.post("/v1/batches?partial=true", items)
        self.assertEqual(part.status, 200)
        missing, = part.json()["unavailable"]
        self.assertEqual((missing["cell"], missing["items"]), ("b", [1, 3]))
        self.assertIn("cannot be connected to", missing["reason"])
        # Of one cell alone it is the same.
        alone = self.gateway.post("/v1/batches", items[1])
        self.assertEqual(self.problem(alone, 503)["unavailable"][0]["items"], [0])
        self.begin("b", self.config("b", INPUTS))
        again = self.gateway.post("/v1/batches?partial=true", [items[place] for place in missing["items"]])
        self.assertEqual((again.json()["accepted"], again.json()["unavailable"]), (2, []))
        # All of it again is safe, and counts nothing twice.
        whole = self.gateway.post("/v1/batches", items).json()
        self.assertEqual(whole["updates"], {"accepted": 0, "duplicate": 4, "late": 0})
        self.problem(self.gateway.post("/v1/batches?partial=maybe", items), 400)

    def test_a_cell_that_hangs_delays_its_own_people_alone(self):
        own, other = people("a", 1)[0], people("b", 1)[0]
        self.servers["b"].pause()
        self.addCleanup(self.servers["b"].resume)
        began = time.monotonic()
        self.assertEqual(self.gateway.post("/v1/batches", {"responder_id": own}).status, 200)
        self.assertLess(time.monotonic() - began, 1)
        began = time.monotonic()
        answer = self.gateway.post("/v1/batches", [{"responder_id": own}, {"responder_id": other}])
        self.assertEqual(self.problem(answer, 503)["accepted"], 1)
        self.assertLess(time.monotonic() - began, 4)
        people_then = self.gateway.get("/v1/responders").json()
        self.assertEqual([one["responder_id"] for one in people_then["responders"]], [own])
        self.assertEqual(people_then["unavailable"], ["b"])

    def test_a_heartbeat_goes_to_all(self):
        answer = self.gateway.post("/v1/heartbeat?source=app", {"every_seconds": 60})
        self.assertEqual((answer.status, answer.json()), (200, {"accepted": 1}))
        for name in "abf":
            sources = self.servers[name].get("/v1/status").json()["sources"]
            self.assertEqual([(one["source"], one["every_seconds"]) for one in sources], [("app", 60.0)])
        self.problem(self.gateway.post("/v1/heartbeat", {"every_seconds": 0}), 422)
        self.servers["b"].kill()
        answer = self.gateway.post("/v1/heartbeat?source=app", {"every_seconds": 60})
        self.assertEqual((answer.status, answer.json()["unavailable"]), (200, ["cell b"]))
        # Who is not switched off would raise an alarm.
        self.problem(self.gateway.request("DELETE", "/v1/heartbeat?source=app"), 503)

    def test_a_phone_s_own_words_reach_its_cell(self):
        for one in self.mixed(2):
            body = {"_type": "location", "tst": now_ms() // 1000, "lat": 1, "lon": 2}
            answer = self.gateway.post(f"/v1/in/phones?u={one}", body, {"X-Limit-U": one})
            self.assertEqual(answer.status, 200, answer)
            self.assertEqual(self.gateway.responder(one)["status"], "ONLINE")

    def test_a_cell_that_is_away_takes_no_other_cell_s_phones(self):
        self.servers["a"].kill()
        body = {"_type": "location", "tst": now_ms() // 1000, "lat": 1, "lon": 2}
        own, other = people("b", 1)[0], people("a", 1)[0]
        for _ in range(8):
            self.assertEqual(self.gateway.post("/v1/in/phones", body, {"X-Limit-U": own}).status, 200)
        self.problem(self.gateway.post("/v1/in/phones", body, {"X-Limit-U": other}), 503)
        coded = self.gateway.post("/v1/in/phones", body, {"X-Limit-U": own, "Content-Encoding": "br"})
        self.problem(coded, 415)
        self.problem(self.gateway.request("DELETE", "/v1/in/phones"), 405)
        # What asks by HEAD brings nothing.
        before = self.servers["b"].get("/v1/inputs").json()
        self.gateway.request("HEAD", f"/v1/in/phones/{own}?lat=1&lon=2&tst=1")
        self.assertEqual(self.servers["b"].get("/v1/inputs").json(), before)

    def test_a_path_means_the_same_in_the_cell(self):
        one = people("a", 1)[0]
        self.gateway.write("/v1/batches", {"responder_id": one})
        self.problem(self.gateway.get(f"/v1/responders/{one}#7"), 404)
        gone = self.gateway.request("DELETE", f"/v1/responders/{one}#7")
        self.assertEqual(gone.status, 202)
        self.assertEqual(self.gateway.responder(one)["responder_id"], one)
        self.gateway.write("/v1/batches", {"responder_id": "a b/ü"})
        self.assertEqual(self.gateway.get("/v1/responders/a%20b%2F%C3%BC").status, 200)

    def test_somebody_is_asked_and_erased_where_they_are(self):
        for one in self.mixed(1):
            self.gateway.write("/v1/batches", {"responder_id": one})
            self.assertEqual(self.gateway.responder(one)["responder_id"], one)
            self.assertEqual(self.gateway.get(f"/v1/responders/{one}/timeline").status, 200)
            self.assertEqual(self.gateway.get(f"/v1/responders/{one}/nudge").status, 200)
            asked = self.gateway.write("/v1/nudges", {"responder_id": one, "by": "kim"})
            self.assertEqual((asked["responder_id"], asked["decision"]), (one, "hold"))
            gone = self.gateway.request("DELETE", f"/v1/responders/{one}")
            self.assertEqual(gone.status, 202)
            place = gone.headers["location"]
            self.assertTrue(place.endswith(f"?cell={owner(one)}"), place)
            # A cell that is late for once has no state, but a problem.
            eventually(
                lambda place=place: self.gateway.get(place).json().get("state") == "done", SOON, "erased")
            self.problem(self.gateway.get(f"/v1/responders/{one}"), 404)
        self.problem(self.gateway.get("/v1/erasures/1"), 400)
        self.problem(self.gateway.post("/v1/nudges", {"by": "kim"}), 422)

    def test_a_circle_is_woken_in_all_cells(self):
        everybody = self.mixed(2)
        self.gateway.write(
            "/v1/responders", [{"responder_id": one, "circles": ["family"]} for one in everybody])
        answer = self.gateway.post("/v1/wakes", {"circle": "family", "viewer": everybody[0]})
        self.assertEqual(answer.status, 200, answer)
        told = answer.json()
        self.assertEqual(told["woken"] + sum(told["skipped"].values()), 3, told)
        self.assertEqual(len(told["decisions"]), 3)


class RosterTests(GatewayTestCase):
    def test_a_roster_is_taken_by_all_cells_or_by_none(self):
        everybody = self.mixed(10)
        facts = [{"responder_id": one, "duty_state": "ON_DUTY"} for one in everybody]
        answer = self.put("/v1/responders", facts)
        self.assertEqual((answer.status, answer.json()["accepted"], answer.json()["retired"]), (200, 20, 0))
        self.assertEqual((self.active("a"), self.active("b")), (10, 10))
        # Of b nearly everybody is missing: a does not take it either.
        few = [item for item in facts if owner(item["responder_id"]) == "a"][:9] + facts[1:3]
        conflict = self.problem(self.put("/v1/responders", few), 409)
        self.assertIn("would retire", conflict["detail"])
        self.assertEqual((self.active("a"), self.active("b")), (10, 10))
        answer = self.put("/v1/responders?shrink=allow", few)
        self.assertEqual((answer.status, answer.json()["retired"]), (200, 10), answer)
        self.assertEqual((self.active("a"), self.active("b")), (9, 1))
        # One that names nobody of a cell retires its people, too.
        answer = self.put("/v1/responders", [item for item in few if owner(item["responder_id"]) == "a"])
        self.assertEqual((answer.status, answer.json()["retired"]), (200, 1), answer)
        self.assertEqual((self.active("a"), self.active("b")), (9, 0))

    def test_a_rejected_entry_refuses_the_whole(self):
        facts = [{"responder_id": one, "duty_state": "ON_DUTY"} for one in self.mixed(3)]
        self.put("/v1/responders", facts)
        answer = self.put("/v1/responders", facts[:4] + [{"responder_id": ""}])
        self.assertIn("taken whole or not at all", self.problem(answer, 422)["detail"])
        self.assertEqual((self.active("a"), self.active("b")), (3, 3))

    def test_a_roster_comes_in_parts(self):
        everybody = self.mixed(4)
        facts = [{"responder_id": one, "duty_state": "ON_DUTY"} for one in everybody]
        self.put("/v1/responders", facts)
        first = self.put("/v1/responders?roster=monday&more=true", facts[:3])
        self.assertEqual((first.status, first.json()["accepted"]), (200, 3))
        self.assertNotIn("retired", first.json())
        asked = self.put("/v1/responders?roster=monday&check=true", [])
        self.assertEqual(asked.json(), {"active": 8, "retiring": 5})
        for _ in range(2):
            last = self.put("/v1/responders?roster=monday", facts[3:6])
            self.assertEqual(last.status, 200, last)
        self.assertEqual(self.active("a") + self.active("b"), 6)
        # Other people under the name of one that has ended are another roster.
        self.problem(self.put("/v1/responders?roster=monday", facts), 409)
        self.assertEqual(self.active("a") + self.active("b"), 6)

    def test_one_that_is_refused_pushes_out_no_other(self):
        everybody = self.mixed(10)
        facts = [{"responder_id": one, "duty_state": "ON_DUTY"} for one in everybody]
        self.put("/v1/responders", facts)
        self.put("/v1/responders?roster=slow&more=true", facts[:10])
        for _ in range(10):
            self.problem(self.put("/v1/responders", facts[:1]), 409)
        last = self.put("/v1/responders?roster=slow", facts[10:])
        self.assertEqual((last.status, last.json()["retired"]), (200, 0), last)

    def test_a_cell_that_is_away_refuses_it_for_all(self):
        facts = [{"responder_id": one, "duty_state": "ON_DUTY"} for one in self.mixed(3)]
        self.put("/v1/responders", facts)
        self.servers["b"].kill()
        self.problem(self.put("/v1/responders", facts[:5]), 503)
        # Nobody of b is in it, and b could not retire its people.
        self.problem(self.put("/v1/responders", facts[:1]), 503)
        self.assertEqual(self.active("a"), 3)
        self.begin("b", self.config("b", INPUTS))
        self.assertEqual(self.put("/v1/responders", facts[:5]).json()["retired"], 1)


class ListTests(GatewayTestCase):
    MORE = {"a": LIVENESS, "b": LIVENESS, "f": ""}

    def setUp(self):
        super().setUp()
        self.everybody = self.mixed(12)
        self.gateway.write("/v1/batches", [
            {"responder_id": one, "region": f"region-{place % 5}", "battery_level": place / 100}
            for place, one in enumerate(self.everybody)])

    def pages(self, target, member, after="after"):
        """All rows of a list, page by page."""
        rows, cursor = [], None
        for _ in range(100):
            more = f"&{after}={urllib.parse.quote(cursor)}" if cursor else ""
            answer = self.gateway.get(target + more)
            self.assertEqual(answer.status, 200, answer)
            page = answer.json()
            self.assertEqual(page["unavailable"], [])
            rows += page[member]
            cursor = page["next"]
            if cursor is None:
                return rows
        raise AssertionError("it does not end")

    def test_people_come_in_one_order(self):
        ids = [one["responder_id"] for one in self.pages("/v1/responders?limit=5", "responders")]
        self.assertEqual(ids, sorted(self.everybody))
        for sort, key in (("region", lambda one: (one["region"], one["responder_id"])),
                          ("battery", lambda one: (one["battery_level"], one["responder_id"]))):
            rows = self.pages(f"/v1/responders?sort={sort}&limit=7", "responders")
            self.assertEqual(len(rows), 24)
            self.assertEqual([key(row) for row in rows], sorted(key(row) for row in rows), sort)
        page = self.gateway.get("/v1/responders?region=region-1&limit=2").json()
        self.assertEqual((page["total"], len(page["responders"])), (5, 2))
        self.assertEqual(self.gateway.get("/v1/responders?sort=-region&limit=1").json()["responders"][0]
                         ["region"], "region-4")
        for target in ("/v1/responders?sort=colour", "/v1/responders?limit=0", "/v1/responders?after=x",
                       "/v1/gaps?after=1.2", "/v1/events?after=nobody"):
            self.problem(self.gateway.get(target), 400)
        one = self.everybody[0]
        self.assertEqual(self.gateway.get(f"/v1/responders?instead_of={one}").status, 200)

    def test_what_happened_is_one_story(self):
        def silent():
            return len(self.gateway.get("/v1/gaps?state=open").json()["gaps"]) == 24
        eventually(silent, SOON, "all are silent")
        gaps = self.pages("/v1/gaps?limit=5", "gaps")
        self.assertEqual({one["responder_id"] for one in gaps}, set(self.everybody))
        self.assertEqual(len(gaps), 24)
        opened = [one["opened_at"] for one in gaps]
        self.assertEqual(opened, sorted(opened, reverse=True))
        table = self.gateway.get("/v1/gaps?by=region").json()
        self.assertEqual(sum(row["open"] for row in table["rows"]), 24)
        self.assertEqual(
            {row["region"]: row["open"] for row in table["rows"]},
            {f"region-{place}": 5 if place < 4 else 4 for place in range(5)})
        # Events: each once, of one person in their order, and on from any of them.
        events, cursor = [], ""
        while True:
            page = self.gateway.get(f"/v1/events?limit=7{cursor}").json()
            if not page["events"]:
                break
            events += page["events"]
            cursor = "&after=" + urllib.parse.quote(page["next"])
        statuses = [one for one in events if one["kind"] == "status"]
        for one in self.everybody:
            own = [event["to"] for event in statuses if event["responder_id"] == one]
            self.assertEqual(own[-1], "OFFLINE", own)
        self.assertEqual(len({one["cursor"] for one in events}), len(events))
        middle = urllib.parse.quote(events[10]["cursor"])
        rest = self.gateway.get(f"/v1/events?limit=1000&after={middle}").json()["events"]
        self.assertEqual([one["at"] for one in rest], [one["at"] for one in events[11:]])
        one = self.everybody[3]
        own = self.gateway.get(f"/v1/events?responder={one}").json()["events"]
        self.assertTrue(own and all(event["responder_id"] == one for event in own))

    def test_whoever_waits_is_answered_when_something_happens(self):
        now = self.gateway.get("/v1/events?after=now").json()["next"]
        began = time.monotonic()
        waiting = self.gateway.get(f"/v1/events?after={urllib.parse.quote(now)}&kinds=action&wait=3").json()
        self.assertEqual(waiting["events"], [])
        self.assertTrue(2.5 < time.monotonic() - began < 8)
        # All may have been silent before it began to wait.
        self.gateway.write("/v1/batches", {"responder_id": self.everybody[0]})
        page = self.gateway.get(f"/v1/events?after={urllib.parse.quote(now)}&kinds=status&wait=20").json()
        self.assertTrue(page["events"])
        self.problem(self.gateway.get("/v1/events", {"Accept": "text/event-stream"}), 406)

    def test_from_now_on_is_not_from_the_beginning(self):
        self.servers["b"].kill()
        now = self.gateway.get("/v1/events?after=now").json()
        self.assertEqual((now["events"], now["unavailable"]), ([], ["b"]))
        self.begin("b", self.config("b", LIVENESS))
        behind = self.gateway.get(f"/v1/events?limit=1000&after={urllib.parse.quote(now['next'])}").json()
        self.assertEqual([one for one in behind["events"] if one["kind"] == "person"], [])
        self.problem(self.gateway.get("/v1/events?at_least=3"), 400)

    def test_who_is_left_out_is_named_on_each_page(self):
        eventually(lambda: len(self.gateway.get("/v1/gaps?state=open").json()["gaps"]) == 24, SOON, "silent")
        self.servers["b"].kill()
        page = self.gateway.get("/v1/gaps?limit=5").json()
        self.assertEqual((len(page["gaps"]), page["unavailable"]), (5, ["b"]))
        self.begin("b", self.config("b", LIVENESS))
        for _ in range(2):
            page = self.gateway.get(f"/v1/gaps?limit=5&after={urllib.parse.quote(page['next'])}").json()
            self.assertEqual(page["unavailable"], ["b"])
            self.assertEqual({owner(one["responder_id"]) for one in page["gaps"]}, {"a"})

    def test_a_stream_is_passed_on_and_ends_with_its_cell(self):
        one = people("b", 12)[0]
        for where in ("cell=b", f"responder={one}", "watch=true"):
            stream = self.stream(f"/v1/events?{where}")
            self.assertEqual(stream.status, 200)
            self.assertEqual(stream.getheader("Content-Type"), "text/event-stream")
            self.assertEqual(self.line(stream), "retry: 2000")
            # It streams from now on, and all may be silent by now.
            self.gateway.write("/v1/batches", {"responder_id": one})
            if where == "watch=true":
                while self.line(stream) != "event: watch":
                    pass
                continue
            while self.line(stream) != "event: status":
                pass
        self.problem(self.gateway.get("/v1/events?cell=b&kinds=x", {"Accept": "text/event-stream"}), 400)
        stream = self.stream("/v1/events?cell=b")
        self.servers["b"].kill()
        deadline = time.monotonic() + 10
        while stream.readline() != b"":
            self.assertLess(time.monotonic(), deadline)
        self.problem(self.gateway.get("/v1/events?cell=b", {"Accept": "text/event-stream"}), 503)

    def stream(self, target):
        connection = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=15)
        self.addCleanup(connection.close)
        connection.request("GET", target, headers={"Accept": "text/event-stream"})
        return connection.getresponse()

    @staticmethod
    def line(stream):
        line = stream.readline()
        assert line, "it has ended"
        return line.decode().rstrip("\n")

    def test_a_cell_that_is_away_is_named(self):
        self.servers["b"].kill()
        page = self.gateway.get("/v1/responders").json()
        self.assertEqual({owner(one["responder_id"]) for one in page["responders"]}, {"a"})
        self.assertEqual((page["unavailable"], page["next"]), (["b"], None))
        for target in ("/v1/gaps", "/v1/nudges", "/v1/alerts", "/v1/alerts/history"):
            self.assertEqual(self.gateway.get(target).json()["unavailable"], ["b"], target)
        before = self.gateway.get("/v1/events?limit=1000").json()
        self.assertEqual(before["unavailable"], ["b"])
        # What happened there is not lost: it comes behind the same place.
        self.begin("b", self.config("b", LIVENESS))
        after = self.gateway.get(f"/v1/events?limit=1000&after={urllib.parse.quote(before['next'])}").json()
        self.assertTrue({one.get("responder_id") for one in after["events"]} >= set(people("b", 12)))
        self.servers["a"].kill()
        self.servers["b"].kill()
        self.problem(self.gateway.get("/v1/responders"), 503)


class AlertTests(GatewayTestCase):
    RULES = """alerts:
  ResponderOffline: {enabled: true, for: 0s}
  NoOnlineResponders: {for: 0s}
"""
    MORE = {"a": LIVENESS + RULES, "b": LIVENESS + RULES, "f": RULES}

    def test_incidents_of_all_are_one_list_and_each_is_taken_where_it_is(self):
        own, other = people("a", 1)[0], people("b", 1)[0]
        self.gateway.write("/v1/batches", [
            {"responder_id": one, "region": "north", "duty_state": "ON_DUTY"} for one in (own, other)])

        def firing():
            alerts = eventually(
                lambda: (told := self.gateway.get("/v1/alerts").json())["unavailable"] == [] and told, SOON,
                "all cells answer")
            return {
                one["cell"]: one for one in alerts["alerts"]
                if one["state"] == "firing" and one["alertname"] != "Watchdog"}
        eventually(lambda: set(firing()) == {None, "a", "b"}, SOON, "all three fire")
        found = firing()
        self.assertEqual(found[None]["alertname"], "NoOnlineResponders")
        self.assertEqual({found[cell]["alertname"] for cell in "ab"}, {"ResponderOffline"})
        self.assertEqual(len({one["key"] for one in found.values()}), 3)
        for cell, alert in found.items():
            taken = self.gateway.write(f"/v1/incidents/{alert['key']}/take", {"by": f"kim-{cell}"})
            self.assertEqual(taken["taken"]["by"], f"kim-{cell}")
        for cell, alert in firing().items():
            self.assertEqual(alert["taken"]["by"], f"kim-{cell}")
        # A number is the fleet cell's, unless the cell is named.
        number = found["a"]["incident"]
        self.assertEqual(
            self.gateway.request("DELETE", f"/v1/incidents/{number}/take?cell=a").status, 200)
        left = firing()
        self.assertIsNone(left["a"]["taken"])
        self.assertEqual(left["b"]["taken"]["by"], "kim-b")
        history = self.gateway.get("/v1/alerts/history").json()["incidents"]
        self.assertEqual({(one["cell"], one["key"]) for one in history},
                         {(cell, one["key"]) for cell, one in found.items()})
        behind = self.gateway.get(f"/v1/alerts/history?before={number + 1}&limit=1").json()["incidents"]
        self.assertIn(found["a"]["key"], [one["key"] for one in behind])
        self.problem(self.gateway.post(
            "/v1/incidents/rollcall-0000000000000001-1/take", {"by": "kim"}), 404)
        # Who may have it must say no: else somebody would believe that nobody has.
        self.servers["b"].kill()
        self.problem(self.gateway.post(f"/v1/incidents/{found['b']['key']}/take", {"by": "kim"}), 503)
        self.assertEqual(self.gateway.write(
            f"/v1/incidents/{found['a']['key']}/take", {"by": "lou"})["taken"]["by"], "lou")


class DoorTests(GatewayTestCase):
    def test_what_concerns_many_is_the_fleet_cell_s(self):
        self.gateway.write("/v1/batches", [{"responder_id": one} for one in self.mixed(3)])
        eventually(
            lambda: self.gateway.get("/v1/status").json()["responders"]["ONLINE"] == 6, SOON,
            "the fleet cell counts all")
        # What it missed while it was away, the cells did not.
        self.servers["f"].kill()
        self.begin("f")
        eventually(
            lambda: self.gateway.get("/v1/status").json().get("reachable") == {
                "yes": 6, "of": 6, "at_most": False}, SOON, "all can be reached")
        region, = self.gateway.get("/v1/regions").json()["regions"]
        self.assertEqual(region["active"], 6)
        silence = self.gateway.write("/v1/silences", {
            "matchers": ["alertname=HighOfflineRate"], "duration": "1h", "author": "kim", "comment": "test"})
        self.assertEqual(
            [one["id"] for one in self.servers["f"].get("/v1/silences").json()["silences"]], [silence["silence"]["id"]])
        # The fleet cell gives it to the cells, and it is listed once all the same.
        eventually(
            lambda: [one["request_id"].split("/")[0]
                     for one in self.servers["a"].get("/v1/silences").json()["silences"]] == ["fleet-cell"],
            SOON, "a has it, too")
        own = self.gateway.write("/v1/silences?cell=a", {
            "matchers": ["region=x"], "duration": "1h", "author": "kim", "comment": "test"})
        listed = self.gateway.get("/v1/silences").json()["silences"]
        self.assertEqual([(one["cell"], one["id"]) for one in listed],
                         [(None, silence["silence"]["id"]), ("a", own["silence"]["id"])])
        ended = self.gateway.request("DELETE", f"/v1/silences/{own['silence']['id']}?cell=a")
        self.assertEqual((ended.status, ended.json()["silence"]["state"]), (200, "over"))
        self.assertEqual(self.gateway.get("/v1/cells").json()["role"], "fleet")
        for cell in "ab":
            self.assertEqual(self.gateway.get(f"/v1/cells?cell={cell}").json()["cell"], cell)
            self.assertEqual(self.gateway.get(f"/v1/status?cell={cell}").json()["responders"]["active"], 3)
        self.problem(self.gateway.get("/v1/status?cell=c"), 404)
        self.problem(self.gateway.get("/v1/differences?status=OFFLINE"), 400)
        self.assertEqual(self.gateway.get("/v1/differences?status=OFFLINE&cell=a").status, 200)
        # What is about one person is their cell's (K5).
        self.problem(self.gateway.get("/v1/dark"), 400)
        for one in self.mixed(1):
            answers = [
                self.gateway.get(f"/v1/dark?by=day&responder={one}{cell}").json()
                for cell in ("", f"&cell={owner(one)}")]
            for answer in answers:
                del answer["as_of"]
            self.assertEqual(*answers)
        self.problem(self.gateway.get("/v1/dark?by=day&responder=nobody"), 404)
        self.problem(self.gateway.get("/v1/nowhere"), 404)
        self.problem(self.gateway.request("DELETE", "/v1/batches"), 405)

    def test_it_says_how_it_is_itself(self):
        self.gateway.write("/v1/batches", [{"responder_id": one} for one in self.mixed(1)])
        page = self.gateway.scrape()
        self.assertEqual(page("rollcall_cell_map_version"), 1)
        self.assertEqual(page("rollcall_gateway_cell_requests_total", cell="a", outcome="answered"), 1)
        self.assertEqual(page("rollcall_gateway_cell_requests_total", cell="b", outcome="unavailable"), 0)
        self.assertEqual(page("rollcall_http_requests_total", route="batches", code="200"), 1)
        self.assertEqual(self.gateway.get("/-/healthy").status, 200)
        self.assertEqual(self.gateway.get("/openapi.json").status, 200)
        self.assertEqual(self.gateway.stop(), 0)

    def test_the_page_is_there(self):
        page = self.gateway.get("/", {"Accept": "text/html"})
        self.assertEqual(page.status, 200)
        self.assertIn("Content-Security-Policy".lower(), page.headers)
        asset = page.text.split('src="./')[1].split('"')[0] if 'src="./' in page.text \
            else page.text.split('src="')[1].split('"')[0]
        self.assertEqual(self.gateway.get("/" + asset.lstrip("/")).status, 200)

    def test_without_a_map_it_takes_nobody(self):
        self.servers["f"].kill()
        gateway = Gateway(self, self.url("f"), name="other").start()
        self.problem(gateway.post("/v1/batches", {"responder_id": "r-1"}), 503)
        self.problem(gateway.get("/-/ready"), 503)
        # Whoever has the map needs the fleet cell for what it decides, and for nobody else.
        self.gateway.write("/v1/batches", [{"responder_id": one} for one in self.mixed(2)])
        self.problem(self.gateway.get("/v1/status"), 503)
        self.assertEqual(self.gateway.get("/v1/alerts").json()["unavailable"], ["fleet cell"])
        self.begin("f")
        eventually(gateway.is_ready, SOON, "it has the map")
        self.assertEqual(gateway.post("/v1/batches", {"responder_id": "r-1"}).status, 200)


class TokenTests(GatewayTestCase):
    def setUp(self):
        # Those of CellTestCase, with tokens.
        super(GatewayTestCase, self).setUp()
        scopes = {"app": "ingest", "ops": "read, act", "cells": "read, admin"}
        for name in scopes:
            with open(f"{self.directory}/{name}", "w", encoding="utf-8") as file:
                file.write(self.secret(name))
        tokens = "web:\n  tokens:\n" + "".join(
            f"    - {{name: {name}, scopes: [{opened}], token_file: {self.directory}/{name}}}\n"
            for name, opened in scopes.items())
        shown = f"cells_token_file: {self.directory}/cells"
        cells = "".join(f"    {cell}: {{url: \"{self.url(cell)}\"}}\n" for cell in "ab")
        for name in "ab":
            self.begin(name, f"cluster: {{cell: {name}}}\n" + tokens)
        self.begin("f", f"cluster:\n  cells:\n{cells}  {shown}\n" + tokens)
        self.gateway = Gateway(self, self.url("f"), more=f"  {shown}\n" + tokens).start()
        eventually(self.gateway.is_ready, SOON, "the gateway has the map")
        eventually(
            lambda: all(
                self.servers[name].get("/v1/cells", self.bearer("ops")).json()["version"] for name in "ab"),
            SOON, "the cells have the map")

    @staticmethod
    def secret(name):
        return f"{name}-secret-0123456789abcdef"

    def bearer(self, name):
        return {"Authorization": f"Bearer {self.secret(name)}"}

    def test_whoever_is_not_known_is_let_in_nowhere(self):
        app, ops = self.bearer("app"), self.bearer("ops")
        items = [{"responder_id": one} for one in self.mixed(2)]
        self.problem(self.gateway.post("/v1/batches", items), 401)
        self.problem(self.gateway.post("/v1/batches", items, ops), 403)
        self.assertEqual(self.gateway.post("/v1/batches", items, app).json()["accepted"], 4)
        self.problem(self.gateway.get("/v1/responders", app), 403)
        self.assertEqual(len(self.gateway.get("/v1/responders", ops).json()["responders"]), 4)
        # A source is whose token it came with, in each cell.
        everywhere = self.gateway.post("/v1/heartbeat", {"every_seconds": 60}, app)
        self.assertEqual(everywhere.status, 200)
        for name in "abf":
            sources = self.servers[name].get("/v1/status", ops).json()["sources"]
            self.assertEqual([one["source"] for one in sources], ["app"])

    def test_a_browser_signs_in_once_for_all(self):
        origin = f"http://127.0.0.1:{self.gateway.port}"
        signed = self.gateway.post(
            "/v1/session", {"token": self.secret("ops")}, {"Origin": origin})
        self.assertEqual(signed.status, 200, signed)
        cookie = signed.headers["set-cookie"].split(";")[0]
        items = [{"responder_id": one} for one in self.mixed(2)]
        self.gateway.post("/v1/batches", items, self.bearer("app"))
        people_then = self.gateway.get("/v1/responders", {"Cookie": cookie})
        self.assertEqual(len(people_then.json()["responders"]), 4)
        silence = {"matchers": ["region=a"], "duration": "1h", "author": "kim", "comment": "test"}
        self.problem(self.gateway.post("/v1/silences", silence, {"Cookie": cookie}), 403)
        self.problem(
            self.gateway.post(
                "/v1/silences", silence, {"Cookie": cookie, "Origin": "http://elsewhere.example"}), 403)
        for where in ("", "?cell=b"):
            taken = self.gateway.post(
                f"/v1/silences{where}", silence, {"Cookie": cookie, "Origin": origin})
            self.assertEqual(taken.status, 200, taken)
        self.assertEqual(taken.json()["silence"]["author"], "kim")


if __name__ == "__main__":
    unittest.main()

"""The contract of the routes: verdicts, problem documents, limits, and what is never kept.

Source: I7, V5, V8.
"""

import json
import os
import re
import signal
import socket
import subprocess
import unittest

from rollcall_process import (
    BINARY, NDJSON, NotReady, RollcallTestCase, eventually, milliseconds, ndjson, now_ms,
    plain_environment, rfc3339)

NONE_TAKEN = {"accepted": 0, "duplicate": 0, "late": 0}
ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


class VerdictTests(RollcallTestCase):
    def test_each_item_gets_its_verdict(self):
        server = self.serve()
        first = [
            {"responder_id": "a", "updates": [{"sequence": 1}, {"sequence": 2}]},
            {"responder_id": "b"},
            {"region": "north"},
            {"responder_id": "a", "updates": [{"sequence": 2}, {"sequence": "x"}, {"sequence": 4}]},
            {"responder_id": "c", "received_at": "yesterday"},
            "not an object",
            {"responder_id": "d", "battery_level": 7, "platform": "symbian"},
        ]
        verdict = server.write("/v1/batches", first)
        self.assertEqual(verdict["accepted"], 4)
        self.assertEqual(verdict["duplicates"], 0)
        self.assertEqual(verdict["updates"], {"accepted": 3, "duplicate": 1, "late": 0})
        self.assertEqual(
            [(note["index"], note["pointer"]) for note in verdict["rejected"]],
            [(2, "/responder_id"), (4, "/received_at"), (5, "")])
        self.assertEqual(
            [(note["index"], note["pointer"]) for note in verdict["problems"]],
            [(3, "/updates/1/sequence"), (6, "/battery_level"), (6, "/platform")])
        for note in verdict["rejected"] + verdict["problems"]:
            self.assertTrue(note["detail"])
        again = server.write("/v1/batches", {"responder_id": "a", "updates": [{"sequence": 1}]})
        self.assertEqual(
            again, {
                "accepted": 0, "duplicates": 1, "rejected": [], "problems": [],
                "updates": {"accepted": 0, "duplicate": 1, "late": 0}})
        page = server.scrape()
        self.assertEqual(page("rollcall_batches_total"), 5)
        self.assertEqual(page("rollcall_updates_total", outcome="accepted"), 3)
        self.assertEqual(page("rollcall_updates_total", outcome="duplicate"), 2)
        self.assertEqual(page.total("rollcall_rejected_items_total"), 3)
        self.assertEqual(page.total("rollcall_item_problems_total"), 3)
        self.assertEqual(page("rollcall_item_problems_total", reason="unknown_value"), 1)
        self.assertEqual(server.responder("d")["platform"], "other")

    def test_a_poison_value_never_makes_a_living_phone_silent(self):
        server = self.serve()
        poison = {
            "responder_id": "a", "region": 7, "circles": "c", "battery_level": "full",
            "telemetry": {"app_state": 3, "queue_depth": -1}, "updates": "none",
            "install_id": "", "platform": None, "unheard_of": {"deep": [1, {"er": None}]},
        }
        verdict = server.write("/v1/batches", poison)
        self.assertEqual((verdict["accepted"], verdict["rejected"]), (1, []))
        self.assertGreaterEqual(len(verdict["problems"]), 6)
        self.assertEqual(server.responder("a")["status"], "ONLINE")

    def test_what_is_told_is_answered(self):
        server = self.serve()
        received = now_ms() - 1500
        server.write("/v1/batches", {
            "responder_id": "r/17 ü", "received_at": rfc3339(received), "duty_state": "ON_MISSION",
            "region": "north", "circles": ["c-10", "c-9"], "sharing": "active", "platform": "ios",
            "os_version": "18.2", "app_version": "4.1.0", "install_id": "b1f0",
            "battery_level": 0.62,
            "telemetry": {
                "permission_status": "granted", "location_services": True, "power_mode": "normal",
                "app_state": "background", "queue_depth": 5, "network_type": "cellular"},
            "updates": [{"sequence": 4711, "captured_at": received - 4000}],
        })
        answer = server.get("/v1/responders/r%2F17%20%C3%BC")
        self.assertEqual(answer.headers["content-type"], "application/json")
        person = answer.json()
        for member in ("since", "as_of", "last_contact_at", "last_location_at"):
            self.assertRegex(person[member], ISO)
        self.assertLess(abs(milliseconds(person.pop("as_of")) - now_ms()), 10_000)
        since = milliseconds(person.pop("since"))
        self.assertTrue(received <= since <= now_ms())
        # Since the last contact, a moment ago.
        self.assertLess(person.pop("silent_seconds"), 60)
        self.assertEqual(person, {
            "responder_id": "r/17 ü", "status": "ONLINE", "confirmed": True, "reachable": "yes",
            "last_contact_at": rfc3339(received), "last_location_at": rfc3339(received - 4000),
            "duty_state": "ON_MISSION", "region": "north", "circles": ["c-10", "c-9"],
            "sharing": "active", "platform": "ios", "os_version": "18.2", "app_version": "4.1.0",
            "battery_level": 0.62,
            "telemetry": {
                "permission_status": "granted", "location_services": True, "power_mode": "normal",
                "app_state": "background", "queue_depth": 5, "network_type": "cellular"},
        })

    def test_transitions_and_facts_have_verdicts_too(self):
        server = self.serve()
        told = {"responder_id": "a", "from": "ONLINE", "to": "OFFLINE", "id": "t-1"}
        self.assertEqual(server.write("/v1/transitions", told)["accepted"], 1)
        again = server.write("/v1/transitions", told)
        self.assertEqual((again["accepted"], again["duplicates"]), (0, 1))
        self.assertEqual(server.responder("a")["status"], "OFFLINE")
        answer = server.post("/v1/transitions", {"responder_id": "a", "from": "ONLINE"})
        self.assertEqual(self.problem(answer, 422)["rejected"][0]["pointer"], "/to")
        facts = [
            {"responder_id": "a", "duty_state": "OFF_DUTY"},
            {"responder_id": "b", "duty_state": "ON_DUTY", "region": "south"},
            {"responder_id": "c"},
        ]
        self.assertEqual(server.write("/v1/responders", facts)["accepted"], 3)
        self.assertEqual(server.responder("a")["status"], "NOT_EXPECTED")
        self.assertEqual(server.responder("a")["not_expected"], "off_duty")
        self.assertEqual(server.responder("b")["status"], "UNKNOWN")
        self.assertEqual(server.responder("c")["not_expected"], "no_duty")

    def test_lists_are_filtered_and_paged(self):
        server = self.serve()
        server.write("/v1/batches", [
            {"responder_id": f"p{number}", "region": "north" if number < 7 else "south"}
            for number in range(10)])
        server.write("/v1/responders", [
            {"responder_id": "p0", "duty_state": "OFF_DUTY"},
            {"responder_id": "p1", "duty_state": "ON_MISSION"}, {"responder_id": "new"}])

        def ids(query):
            found = []
            after = ""
            for _ in range(20):
                answer = server.get(f"/v1/responders?{query}{after}")
                self.assertEqual(answer.status, 200, answer)
                page = answer.json()
                found += [person["responder_id"] for person in page["responders"]]
                if page["next"] is None:
                    return sorted(found)
                after = f"&after={page['next']}"
            self.fail("the list does not end")

        everybody = sorted([f"p{number}" for number in range(10)] + ["new"])
        self.assertEqual(ids(""), everybody)
        self.assertEqual(ids("limit=3"), everybody)
        self.assertEqual(ids("limit=11"), everybody)
        self.assertEqual(ids("status=ONLINE"), [f"p{number}" for number in range(1, 10)])
        self.assertEqual(ids("reachable=yes&limit=2"), [f"p{number}" for number in range(1, 10)])
        self.assertEqual(ids("reachable=no"), [])
        self.assertEqual(ids("region=south"), ["p7", "p8", "p9"])
        self.assertEqual(ids("region=nowhere"), [])
        self.assertEqual(ids("duty_state=ON_MISSION"), ["p1"])
        self.assertEqual(ids("duty_state=OFF_DUTY&region=north"), ["p0"])
        # R5: those of the region first, then who is on duty; p0 is off duty, "new" was never heard.
        instead = server.get("/v1/responders?instead_of=p7").json()
        order = [person["responder_id"] for person in instead["responders"]]
        self.assertEqual(sorted(order), [f"p{number}" for number in (1, 2, 3, 4, 5, 6, 8, 9)])
        self.assertEqual((sorted(order[:2]), order[-1]), (["p8", "p9"], "p1"))
        self.assertIsNone(instead["next"])
        self.problem(server.get("/v1/responders?instead_of=nobody"), 404)
        self.problem(server.get("/v1/responders?instead_of=p7&region=south"), 400)
        self.problem(server.get("/v1/responders?status=FINE"), 400)
        self.problem(server.get("/v1/responders?limit=0"), 400)
        self.problem(server.get("/v1/responders?limit=many"), 400)

    def test_status_tells_how_the_fleet_stands(self):
        server = self.serve()
        server.write("/v1/batches?source=pod-1", [{"responder_id": "a"}, {"responder_id": "b"}])
        server.write("/v1/responders", {"responder_id": "b", "sharing": "paused"})
        server.write("/v1/heartbeat?source=pod-1", {"every_seconds": 60})
        status = server.get("/v1/status").json()
        self.assertIs(status["watching"], True)
        self.assertEqual(status["blind"], [])
        self.assertEqual(status["responders"]["active"], 1)
        self.assertEqual(status["responders"]["ONLINE"], 1)
        self.assertEqual(status["not_expected"]["paused"], 1)
        self.assertEqual([source["source"] for source in status["sources"]], ["pod-1"])
        self.assertLessEqual(status["started_at"], status["as_of"])
        self.assertEqual(status["store"]["state"], "ok")
        self.assertGreater(status["store"]["size_bytes"], 0)
        self.assertEqual(status["alerts"], {"firing": 0, "pending": 0, "silences": 0})
        self.assertEqual(status["nudges"], {
            "mode": "dry_run", "sink": "none", "frozen_until": None, "pending": 0})
        self.assertEqual(
            status["receivers"], [{"name": "log", "kind": "log", "pending": 0}])
        self.assertIs(status["settings"]["last_reload_ok"], True)

    def test_regions_tell_their_people_by_status(self):
        server = self.serve("coverage: {regions: [harbour]}\n")
        server.write("/v1/batches", [
            {"responder_id": "a", "region": "north"}, {"responder_id": "b", "region": "\u00e9st"},
            {"responder_id": "c", "region": "north"}])
        server.write("/v1/responders", {"responder_id": "c", "sharing": "paused"})

        def row(region, online=0, not_expected=0, must=False):
            return {
                "region": region, "active": online,
                "responders": {"UNKNOWN": 0, "ONLINE": online, "DEGRADED": 0, "OFFLINE": 0},
                "not_expected": not_expected, "flapping": 0, "must_be_staffed": must}
        rows = [row("harbour", must=True), row("north", 1, 1), row("\u00e9st", 1)]
        answer = server.get("/v1/regions").json()
        self.assertEqual(answer["regions"], rows)
        self.assertEqual((answer["next"], answer["truncated"]), (None, False))
        self.assertEqual(server.get("/v1/regions?limit=2").json()["next"], "north")
        self.assertEqual(
            server.get("/v1/regions?limit=2&after=north").json()["regions"], rows[2:])
        for query in ("limit=0", "limit=1001", "colour=red"):
            self.problem(server.get(f"/v1/regions?{query}"), 400)


class BodyTests(RollcallTestCase):
    def test_bodies_come_in_several_shapes(self):
        server = self.serve()
        item = {"responder_id": "a", "updates": []}
        cases = [
            ("one object", json.dumps(item), "application/json", 1),
            ("with a charset", json.dumps(item), "application/json; charset=utf-8", 1),
            ("an array", json.dumps([item, item]), "application/json", 2),
            ("an empty array", "[]", "application/json", 0),
            ("lines", ndjson([item, item, item]), NDJSON, 3),
            ("lines without the last end", ndjson([item, item])[:-1], NDJSON, 2),
            ("lines with CR and empty ones",
             b'\r\n{"responder_id":"a"}\r\n\r\n{"responder_id":"b"}\r\n', NDJSON, 2),
            ("what curl -d sends", json.dumps(item), "application/x-www-form-urlencoded", 1),
            ("upper case", json.dumps(item), "Application/JSON", 1),
        ]
        for name, body, kind, count in cases:
            with self.subTest(name):
                answer = server.post("/v1/batches", body, {"Content-Type": kind})
                self.assertEqual(answer.status, 200, answer)
                self.assertEqual(answer.json()["accepted"] + answer.json()["duplicates"], count)
        with self.subTest("no type at all"):
            body = json.dumps(item).encode()
            head = (
                "POST /v1/batches HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
                f"Content-Length: {len(body)}\r\n\r\n").encode()
            self.assertTrue(raw(server.port, head + body).startswith(b"HTTP/1.1 200 "))
        with self.subTest("in chunks"):
            chunks = b"Transfer-Encoding: chunked\r\n\r\n5\r\n{\"res\r\nf\r\nponder_id\":\"a\"}\r\n0\r\n\r\n"
            head = b"POST /v1/batches HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
            self.assertTrue(raw(server.port, head + chunks).startswith(b"HTTP/1.1 200 "))

    def test_a_line_that_is_no_json_rejects_itself_alone(self):
        server = self.serve()
        body = b'{"responder_id":"a"}\n{"responder_id":\n{"responder_id":"b"} x\n{"responder_id":"c"}\n'
        verdict = server.write("/v1/batches", body.decode(), {"Content-Type": NDJSON})
        self.assertEqual(verdict["accepted"], 2)
        self.assertEqual([note["index"] for note in verdict["rejected"]], [1, 2])

    def test_400_for_what_is_no_json(self):
        server = self.serve()
        deep = "[" * 17 + "]" * 17
        for body in ("", "{", "{} {}", "nul", '{"responder_id":"a",}', '{"a":01}', "\u00ef\u00bb\u00bf{}",
                     '{"responder_id":"a\tb"}', '{"x":' + deep + "}"):
            with self.subTest(body[:30]):
                self.problem(server.post("/v1/batches", body), 400)
        self.problem(server.post("/v1/batches", b'{"responder_id":"\xff"}'), 400)
        self.assertEqual(server.scrape()("rollcall_batches_total"), 0)

    def test_depth_at_the_limit_and_one_past_it(self):
        server = self.serve()
        for depth, status in ((16, 200), (17, 400)):
            body = '{"responder_id":"a","x":' + "[" * (depth - 1) + "]" * (depth - 1) + "}"
            self.assertEqual(server.post("/v1/batches", body).status, status, depth)

    def test_413_past_the_limits_and_200_at_them(self):
        server = self.serve("limits: {items: 10, body: 64KiB}\n")
        items = [{"responder_id": f"p{number}"} for number in range(11)]
        for kind, encode in (("application/json", json.dumps), (NDJSON, ndjson)):
            with self.subTest(kind):
                answer = server.post("/v1/batches", encode(items[:10]), {"Content-Type": kind})
                self.assertEqual((answer.status, answer.json()["accepted"]), (200, 10))
                self.problem(server.post("/v1/batches", encode(items), {"Content-Type": kind}), 413)
        for size, status in ((65536, 200), (65537, 413)):
            with self.subTest(size=size):
                body = json.dumps({"responder_id": "p0"}).ljust(size)
                self.assertEqual(server.post("/v1/batches", body).status, status)
        self.assertEqual(server.scrape()("rollcall_batches_total"), 21)

    def test_the_default_limits_stand(self):
        server = self.serve()
        items = ndjson([{"responder_id": f"p{number}"} for number in range(10_000)])
        fields = {"Content-Type": NDJSON}
        self.assertEqual(server.write("/v1/batches", items.decode(), fields)["accepted"], 10_000)
        more = items + b'{"responder_id":"p10000"}\n'
        self.problem(server.post("/v1/batches", more, fields), 413)
        self.assertEqual(server.post("/v1/batches", b'{"responder_id":"a"}'.ljust(8 << 20)).status, 200)

    def test_people_and_sources_at_the_limit_and_one_past_it(self):
        server = self.serve("limits: {responders: 3}\n")
        verdict = server.write("/v1/batches", [{"responder_id": f"p{n}"} for n in range(4)])
        self.assertEqual(verdict["accepted"], 3)
        self.assertEqual([note["index"] for note in verdict["rejected"]], [3])
        self.problem(server.post("/v1/batches", {"responder_id": "p3"}), 422)
        self.assertEqual(server.write("/v1/batches", {"responder_id": "p2"})["accepted"], 1)
        self.assertEqual(
            server.scrape()("rollcall_rejected_items_total", reason="responder_limit"), 2)
        for number in range(64):
            server.write(f"/v1/heartbeat?source=s{number}", {"every_seconds": 60})
        self.problem(server.post("/v1/heartbeat?source=s64", {"every_seconds": 60}), 409)
        server.write("/v1/heartbeat?source=s0", {"every_seconds": 30})
        self.assertEqual(server.request("DELETE", "/v1/heartbeat?source=s0").status, 200)
        server.write("/v1/heartbeat?source=s64", {"every_seconds": 60})
        self.assertEqual(len(server.get("/v1/status").json()["sources"]), 64)

    def test_415_for_other_types_and_for_codings(self):
        server = self.serve()
        for kind in ("text/plain", "application/xml", "multipart/form-data; boundary=x", "json"):
            with self.subTest(kind):
                self.problem(server.post("/v1/batches", "{}", {"Content-Type": kind}), 415)
        for coding in ("deflate", "br", "identity", "gzip, gzip"):
            with self.subTest(coding):
                answer = server.post("/v1/batches", "{}", {"Content-Encoding": coding})
                self.problem(answer, 415)
                self.assertEqual(answer.headers["accept-encoding"], "gzip")

    def test_422_when_nothing_can_be_taken(self):
        server = self.serve()
        for body in ({"region": "north"}, [{"responder_id": ""}, {"responder_id": "x" * 129}],
                     {"responder_id": "a\nb"}, {"responder_id": 7.5}):
            with self.subTest(body):
                document = self.problem(server.post("/v1/batches", body), 422)
                self.assertEqual(document["accepted"], 0)
                self.assertTrue(document["rejected"])
        self.assertEqual(server.post("/v1/batches", {"responder_id": "x" * 128}).status, 200)
        for beat in ({}, {"every_seconds": 0}, {"every_seconds": 3601}, {"every_seconds": "10"}):
            with self.subTest(beat):
                self.problem(server.post("/v1/heartbeat", beat), 422)
        self.assertEqual(server.post("/v1/heartbeat", {"every_seconds": 3600}).status, 200)
        self.problem(server.post("/v1/batches?source=", {"responder_id": "a"}), 422)

    def test_404_and_405(self):
        server = self.serve()
        for path in ("/v1", "/v1/batches/", "/v2/batches", "/favicon.ico", "/metrics/", "/-/quit",
                     "/v1/responders/", "/v1/responders/a/b", "/v1/responders/nobody"):
            with self.subTest(path):
                self.problem(server.get(path), 404)
        allowed = {
            "/v1/batches": ["POST"], "/v1/transitions": ["POST"],
            "/v1/responders": ["GET", "HEAD", "POST", "PUT"],
            "/v1/responders/x": ["DELETE", "GET", "HEAD"], "/v1/erasures/7": ["GET", "HEAD"],
            "/v1/heartbeat": ["DELETE", "POST"], "/v1/status": ["GET", "HEAD"],
            "/metrics": ["GET", "HEAD"], "/-/healthy": ["GET", "HEAD"],
            "/-/ready": ["GET", "HEAD"], "/": ["GET", "HEAD"],
        }
        for path, methods in allowed.items():
            for method in sorted({"GET", "POST", "PATCH", "DELETE", "PUT"} - set(methods)):
                # Part of later versions' contract: what they do here is not ours to say.
                if (method, path) in (("PUT", "/v1/responders"), ("DELETE", "/v1/responders/x")):
                    continue
                with self.subTest(f"{method} {path}"):
                    answer = server.request(method, path)
                    self.problem(answer, 405)
                    self.assertEqual(sorted(re.split(r",\s*", answer.headers["allow"])), methods)

    def test_health_answers_head_and_get(self):
        server = self.serve()
        for path in ("/-/healthy", "/-/ready", "/v1/status", "/"):
            with self.subTest(path):
                self.assertEqual(server.get(path).status, 200)
                head = server.request("HEAD", path)
                self.assertEqual((head.status, head.body), (200, b""))
        page = server.get("/")
        self.assertEqual(page.headers["content-type"], "text/html; charset=utf-8")
        self.assertIn("/metrics", page.text)


class PrivacyTests(RollcallTestCase):
    def test_coordinates_are_dropped_and_found_nowhere(self):
        server = self.serve()
        # Numbers and words that cannot be in the files by chance.
        marks = ["48.858370123", "2.294481456", "Zirbelnusshaus", "8848.861337", "271.8281828", "33.35791"]
        names = ["lat", "latitude", "lng", "lon", "longitude", "coords", "coordinates", "location",
                 "geo", "altitude", "heading", "speed"]
        items = [
            {"responder_id": "flat", **{name: marks[place % 6] for place, name in enumerate(names)}},
            {"responder_id": "deep", "extra": {"more": [{"lat": marks[0], "lng": marks[1]}]},
             "updates": [{"sequence": 1, "captured_at": now_ms(), "latitude": marks[0],
                          "coords": {"longitude": marks[1], "speed": marks[5]}}],
             "telemetry": {"app_state": "background", "location": {"altitude": marks[3]}}},
        ]
        text = json.dumps(items[1]).replace(f'"{marks[0]}"', marks[0])
        escaped = '{"responder_id":"escaped","l\\u0061t":%s}' % marks[0]
        server.write("/v1/batches", items[0])
        server.write("/v1/batches", text)
        server.write("/v1/batches", escaped)
        server.write("/v1/responders", {"responder_id": "fact", "location": marks[2]})
        server.write("/v1/transitions", {
            "responder_id": "t", "from": "UNKNOWN", "to": "ONLINE", "geo": marks[2]})
        # An outer name that is dropped hides what is within: coords counts once.
        dropped = len(names) + (2 + 1 + 1 + 1) + 1 + 1 + 1
        self.assertEqual(
            server.scrape()("rollcall_private_fields_dropped_total"), dropped)
        for target in ("/v1/responders", "/v1/status", "/metrics", "/"):
            self.assertNothing(marks, server.get(target).body, target)
        self.assertEqual(server.stop(), 0)
        files = sorted(os.listdir(self.directory))
        self.assertIn("rollcall.db", files)
        for name in files:
            with open(os.path.join(self.directory, name), "rb") as file:
                self.assertNothing(marks, file.read(), name)

    def test_coordinates_are_not_in_the_write_ahead_log_of_a_killed_process(self):
        server = self.serve()
        mark = "48.858370123"
        server.write("/v1/batches", {"responder_id": "kept-for-sure", "lat": mark, "lng": mark})
        server.kill()
        contents = b""
        for name in os.listdir(self.directory):
            with open(os.path.join(self.directory, name), "rb") as file:
                contents += file.read()
        self.assertIn(b"kept-for-sure", contents)
        self.assertNothing([mark], contents, "the files")

    def test_answers_to_bad_bodies_do_not_repeat_them(self):
        server = self.serve()
        for body in ('{"lat":48.858370123,', '[{"responder_id":{"lat":48.858370123}}]'):
            answer = server.post("/v1/batches", body)
            self.assertIn(answer.status, (400, 422))
            self.assertNothing(["48.858370123", "858370123"], answer.body, body)
        self.assertNothing(["858370123"], server.log().encode(), "the log")

    def assertNothing(self, marks, contents, where):
        for mark in marks:
            self.assertNotIn(mark.encode(), contents, f"{mark} in {where}")


class ProcessTests(RollcallTestCase):
    def test_a_second_instance_on_the_same_store_is_refused(self):
        server = self.serve()
        server.write("/v1/batches", {"responder_id": "a"})
        other = self.rollcall()
        with self.assertRaises(NotReady) as refused:
            other.start()
        self.assertIn("exit 1", str(refused.exception))
        self.assertIn("rollcall.db", str(refused.exception))
        self.assertIn(str(server.process.pid), str(refused.exception))
        self.assertEqual(server.responder("a")["status"], "ONLINE")
        self.assertEqual(server.stop(), 0)
        other.start()
        self.assertEqual(other.stop(), 0)

    def test_port_0_picks_a_free_port_and_says_so_in_one_line(self):
        first = self.serve()
        second = self.serve(name="second")
        self.assertNotEqual(first.port, second.port)
        self.assertGreater(first.port, 1023)
        for server in (first, second):
            self.assertEqual(server.get("/-/ready").status, 200)
        stdout = second.process.stdout
        second.process.terminate()
        self.assertEqual(stdout.read(), b"")

    def test_an_interrupt_ends_it_as_sigterm_does(self):
        server = self.serve()
        server.write("/v1/batches", {"responder_id": "a"})
        server.process.send_signal(signal.SIGINT)
        self.assertEqual(server.process.wait(10), 0)
        server.reap()
        self.assertEqual(server.log().count("msg=stopping "), 1)
        self.assertEqual(server.log().count("msg=stopped"), 1)
        server.start()
        self.assertEqual(server.responder("a")["status"], "ONLINE")

    def test_a_taken_port_is_named_and_no_store_is_made(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            outcome = self.run_serve("--web.listen-address", f"127.0.0.1:{port}")
        self.assertEqual(outcome.returncode, 1)
        self.assertEqual(outcome.stdout, "")
        self.assertIn(f"127.0.0.1:{port}", outcome.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.directory, "x.db")))

    def test_settings_are_strict(self):
        cases = {
            "liveness: {on_duty: {offline_afer: 60s}}\n": "offline_after",
            "liveness: {on_duty: {degraded_after: 90s, offline_after: 60s}}\n": "offline_after",
            "\n\nfeeed: {}\n": "line 3",
            "liveness: {forget_after: 7}\n": "forget_after",
            "limits: [1]\n": "limits",
            "a: b: c\n": "YAML",
        }
        for text, mention in cases.items():
            with self.subTest(text):
                path = os.path.join(self.directory, "bad.yaml")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                outcome = self.run_serve("--config.file", path)
                self.assertEqual(outcome.returncode, 64)
                self.assertEqual(outcome.stdout, "")
                self.assertIn(mention, outcome.stderr)
                self.assertNotIn("Usage", outcome.stderr)
                self.assertFalse(os.path.exists(os.path.join(self.directory, "x.db")))

    def test_logs_are_json_lines_when_asked(self):
        server = self.serve(log_format="json")
        self.assertEqual(server.stop(), 0)
        lines = [json.loads(line) for line in server.log().splitlines()]
        self.assertIn("ready", [line["msg"] for line in lines])
        for line in lines:
            self.assertLessEqual({"time", "level", "msg"}, line.keys())

    def test_a_client_that_leaves_in_the_middle_harms_nobody(self):
        server = self.serve()
        for head in (b"POST /v1/batches HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{\"resp",
                     b"POST /v1/batches HTTP/1.1\r\nHo", b"\x16\x03\x01\x02\x00\x01\x00"):
            with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
                connection.sendall(head)
        self.assertEqual(server.get("/v1/responders").json()["responders"], [])

    def run_serve(self, *arguments):
        return subprocess.run(
            [BINARY, "serve", "--storage.path", os.path.join(self.directory, "x.db"),
             *arguments], capture_output=True, text=True, timeout=30, env=plain_environment(),
            cwd=self.directory, stdin=subprocess.DEVNULL)


def raw(port, request):
    """What comes back for these very bytes until the other side closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(request)
        received = b""
        for _ in range(1000):
            part = connection.recv(65536)
            if not part:
                return received
            received += part
    raise AssertionError("the answer does not end")


if __name__ == "__main__":
    unittest.main()

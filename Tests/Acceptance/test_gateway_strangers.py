"""A gateway among strangers, cells that hang, and cells that are none: nobody takes what is everybody's, and
nothing is told to clients that is not theirs to know.

Source: K5.
"""

import base64
import gzip
import json
import socket
import threading
import time
import unittest
import urllib.parse

from fake_cells import TAKEN, FakeFleet, Hang, Said, elsewhere, hangs
from gateway_process import Gateway
from rollcall_process import Client, RollcallTestCase, eventually, ndjson
from test_cells import SOON, people, slot

TOKENS = {"app": "ingest", "ops": "read, act, admin", "cells": "read, admin"}


class StrangerTestCase(RollcallTestCase):
    """A gateway to a fleet cell and two cells that are a test's own."""

    MORE = ""

    def setUp(self):
        super().setUp()
        self.fleet = FakeFleet(self)
        self.gateway = self.start_gateway("gateway", self.MORE)
        self.own, self.other = people("a", 1)[0], people("b", 1)[0]

    def start_gateway(self, name, more=""):
        gateway = Gateway(self, self.fleet.url, name=name, more=more).start()
        eventually(gateway.is_ready, SOON, "the gateway has the map")
        return gateway

    def both(self):
        """An item of each cell."""
        return [{"responder_id": one} for one in (self.own, self.other)]

    def connect(self, head, body=b"", timeout=20):
        """Sends what may be no whole request."""
        one = socket.create_connection(("127.0.0.1", self.gateway.port), timeout)
        self.addCleanup(one.close)
        one.sendall(head.replace("\n", "\r\n").encode() + b"\r\n" + body)
        return one

    @staticmethod
    def status(connection):
        """The status of the answer that comes."""
        line = connection.makefile("rb").readline()
        return int(line.split()[1]) if line else None

    def tells_nothing(self, answer):
        """No address, and nothing of what a library says."""
        text = answer.text
        for word in ("127.0.0.1", "http://", "refused", "libcurl", "onnect timed"):
            self.assertNotIn(word, text)
        self.assertNotIn("rollcall-leader", answer.headers)


class TokenTestCase(StrangerTestCase):
    """The same, with tokens."""

    def setUp(self):
        super(StrangerTestCase, self).setUp()
        tokens = "web:\n  tokens:\n"
        for name, scopes in TOKENS.items():
            with open(f"{self.directory}/{name}", "w", encoding="utf-8") as file:
                file.write(self.secret(name))
            tokens += f"    - {{name: {name}, scopes: [{scopes}], token_file: {self.directory}/{name}}}\n"
        self.fleet = FakeFleet(self)
        self.own, self.other = people("a", 1)[0], people("b", 1)[0]
        self.gateway = self.start_gateway("gateway", f"  cells_token_file: {self.directory}/cells\n" + tokens)

    @staticmethod
    def secret(name):
        return f"{name}-secret-0123456789abcdef"

    def bearer(self, name):
        return {"Authorization": f"Bearer {self.secret(name)}"}


class BodyTests(TokenTestCase):
    def phone(self, count, length, more=""):
        return self.connect(
            f"POST /v1/in/phones HTTP/1.1\nHost: 127.0.0.1\nAuthorization: Bearer nobody-knows\n"
            f"Content-Type: application/json\n{more}Content-Length: {length}\n", b" " * count)

    def test_strangers_who_fall_silent_take_no_room_of_others(self):
        silent = []

        def is_full():
            # One who is refused leaves as much as they brought: more of them come until all of it is taken.
            silent.append(self.phone(250 << 10, 256 << 10))
            return len(silent) >= 70 and self.status(self.phone(250 << 10, 250 << 10)) == 503

        larger = self.phone(0, (256 << 10) + 1)
        self.assertEqual(self.status(larger), 413)
        # There is no room for more of them, and all of it for those who are known.
        eventually(is_full, SOON, "their share is full", 0)
        body = ndjson([{"responder_id": self.own, "note": "x" * 1000} for _ in range(4000)])
        answer = self.gateway.request(
            "POST", "/v1/batches", body, {**self.bearer("app"), "Content-Type": "application/x-ndjson"})
        self.assertEqual(answer.status, 200, answer)
        # Who says nothing is cut long before others would be, and makes room.
        began = time.monotonic()
        eventually(lambda: self.status(self.phone(250 << 10, 250 << 10)) == 200, SOON, "there is room again", 0.3)
        self.assertLess(time.monotonic() - began, 15)
        for one in silent:
            one.close()

    def test_what_a_stranger_compressed_goes_on_as_it_came(self):
        packed = gzip.compress(b" " * (20 << 20))
        phone = self.connect(
            "POST /v1/in/phones HTTP/1.1\nHost: 127.0.0.1\nAuthorization: Bearer nobody-knows\n"
            f"Content-Type: application/json\nContent-Encoding: gzip\nContent-Length: {len(packed)}\n", packed)
        self.assertEqual(self.status(phone), 200)
        asked, = self.fleet["a"].asked_for("/v1/in/phones") + self.fleet["b"].asked_for("/v1/in/phones")
        self.assertEqual((asked.body, asked.fields["content-encoding"]), (packed, "gzip"))
        # Of whom it knows it is expanded here, and bounded.
        known = self.gateway.request(
            "POST", "/v1/batches", packed, {**self.bearer("app"), "Content-Encoding": "gzip"})
        self.problem(known, 413)
        known = self.gateway.request("POST", "/v1/batches", gzip.compress(ndjson(self.both())), {
            **self.bearer("app"), "Content-Encoding": "gzip", "Content-Type": "application/x-ndjson"})
        self.assertEqual(known.status, 200)
        for name in "ab":
            self.assertNotIn("content-encoding", self.fleet[name].asked_for("/v1/batches")[0].fields)

    def test_nobody_learns_where_cells_are(self):
        self.fleet.answers["a"] = self.fleet.answers["b"] = hangs
        self.fleet["b"].close()
        batch = self.gateway.post("/v1/batches", self.both(), self.bearer("app"))
        self.assertEqual([one["cell"] for one in self.problem(batch, 503)["unavailable"]], ["a", "b"])
        for answer in (
                batch, self.gateway.get(f"/v1/responders/{self.other}", self.bearer("ops")),
                self.gateway.post(f"/v1/in/phones/{self.other}", {}, {"Authorization": "Bearer nobody-knows"})):
            self.problem(answer, 503)
            self.tells_nothing(answer)
        self.fleet["f"].close()
        other = Gateway(self, self.fleet.url, name="other").start()
        eventually(lambda: "it does not answer" in other.get("/-/ready").text, SOON, "it says why")
        self.tells_nothing(other.get("/-/ready"))
        self.tells_nothing(other.get("/v1/responders"))
        # Whoever runs it learns it from the log.
        self.assertIn(self.fleet["b"].url, self.gateway.log())
        self.assertIn(self.fleet.url, other.log())

    def test_who_asks_of_one_cell_is_answered_by_it(self):
        ops = self.bearer("ops")
        self.fleet.answers["a"] = lambda request: Said({"of": "a"})
        for method, target in (("POST", "/-/reload"), ("GET", "/metrics")):
            answer = self.gateway.request(method, f"{target}?cell=a", None, ops)
            self.assertEqual((answer.status, answer.json()), (200, {"of": "a"}), target)
            self.problem(self.gateway.request(method, f"{target}?cell=c", None, ops), 404)
        self.assertEqual(len(self.fleet["a"].asked_for("/-/reload", "POST")), 1)
        self.assertNotIn("read again", self.gateway.log())
        for target in ("/-/ready", "/-/healthy", "/openapi.json", "/v1/session"):
            self.assertIn("cell=", self.problem(self.gateway.get(f"{target}?cell=a", ops), 400)["detail"])


class StreamTests(StrangerTestCase):
    def stream(self, target):
        return self.connect(
            f"GET {target} HTTP/1.1\nHost: 127.0.0.1:{self.gateway.port}\nAccept: text/event-stream\n")

    def test_a_cell_that_hangs_takes_no_streams_of_others(self):
        said = Said(body=b"retry: 2000\n\n", kind="text/event-stream")
        self.fleet.answers["b"] = self.fleet.answers["f"] = lambda request: said
        self.fleet.answers["a"] = hangs
        # Clients who are gone at once, and some who stay.
        for _ in range(300):
            self.stream("/v1/events?cell=a").close()
        began = time.monotonic()
        staying = [self.stream("/v1/events?cell=a") for _ in range(70)]
        for target in ("/v1/events?cell=b", "/v1/events?watch=true"):
            self.assertEqual(self.status(self.stream(target)), 200, target)
        for one in staying:
            self.assertEqual(self.status(one), 503)
        # None of them is held for longer than a stream may take to begin.
        self.assertLess(time.monotonic() - began, 8)
        # One for which there was a place is not answered "already open".
        def told():
            last = self.connect(
                f"GET /v1/events?cell=a HTTP/1.1\nHost: 127.0.0.1:{self.gateway.port}\n"
                "Accept: text/event-stream\nConnection: close\n")
            return last.makefile("rb").read()
        eventually(lambda: b"no answer in time" in told(), SOON, "those who are gone hold no place any more")

    def test_it_ends_soon_with_streams_that_have_not_begun(self):
        self.fleet.answers["a"] = hangs
        waiting = [self.stream("/v1/events?cell=a") for _ in range(20)]
        time.sleep(0.3)
        began = time.monotonic()
        self.assertEqual(self.gateway.stop(), 0)
        self.assertLess(time.monotonic() - began, 3.5)
        for one in waiting:
            one.close()


class WaitTests(StrangerTestCase):
    FOLLOWERS = 450

    def test_many_wait_for_events_by_few_questions(self):
        answers = []

        def follow():
            client = Client(self.gateway.port, timeout=20)
            try:
                answers.append(client.request("GET", "/v1/events?after=now&wait=3"))
            finally:
                client.close()
        threads = [threading.Thread(target=follow) for _ in range(self.FOLLOWERS)]
        for one in threads:
            one.start()
        time.sleep(1)
        began = time.monotonic()
        self.assertEqual(self.gateway.post("/v1/batches", self.both()).status, 200)
        self.assertLess(time.monotonic() - began, 3)
        for one in threads:
            one.join(30)
        self.assertEqual([one.status for one in answers], [200] * self.FOLLOWERS)
        for answer in answers:
            self.assertEqual((answer.json()["events"], answer.json()["unavailable"]), ([], []))
        for name in "fab":
            # Each is asked for once at once; from then on all are asked for together.
            self.assertLess(len(self.fleet[name].asked_for("/v1/events")), self.FOLLOWERS + 400)
            self.assertLessEqual(self.fleet[name].most, 70)

    def test_who_waits_is_told_of_what_happens(self):
        happened = threading.Event()
        event = {"kind": "person", "responder_id": self.own, "at": "2026-01-01T00:00:00Z", "cursor": "2"}

        def events(request):
            found = [event] if happened.is_set() else []
            return Said({"events": found, "next": "2" if found else "1", "as_of": "2026-01-01T00:00:00Z"})
        self.fleet.answers["a"] = events
        threading.Timer(1.5, happened.set).start()
        began = time.monotonic()
        told = self.gateway.get("/v1/events?wait=8").json()
        self.assertEqual([one["responder_id"] for one in told["events"]], [self.own])
        self.assertLess(time.monotonic() - began, 4)
        # Nobody waits when it ends.
        happened.clear()
        waiting = self.connect(
            f"GET /v1/events?wait=8 HTTP/1.1\nHost: 127.0.0.1:{self.gateway.port}\n")
        time.sleep(0.3)
        began = time.monotonic()
        self.assertEqual(self.gateway.stop(), 0)
        self.assertLess(time.monotonic() - began, 3.5)
        waiting.close()

    def counts(self, name):
        """Has a cell tell with each answer the place behind the one that it was asked for."""
        def events(request):
            told = f"{int(self.after(request)) + 1}"
            return Said({"events": [], "next": told, "as_of": "2026-01-01T00:00:00Z", "watching": True})
        self.fleet.answers[name] = events

    @staticmethod
    def after(request):
        """The place behind which events were asked for."""
        return urllib.parse.parse_qs(urllib.parse.urlsplit(request.target).query)["after"][0]

    def test_who_waits_goes_on_at_each_cell_where_that_one_was(self):
        for name in "fab":
            self.counts(name)
        # One of them is left out, in each place.
        for number, left in enumerate("fab"):
            starts = {name: 1000 * number + 10_000 * place for place, name in enumerate("fab", 1)}
            cursor = "~".join("!" if name == left else str(starts[name]) for name in "fab")
            before = {name: len(self.fleet[name].asked_for("/v1/events")) for name in "fab"}
            answer = self.gateway.get(f"/v1/events?after={cursor}&wait=3")
            self.assertEqual((answer.status, answer.json()["events"]), (200, []), answer)
            asked = {name: [int(self.after(one)) for one in self.fleet[name].asked_for("/v1/events")[before[name]:]]
                     for name in "fab"}
            self.assertEqual(asked.pop(left), [])
            for name, places in asked.items():
                self.assertGreaterEqual(len(places), 2, asked)
                self.assertEqual(places, [starts[name] + step for step in range(len(places))], asked)
            told = ["!" if name == left else str(asked[name][-1] + 1) for name in "fab"]
            self.assertEqual(answer.json()["next"].split("~"), told)


class BodyLimitTests(StrangerTestCase):
    MORE = "limits: {items: 3, depth: 4}\n"

    def test_a_body_beyond_its_own_limits_is_refused_as_one_watch_would(self):
        ids = people("a", 2) + people("b", 2)
        items = [{"responder_id": one} for one in ids]
        deep = [items[0], {"responder_id": ids[2], "x": [[[[1]]]]}]
        lines = {"Content-Type": "application/x-ndjson"}
        for method, path in (("POST", "/v1/batches"), ("POST", "/v1/transitions"), ("PUT", "/v1/responders")):
            for body, headers in ((items, {}), (items[:2] * 2, {}), (ndjson(items), lines)):
                answer = self.problem(self.gateway.request(method, path, body, headers), 413)
                self.assertIn("more than 3 items", answer["detail"])
            self.problem(self.gateway.request(method, path, deep), 400)
            self.problem(self.gateway.request(method, path, b"[{"), 400)
        for name in "ab":
            self.assertEqual([one for one in self.fleet[name].asked if one.method != "GET"], [])
        # A line is rejected alone, by the cell of its person.
        self.assertEqual(self.gateway.request("POST", "/v1/batches", ndjson(deep), lines).status, 200)
        self.assertIn(ids[2].encode(), self.fleet["b"].asked_for("/v1/batches")[0].body)


class ListTests(StrangerTestCase):
    """A list stands though one cell says no, and nobody is asked who need not be."""

    AT = "2026-01-01T00:00:00.000Z"
    LISTS = {"gaps": "gaps", "nudges": "nudges", "responders": "responders", "alerts": "alerts",
             "silences": "silences", "alerts/history": "incidents", "events": "events", "inputs": "inputs"}

    def setUp(self):
        super().setUp()
        for name in "fab":
            self.fleet.answers[name] = self.lists

    def lists(self, request):
        """A list without anything in it."""
        tree = {"next": None, "total": 0, "cursors": [], "as_of": self.AT, "watching": True}
        return Said({**tree, **{member: [] for member in self.LISTS.values()}})

    @staticmethod
    def refuses(status):
        """An answer that is a problem."""
        tree = {"type": "about:blank", "title": "No", "status": status, "detail": "not now"}
        return lambda request: Said(tree, status, fields={"Retry-After": "1"}, kind="application/problem+json")

    def test_a_cell_that_lets_nobody_in_just_now_is_left_out_of_what_others_tell(self):
        for status in (429, 401, 403):
            self.fleet.answers.update(a=self.refuses(status), b=self.lists)
            for path, member in self.LISTS.items():
                answer = self.gateway.get(f"/v1/{path}")
                self.assertEqual(answer.status, 200, (status, path, answer))
                self.assertEqual((answer.json()[member], answer.json()["unavailable"]), ([], ["a"]), (status, path))
            # If all of them say so it is the answer.
            self.fleet.answers["b"] = self.refuses(status)
            self.problem(self.gateway.get("/v1/gaps"), status)
        # What is wrong with the question is wrong everywhere.
        self.fleet.answers.update(a=self.refuses(400), b=self.lists)
        self.problem(self.gateway.get("/v1/gaps"), 400)

    def test_a_list_of_one_person_is_asked_of_their_cell_alone(self):
        for parameter, paths in (
                ("responder_id", ("gaps", "nudges", "events", "events?wait=1")),
                ("responder", ("gaps", "nudges", "events", "events?wait=1")), ("instead_of", ("responders",))):
            for path in paths:
                path, _, more = path.partition("?")
                for cell, other, one in (("a", "b", self.own), ("b", "a", self.other)):
                    before = {name: len(self.fleet[name].asked_for(f"/v1/{path}")) for name in "fab"}
                    answer = self.gateway.get(f"/v1/{path}?{parameter}={one}&{more}".rstrip("&"))
                    self.assertEqual(answer.status, 200, (path, parameter, answer))
                    count = {name: len(self.fleet[name].asked_for(f"/v1/{path}")) - before[name] for name in "fab"}
                    self.assertGreaterEqual(count[cell], 1, (path, parameter))
                    self.assertEqual((count["f"], count[other]), (0, 0), (path, parameter))
                    self.assertIn(f"{parameter}={one}", self.fleet[cell].asked_for(f"/v1/{path}")[-1].target)


class MapTests(StrangerTestCase):
    def setUp(self):
        super().setUp()
        self.low = next(one for one in people("a", 100) if slot(one) < 1024)

    def misdirects(self, cell, version):
        """Has a cell say that everybody is another one's."""
        self.fleet.answers["ab"["ba".index(cell)]] = lambda request: elsewhere(cell, version)

    def test_who_is_handed_over_is_found_at_their_cell(self):
        self.misdirects("b", 2)
        self.fleet.slots = {"a": ["0-1"], "b": ["2-4095"]}
        self.fleet.version = 2
        self.fleet.answers["b"] = lambda request: Said({"of": "b"})
        for method, target, body in (
                ("DELETE", f"/v1/responders/{self.own}", None), ("GET", f"/v1/responders/{self.own}", None),
                ("POST", "/v1/nudges", {"responder_id": self.own, "by": "kim"})):
            answer = self.gateway.request(method, target, body)
            self.assertEqual((answer.status, answer.json()), (200, {"of": "b"}), target)
        # The map was asked for: nobody goes the long way any more.
        before = len(self.fleet["a"].asked)
        self.assertEqual(self.gateway.get(f"/v1/responders/{self.own}").json(), {"of": "b"})
        self.assertEqual(len(self.fleet["a"].asked), before)

    def test_who_is_on_the_way_is_no_matter_of_the_client_s(self):
        for version in (1, 2):
            self.misdirects("b", version)
            self.fleet.answers["b"] = lambda request, version=version: elsewhere("a", version)
            for method, target, body in (
                    ("DELETE", f"/v1/responders/{self.own}", None),
                    ("POST", "/v1/nudges", {"responder_id": self.own, "by": "kim"}),
                    ("GET", f"/v1/gaps?responder={self.own}", None),
                    ("POST", "/v1/batches", {"responder_id": self.own})):
                answer = self.gateway.request(method, target, body)
                self.problem(answer, 503)
                self.assertIn("retry-after", answer.headers, target)
        # Who has named the cell is told.
        self.problem(self.gateway.get(f"/v1/responders/{self.own}?cell=a"), 421)

    def test_an_older_map_takes_the_place_of_none(self):
        self.fleet.version, self.fleet.slots = 2, {"a": ["0-1023"], "c": ["1024-2047"], "b": ["2048-4095"]}
        gateway = self.start_gateway("later")
        self.assertEqual(gateway.get("/v1/gaps?cell=c").status, 200)
        # The fleet cell's store is that of a backup. A cell has heard of a newer map: it is asked again, and answers.
        self.fleet.version, self.fleet.slots = 1, {"a": ["0-2047"], "b": ["2048-4095"]}
        self.misdirects("b", 3)
        before = len(self.fleet["f"].asked_for("/v1/cells", "GET"))
        for _ in range(2):
            # What came of it is known when this one is answered.
            self.assertEqual(gateway.get(f"/v1/gaps?responder_id={self.low}").status, 200)
        self.assertGreater(len(self.fleet["f"].asked_for("/v1/cells", "GET")), before)
        self.assertEqual(gateway.scrape()("rollcall_cell_map_version"), 2)
        asked = len(self.fleet["c"].asked)
        self.assertEqual(gateway.get("/v1/gaps?cell=c").status, 200)
        self.assertEqual(len(self.fleet["c"].asked), asked + 1)


class SplitTests(StrangerTestCase):
    """A cell was split since this gateway heard of the map: the new one is asked, too, by whoever asks all."""

    AT = "2026-01-01T00:00:00.000Z"

    def setUp(self):
        super().setUp()
        self.left = next(one for one in (f"r-{number}" for number in range(100_000)) if 1024 <= slot(one) < 2048)
        self.kept = next(one for one in (f"r-{number}" for number in range(100_000)) if slot(one) < 1024)
        self.rows = {"a": [self.kept], "b": [self.other], "c": [self.left]}
        self.split()

    def split(self):
        self.fleet.version, self.fleet.slots = 2, {"a": ["0-1023"], "c": ["1024-2047"], "b": ["2048-4095"]}
        self.fleet.answers.update({name: lambda request, name=name: self.answer(name, request) for name in "abc"})

    def answer(self, name, request):
        tree = {**TAKEN, "as_of": self.AT}
        if request.path == "/v1/responders" and request.method == "GET":
            rows = self.rows[name]
            tree = {"responders": [{"responder_id": one} for one in rows], "next": None, "total": len(rows),
                    "cursors": [self.cursor(one) for one in rows], "as_of": self.AT}
        elif "check=true" in request.target:
            tree = {"active": 0, "retiring": 0}
        elif request.path == "/v1/gaps":
            tree = {"gaps": [{"responder_id": one, "gap": 1, "opened_at": self.AT} for one in self.rows[name]],
                    "next": None, "as_of": self.AT}
        elif request.path == "/v1/events":
            tree = {"events": [], "next": "1", "as_of": self.AT, "watching": True}
        elif request.path == "/v1/wakes":
            tree = {"woken": 1, "beyond": 0, "skipped": {}, "decisions": []}
        return Said(tree, fields={"Rollcall-Cell-Map": str(self.fleet.version)})

    @staticmethod
    def cursor(one):
        """The place behind somebody in a list by ids."""
        return base64.urlsafe_b64encode(bytes(11) + one.encode()).decode().rstrip("=")

    def test_lists_are_of_all_at_once(self):
        for path, member in (("/v1/gaps", "gaps"), ("/v1/responders", "responders")):
            answer = self.gateway.get(path).json()
            self.assertEqual(answer["unavailable"], [])
            self.assertEqual({one["responder_id"] for one in answer[member]}, {self.kept, self.left, self.other})

    def test_a_cell_that_is_new_can_be_named(self):
        self.assertEqual(self.gateway.get("/v1/gaps?cell=c").json()["gaps"][0]["responder_id"], self.left)
        self.problem(self.gateway.get("/v1/gaps?cell=d"), 404)

    def test_events_are_of_all_at_once_and_an_older_place_in_them_is_gone(self):
        self.fleet.answers.update({name: FakeFleet.takes for name in "abc"})
        self.fleet.version, self.fleet.slots = 1, {"a": ["0-2047"], "b": ["2048-4095"]}
        old = self.gateway.get("/v1/events").json()["next"]
        self.assertEqual(self.gateway.get(f"/v1/events?after={old}").status, 200)
        self.split()
        self.assertEqual(self.gateway.get("/v1/events").json()["next"], "1~1~1~1")
        answer = self.gateway.get(f"/v1/events?after={old}")
        self.problem(answer, 410)
        self.assertIn("behind -~-~-~-", answer.json()["detail"])
        self.assertEqual(self.gateway.get("/v1/events?after=-~-~-~-").status, 200)
        self.problem(self.gateway.get("/v1/events?after=1"), 400)

    def test_a_place_that_another_gateway_told_by_a_newer_map_is_known(self):
        self.assertEqual(self.gateway.get("/v1/events?after=1~1~1~1").status, 200)
        self.problem(self.gateway.get(f"/v1/events?responder={self.kept}&after=1~1~1"), 400)

    def elsewhere(self, who):
        """Has the old cell say that this one has left."""
        def answer(request):
            if who in request.target or who.encode() in request.body:
                return elsewhere("c", 2)
            return self.answer("a", request)
        self.fleet.answers["a"] = answer

    def test_whoever_has_left_is_found(self):
        self.elsewhere(self.left)
        for path in ("gaps", "events"):
            answer = self.gateway.get(f"/v1/{path}?responder={self.left}")
            self.assertEqual(answer.status, 200)
            self.assertEqual(answer.json().get("unavailable", []), [])
            self.assertEqual(len(self.fleet["c"].asked_for(f"/v1/{path}")), 1)

    def test_the_stream_of_whoever_has_left_is_their_cell_s(self):
        self.elsewhere(self.left)
        answer = self.gateway.get(f"/v1/events?responder={self.left}", headers={"Accept": "text/event-stream"})
        # A cell that streams none says what it says.
        self.assertEqual((answer.status, answer.json()["next"]), (200, "1"))

    def test_the_phone_of_whoever_has_left_reaches_them(self):
        self.elsewhere(self.left)
        answer = self.gateway.post(f"/v1/in/phones/{self.left}", {"t": 1})
        self.assertEqual(answer.status, 200)
        self.assertTrue(self.fleet["c"].asked_for(f"/v1/in/phones/{self.left}"))

    def test_a_roster_is_sent_again_if_a_cell_was_split_before_it_ended(self):
        def answer(request):
            said = self.answer("a", request)
            if "check=true" in request.target or "more=true" in request.target:
                del said.fields["Rollcall-Cell-Map"]
            return said
        self.fleet.answers.update(a=answer, b=answer)
        self.problem(self.gateway.request("PUT", "/v1/responders", [{"responder_id": self.kept}]), 503)

    def test_who_is_woken_is_woken_once(self):
        answer = self.gateway.post("/v1/wakes", {"circle": "family", "viewer": self.own}).json()
        self.assertEqual((answer["woken"], answer["unavailable"]), (3, []))
        self.assertEqual([len(self.fleet[name].asked_for("/v1/wakes")) for name in "abc"], [1, 1, 1])

    def test_a_heartbeat_reaches_the_new_one(self):
        self.assertEqual(self.gateway.post("/v1/heartbeat", {"every": 10}).status, 200)
        self.assertEqual([len(self.fleet[name].asked_for("/v1/heartbeat")) for name in "fabc"], [1, 1, 1, 1])

    def test_a_roster_ends_nowhere_before_it_can_end_everywhere(self):
        entries = [{"responder_id": self.kept}, {"responder_id": self.other}]
        self.problem(self.gateway.request("PUT", "/v1/responders", entries), 503)
        asked = [one.target for name in "abc" for one in self.fleet[name].asked_for("/v1/responders", "PUT")]
        self.assertTrue(asked and all("more=true" in one or "check=true" in one for one in asked), asked)
        eventually(lambda: self.gateway.request("PUT", "/v1/responders", entries).status == 200, SOON,
                   "it is taken by the new map")
        self.assertTrue(any("check" not in one.target for one in self.fleet["c"].asked_for("/v1/responders", "PUT")))

    def test_what_is_left_out_is_said_where_nobody_tells_the_map(self):
        for instead in (Said({"title": "Unavailable", "status": 503}, 503), Hang()):
            self.fleet.instead = instead
            answer = self.gateway.get("/v1/gaps").json()
            self.assertEqual(answer["unavailable"], ["of a newer map"])
            woken = self.gateway.post("/v1/wakes", {"circle": "family", "viewer": self.own}).json()
            self.assertEqual((woken["woken"], woken["unavailable"]), (2, ["of a newer map"]))
            beaten = self.gateway.post("/v1/heartbeat", {"every": 10})
            self.assertEqual((beaten.status, beaten.json()["unavailable"]), (200, ["cell of a newer map"]))
            self.problem(self.gateway.get("/v1/gaps?cell=d"), 404)
            self.problem(self.gateway.request("PUT", "/v1/responders", [{"responder_id": self.kept}]), 503)

    def test_a_fleet_cell_that_hangs_is_waited_for_once(self):
        self.fleet.instead = Hang()
        began = time.monotonic()
        for _ in range(10):
            self.assertEqual(self.gateway.get("/v1/gaps").json()["unavailable"], ["of a newer map"])
        self.assertLess(time.monotonic() - began, 10)

    def test_who_has_left_is_listed_once(self):
        # A member of the old cell that is behind, and does not know it.
        self.rows["a"] = [self.kept, self.left]
        for path, member in (("/v1/gaps", "gaps"), ("/v1/responders", "responders")):
            answer = self.gateway.get(path).json()
            self.assertEqual(sorted(one["responder_id"] for one in answer[member]),
                             sorted([self.kept, self.left, self.other]))
        self.assertEqual(answer["total"], 3)
        # Where the new one does not answer, what the old one knows is more than nothing.
        self.fleet.answers["c"] = lambda request: Said({"status": 503}, 503)
        answer = self.gateway.get("/v1/gaps").json()
        self.assertEqual({one["responder_id"] for one in answer["gaps"]}, {self.kept, self.left, self.other})
        self.assertEqual(answer["unavailable"], ["c"])


class SmallTests(StrangerTestCase):
    def test_an_ask_is_a_small_document_here_too(self):
        large = {"responder_id": self.own, "note": "x" * (64 << 10)}
        self.problem(self.gateway.post("/v1/nudges", large), 413)
        self.assertFalse(self.fleet["a"].asked_for("/v1/nudges"))

    def test_a_reload_says_what_waits_for_a_restart(self):
        with open(self.gateway.config_path, encoding="utf-8") as file:
            config = file.read()
        self.gateway.configure(config.replace(self.fleet.url, "http://127.0.0.1:9"))
        self.assertEqual(self.gateway.post("/-/reload", None).status, 200)
        eventually(lambda: "needs_restart" in self.gateway.log(), SOON, "the log says so")
        self.assertIn("cluster.fleet_cell", self.gateway.log())


class FieldTests(StrangerTestCase):
    def ask(self, field):
        body = json.dumps({"responder_id": self.own}).encode()
        kind = "" if field.startswith("Content-Type") else "Content-Type: application/json\n"
        return self.status(self.connect(
            f"POST /v1/batches HTTP/1.1\nHost: 127.0.0.1\n{kind}{field}\nContent-Length: {len(body)}\n", body))

    def test_a_tab_is_passed_on_and_what_can_never_be_is_no_outage(self):
        for field in ("Content-Type: application/json;\tcharset=utf-8", "Accept: text/plain,\tapplication/json"):
            self.assertEqual(self.ask(field), 200, field)
            asked = self.fleet["a"].asked_for("/v1/batches")[-1]
            name, value = field.split(": ")
            self.assertEqual(asked.fields[name.lower()], value)
        self.assertEqual(self.ask("Accept: a\x01b"), 400)
        self.assertEqual(len(self.fleet["a"].asked_for("/v1/batches")), 2)
        self.assertEqual(self.gateway.scrape()(
            "rollcall_gateway_cell_requests_total", cell="a", outcome="unavailable"), 0)


class NoCellTests(StrangerTestCase):
    def test_what_went_round_is_refused_once(self):
        # A gateway in the place of cell a, of which the first one does not know.
        self.fleet.urls["a"] = f"http://127.0.0.1:{self.gateway.port}"
        self.fleet.version = 2
        round_about = self.start_gateway("round")
        # The first has a map by which it is its own cell, once it asks again: it is told so by b.
        self.fleet.answers["b"] = lambda request: elsewhere("a", 2)
        self.gateway.get(f"/v1/responders/{self.other}")
        for gateway in (self.gateway, round_about):
            eventually(
                lambda gateway=gateway: gateway.scrape()("rollcall_cell_map_version") == 2, SOON, "it has the map")
            before = self.gateway.scrape()(
                "rollcall_gateway_cell_requests_total", cell="a", outcome="unavailable")
            answer = self.problem(gateway.get(f"/v1/responders/{self.own}"), 503)
            self.assertIn("a gateway answers at its address", answer["detail"])
            batch = self.problem(gateway.post("/v1/batches", {"responder_id": self.own}), 503)
            self.assertIn("a gateway", batch["unavailable"][0]["reason"])
            after = self.gateway.scrape()(
                "rollcall_gateway_cell_requests_total", cell="a", outcome="unavailable")
            self.assertLessEqual(after - before, 2)
        self.assertIn("a gateway passes requests on to this one", self.gateway.log())

    def test_an_answer_that_is_none_is_no_verdict(self):
        for said in (
                Said({}), Said([]), Said(body=b"<html>", kind="text/html"), Said({"accepted": "all"}),
                Said({}, 302, fields={"Location": "http://elsewhere.example/"})):
            self.fleet.answers["a"] = lambda request, said=said: said
            answer = self.problem(self.gateway.post("/v1/batches", {"responder_id": self.own}), 503)
            self.assertEqual(
                [(one["cell"], one["items"]) for one in answer["unavailable"]], [("a", [0])], said.body)
        # Nobody is sent elsewhere.
        answer = self.gateway.get(f"/v1/responders/{self.own}")
        self.problem(answer, 503)
        self.assertNotIn("location", answer.headers)

    def test_a_browser_is_told_what_is_missing(self):
        self.fleet["f"].close()
        html = {"Accept": "text/html,application/xhtml+xml"}
        for target in ("/", "/alerts", "/people"):
            page = self.gateway.get(target, html)
            self.assertEqual(page.status, 503, target)
            self.assertTrue(page.headers["content-type"].startswith("text/html"))
            for words in ('lang="en"', 'name="viewport"', 'http-equiv="refresh" content="5"', "<title>",
                          "The fleet cell does not answer"):
                self.assertIn(words, page.text)
            self.tells_nothing(page)
            self.assertIn("content-security-policy", page.headers)
        self.problem(self.gateway.get("/"), 503)
        self.problem(self.gateway.get("/v1/status", html), 503)

    def test_a_cell_that_hangs_delays_not_everybody(self):
        self.fleet.answers["a"] = hangs
        spans = []
        for _ in range(8):
            began = time.monotonic()
            answer = self.gateway.post("/v1/batches", self.both())
            self.assertEqual(self.problem(answer, 503)["accepted"], 1)
            spans.append(time.monotonic() - began)
        # Three find it out.
        self.assertGreaterEqual(sum(span < 0.5 for span in spans), 4, spans)
        self.fleet.answers["a"] = lambda request: Said(TAKEN)
        eventually(
            lambda: self.gateway.post("/v1/batches", self.both()).status == 200, SOON, "it answers again")
        self.assertEqual(self.gateway.post("/v1/batches", self.both()).status, 200)


if __name__ == "__main__":
    unittest.main()

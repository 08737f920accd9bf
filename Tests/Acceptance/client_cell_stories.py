"""What a backend lives through behind a gateway of many cells, told once for each language.

The gateway is one that a test writes itself, in front of a Rollcall: it divides bodies as the real one does, and says
of cells that are away what they did not take.

Source: K5.
"""

import json
import time

from contrary_proxy import Asked, answers
from rollcall_process import eventually


class FeignedGateway:
    """Answers for a Rollcall as for cells `a`, `b` and `c`, of which some are `away`."""

    def __init__(self, cell_of):
        self.cell_of = cell_of
        self.away = set()
        # What one of its bodies gets instead, if it is of one cell alone.
        self.refusals = {}
        # Of what was taken (route, line), in order.
        self.taken = []

    def judge(self, asked, _):
        lines = asked.body.split(b"\n")
        cells = [self.cell_of(str(json.loads(line)["responder_id"])) for line in lines]
        if len(set(cells)) == 1 and cells[0] in self.refusals:
            return self.refusals[cells[0]]
        return lambda handler, asked: self.act(handler, asked, lines, cells)

    def act(self, handler, asked, lines, cells):
        route = asked.path.split("?")[0]
        answer = {"accepted": 0, "duplicates": 0, "rejected": [], "problems": []}
        rest = [line for line, cell in zip(lines, cells) if cell not in self.away]
        if rest:
            answer = json.loads(handler.ask(Asked(asked.path, asked.headers, b"\n".join(rest)))[2])
            self.taken += [(route, json.loads(line)) for line in rest]
        missing = [
            {"cell": cell, "reason": "it cannot be connected to",
             "items": [place for place, one in enumerate(cells) if one == cell]}
            for cell in sorted(self.away & set(cells))]
        if not missing:
            handler.reply(200, json.dumps(answer).encode(), {})
            return 200
        body = json.dumps({"status": 503, **answer, "unavailable": missing}).encode()
        handler.reply(503, body, {"Retry-After": 1})
        return 503


class CellStories:
    """The stories, beside those of `ClientStories`."""

    def fleet(self, cell_of=lambda person: "ab"[int(person[1:]) % 2], away="b", **options):
        """A client behind a gateway whose cell `b` is away, and has who has an odd number."""
        server = self.steady()
        gateway = FeignedGateway(cell_of)
        gateway.away = set(away)
        proxy = self.proxy(server, gateway.judge)
        client = self.make(proxy.url, **{"body_items": 10, "pause_max": 1, **options})
        return server, gateway, proxy, client

    def in_order(self, gateway):
        """Nobody's news overtook what came before it, and nothing was taken twice."""
        last = {}
        for _, line in gateway.taken:
            for update in line.get("updates", []):
                person, sequence = line["responder_id"], update["sequence"]
                self.assertGreater(sequence, last.get(person, -1), person)
                last[person] = sequence

    def test_a_cell_that_is_away_delays_its_own_people_alone(self):
        server, gateway, proxy, client = self.fleet()
        slowest = 0
        for number in range(0, 400, 20):
            began = time.monotonic()
            self.queued(client, range(number, number + 20))
            eventually(lambda: self.ledger(server) == (number + 20) / 2, 10, "the living are heard")
            slowest = max(slowest, time.monotonic() - began)
        self.assertLess(slowest, 5)
        eventually(lambda: client.counts()["waiting"] == 200, 5, "the others wait")
        # Who waits is asked for now and then, not at once and always.
        time.sleep(3)
        asked = len(proxy.writes())
        self.assertLess(asked, 100)
        self.assertLess(sum(one.status == 503 for one in proxy.writes()), 30)
        gateway.away = set()
        self.assertEqual(client.close(20), 0)
        self.assertEqual(self.ledger(server), 400)
        self.assertEqual(client.counts()["accepted"], 400)
        self.settled(client, 400)
        self.in_order(gateway)

    def test_kinds_of_who_waits_keep_their_order(self):
        _, gateway, _, client = self.fleet(body_items=3, pause_max=0.5)
        client.batch({"responder_id": "p1"})
        eventually(lambda: client.counts()["failures"], 10, "it waits")
        for duty in ("ON_DUTY", "OFF_DUTY", "ON_DUTY"):
            client.facts({"responder_id": "p1", "duty_state": duty})
            client.batch({"responder_id": "p2"})
            client.batch({"responder_id": "p1"})
        eventually(lambda: len(gateway.taken) == 3, 10, "the living are heard")
        gateway.away = set()
        self.assertEqual(client.close(20), 0)
        self.settled(client, 10)
        self.assertEqual(
            [route for route, line in gateway.taken if line["responder_id"] == "p1"],
            ["/v1/batches"] + ["/v1/responders", "/v1/batches"] * 3)

    def test_an_id_that_is_a_number_is_its_digits(self):
        _, gateway, _, client = self.fleet(lambda person: "b" if person == "41" else "a")
        client.batch({"responder_id": 41, "updates": [{"sequence": 1}]})
        eventually(lambda: client.counts()["failures"], 10, "it waits")
        gateway.away = set()
        client.batch({"responder_id": "41", "updates": [{"sequence": 2}]})
        self.assertEqual(client.close(20), 0)
        self.assertEqual([line["updates"][0]["sequence"] for _, line in gateway.taken], [1, 2])

    def test_a_cell_that_is_back_does_not_wait_for_another(self):
        server, gateway, _, client = self.fleet(
            lambda person: "abc"[int(person[1:]) % 3], away="bc", body_items=5)
        self.queued(client, range(300))
        eventually(lambda: self.ledger(server) == 105, 20, "a's are heard")
        gateway.away = {"c"}
        eventually(lambda: self.ledger(server) == 210, 20, "b's are heard")
        eventually(lambda: client.counts()["waiting"] == 90, 5, "the others wait")
        gateway.away = set()
        self.assertEqual(client.close(20), 0)
        self.assertEqual(self.ledger(server), 300)
        self.settled(client, 300)
        self.in_order(gateway)

    def test_what_is_put_aside_is_bounded_like_all(self):
        server, gateway, _, client = self.fleet(queue_items=100)
        for number in range(0, 600, 20):
            self.queued(client, range(number, number + 20))
            self.assertLessEqual(client.counts()["waiting"], 100)
            eventually(lambda: self.ledger(server) == (number + 20) / 2, 10, "the living are heard")
        counts = client.counts()
        self.assertGreaterEqual(counts["waiting"], 80)
        dropped = [one for _, items in client.dropped for one in items]
        self.assertEqual({reason for reason, _ in client.dropped}, {"full"})
        # The oldest of each went, and nobody's of a living cell.
        self.assertEqual({int(one["responder_id"][1:]) % 2 for one in dropped}, {1})
        self.assertLess(max(one["updates"][0]["sequence"] for one in dropped), 22)
        gateway.away = set()
        self.assertEqual(client.close(20), 0)
        self.assertEqual(self.ledger(server), 600 - len(dropped))
        self.settled(client, 600, len(dropped))
        self.in_order(gateway)

    def test_a_cell_that_answers_and_takes_nothing_holds_up_nobody_else(self):
        server, gateway, _, client = self.fleet()
        self.queued(client, range(20))
        eventually(lambda: self.ledger(server) == 10, 10, "the living are heard")
        # A body of its people alone gets its own answer, which names no cell.
        gateway.refusals = {"b": answers(503, b'{"detail":"no room"}', Retry_After=3)}
        for number in range(20, 200, 20):
            self.queued(client, range(number, number + 20))
            eventually(lambda: self.ledger(server) == (number + 20) / 2, 2, "the living are heard")
        gateway.away, gateway.refusals = set(), {}
        self.assertEqual(client.close(20), 0)
        self.assertEqual(self.ledger(server), 200)
        self.settled(client, 200)
        self.in_order(gateway)

    def test_what_a_cell_will_never_take_is_dropped_aloud(self):
        server, gateway, _, client = self.fleet()
        self.queued(client, range(10))
        eventually(lambda: self.ledger(server) == 5, 10, "the living are heard")
        gateway.refusals = {"b": answers(403, b'{"detail":"not you"}')}
        eventually(lambda: not client.counts()["waiting"], 10, "it is dropped")
        self.assertEqual([(reason, len(items)) for reason, items in client.dropped], [("refused", 5)])
        gateway.away, gateway.refusals = set(), {}
        self.queued(client, range(10, 20))
        self.assertEqual(client.close(20), 0)
        self.settled(client, 20, 5)

    def test_a_cell_that_is_split_while_it_is_away(self):
        server, gateway, _, client = self.fleet(body_items=4)
        self.queued(client, range(200))
        eventually(lambda: self.ledger(server) == 100, 20, "the living are heard")
        # Half of its people are another's now, who is away too.
        gateway.cell_of = lambda person: "abac"[int(person[1:]) % 4]
        gateway.away = {"c"}
        eventually(lambda: self.ledger(server) == 150, 20, "the other half is heard")
        eventually(lambda: client.counts()["waiting"] == 50, 5, "the others wait")
        gateway.away = set()
        self.assertEqual(client.close(20), 0)
        self.assertEqual(self.ledger(server), 200)
        self.settled(client, 200)
        self.in_order(gateway)

    def test_an_end_tells_of_who_waits_for_their_cell(self):
        server, _, _, client = self.fleet()
        self.queued(client, range(40))
        eventually(lambda: self.ledger(server) == 20, 10, "the living are heard")
        began = time.monotonic()
        self.assertEqual(client.close(1), 20)
        self.assertLess(time.monotonic() - began, 2.5)
        self.assertEqual([(reason, len(items)) for reason, items in client.dropped], [("closed", 20)])
        self.settled(client, 40, 20)

    def test_more_rejected_items_than_are_named(self):
        server = self.steady()
        client = self.make(f"http://127.0.0.1:{server.port}", linger=0.5)
        for number in range(150):
            client.batch({"responder_id": ""})
            client.batch(self.item(number))
        self.assertEqual(client.close(20), 0)
        self.assertEqual(self.ledger(server), 150)
        self.assertEqual(sum(len(items) for _, items in client.dropped), 150)
        self.settled(client, 300, 150)

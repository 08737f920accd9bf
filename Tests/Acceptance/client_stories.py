"""What a backend lives through with a client of Rollcall's, told once for each language.

A client in these stories has `batch`, `transition`, `facts` (true if queued), `counts`, `close(within)`
and the lists `dropped` of (reason, items) and `problems` of (pointer, detail).
"""

import json
import threading
import time

from cluster_process import free_ports
from contrary_proxy import ContraryProxy, answers, holds, loses, passes
from rollcall_process import eventually, now_ms

SOURCE = "backend-1"


class ClientStories:
    """The stories. A test case that tells them has `make(url, **options)`."""

    def make(self, url, **options):
        raise NotImplementedError

    # MARK: what they have in common

    def steady(self, config=None):
        """A Rollcall that keeps its port over restarts."""
        return self.rollcall(config, address=f"127.0.0.1:{free_ports(1)[0]}").start()

    def proxy(self, server, judge=lambda asked, number: passes):
        return ContraryProxy(self, lambda: server.port, judge)

    @staticmethod
    def item(number, people=20):
        """The batch of a number: one update that nobody else has."""
        return {"responder_id": f"p{number % people}", "region": "north",
                "updates": [{"sequence": number // people, "captured_at": now_ms()}]}

    def ledger(self, server):
        """The updates that Rollcall counted: all of them, whoever sent them how often."""
        return server.scrape()("rollcall_updates_total", outcome="accepted")

    def settled(self, client, given, dropped=0):
        counts = client.counts()
        self.assertEqual(counts["given"], given, counts)
        self.assertEqual(counts["waiting"], 0, counts)
        self.assertEqual(sum(counts["dropped"].values()), dropped, counts)
        self.assertEqual(
            counts["accepted"] + counts["duplicates"] + dropped, given, counts)
        self.assertEqual(sum(len(items) for _, items in client.dropped), dropped)

    def bodies(self, proxy):
        return [asked.body for asked in proxy.writes()]

    def queued(self, client, numbers):
        for number in numbers:
            self.assertTrue(client.batch(self.item(number)))

    # MARK: nothing is lost, and nothing counts twice

    def test_kills_in_the_middle(self):
        server = self.steady()
        client = self.make(f"http://127.0.0.1:{server.port}", body_items=50, pause_max=1)
        count, ended = 2400, threading.Event()

        def report():
            for number in range(count):
                client.batch(self.item(number))
                if number % 10 == 9:
                    time.sleep(0.01)
            ended.set()

        thread = threading.Thread(target=report)
        thread.start()
        for _ in range(3):
            time.sleep(0.4)
            server.kill()
            time.sleep(0.4)
            server.start()
        thread.join(30)
        self.assertTrue(ended.is_set())
        self.assertEqual(client.close(30), 0)
        self.assertEqual(self.ledger(server), count)
        self.settled(client, count)
        self.assertGreater(client.counts()["failures"], 0)

    def test_an_answer_that_is_lost_brings_the_same_body_again(self):
        server = self.steady()
        proxy = self.proxy(server, lambda asked, number: loses if number % 3 == 0 else passes)
        client = self.make(proxy.url, body_items=10, pause_max=0.5)
        self.queued(client, range(60))
        self.assertEqual(client.close(20), 0)
        self.assertEqual(self.ledger(server), 60)
        self.settled(client, 60)
        writes = proxy.writes()
        lost = [place for place, asked in enumerate(writes) if asked.status is None]
        self.assertGreater(len(lost), 2)
        for place in lost:
            again = writes[place + 1]
            self.assertEqual(again.body, writes[place].body)
            stamps = [int(asked.headers["Rollcall-Sent-At"]) for asked in (writes[place], again)]
            self.assertGreater(stamps[1], stamps[0])
            self.assertLess(abs(stamps[1] - now_ms()), 30_000)
        # When the phone was heard does not change by that.
        heard = [json.loads(line)["received_at"] for line in writes[0].body.splitlines()]
        self.assertTrue(all(0 <= int(writes[0].headers["Rollcall-Sent-At"]) - at < 5000
                            for at in heard))

    def test_slow_answers_hold_nobody_up(self):
        server = self.steady()
        proxy = self.proxy(server, lambda asked, number: holds(1.5) if number < 3 else passes)
        client = self.make(proxy.url, body_items=20, timeout=0.5, pause_max=0.5)
        slowest = 0
        for number in range(100):
            began = time.monotonic()
            client.batch(self.item(number))
            slowest = max(slowest, time.monotonic() - began)
            time.sleep(0.01)
        self.assertLess(slowest, 0.25)
        self.assertEqual(client.close(30), 0)
        self.assertEqual(self.ledger(server), 100)
        self.settled(client, 100)
        self.assertGreaterEqual(client.counts()["failures"], 3)

    def test_a_change_of_status_counts_once(self):
        server = self.steady()
        server.write("/v1/batches", {"responder_id": "p0", "duty_state": "ON_DUTY"})
        proxy = self.proxy(server, lambda asked, number: loses if number == 0 else passes)
        client = self.make(proxy.url, pause_max=0.5)
        client.transition({"responder_id": "p0", "from": "ONLINE", "to": "DEGRADED"})
        self.assertEqual(client.close(20), 0)
        writes = proxy.writes("/v1/transitions")
        self.assertEqual(len(writes), 2)
        self.assertEqual(writes[0].body, writes[1].body)
        one = json.loads(writes[0].body)
        self.assertLess(abs(one["at"] - now_ms()), 30_000)
        self.assertTrue(one["id"])
        counts = client.counts()
        self.assertEqual((counts["accepted"], counts["duplicates"]), (0, 1))

    def test_kinds_keep_their_order(self):
        server = self.steady()
        proxy = self.proxy(server)
        client = self.make(proxy.url, linger=5)
        for number in range(3):
            client.facts({"responder_id": "p1", "duty_state": ("ON_DUTY", "OFF_DUTY")[number % 2]})
            client.batch({"responder_id": "p1"})
            client.batch({"responder_id": "p1"})
        self.assertEqual(client.close(20), 0)
        self.assertEqual(
            [(asked.path.split("?")[0], asked.lines) for asked in proxy.writes()],
            [("/v1/responders", 1), ("/v1/batches", 2)] * 3)
        self.assertEqual(server.responder("p1")["duty_state"], "ON_DUTY")

    # MARK: what waits is bounded

    def test_a_full_queue_gives_up_the_oldest(self):
        server = self.steady()
        url = f"http://127.0.0.1:{server.port}"
        server.stop()
        client = self.make(url, queue_items=100, body_items=10, pause_max=0.3)
        self.queued(client, range(10))
        # The first body is being sent: it cannot give way.
        eventually(lambda: client.counts()["failures"], 10, "an attempt")
        self.queued(client, range(10, 250))
        self.assertEqual(client.counts()["waiting"], 100)
        dropped = [one for reason, items in client.dropped for one in items if reason == "full"]
        numbers = [one["updates"][0]["sequence"] * 20 + int(one["responder_id"][1:])
                   for one in dropped]
        self.assertEqual(numbers, list(range(10, 160)))
        server.start()
        self.assertEqual(client.close(20), 0)
        self.assertEqual(self.ledger(server), 100)
        self.settled(client, 250, 150)

    def test_bytes_are_bounded_too(self):
        server = self.steady()
        url = f"http://127.0.0.1:{server.port}"
        server.stop()
        client = self.make(url, queue_bytes=10_000, pause_max=0.3)
        self.assertFalse(client.batch({"responder_id": "long", "more": "x" * 10_000}))
        self.assertEqual([reason for reason, _ in client.dropped], ["too_large"])
        for number in range(200):
            client.batch(self.item(number))
            self.assertLessEqual(client.counts()["waiting_bytes"], 10_000)
        dropped = client.counts()["dropped"]["full"]
        self.assertGreater(dropped, 50)
        server.start()
        self.assertEqual(client.close(20), 0)
        self.assertEqual(self.ledger(server), 200 - dropped)
        self.settled(client, 201, dropped + 1)

    def test_an_end_with_a_deadline_says_what_is_left(self):
        client = self.make(f"http://127.0.0.1:{free_ports(1)[0]}")
        self.queued(client, range(7))
        began = time.monotonic()
        self.assertEqual(client.close(1), 7)
        self.assertLess(time.monotonic() - began, 2.5)
        self.assertEqual([(reason, len(items)) for reason, items in client.dropped], [("closed", 7)])
        self.settled(client, 7, 7)
        self.assertFalse(client.batch(self.item(8)))
        self.assertEqual(client.dropped[-1][0], "closed")

    # MARK: what Rollcall says

    def test_an_overload_is_waited_for_as_long_as_it_asks(self):
        server = self.steady()
        refusals = {0: answers(503, Retry_After=2), 1: answers(429), 2: answers(408),
                    3: answers(500), 4: answers(200, b"<html>log in</html>"),
                    5: answers(302, Location="http://127.0.0.1:9/"),
                    6: answers(200, b'{"accepted":5,"duplicates":0,"rejected":[]}')}
        proxy = self.proxy(server, lambda asked, number: refusals.get(number, passes))
        client = self.make(proxy.url, pause_max=0.2)
        self.queued(client, range(4))
        eventually(lambda: not client.counts()["waiting"], 20, "it is taken")
        writes = proxy.writes()
        self.assertEqual(len(writes), len(refusals) + 1)
        self.assertEqual({asked.body for asked in writes}, {writes[0].body})
        self.assertGreaterEqual(writes[1].at - writes[0].at, 2.0)
        self.assertLess(writes[1].at - writes[0].at, 8.0)
        client.close(5)
        self.assertEqual(self.ledger(server), 4)
        self.settled(client, 4)
        self.assertEqual(client.counts()["failures"], len(refusals))

    def test_what_will_not_get_better_is_dropped_aloud(self):
        server = self.steady()
        refusal = answers(400, b'{"detail":"not like this"}')
        proxy = self.proxy(server, lambda asked, number: refusal if number == 0 else passes)
        client = self.make(proxy.url, body_items=5)
        self.queued(client, range(10))
        self.assertEqual(client.close(20), 0)
        self.assertEqual([(reason, len(items)) for reason, items in client.dropped], [("refused", 5)])
        self.assertEqual(self.ledger(server), 5)
        self.settled(client, 10, 5)

    def test_a_body_that_is_too_large_is_halved(self):
        server = self.steady()
        proxy = self.proxy(
            server, lambda asked, number: answers(413) if asked.lines > 6 else passes)
        client = self.make(proxy.url, body_items=40, linger=5.0)
        # Nothing leaves before a body is full.
        self.queued(client, range(80))
        self.assertEqual(client.close(20), 0)
        self.assertEqual(self.ledger(server), 80)
        self.settled(client, 80)
        # It is learned once: 40, 20 and 10 were too many.
        self.assertEqual([asked.lines for asked in proxy.writes()], [40, 20, 10] + [5] * 16)

    def test_an_item_that_is_rejected_is_reported_alone(self):
        server = self.steady()
        client = self.make(f"http://127.0.0.1:{server.port}", linger=0.5)
        self.queued(client, range(3))
        client.batch({"responder_id": ""})
        self.queued(client, range(3, 6))
        self.assertEqual(client.close(20), 0)
        self.assertEqual(client.dropped[0][0], "rejected")
        self.assertEqual([one["responder_id"] for one in client.dropped[0][1]], [""])
        self.assertEqual(self.ledger(server), 6)
        self.settled(client, 7, 1)

    def test_problems_are_reported_once(self):
        server = self.steady()
        client = self.make(f"http://127.0.0.1:{server.port}", body_items=2)
        for number in range(6):
            item = self.item(number)
            client.batch({**item, "dutyState": "ON_DUTY", "updates": item["updates"] * number})
        self.assertEqual(client.close(20), 0)
        self.assertEqual(
            client.problems, [("/dutyState", "unknown field; duty_state is meant?")])

    # MARK: who it is

    def test_it_beats_and_says_who_it_is(self):
        token = "0123456789abcdef-ingest"
        server = self.steady(
            f"web: {{tokens: [{{name: pod, scopes: [ingest, read], token: {token}}}]}}\n")
        client = self.make(f"http://127.0.0.1:{server.port}/", token=token, heartbeat=1)
        reader = {"Authorization": f"Bearer {token}"}

        def sources():
            return {one["source"]: one for one in server.get("/v1/status", reader).json()["sources"]}

        one = eventually(lambda: sources().get(SOURCE), 10, "the source is declared")
        self.assertEqual(one["every_seconds"], 1)
        # It measures its clock by what it sends: three requests in a minute are enough.
        self.queued(client, range(3))
        eventually(lambda: not client.counts()["waiting"], 10, "sent")
        first = one["last_at"] if "last_at" in one else None
        time.sleep(2.5)
        eventually(lambda: not sources()[SOURCE].get("missing", False), 10, "it goes on beating")
        if first is not None:
            self.assertNotEqual(sources()[SOURCE]["last_at"], first)
        self.assertEqual(client.close(10), 0)
        wrong = self.make(
            f"http://127.0.0.1:{server.port}", token="0123456789abcdef-wrong", heartbeat=1)
        wrong.batch(self.item(0))
        wrong.close(10)
        self.assertEqual([reason for reason, _ in wrong.dropped], ["refused"])
        self.assertNotIn("-wrong", server.log())

"""Events: everything that is decided, in order, as pages, by waiting, and as a stream.

Source: Contract/Events, E1, E3.
"""

import json
import os
import random
import socket
import threading
import time

from rollcall_process import RollcallTestCase, eventually, now_ms

KILLS = int(os.environ.get("ROLLCALL_KILLS", "20"))
FAST = """
liveness:
  on_duty: {expected: 1s, degraded_after: 2s, offline_after: 3s}
"""
SEED = int(os.environ.get("ROLLCALL_SEED", "1"))


class Stream:
    """A reader of a stream: what came so far, by a thread of its own."""

    def __init__(self, port, target="/v1/events", headers=None, reads=True):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        if not reads:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        fields = {"Host": "127.0.0.1", "Accept": "text/event-stream", **(headers or {})}
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self.socket.sendall(f"GET {target} HTTP/1.1\r\n{lines}\r\n".encode())
        self.bytes = b""
        self.is_over = False
        if reads:
            threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while True:
            try:
                more = self.socket.recv(65536)
            except OSError:
                more = b""
            if not more:
                self.is_over = True
                return
            self.bytes += more

    @property
    def head(self):
        return self.bytes.partition(b"\r\n\r\n")[0].decode()

    @property
    def frames(self):
        """The events so far: their ids, names and data."""
        found = []
        for frame in self.bytes.partition(b"\r\n\r\n")[2].split(b"\n\n")[:-1]:
            fields = dict(
                line.split(": ", 1) for line in frame.decode().split("\n") if ": " in line)
            if "data" in fields:
                found.append((fields.get("id"), fields["event"], json.loads(fields["data"])))
        return found

    @property
    def events(self):
        return [data for _, name, data in self.frames if name != "begin"]

    def close(self):
        self.socket.close()


def number(event):
    return int(event["cursor"].partition("-")[2])


class EventTests(RollcallTestCase):
    def page(self, server, query=""):
        answer = server.get(f"/v1/events{query}")
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    def everything(self, server, limit=1000):
        """All events from the oldest on, page by page."""
        found, query = [], f"?limit={limit}"
        for _ in range(1000):
            page = self.page(server, query)
            found += page["events"]
            if not page["events"]:
                return found, page["next"]
            query = f"?limit={limit}&after={page['next']}"
        raise AssertionError("no end")

    def stream(self, server, *arguments, **options):
        stream = Stream(server.port, *arguments, **options)
        self.addCleanup(stream.close)
        return stream

    # MARK: what is an event

    def test_each_kind_is_told_once_with_what_it_needs(self):
        server = self.serve(FAST)
        server.write("/v1/batches", [
            {"responder_id": "a", "region": "north"}, {"responder_id": "b", "region": "south"}])
        silence = server.post("/v1/silences", {
            "matchers": ["alertname=HighOfflineRate"], "duration": "1h", "author": "kim",
            "comment": "mast is down"}, {"Idempotency-Key": "one"}).json()["silence"]["id"]
        # Again under its name: nothing is done, and nothing is told.
        server.post("/v1/silences", {
            "matchers": ["alertname=HighOfflineRate"], "duration": "1h", "author": "kim",
            "comment": "mast is down"}, {"Idempotency-Key": "one"})
        eventually(
            lambda: server.responder("a")["status"] == "OFFLINE", 10, "a is OFFLINE")
        server.write("/v1/batches", [{"responder_id": "a", "region": "north"}])
        self.assertEqual(server.request("DELETE", f"/v1/silences/{silence}").status, 200)
        answer = server.request(
            "PUT", "/v1/responders", [{"responder_id": "a"}, {"responder_id": "c"}])
        self.assertEqual(answer.status, 200, answer)
        server.configure(FAST + "gaps: {learn: true}\n")
        self.assertEqual(server.post("/-/reload", b"").status, 200)
        self.assertEqual(server.request("DELETE", "/v1/responders/b").status, 202)

        events, _ = self.everything(server)
        self.assertEqual([number(one) for one in events], sorted({number(one) for one in events}))
        by_kind = {}
        for event in events:
            by_kind.setdefault(event["kind"], []).append(event)
        said = [(one["from"], one["to"]) for one in by_kind["status"]
                if one["responder_id"] == "a"]
        self.assertEqual(said[:3], [
            ("NOT_EXPECTED", "UNKNOWN"), ("UNKNOWN", "ONLINE"), ("ONLINE", "DEGRADED")])
        self.assertIn(("DEGRADED", "OFFLINE"), said)
        self.assertTrue(all(one["region"] for one in by_kind["status"]))
        gap = [one for one in by_kind["gap"] if one["responder_id"] == "a"]
        self.assertEqual(gap[0]["state"], "open")
        self.assertTrue(any(one.get("gap", 0) > 0 for one in gap), "its number, once it counts")
        self.assertTrue(all(one["state"] == "verdict" for one in by_kind.get("verdict", [])))
        self.assertIn("NoOnlineResponders", {one["alertname"] for one in by_kind["alert"]})
        actions = [(one["action"], one.get("by"), one.get("comment")) for one in by_kind["action"]]
        self.assertEqual(actions, [
            ("silence", "kim", "mast is down"), ("silence_end", None, None),
            ("reload", None, "gaps.learn")])
        # Of somebody erased only that is left, with their id for some minutes.
        changes = [(one["change"], one.get("responder_id")) for one in by_kind["person"]]
        self.assertEqual(changes, [("enrolled", "a"), ("enrolled", "c"), ("erased", "b")])
        self.assertNotIn("b", {one.get("responder_id") for one in events
                               if one.get("change") != "erased"})

    def test_who_did_it_is_the_tokens_holder(self):
        for name in ("ops", "eye"):
            with open(os.path.join(self.directory, name), "w", encoding="utf-8") as file:
                file.write(f"{name}-token-0123456789\n")
        server = self.serve(f"""
web:
  tokens:
    - {{name: ops, scopes: [admin, read, ingest], token_file: {self.directory}/ops}}
    - {{name: eye, scopes: [read], token_file: {self.directory}/eye}}
receivers: [{{name: hook, webhook: {{url: 'http://127.0.0.1:9/'}}}}]
""")
        ops = {"Authorization": "Bearer ops-token-0123456789"}
        eye = {"Authorization": "Bearer eye-token-0123456789"}
        self.assertEqual(server.get("/v1/events").status, 401)
        server.post("/v1/drill", {"receiver": "hook"}, ops)
        page = server.get("/v1/events?kinds=action", eye).json()
        self.assertEqual(
            [(one["action"], one["by"], one["token"], one["subject"]) for one in page["events"]],
            [("drill", "ops", "ops", "hook")])
        # A stream ends when its token does.
        stream = self.stream(server, headers=eye)
        eventually(lambda: stream.frames, 5, "it has begun")
        with open(os.path.join(self.directory, "eye"), "w", encoding="utf-8") as file:
            file.write("eye-token-9876543210\n")
        self.assertEqual(server.post("/-/reload", b"", ops).status, 200)
        eventually(lambda: stream.is_over, 5, "the stream ends with its token")

    def test_filters_leave_out_and_the_cursor_goes_on(self):
        server = self.serve()
        server.write("/v1/batches", [
            {"responder_id": f"p-{place}", "region": "north" if place % 2 else "south"}
            for place in range(40)])
        everything, last = self.everything(server, limit=7)
        self.assertEqual(len(everything), 120)
        north = self.page(server, "?region=north&limit=1000")
        self.assertEqual(len(north["events"]), 60)
        self.assertEqual(north["next"], last)
        one = self.page(server, "?responder=p-3&kinds=status,person")
        self.assertEqual([event["kind"] for event in one["events"]], ["person", "status", "status"])
        self.assertEqual(self.page(server, "?kinds=blind")["next"], last)
        self.assertEqual(self.page(server, "?after=now")["next"], last)
        for query in ("?after=7", "?after=x-1", "?kinds=fish", "?wait=61", "?limit=0", "?x=1",
                      "?after=now&after=now"):
            self.problem(server.get("/v1/events" + query), 400)

    # MARK: cursors

    def test_a_cursor_of_the_future_or_of_another_store_is_gone(self):
        server = self.serve()
        server.write("/v1/batches", [{"responder_id": "a"}])
        _, last = self.everything(server)
        epoch, _, end = last.partition("-")
        for cursor in (f"{epoch}-{int(end) + 1}", f"{'0' * 16}-1", f"{epoch}-{2**62}"):
            problem = self.problem(server.get(f"/v1/events?after={cursor}"), 410)
            self.assertIn(f"behind {epoch}-0", problem["detail"])
            answer = server.get(
                f"/v1/events?after={cursor}", {"Accept": "text/event-stream"})
            self.problem(answer, 410)
        self.assertEqual(self.page(server, f"?after={last}")["events"], [])

    def test_a_stream_is_for_who_wants_one_and_the_watch_is_for_streams(self):
        server = self.serve()
        for accept in (None, "*/*", "application/json", "text/event-stream;q=0"):
            with self.subTest(accept):
                headers = {"Accept": accept} if accept else {}
                page = server.get("/v1/events", headers)
                self.assertEqual((page.status, page.json()["events"]), (200, []))
                problem = self.problem(server.get("/v1/events?watch=true", headers), 400)
                self.assertEqual(problem["detail"], "watch: goes with Accept: text/event-stream")
        head = server.request(
            "HEAD", "/v1/events?watch=true", headers={"Accept": "text/event-stream"})
        self.assertEqual(head.status, 200)

    def test_an_erased_persons_events_are_gone_and_their_cursor_works(self):
        server = self.serve()
        server.write("/v1/batches", [{"responder_id": "a"}, {"responder_id": "b"}])
        events, _ = self.everything(server)
        cursor = next(one["cursor"] for one in events if one.get("responder_id") == "b")
        self.assertEqual(server.request("DELETE", "/v1/responders/b").status, 202)
        rest = self.page(server, f"?after={cursor}")["events"]
        self.assertEqual([one["change"] for one in rest if one["kind"] == "person"], ["erased"])
        self.assertEqual({one.get("responder_id") for one in rest}, {"b"})
        server.kill()
        server.start()
        # Whoever did not see it within that time, or before a restart, gets the hash.
        again = self.page(server, f"?after={cursor}")["events"]
        erased = [one for one in again if one.get("change") == "erased"]
        self.assertEqual([(one.get("responder_id"), len(one["hash"])) for one in erased], [(None, 16)])
        self.assertNotIn('"b"', json.dumps(again))

    def test_a_store_that_is_an_older_copy_has_other_cursors(self):
        server = self.serve()
        server.write("/v1/batches", [{"responder_id": "a"}])
        server.stop()
        copy = {}
        for name in os.listdir(self.directory):
            if name.startswith("rollcall.db") and not name.endswith(".epoch"):
                with open(os.path.join(self.directory, name), "rb") as file:
                    copy[name] = file.read()
        server.start()
        server.write("/v1/batches", [{"responder_id": "b"}])
        _, last = self.everything(server)
        server.stop()
        for name in os.listdir(self.directory):
            if name.startswith("rollcall.db") and not name.endswith(".epoch"):
                os.unlink(os.path.join(self.directory, name))
        for name, content in copy.items():
            with open(os.path.join(self.directory, name), "wb") as file:
                file.write(content)
        server.start()
        # What has these numbers now is something else.
        server.write("/v1/batches", [{"responder_id": "c"}, {"responder_id": "d"}])
        self.problem(server.get(f"/v1/events?after={last}"), 410)
        _, next_one = self.everything(server)
        server.kill()
        server.start()
        self.assertEqual(self.page(server, f"?after={next_one}")["next"][:17], next_one[:17])

    # MARK: waiting

    def test_who_waits_is_answered_when_it_happens_or_after_the_time(self):
        server = self.serve()
        server.write("/v1/batches", [{"responder_id": "a"}])
        began = time.monotonic()
        page = self.page(server, "?after=now&wait=1")
        self.assertEqual(page["events"], [])
        self.assertGreater(time.monotonic() - began, 0.9)
        answers = []

        def wait(seconds):
            client = server.client(timeout=30)
            answers.append(client.request("GET", f"/v1/events?after=now&wait={seconds}").json())
            client.close()

        waiting = [threading.Thread(target=wait, args=(20,)) for _ in range(20)]
        began = time.monotonic()
        for thread in waiting:
            thread.start()
        time.sleep(6.5)
        self.assertEqual(answers, [], "the watchdog of five seconds is not for who waits")
        server.write("/v1/batches", [{"responder_id": "b"}])
        for thread in waiting:
            thread.join(5)
        self.assertEqual(len(answers), 20)
        self.assertTrue(all(one["events"][0]["responder_id"] == "b" for one in answers))
        # A stop answers them at once.
        thread = threading.Thread(target=wait, args=(60,))
        thread.start()
        time.sleep(0.5)
        server.stop()
        thread.join(5)
        self.assertFalse(thread.is_alive())

    # MARK: streams

    def test_a_stream_tells_what_happens_and_goes_on_where_it_was(self):
        server = self.serve()
        server.write("/v1/batches", [{"responder_id": "a"}])
        stream = self.stream(server)
        eventually(lambda: stream.frames, 5, "it begins")
        self.assertIn("200 OK", stream.head)
        self.assertIn("Content-Type: text/event-stream", stream.head)
        self.assertEqual(stream.frames[0][1], "begin")
        server.write("/v1/batches", [{"responder_id": "b"}])
        eventually(lambda: len(stream.events) == 3, 5, "three events")
        self.assertEqual(
            [(name, data["kind"]) for _, name, data in stream.frames[1:]],
            [("person", "person"), ("status", "status"), ("status", "status")])
        self.assertTrue(all(
            cursor == data["cursor"] for cursor, _, data in stream.frames))
        last = stream.frames[-2][0]
        stream.close()
        again = self.stream(server, headers={"Last-Event-ID": last})
        eventually(lambda: len(again.events) == 1, 5, "the one behind it")
        self.assertEqual(again.events[0]["to"], "ONLINE")
        eventually(lambda: again.bytes.endswith(b":\n\n"), 20, "a sign of life within 15 s")
        server.stop()
        eventually(lambda: again.is_over, 5, "it ends with the server")

    def test_a_thousand_streams_and_one_that_never_reads(self):
        server = self.serve()
        mute = self.stream(server, reads=False)
        streams = [self.stream(server) for _ in range(990)]
        eventually(lambda: all(one.frames for one in streams), 20, "all begin")
        # They are no connections: others come as ever, a stream too many aside.
        more = [self.stream(server) for _ in range(20)]
        eventually(lambda: all(b"\r\n\r\n" in one.bytes for one in more), 5, "all are answered")
        self.assertEqual(sum("503" in one.head for one in more), 11)
        self.assertEqual(server.scrape()("rollcall_event_streams"), 1000)
        began = time.monotonic()
        server.write("/v1/batches", [{"responder_id": "a"}])
        eventually(lambda: all(len(one.events) == 3 for one in streams), 10, "all hear of it")
        self.assertLess(time.monotonic() - began, 5)
        for one in streams[20:]:
            one.close()
        streams = streams[:20]
        for place in range(60):
            server.write("/v1/batches", [
                {"responder_id": f"p-{place}-{other}"} for other in range(100)])
        eventually(
            lambda: all(len(one.events) == 3 + 18_000 for one in streams), 60,
            "all hear of all of it")
        for one in streams:
            one.close()
        # Who takes nothing is cut, and held nobody up.
        eventually(
            lambda: server.scrape()("rollcall_event_streams_cut_total") == 1, 60, "it is cut")
        eventually(
            lambda: server.scrape()("rollcall_event_streams") <= 10, 10, "the others have left")
        mute.close()

    # MARK: nothing is lost

    def test_over_kills_no_event_is_lost_or_doubled(self):
        choose = random.Random(SEED)
        server = self.serve(FAST)
        seen, cursor = [], None
        stop = threading.Event()
        failures = []

        def follow():
            nonlocal cursor
            while not stop.is_set():
                try:
                    client = server.client(timeout=10)
                    after = f"&after={cursor}" if cursor else ""
                    answer = client.request("GET", f"/v1/events?limit=50&wait=1{after}")
                    client.close()
                except OSError:
                    time.sleep(0.02)
                    continue
                except Exception:  # An answer that was cut off.
                    continue
                if answer.status == 503:
                    continue
                if answer.status != 200:
                    failures.append(answer)
                    return
                page = answer.json()
                seen.extend(page["events"])
                cursor = page["next"]

        reader = threading.Thread(target=follow)
        reader.start()
        for turn in range(KILLS):
            for _ in range(choose.randrange(1, 8)):
                server.write("/v1/batches", [
                    {"responder_id": f"p-{choose.randrange(40)}"}
                    for _ in range(choose.randrange(1, 30))])
                time.sleep(choose.random() * 0.02)
            server.kill()
            server.start()
        eventually(lambda: failures or len(seen) >= len(server.events_stored()), 20, "it caught up")
        stop.set()
        reader.join(10)
        self.assertEqual(failures, [])
        numbers = [number(one) for one in seen]
        self.assertEqual(numbers, sorted(set(numbers)), "in order, none twice")
        have = server.events_stored()
        self.assertEqual([one for one in numbers if one <= have[-1]], have[:len(numbers)])
        self.assertGreaterEqual(now_ms(), 0)

    def test_a_reader_far_behind_does_not_hold_the_watch_up(self):
        server = self.serve()
        for part in range(40):
            server.write("/v1/batches", [
                {"responder_id": f"p-{part}-{place}"} for place in range(1000)])
        streams = [self.stream(server, f"/v1/events?after={first}") for first in [
            self.page(server, "?limit=1")["events"][0]["cursor"]] * 5]
        slowest = 0
        for place in range(200):
            began = time.monotonic()
            server.write("/v1/batches", [{"responder_id": f"q-{place}"}])
            slowest = max(slowest, time.monotonic() - began)
        self.assertLess(slowest, 1)
        eventually(
            lambda: all(len(one.events) == 120_000 - 1 + 600 for one in streams), 60,
            "all of it is read")

"""Clients by the hundreds that send or read byte by byte, or only hold their connection: the good
ones keep being answered, and the slow ones are ended, however steadily they drip.

    ROLLCALL_SLOW=5    so many rounds instead of one, and the deadline of bodies is waited for, too

Source: V5, V8; reliability F7, I-19, I-20, A2, A3, A6.
"""

import os
import selectors
import socket
import statistics
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from rollcall_process import NDJSON, Client, RollcallTestCase, eventually, ndjson

ROUNDS = int(os.environ.get("ROLLCALL_SLOW", "0"))
# The product's deadlines of a head, an answer and a body; and what a slow machine may add.
HEAD_SECONDS, ANSWER_SECONDS, BODY_SECONDS, MARGIN_SECONDS = 10, 10, 30, 10
CONNECTIONS = 512
# A bound and not a measurement: whoever had to wait for the slow ones would wait for ten seconds.
GOOD_SECONDS = 8.0

HEAD = b"POST /v1/batches HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "
BODY = b"POST /v1/batches HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n"
LIST = b"GET /v1/responders?limit=1000 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
LISTS = 40


class Drip:
    """A connection that says or reads a byte at a time, until it is ended."""

    def __init__(self, port, begin, reads=False):
        self.reads = reads
        self.socket = socket.socket()
        if reads:
            # Before the connection stands: it is what the other side is told.
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.connect(("127.0.0.1", port))
        self.socket.sendall(begin)
        self.socket.setblocking(False)
        self.began = time.monotonic()
        self.lasted = None

    def step(self):
        """One byte; true once the other side has ended it."""
        try:
            if self.reads:
                ended = self.socket.recv(1) == b""
            else:
                self.socket.send(b"x")
                ended = self.socket.recv(65536) == b""
        except BlockingIOError:
            return False
        except OSError:
            ended = True
        if ended:
            self.lasted = time.monotonic() - self.began
        return ended


class SlowTests(RollcallTestCase):
    def test_hundreds_of_slow_clients_are_ended_and_harm_nobody(self):
        server = self.serve()
        # An answer of half a megabyte.
        server.write("/v1/batches", ndjson([
            {"responder_id": f"r{number:04}", "region": "r" * 100, "circles": ["c" * 100]}
            for number in range(1000)]), {"Content-Type": NDJSON})
        self.assertGreater(len(server.get("/v1/responders?limit=1000").body), 300_000)
        for _ in range(max(1, ROUNDS)):
            self.round(server)
        self.assertEqual(server.stop(), 0)

    def round(self, server):
        """Some of each kind, fewer than there is room for, and two good clients beside them."""
        # As many of them as one address may have.
        heads = [Drip(server.port, HEAD) for _ in range(120)]
        readers = []
        for _ in range(30):
            readers.append(Drip(server.port, LIST * LISTS, reads=True))
            # It is about reading: that many long lists at one moment are work for seconds, and where they
            # are work for five a list is a 503, which is so short that it is taken at once.
            time.sleep(0.1)
        bodies = [Drip(server.port, BODY) for _ in range(140)]
        good = GoodClients(self, server.port)
        try:
            # Each answer has its own deadline, and the first ones may fit into the kernel's buffers.
            limit = 3 * ANSWER_SECONDS + MARGIN_SECONDS
            self.drip(heads + readers, bodies, limit)
            self.ended(heads, HEAD_SECONDS, HEAD_SECONDS + MARGIN_SECONDS)
            self.ended(readers, ANSWER_SECONDS, limit)
            page = server.scrape()
            for phase, ended in (("header", heads), ("answer", readers)):
                self.assertGreaterEqual(
                    page("rollcall_http_connections_cut_total", phase=phase), len(ended), phase)
            self.assertGreaterEqual(page("rollcall_http_connections"), len(bodies))
            self.assertEqual(page("rollcall_http_connections_max"), 512)
            if ROUNDS:
                self.drip(bodies, [], BODY_SECONDS + MARGIN_SECONDS)
                self.ended(bodies, BODY_SECONDS, BODY_SECONDS + 2 * MARGIN_SECONDS)
            else:
                lasted = [drip.lasted for drip in bodies if drip.lasted is not None]
                self.assertGreater(min(lasted, default=BODY_SECONDS), BODY_SECONDS - 2)
        finally:
            good.end()
            for drip in heads + readers + bodies:
                drip.socket.close()
        good.judge()

    def drip(self, awaited, others, seconds):
        """A byte of everybody four times a second, until the awaited have been ended."""
        deadline = time.monotonic() + seconds
        open_ones = list(awaited)
        while open_ones and time.monotonic() < deadline:
            open_ones = [drip for drip in open_ones if not self.is_over(drip)]
            for drip in others:
                drip.step()
            time.sleep(0.25)

    def is_over(self, drip):
        if drip.step():
            return True
        # Of a reader the kernel holds more than it will ever read: whether the other side has
        # ended it shows by the state of the connection.
        if drip.reads and is_closed_by_peer(drip.socket):
            drip.lasted = time.monotonic() - drip.began
            return True
        return False

    def ended(self, drips, seconds, most):
        lasted = [drip.lasted for drip in drips]
        self.assertNotIn(None, lasted, f"{lasted.count(None)} of {len(lasted)} are still there")
        # Not before their time either: they are slow, not wrong.
        self.assertGreater(min(lasted), seconds - 2)
        self.assertLess(max(lasted), most)


def is_closed_by_peer(connection):
    """True once the other side has said that it sends no more, whatever is still unread."""
    # The first byte of struct tcp_info is the state; 8 is CLOSE_WAIT, 7 CLOSE.
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] in (7, 8)


class GoodClients:
    """One that keeps its connection and one that makes a new one each time, who write and read."""

    def __init__(self, case, port):
        self.case = case
        self.port = port
        self.took = {"kept": [], "new": []}
        self.faults = []
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(kind,), daemon=True) for kind in self.took]
        for thread in self._threads:
            thread.start()

    def end(self):
        self._ended.set()
        for thread in self._threads:
            thread.join(30)

    def judge(self):
        self.case.assertEqual(self.faults, [])
        for kind, took in self.took.items():
            self.case.assertGreater(len(took), 20)
            slowest, p99 = max(took), statistics.quantiles(took, n=100)[98]
            print(f"{kind}: {len(took)} requests, p99 {p99 * 1000:.1f} ms, slowest "
                  f"{slowest * 1000:.1f} ms", flush=True)
            self.case.assertLess(slowest, GOOD_SECONDS)

    def _run(self, kind):
        client = Client(self.port, timeout=20)
        number = 0
        while not self._ended.wait(0.02):
            number += 1
            if kind == "new":
                client.close()
                client = Client(self.port, timeout=20)
            began = time.monotonic()
            try:
                if number % 2:
                    answer = client.request("POST", "/v1/batches", {"responder_id": kind})
                else:
                    answer = client.request("GET", f"/v1/responders/{kind}")
                if answer.status != 200:
                    self.faults.append(answer)
            except Exception as fault:
                self.faults.append(fault)
                return
            self.took[kind].append(time.monotonic() - began)
        client.close()


class FloodTests(RollcallTestCase):
    def test_connections_beyond_the_limit_wait_and_are_served(self):
        server = self.serve()
        self.assertEqual(server.get("/-/ready").status, 200)
        idle = []
        try:
            for _ in range(CONNECTIONS + 200):
                idle.append(socket.create_connection(("127.0.0.1", server.port), timeout=10))
            # Who has a connection does not notice.
            began = time.monotonic()
            for number in range(50):
                server.write("/v1/batches", {"responder_id": f"p{number}"})
            self.assertLess(time.monotonic() - began, GOOD_SECONDS)
            # Who comes now waits until those who say nothing are ended.
            late = Client(server.port, timeout=2 * HEAD_SECONDS + MARGIN_SECONDS)
            self.assertEqual(
                late.request("POST", "/v1/batches", {"responder_id": "late"}).status, 200)
            late.close()
            self.assertEqual(ended(idle[:300], 2 * HEAD_SECONDS + MARGIN_SECONDS), 300)
        finally:
            for connection in idle:
                connection.close()
        server.drop_client()
        self.assertEqual(server.responder("late")["status"], "ONLINE")

    def test_one_address_that_says_nothing_does_not_make_others_wait(self):
        server = self.serve()
        self.assertEqual(server.get("/-/ready").status, 200)
        began = time.monotonic()
        slow = [Drip(server.port, HEAD) for _ in range(600)]
        try:
            for source in ("127.0.0.2", "127.0.0.1"):
                with socket.create_connection(
                        ("127.0.0.1", server.port), timeout=2 * HEAD_SECONDS,
                        source_address=(source, 0)) as newcomer:
                    newcomer.sendall(b"GET /-/ready HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                    self.assertIn(b" 200 ", newcomer.recv(4096))
            # A bound and not a measurement: it was the deadline of the heads before which nobody
            # got in.
            self.assertLess(time.monotonic() - began, HEAD_SECONDS - 1)
            # Those that stay are at most so many, and none of them was waited for.
            eventually(
                lambda: server.scrape()(
                    "rollcall_http_connections_cut_total", phase="newcomer") >= 600 - 128,
                HEAD_SECONDS / 2, "those beyond 128 give way")
        finally:
            for drip in slow:
                drip.socket.close()

    def test_bodies_that_nobody_reads_hold_no_places(self):
        server = self.serve()
        self.assertEqual(server.get("/-/ready").status, 200)
        began = time.monotonic()
        for method in (b"GET", b"HEAD"):
            for field in (b"Content-Length: 100000", b"Content-Length: 10",
                          b"Transfer-Encoding: chunked"):
                for path in (b"/-/healthy", b"/-/ready", b"/metrics", b"/nowhere"):
                    with self.subTest(method=method, field=field, path=path):
                        status = 404 if path == b"/nowhere" else 200
                        head, closed = self.announce(server.port, method, path, field)
                        self.assertIn(b" %d " % status, head)
                        self.assertIn(b"Connection: close", head)
                        self.assertTrue(closed)
        self.assertLess(time.monotonic() - began, 24 * BODY_SECONDS / 2)

    @staticmethod
    def announce(port, method, path, field):
        """The answer to a head whose body does not come, and whether the connection ends."""
        with socket.create_connection(("127.0.0.1", port), timeout=BODY_SECONDS - 5) as client:
            client.sendall(
                method + b" " + path + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n" + field + b"\r\n\r\n")
            answer = b""
            while True:
                part = client.recv(65536)
                if not part:
                    return answer, True
                answer += part

    def test_bodies_that_do_not_come_give_way_to_who_waits(self):
        server = self.serve("limits: {connections: 16}\n")
        self.assertEqual(server.get("/-/ready").status, 200)
        server.drop_client()
        slow = [Drip(server.port, BODY) for _ in range(40)]
        try:
            began = time.monotonic()
            late = Client(server.port, timeout=BODY_SECONDS * 2)
            self.assertEqual(
                late.request("POST", "/v1/batches", {"responder_id": "late"}).status, 200)
            # A bound and not a measurement: it was the deadline of the bodies.
            self.assertLess(time.monotonic() - began, BODY_SECONDS - MARGIN_SECONDS / 2)
            late.close()
            self.assertEqual(server.log().count("all connections are in use"), 1)
        finally:
            for drip in slow:
                drip.socket.close()

    def test_a_proxys_idle_connections_do_not_give_way_to_silent_ones_of_its_address(self):
        server = self.serve()
        kept = [Client(server.port, timeout=20) for _ in range(300)]
        for client in kept:
            self.assertEqual(client.request("GET", "/-/ready").status, 200)
        # The oldest of their address by far, and idle.
        time.sleep(1)
        slow = [Drip(server.port, HEAD) for _ in range(200)]
        try:
            eventually(
                lambda: server.scrape()(
                    "rollcall_http_connections_cut_total", phase="newcomer") >= 200 - 128,
                HEAD_SECONDS / 2, "those beyond 128 give way")
            # Before the deadline of those heads, and before anybody has made a connection anew.
            page = server.scrape()
            self.assertGreaterEqual(page("rollcall_http_connections"), 300 + 120)
            for client in kept:
                self.assertEqual(client.request("GET", "/-/ready").status, 200)
        finally:
            for drip in slow:
                drip.socket.close()
            for client in kept:
                client.close()

    def test_many_busy_connections_of_one_address_are_a_proxy_and_all_are_served(self):
        server = self.serve()
        together = CONNECTIONS + 88

        def run(place):
            """What a pool of a proxy does: it goes on with another connection if one is ended."""
            client = Client(server.port, timeout=60)
            try:
                return [
                    client.request("POST", "/v1/batches", {"responder_id": f"p{place}"}).status
                    for _ in range(5)]
            finally:
                client.close()

        barrier = threading.Barrier(together)

        def begin(place):
            barrier.wait(60)
            return run(place)

        with ThreadPoolExecutor(together) as pool:
            statuses = list(pool.map(begin, range(together)))
        self.assertEqual(statuses, [[200] * 5] * together)
        people = server.get("/v1/responders?limit=1000").json()["responders"]
        self.assertEqual(len(people), together)

    def test_who_waits_is_let_in_although_nobody_is_idle(self):
        server = self.serve("limits: {connections: 16}\n")
        ended_event = threading.Event()

        def busy(place):
            client = Client(server.port, timeout=60)
            count = 0
            while not ended_event.is_set():
                client.request("POST", "/v1/batches", {"responder_id": f"busy{place}"})
                count += 1
            client.close()
            return count

        with ThreadPoolExecutor(24) as pool:
            runs = [pool.submit(busy, place) for place in range(24)]
            try:
                eventually(
                    lambda: len(server.get("/v1/responders").json()["responders"]) == 24, 30,
                    "all 24 have been served")
            finally:
                ended_event.set()
            counts = [run.result(60) for run in runs]
        self.assertGreater(min(counts), 0)


def ended(connections, seconds):
    """How many of them the other side ends within so many seconds."""
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            connection.setblocking(False)
            selector.register(connection, selectors.EVENT_READ)
        deadline = time.monotonic() + seconds
        count = 0
        while count < len(connections) and time.monotonic() < deadline:
            for key, _ in selector.select(1):
                selector.unregister(key.fileobj)
                count += 1
        return count


if __name__ == "__main__":
    unittest.main()

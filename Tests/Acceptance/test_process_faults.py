"""What a system may refuse a process: memory, descriptors, threads, somebody who reads its log; and
what it may do to its store from outside.

Source: reliability P-04 to P-06, P-09, D-10, D-11.

    ROLLCALL_MEMORY_FAULTS   which allocations fail, one after the other: each up to this one; by
                             default each ninth up to 180
"""

import fcntl
import mmap
import os
import re
import resource
import socket
import sqlite3
import struct
import subprocess
import time
import unittest

from cluster_process import free_ports
from loopback_phones import PushHook
from loopback_receivers import Fleet, Pager, people
from rollcall_process import (
    BINARY, NDJSON, NotReady, Rollcall, RollcallTestCase, eventually, ndjson, now_ms)

MEMORY_FAULTS = (
    range(1, int(os.environ["ROLLCALL_MEMORY_FAULTS"]) + 1)
    if "ROLLCALL_MEMORY_FAULTS" in os.environ else range(1, 181, 9))
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
QUICK = """
liveness: {{on_duty: {{expected: 200ms, degraded_after: 600ms, offline_after: 1s}}}}
alerts:
  HighOfflineRate: {{enabled: false}}
  NoOnlineResponders: {{for: 100ms, keep_firing_for: 0s}}
receivers:
  - name: oncall
    pagerduty: {{url: "{pager}", routing_key: "{key}"}}
    match: {{region: north}}
nudges:
  stale_after: 1s
  sink: {{webhook: {{url: "{hook}", secret: "{secret}"}}}}
"""


class ProcessFaultTestCase(RollcallTestCase):
    def preload(self):
        """Variables that put the library in front; `fault` changes what it does."""
        library = self.preloaded("failing_process")
        path = os.path.join(self.directory, "fault")
        with open(path, "wb") as file:
            file.write(struct.pack("ii", 0, -1))
        with open(path, "r+b") as file:
            self.numbers = mmap.mmap(file.fileno(), 8)
        return {"LD_PRELOAD": library, "PROCESS_FAULT": path}

    def fault(self, memory=0, threads=-1):
        self.numbers[:] = struct.pack("ii", memory, threads)

    def told(self):
        """A pager, a sink for pushes, and the settings that name both."""
        pager, hook = Pager(self), PushHook(self)
        return pager, hook, QUICK.format(
            pager=pager.url, key=Pager.ROUTING_KEY, hook=hook.url, secret=SECRET)

    def locate(self, server, *ids):
        """These are where they are now, and never again."""
        server.write("/v1/batches", [
            {"responder_id": name, "region": "south", "circles": ["c"],
             "updates": [{"sequence": 1, "captured_at": now_ms()}]} for name in ids])


class MemoryTests(ProcessFaultTestCase):
    def test_memory_that_sqlite_does_not_get_is_503_and_nothing_is_half_there(self):
        server = self.serve(variables=self.preload())
        answers = {200: 0, 503: 0}
        sent = 0
        for number in MEMORY_FAULTS:
            # Of many pages, so that it is not only the statements that need some.
            items = [
                {"responder_id": f"p{number % 7}", "circles": [f"c{number}-" + "x" * 90],
                 "updates": [{"sequence": sequence} for sequence in range(sent, sent + 3)]}]
            items += [{"responder_id": f"q{number}-{n}", "region": "y" * 100} for n in range(40)]
            sent += 3
            self.fault(memory=number)
            answer = server.post("/v1/batches", items)
            self.fault()
            answers[answer.status] += 1
            if answer.status == 503:
                self.assertIn("retry-after", answer.headers)
                eventually(lambda: server.get("/-/ready").status == 200, 10, "ready again", 0.02)
                answer = server.post("/v1/batches", items)
            self.assertEqual(answer.status, 200, f"after allocation {number}")
            updates = answer.json()["updates"]
            self.assertEqual(updates["accepted"] + updates["duplicate"], 3)
        self.assertGreater(answers[503], 3, answers)
        page = server.scrape()
        self.assertEqual(page("rollcall_updates_total", outcome="accepted"), sent)
        self.assertEqual(page("rollcall_watching"), 1)
        server.kill()
        server.start()
        page = server.scrape()
        self.assertEqual(page("rollcall_updates_total", outcome="accepted"), sent)
        self.assertEqual(page("rollcall_refold_differences_total"), 0)
        self.assertEqual(server.stop(), 0)
        print(f"     {len(MEMORY_FAULTS)} allocations that fail: {answers[503]} times 503")

    def test_a_start_without_memory_is_told(self):
        variables = self.preload()
        server = self.serve(variables=variables)
        server.write("/v1/batches", {"responder_id": "a", "updates": [{"sequence": 1}]})
        self.assertEqual(server.stop(), 0)
        refused = 0
        for number in range(1, 400, 13):
            self.fault(memory=number)
            try:
                server.start()
            except NotReady as error:
                self.assertIn("exit 1,", str(error), f"allocation {number}")
                self.assertIn("memory", str(error))
                self.assertNotIn("tried again", str(error))
                refused += 1
                continue
            self.fault()
            self.assertEqual(server.stop(), 0)
        self.fault()
        self.assertGreater(refused, 3)
        server.start()
        again = server.write("/v1/batches", {"responder_id": "a", "updates": [{"sequence": 1}]})
        self.assertEqual(again["updates"]["duplicate"], 1)


class ThreadTests(ProcessFaultTestCase):
    def test_a_start_without_threads_ends_in_words(self):
        server = self.rollcall(variables=self.preload())
        refused = 0
        for threads in range(most := 18):
            self.fault(threads=threads)
            try:
                server.start()
            except NotReady as error:
                self.assertIn("exit 1,", str(error), f"{threads} threads")
                self.assertNotIn("Fatal error", str(error))
                refused += 1
                continue
            # Whoever comes up without some takes writes and answers scrapes all the same.
            server.write("/v1/batches", {"responder_id": "a"})
            self.assertEqual(server.scrape()("rollcall_watching"), 1)
            self.fault()
            self.assertEqual(server.stop(), 0)
        self.assertGreater(refused, 2)
        self.assertLess(refused, most)

    def test_without_a_thread_for_it_a_page_waits(self):
        pager, _, config = self.told()
        server = self.serve(config, variables=self.preload())
        fleet = Fleet(self, server, people("north", 2)).start()
        eventually(
            lambda: server.get("/v1/status").json()["responders"]["ONLINE"] == 2, 10, "reporting")
        self.fault(threads=0)
        fleet.cut(*fleet.of("north"))
        eventually(lambda: "no thread left" in server.log(), 20, "it is told")
        self.assertEqual(pager.requests, [])
        server.write("/v1/batches", {"responder_id": "b"})
        self.fault()
        eventually(lambda: pager.incidents, 20, "paged")
        self.assertEqual(len(pager.incidents), 1)


class DescriptorTests(ProcessFaultTestCase):
    def test_clients_cannot_take_the_last_descriptors(self):
        pager, hook, config = self.told()
        server = self.serve(config, prefix=["bash", "-c", 'ulimit -n 64; exec "$@"', "limited"])
        self.assertIn("too few descriptors", server.log())
        page = server.scrape()
        self.assertEqual(page("process_max_fds"), 64)
        fleet = Fleet(self, server, people("north", 2)).start()
        eventually(
            lambda: server.get("/v1/status").json()["responders"]["ONLINE"] == 2, 10, "reporting")
        self.locate(server, "mum", "teen")
        crowd = []
        for _ in range(100):
            crowd.append(socket.create_connection(("127.0.0.1", server.port), timeout=5))
        self.addCleanup(lambda: [one.close() for one in crowd])
        # The keeper's own files, a reader of history, a pager and a sink find theirs.
        eventually(lambda: pager.incidents, 20, "paged, as nobody gets through")
        eventually(lambda: len(hook.events("responder.nudge")) == 2, 20, "nudged")
        self.assertNotIn("cannot be", server.log())
        # Whoever is connected already is served; the others are when there is room.
        for one in crowd:
            one.close()
        eventually(lambda: server.responder("north-1")["status"] == "ONLINE", 20, "heard again")
        self.assertEqual(server.get("/v1/alerts/history").status, 200)
        eventually(lambda: not pager.incidents[0].is_open, 20, "resolved")
        fleet.end()
        self.assertEqual(server.stop(), 0)
        self.assertNotIn("level=error", server.log())

    def test_a_low_soft_limit_is_raised(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        server = self.serve(prefix=["bash", "-c", 'ulimit -S -n 64; exec "$@"', "limited"])
        self.assertEqual(server.scrape()("process_max_fds"), hard)
        self.assertNotIn("too few descriptors", server.log())


class StreamTests(ProcessFaultTestCase):
    def test_a_log_that_nobody_reads_holds_nobody_up(self):
        for kind in ("pipe", "socket", "pipe of another user"):
            with self.subTest(kind):
                self.unread(kind)

    def unread(self, kind):
        prefix = ()
        if kind == "socket":
            # As systemd gives it for the journal.
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            reader, writer = ours.detach(), theirs.detach()
        else:
            reader, writer = os.pipe()
            fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        if kind == "pipe of another user":
            # As a container gets it, whose user may not open it again.
            if os.geteuid() != 0:
                self.skipTest("only root can be somebody else")
            os.chown(self.directory, 65534, -1)
            prefix = ("setpriv", "--reuid=65534", "--clear-groups")
            asked = subprocess.run([*prefix, BINARY, "--version"], capture_output=True)
            if asked.returncode != 0:
                self.skipTest("nobody else may run the binary")
        server = Unread(self.directory, name=kind, descriptor=writer, prefix=prefix)
        self.addCleanup(server.close)
        server.start()
        os.close(writer)
        # Each reload is a line, of the keeper's thread or of the reloader's.
        for number in range(600):
            self.assertEqual(server.post("/-/reload", "").status, 200)
            if number % 10 == 0:
                server.write("/v1/batches", {"responder_id": f"p{number}"})
        page = server.scrape()
        self.assertEqual(page("rollcall_watching"), 1)
        self.assertGreater(page("rollcall_log_lines_lost_total"), 100)
        # Somebody reads again, and learns how much was lost.
        os.set_blocking(reader, False)
        text = b""

        def read():
            nonlocal text
            try:
                text += os.read(reader, 1 << 20)
            except BlockingIOError:
                pass
            server.post("/-/reload", "")
            return re.search(rb"lines are lost.* lines=(\d+)", text)

        lost = eventually(read, 10, "it is told that lines were lost")
        self.assertGreater(int(lost.group(1)), 100)
        # And if the reader goes, that is no end either.
        os.close(reader)
        for _ in range(5):
            self.assertEqual(server.post("/-/reload", "").status, 200)
        self.assertEqual(server.stop(), 0)

    def test_closed_descriptors_are_nobody_elses(self):
        for closed in ("1>&-", "2>&-", "0<&- 1>&- 2>&-"):
            with self.subTest(closed):
                port = free_ports(1)[0]
                server = self.rollcall(
                    name=f"closed-{closed.count('&')}-{closed[0]}", address=f"127.0.0.1:{port}",
                    prefix=["bash", "-c", f'exec "$@" {closed}', "closed"])
                server.spawn()
                server.port = port
                eventually(lambda: self.is_ready(server), 10, "ready")
                server.write("/v1/batches", {"responder_id": "a"})
                for number in range(3):
                    link = os.readlink(f"/proc/{server.process.pid}/fd/{number}")
                    self.assertNotIn(".db", link)
                    if str(number) in closed:
                        self.assertEqual(link, "/dev/null")
                with open(server.store + ".lock", "rb") as file:
                    self.assertRegex(file.read(), rb"^\d+ +\n-0{15}\n$")
                self.assertEqual(server.stop(), 0)

    def is_ready(self, server):
        try:
            return server.get("/-/ready").status == 200
        except OSError:
            return False


class OutsiderTests(ProcessFaultTestCase):
    """Somebody with a `sqlite3` of their own."""

    def test_a_reader_that_stays_makes_the_log_long_and_that_is_told(self):
        server = self.serve()
        server.write("/v1/batches", {"responder_id": "a"})
        outsider = sqlite3.connect(f"file:{server.store}?mode=ro", uri=True, isolation_level=None)
        self.addCleanup(outsider.close)
        outsider.execute("BEGIN")
        outsider.execute("SELECT count(*) FROM journal").fetchone()
        log = server.store + "-wal"
        body = ndjson([
            {"responder_id": f"p{number}", "circles": ["c" * 100]} for number in range(5000)])
        for _ in range(400):
            server.write("/v1/batches", body, {"Content-Type": NDJSON})
            if os.path.getsize(log) > 80 << 20:
                break
        eventually(lambda: "the store's log grows" in server.log(), 10, "it is told")
        outsider.execute("COMMIT")
        self.assertEqual(server.log().count("the store's log grows"), 1)

        def shrinks():
            server.write("/v1/batches", body, {"Content-Type": NDJSON})
            return os.path.getsize(log) <= 64 << 20

        eventually(shrinks, 20, "the log is short again")
        eventually(lambda: "used again from its start" in server.log(), 10, "so is that")
        self.assertEqual(server.stop(), 0)

    def test_a_writer_that_stays_is_503_and_loses_nothing(self):
        server = self.serve()
        server.write("/v1/batches", {"responder_id": "a", "updates": [{"sequence": 1}]})
        outsider = sqlite3.connect(server.store, isolation_level=None, timeout=5)
        outsider.execute("BEGIN IMMEDIATE")
        batch = {"responder_id": "a", "updates": [{"sequence": 2}]}
        self.problem(server.post("/v1/batches", batch), 503)
        self.problem(server.get("/-/ready"), 503)
        self.assertEqual(server.scrape()("rollcall_blind", reason="store"), 1)
        self.assertIn("close what else has the file open", server.log())
        outsider.execute("ROLLBACK")
        outsider.close()
        eventually(lambda: server.get("/-/ready").status == 200, 10, "ready again")
        verdict = server.write("/v1/batches", batch)
        self.assertEqual(sum(verdict["updates"].values()), 1)
        self.assertEqual(server.scrape()("rollcall_updates_total", outcome="accepted"), 2)
        self.assertEqual(server.stop(), 0)

    def test_a_start_waits_five_seconds_for_somebody_who_writes(self):
        server = self.serve()
        server.write("/v1/batches", {"responder_id": "a"})
        self.assertEqual(server.stop(), 0)
        outsider = sqlite3.connect(server.store, isolation_level=None)
        outsider.execute("PRAGMA locking_mode = EXCLUSIVE")
        outsider.execute("BEGIN EXCLUSIVE")
        began = time.monotonic()
        with self.assertRaises(NotReady) as refused:
            server.start()
        self.assertIn("exit 1,", str(refused.exception))
        self.assertIn("close what else has the file open", str(refused.exception))
        self.assertGreater(time.monotonic() - began, 4)
        outsider.execute("ROLLBACK")
        outsider.close()
        server.start()
        self.assertEqual(server.responder("a")["status"], "ONLINE")


class Unread(Rollcall):
    """One whose log goes to a descriptor."""

    def __init__(self, directory, name, descriptor, prefix):
        super().__init__(
            directory, name=name.replace(" ", "-"), more=("--log.level", "debug"), prefix=prefix)
        self.descriptor = descriptor

    def spawn(self):
        self.process = subprocess.Popen(
            self.prefix + self.arguments(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=self.descriptor, cwd=self.directory)

    def log(self):
        return "not read"


if __name__ == "__main__":
    unittest.main()

"""The client for Swift, the product `RollcallClient`, as a backend uses it, against the real binary.

`Tests/Acceptance/ClientBackend` is that backend: a line to it is a call of the client. It is built
without the rest of the package.

Source: I1, I12, B2, D10.
"""

import json
import os
import queue
import shutil
import subprocess
import threading
import time
import unittest

from client_cell_stories import CellStories
from client_stories import SOURCE, ClientStories
from documents import ROOT
from rollcall_process import RollcallTestCase, eventually, milliseconds, now_ms, plain_environment

SCRATCH = os.path.join(ROOT, ".build-client")


def built():
    """The backend's program; built once, in some twenty seconds."""
    swift = shutil.which("swift")
    if swift is None:
        raise unittest.SkipTest("no Swift")
    done = subprocess.run(
        [swift, "build", "--package-path", ROOT, "--scratch-path", SCRATCH,
         "--product", "rollcall-client-backend"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900, check=False,
        env={**os.environ, "ROLLCALL_CLIENT_ONLY": "1"})
    if done.returncode != 0:
        raise AssertionError(done.stdout[-4000:])
    return os.path.join(SCRATCH, "debug", "rollcall-client-backend")


class Backend:
    """A process with one client, asked line by line; its reports come in between."""

    def __init__(self, program, url, **options):
        self.dropped, self.problems, self.failing = [], [], []
        self._lock, self._outcomes = threading.Lock(), queue.Queue()
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=plain_environment())
        threading.Thread(target=self._read, daemon=True).start()
        self.call("make", url=url, **{"source": SOURCE, **options})

    def _read(self):
        for line in self.process.stdout:
            said = json.loads(line)
            if said.get("report") == "dropped":
                self.dropped.append((said["reason"], [json.loads(one) for one in said["items"]]))
            elif said.get("report") == "problem":
                self.problems.append((said["pointer"], said["detail"]))
            elif said.get("report") == "failing":
                self.failing.append(said["text"])
            else:
                self._outcomes.put(said)

    def call(self, name, within=10, **fields):
        with self._lock:
            line = json.dumps({"do": name, **fields}) + "\n"
            self.process.stdin.write(line.encode())
            self.process.stdin.flush()
            outcome = self._outcomes.get(timeout=within)
        if "error" in outcome:
            raise ValueError(outcome["error"])
        return outcome["value"]

    def batch(self, item):
        return self.call("batch", item=item if isinstance(item, str) else json.dumps(item))

    def transition(self, item):
        return self.call("transition", item=json.dumps(item))

    def facts(self, item):
        return self.call("facts", item=json.dumps(item))

    def counts(self):
        return self.call("counts")

    def close(self, within=5):
        fields = {"within": within}
        with self._lock:
            self.process.stdin.write((json.dumps({"do": "close", **fields}) + "\n").encode())
            self.process.stdin.flush()
            return self._outcomes.get(timeout=within + 10)["value"]

    def end(self):
        self.process.kill()
        self.process.wait(10)
        self.process.stdin.close()
        self.process.stdout.close()


class SwiftClientTests(ClientStories, CellStories, RollcallTestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = built()

    def make(self, url, **options):
        backend = Backend(self.program, url, **options)
        self.addCleanup(backend.end)
        return backend

    def test_its_types_are_what_rollcall_knows(self):
        server = self.steady()
        client = self.make(f"http://127.0.0.1:{server.port}")
        began = now_ms()
        self.assertTrue(client.call("typed"))
        self.assertEqual(client.close(20), 0)
        self.assertEqual((client.problems, client.dropped), ([], []))
        person = server.responder("typed")
        self.assertEqual(
            [person[name] for name in ("duty_state", "region", "circles", "platform")],
            ["ON_DUTY", "south", ["c-1"], "ios"])
        self.assertEqual(person["telemetry"]["queue_depth"], 2)
        # A value of the backend's own says when the phone was heard.
        heard = milliseconds(server.responder("own")["last_contact_at"])
        self.assertTrue(-1000 < began - 7000 - heard < 1000, began - heard)
        self.settled(client, 4)

    def test_json_from_outside_stays_one_line(self):
        server = self.steady()
        client = self.make(f"http://127.0.0.1:{server.port}", linger=0.3)
        at = now_ms() - 5000
        client.batch('  {\n "responder_id":\r\n "a",\n "received_at": %d}\n' % at)
        client.batch('{"responder_id":"b"}')
        for wrong in ("", "[]", "{}{}", '"a"', '{"responder_id":"c"', "nonsense", "{\"a\":NaN}"):
            with self.assertRaises(ValueError):
                client.batch(wrong)
        client.batch("{}")
        self.assertEqual(client.close(20), 0)
        self.assertEqual(milliseconds(server.responder("a")["last_contact_at"]), at)
        self.assertEqual(server.responder("b")["status"], "ONLINE")
        self.assertEqual([reason for reason, _ in client.dropped], ["rejected"])
        self.settled(client, 3, 1)

    def test_what_cannot_be_is_refused_at_once(self):
        for url, more in (
                ("ftp://a", {}), ("127.0.0.1:1", {}), ("http://user:secret@a", {}),
                ("http://a/?b=c", {}), ("http://a", {"heartbeat": 0}),
                ("http://a", {"queue_items": 0}), ("http://a", {"source": ""})):
            with self.subTest(url=url, more=more), self.assertRaises(ValueError) as raised:
                self.make(url, **more)
            self.assertNotIn("secret", str(raised.exception))

    def test_failures_are_reported_without_a_body(self):
        server = self.steady()
        url = f"http://127.0.0.1:{server.port}"
        server.stop()
        client = self.make(url, pause_max=0.2)
        client.batch({"responder_id": "hidden-name", "lat": 52.5})
        eventually(lambda: client.counts()["failures"] >= 3, 10, "attempts fail")
        # Once a minute is enough.
        self.assertEqual(len(client.failing), 1)
        self.assertIn("1 items wait", client.failing[0])
        self.assertNotIn("hidden", client.failing[0])
        began = time.monotonic()
        self.assertEqual(client.close(0.5), 1)
        self.assertLess(time.monotonic() - began, 5)


if __name__ == "__main__":
    unittest.main()

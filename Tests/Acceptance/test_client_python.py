"""The client for Python, `Sources/Clients/rollcall.py`, as a backend uses it, against the real binary.

Source: I1, I12, B2, D10.
"""

import ast
import datetime
import importlib.util
import logging
import os
import threading
import unittest
import uuid
import zoneinfo

from client_cell_stories import CellStories
from client_stories import SOURCE, ClientStories
from documents import ROOT
from rollcall_process import RollcallTestCase

PATH = os.path.join(ROOT, "Sources", "Clients", "rollcall.py")


def loaded():
    """The module, as a backend that copied it imports it."""
    spec = importlib.util.spec_from_file_location("rollcall", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Recording:
    """A client that keeps what it was told."""

    def __init__(self, module, url, **options):
        self.dropped, self.problems = [], []
        self.client = module.Rollcall(
            url, on_dropped=lambda reason, items, detail: self.dropped.append((reason, items)),
            on_problem=lambda pointer, detail, item: self.problems.append((pointer, detail)),
            **{"source": SOURCE, "heartbeat": None, **options})

    def __getattr__(self, name):
        return getattr(self.client, name)


class PythonClientTests(ClientStories, CellStories, RollcallTestCase):
    def setUp(self):
        super().setUp()
        self.module = loaded()
        handler = logging.NullHandler()
        logging.getLogger("rollcall").addHandler(handler)
        logging.getLogger("rollcall").propagate = False
        self.addCleanup(logging.getLogger("rollcall").removeHandler, handler)

    def make(self, url, **options):
        client = Recording(self.module, url, **options)
        self.addCleanup(client.close, 0)
        return client

    def test_it_is_one_file_that_old_pythons_read(self):
        with open(PATH, encoding="utf-8") as file:
            tree = ast.parse(file.read(), feature_version=(3, 9))
        imported = {alias.name.split(".")[0] for node in ast.walk(tree)
                    if isinstance(node, ast.Import) for alias in node.names}
        self.assertFalse([node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)])
        self.assertLessEqual(imported, set(os.sys.stdlib_module_names))

    def test_times_and_ids_are_what_a_backend_has(self):
        server = self.steady()
        with self.make(f"http://127.0.0.1:{server.port}").client as client:
            name = uuid.uuid4()
            heard = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=7)
            there = heard.astimezone(zoneinfo.ZoneInfo("Australia/Lord_Howe"))
            client.batch({"responder_id": name, "received_at": there,
                          "updates": [{"sequence": 1, "captured_at": heard}]})
            for wrong, error in (
                    ({"responder_id": "a", "received_at": heard.replace(tzinfo=None)}, ValueError),
                    ({"responder_id": "a", "telemetry": {"battery": float("nan")}}, ValueError),
                    ({"responder_id": object()}, TypeError), (["a"], TypeError), (None, TypeError)):
                with self.assertRaises(error):
                    client.batch(wrong)
        person = server.responder(name)
        shown = heard.strftime("%Y-%m-%dT%H:%M:%S.") + f"{heard.microsecond // 1000:03d}Z"
        self.assertEqual(person["last_contact_at"], shown)

    def test_what_cannot_be_is_refused_at_once(self):
        for options in ({"url": "ftp://a"}, {"url": "127.0.0.1:1"}, {"heartbeat": 0},
                        {"token": "a b"}, {"queue_items": 0}):
            with self.assertRaises(ValueError):
                self.module.Rollcall(**options)

    def test_a_callback_that_raises_stops_nothing(self):
        server = self.steady()

        def boom(*_):
            raise RuntimeError("not mine")

        with self.module.Rollcall(
                f"http://127.0.0.1:{server.port}", source=SOURCE, linger=0, on_dropped=boom,
                on_problem=boom, token=lambda: None) as client:
            client.batch({"responder_id": ""})
            client.batch({**self.item(0), "strange": 1})
            self.queued(client, range(1, 4))
        self.assertEqual(self.ledger(server), 4)

    def test_a_child_begins_with_an_empty_queue(self):
        server = self.steady()
        client = self.make(f"http://127.0.0.1:{server.port}", linger=1.0)
        self.queued(client, range(5))
        child = os.fork()
        if child == 0:
            status = 1
            try:
                client.batch(self.item(5))
                status = client.close(10)
            finally:
                os._exit(status)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertEqual(client.close(10), 0)
        self.assertEqual(self.ledger(server), 6)
        self.assertEqual(server.scrape()("rollcall_updates_total", outcome="duplicate"), 0)

    def test_many_threads_use_one(self):
        server = self.steady()
        client = self.make(f"http://127.0.0.1:{server.port}", body_items=100)
        # Each has people of its own: what comes far out of order counts as late (I1).
        threads = [
            threading.Thread(target=lambda part=part: [
                client.batch({**self.item(number), "responder_id": f"{part}-{number % 20}"})
                for number in range(500)])
            for part in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        self.assertEqual(client.close(20), 0)
        self.assertEqual(self.ledger(server), 4000)
        self.settled(client, 4000)


if __name__ == "__main__":
    unittest.main()

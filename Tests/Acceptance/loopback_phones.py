"""A family circle of phones, and Expo's push service, on loopback.

Source: Contract/Nudges; Expo's documented tickets and receipts.
"""

import threading
import time

from loopback_receivers import Receiver
from rollcall_process import Client, ndjson, now_ms, rfc3339


class Phones:
    """Phones that report a location every 0.3 s until they are swiped away; whatever becomes of the
    server, they go on."""

    EVERY = 0.3

    def __init__(self, case, server, items):
        self._server = server
        self._items = {item["responder_id"]: item for item in items}
        self._gone = set()
        self._sequence = 0
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        case.addCleanup(self.end)

    def start(self):
        self._thread.start()
        return self

    def end(self):
        self._end.set()
        if self._thread.ident is not None:
            self._thread.join(10)

    def swipe_away(self, *ids):
        """The apps of these are dead from now on."""
        with self._lock:
            self._gone.update(ids)

    def open(self, *ids):
        """Somebody opens the app again."""
        with self._lock:
            self._gone.difference_update(ids)

    def _run(self):
        client = None
        while not self._end.wait(self.EVERY):
            try:
                if client is None or client.port != self._server.port:
                    client = Client(self._server.port, 5.0)
                    client.port = self._server.port
                client.request("POST", "/v1/batches", ndjson(self._batches()), {
                    "Content-Type": "application/x-ndjson"})
            except (OSError, ValueError, TypeError, AttributeError, AssertionError):
                # It was killed: a backend would send again.
                client = None
            except Exception:  # http.client's own
                client = None

    def _batches(self):
        with self._lock:
            self._sequence += 1
            return [
                {**item, "received_at": rfc3339(now_ms()), "updates": [
                    {"sequence": self._sequence, "captured_at": rfc3339(now_ms())}]}
                for item in self._items.values() if item["responder_id"] not in self._gone]


class PushHook(Receiver):
    """A backend's webhook that hands pushes on."""

    def events(self, kind, who=None):
        """The bodies of one kind so far, to one person."""
        bodies = [request.json() for request in list(self.requests)]
        return [
            body for body in bodies
            if body["type"] == kind and who in (None, body["data"]["responder_id"])]


class Expo(Receiver):
    """Expo's push service: tickets for messages, receipts for tickets. `dead` tokens belong to no
    app any more. It refuses what Expo refuses."""

    def __init__(self, case):
        self.dead = set()
        self.messages = []
        self.faults = []
        self.answers = []
        super().__init__(case)

    def judge(self, told):
        if self.answers:
            return self.answers.pop(0)
        if told.path != "/--/api/v2/push/send":
            self.faults.append(told.path)
            return 404, {"errors": [{"code": "NOT_FOUND", "message": told.path}]}
        messages = told.json()
        if not isinstance(messages, list) or not 1 <= len(messages) <= 100:
            self.faults.append("not 1 to 100 messages")
            return 400, {"errors": [{"code": "PUSH_TOO_MANY_NOTIFICATIONS", "message": "100"}]}
        tickets = []
        for message in messages:
            self.messages.append((time.time(), message))
            if message["to"] in self.dead:
                tickets.append({
                    "status": "error", "message": "not registered",
                    "details": {"error": "DeviceNotRegistered"}})
            else:
                tickets.append({"status": "ok", "id": f"ticket-{len(self.messages)}"})
        return 200, {"data": tickets}

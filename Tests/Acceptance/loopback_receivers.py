"""Who is told, on loopback: a webhook and a pager with PagerDuty's semantics; and a fleet that
reports, which can be cut off by region.

A receiver's port is the kernel's, and it is gone with its test.
"""

import http.client
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from rollcall_process import Client, eventually, ndjson

BODY_BYTES_MAX = 512 * 1024


class Told:
    """One request that a receiver got."""

    def __init__(self, path, headers, body):
        self.at = time.time()
        self.path = path
        self.headers = headers
        self.body = body

    def json(self):
        return json.loads(self.body)


class Receiver:
    """A server on loopback that keeps what it is told and answers what `judge` says."""

    def __init__(self, case):
        self.requests = []
        # Header fields of each answer, beside the usual ones.
        self.fields = {}
        self._lock = threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                length = int(self.headers.get("Content-Length", "0"))
                assert length <= BODY_BYTES_MAX
                told = Told(
                    self.path, {n.lower(): v for n, v in self.headers.items()},
                    self.rfile.read(length))
                with receiver._lock:
                    status, answer = receiver.judge(told)
                    receiver.requests.append(told)
                pause = receiver.pause(told)
                if pause is None:
                    self.close_connection = True
                    return
                time.sleep(pause)
                body = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                for name, value in receiver.fields.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                # Whoever sends is killed now and then.
                if not isinstance(sys.exception(), ConnectionError):
                    super().handle_error(request, client_address)

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        case.addCleanup(self._server.server_close)
        case.addCleanup(self._server.shutdown)

    def speak(self, context):
        """Takes TLS alone from now on."""
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/"

    def judge(self, told):
        """Status and body of the answer; called for one request at a time."""
        return 200, {}

    def pause(self, told):
        """Seconds before the answer goes out; None for a connection that ends without one."""
        return 0

    def first(self, question, seconds, what):
        """The first request of which `question` is true, as soon as it is there."""
        return eventually(
            lambda: next((r for r in list(self.requests) if question(r)), None), seconds, what)


class Hook(Receiver):
    """Takes every body, or refuses the first `refusals` of them with `refusal`."""

    def __init__(self, case, refusals=0, refusal=500):
        self.refusals = refusals
        self.refusal = refusal
        super().__init__(case)

    def judge(self, told):
        if self.refusals > 0:
            self.refusals -= 1
            return self.refusal, {"error": "not now"}
        return 200, {}

    def alerts(self, status):
        """What bodies said of alerts with this status: (alertname, region, message's id)."""
        return [
            (alert["labels"]["alertname"], alert["labels"].get("region"),
             request.headers.get("webhook-id"))
            for request in list(self.requests) for alert in request.json()["alerts"]
            if alert["status"] == status]


class Incident:
    """What somebody on call sees."""

    def __init__(self, event):
        self.key = event["dedup_key"]
        self.payload = event["payload"]
        self.event = event
        self.triggers = 1
        self.is_open = True


class Pager(Receiver):
    """The Events API v2: a trigger opens an incident, or adds to the open one of its key; a resolve
    closes it; a trigger after that opens another one. It refuses what PagerDuty refuses."""

    ROUTING_KEY = "R0123456789ABCDEF0123456789ABCDE"

    def __init__(self, case):
        self.incidents = []
        self.faults = []
        # Resolves of what was never open, and of what is over already: PagerDuty drops both.
        self.ghosts = []
        self.repeats = []
        super().__init__(case)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/v2/enqueue"

    def judge(self, told):
        event = told.json()
        fault = self.fault(told, event)
        if fault:
            self.faults.append((fault, event))
            return 400, {"status": "invalid event", "message": fault, "errors": [fault]}
        key = event["dedup_key"]
        open_one = next((i for i in self.incidents if i.key == key and i.is_open), None)
        if event["event_action"] == "trigger":
            if open_one:
                open_one.triggers += 1
            else:
                self.incidents.append(Incident(event))
        elif open_one:
            open_one.is_open = False
        elif any(incident.key == key for incident in self.incidents):
            self.repeats.append(event)
        else:
            self.ghosts.append(event)
        return 202, {"status": "success", "message": "Event processed", "dedup_key": key}

    def fault(self, told, event):
        """Why PagerDuty would refuse the event; none if it would not."""
        if told.path != "/v2/enqueue" or told.headers.get("content-type") != "application/json":
            return "path or content type"
        if event.get("routing_key") != self.ROUTING_KEY:
            return "routing_key"
        if not 1 <= len(event.get("dedup_key", "")) <= 255:
            return "dedup_key"
        if event.get("event_action") == "resolve":
            return "payload" if "payload" in event or "links" in event else None
        if event.get("event_action") != "trigger":
            return "event_action"
        payload = event.get("payload", {})
        if not 1 <= len(payload.get("summary", "")) <= 1024 or not payload.get("source"):
            return "summary or source"
        if payload.get("severity") not in ("critical", "error", "warning", "info"):
            return "severity"
        return None


class RotatedPager(Pager):
    """A pager that knows only a new routing key, and answers 403 to the one from before."""

    OLD_KEY = Pager.ROUTING_KEY
    ROUTING_KEY = "R9876543210FEDCBA9876543210FEDCB"

    def __init__(self, case):
        self.refused = []
        super().__init__(case)

    def judge(self, told):
        if told.json().get("routing_key") == self.OLD_KEY:
            self.refused.append(told)
            return 403, {"status": "error", "message": "routing_key", "errors": []}
        return super().judge(told)


class Fleet:
    """People who report each quarter of a second, as a backend forwards it: what is not
    acknowledged is sent again. Regions can be cut off."""

    EVERY_SECONDS = 0.25

    def __init__(self, case, server, people, source=None):
        self.server = server
        self.people = {item["responder_id"]: item for item in people}
        self.source = source
        self.is_beating = source is not None
        self._cut = set()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._report, daemon=True)
        case.addCleanup(self.end)

    def start(self):
        self._thread.start()
        return self

    def end(self):
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(10)

    def cut(self, *ids):
        """These fall silent from now on."""
        with self._lock:
            self._cut |= set(ids)

    def restore(self, *ids):
        """These report again."""
        with self._lock:
            self._cut -= set(ids)

    def of(self, region):
        """Ids of a region's people."""
        return [name for name, item in self.people.items() if item["region"] == region]

    def _report(self):
        while not self._ended.wait(self.EVERY_SECONDS):
            # The lock is held until the answer: after `cut` nothing of theirs is on its way.
            with self._lock:
                items = [item for name, item in self.people.items() if name not in self._cut]
                client = Client(self.server.port, timeout=5)
                try:
                    where = f"?source={self.source}" if self.source else ""
                    if items:
                        client.request(
                            "POST", f"/v1/batches{where}", ndjson(items),
                            {"Content-Type": "application/x-ndjson"})
                    if self.is_beating:
                        client.request("POST", f"/v1/heartbeat{where}", {"every_seconds": 1})
                except (OSError, http.client.HTTPException):
                    # Killed, or not up yet.
                    pass
                finally:
                    client.close()


def people(region, count, **telemetry):
    """Batches of people of one region, whose phones say this."""
    return [
        {"responder_id": f"{region}-{number}", "region": region, "telemetry": telemetry}
        for number in range(1, count + 1)]

"""Rollcall's client for backends in Python: one file to copy, Python 3.9 or newer, nothing else.

    from rollcall import Rollcall

    rollcall = Rollcall("http://127.0.0.1:10112", source="backend-1")
    rollcall.batch({"responder_id": "r-17", "updates": [{"sequence": 1, "captured_at": 1764000000}]})
    rollcall.close()

`batch`, `transition` and `facts` take a copy, stamp it with the time and return at once: they neither
block nor touch the network, so they may be called from a request's handler and from an event loop. A
thread of the client's own sends what waits, as NDJSON, and the heartbeats of the source.

What waits is in memory and dies with the process. It is bounded by count and by bytes. When it is full
the oldest that is not being sent gives way to the new one: to a watch the newest news is worth most.
Whatever is not delivered is reported to `on_dropped` and to the logger `rollcall`; bodies are never
logged, they may hold coordinates.

Nobody knows what became of a request without an answer (a refused connection, a time-out, 408, 429, a
5xx), so the very same body goes again, after a pause that grows. That is safe: Rollcall counts an update
once for each responder, install and sequence, and a transition once for each id. Any other refusal will
not get better by repeating; the body is dropped and reported.

Of a fleet of many cells a gateway says which items a cell did not take (`unavailable`). They are put
aside, with what comes of the same people behind them, and go again after pauses of their own; nobody
else waits for them.

Make one client in each process, and close it at the end. A fork may come in between (gunicorn's
`preload_app`): the child begins with an empty queue and a thread of its own.
"""

import atexit
import collections
import datetime
import email.utils
import http.client
import json
import logging
import os
import random
import re
import socket
import ssl
import threading
import time
import urllib.parse
import uuid
import weakref

__all__ = ["Rollcall"]

_LOG = logging.getLogger("rollcall")
_PAUSE_MIN = 0.5
_RETRY_AFTER_MAX = 300.0
_ANSWER_BYTES_MAX = 16 << 20
_PROBLEMS_MAX = 256
_NOTES_MAX = 100  # of the rejected items so many are named at most
_LOG_EVERY = 60.0
_BEAT = "/v1/heartbeat"

_Item = collections.namedtuple("_Item", "number path person line")


class _Queue:
    """Items that go in their order, with pauses of their own: those that were not sent yet, or those
    that a cell did not take, and what came of the same people."""

    def __init__(self, cell=None):
        self.cell = cell
        self.items = collections.deque()  # the oldest first
        self.bytes = 0
        self.people = collections.Counter()  # of the items, those in the body too
        self.failed, self.not_before, self.sent_at = 0, 0.0, time.monotonic()

    def append(self, item):
        self.items.append(item)
        self.bytes += len(item.line)
        self.people[item.person] += 1

    def pop(self):
        """Takes out the oldest; its person still counts as one of the queue's."""
        item = self.items.popleft()
        self.bytes -= len(item.line)
        return item

    def put_back(self, items):
        self.items.extendleft(reversed(items))
        self.bytes += sum(len(item.line) for item in items)

    def forget(self, items):
        self.people.subtract(item.person for item in items)
        for item in items:
            if not self.people[item.person]:
                del self.people[item.person]


class Rollcall:
    """A queue towards one Rollcall, and the thread that empties it. All methods may be called from
    any thread."""

    def __init__(
            self, url="http://127.0.0.1:10112", *, source=None, token=None, heartbeat=10,
            queue_items=50_000, queue_bytes=32 << 20, body_items=500, body_bytes=512 << 10,
            linger=0.1, timeout=10.0, pause_max=30.0, on_dropped=None, on_problem=None,
            ssl_context=None):
        """Begins to send heartbeats.

        `url` is where Rollcall, or the proxy in front of it, is reached; a path is kept.
        `source` names this instance and stays the same over restarts; the host's name by default.
        `token` is one with the scope `ingest`, or a function that returns it, asked at each attempt.
        `heartbeat` is the time between two beats in whole seconds, 1 to 3600; None for none.
        `queue_items` and `queue_bytes` bound what waits, `body_items` and `body_bytes` one request
        (an item that is longer goes alone).
        `linger` is how long an item may wait for others to share its request, in seconds.
        `timeout` is how long a step of a request may take, in seconds.
        `pause_max` is the longest pause between two attempts, in seconds; a `Retry-After` may make
        it longer, up to 300 s.
        `on_dropped(reason, items, detail)` hears of items that will not arrive: "full" (the oldest,
        for lack of room), "too_large" (for the whole queue), "refused" (a 4xx to all of the body),
        "rejected" (Rollcall took the others) and "closed" (there was no time left; those in a
        request without an answer may have arrived).
        `on_problem(pointer, detail, item)` hears once of each kind of problem that Rollcall named in
        an item that it took, such as a field that it does not know.
        Both are called by whichever thread finds it out, must not wait, and may not raise: what
        they raise is logged.
        """
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or (
                parts.query or parts.fragment or parts.username is not None):
            # Not shown: a password may stand in it.
            raise ValueError("http://host:port or https://host/path expected")
        if heartbeat is not None and heartbeat not in range(1, 3601):
            raise ValueError(f"heartbeat: 1 to 3600 whole seconds expected ({heartbeat})")
        if min(queue_items, queue_bytes, body_items, body_bytes) < 1:
            raise ValueError("sizes of the queue and of bodies: 1 or more expected")
        if isinstance(token, str):
            _checked(token)
        self._is_secure = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port
        self._path = parts.path.rstrip("/")
        self._query = "?source=" + urllib.parse.quote(source or socket.gethostname(), safe="")
        self._token, self._ssl_context = token, ssl_context
        self._heartbeat = heartbeat
        self._queue_items, self._queue_bytes = queue_items, queue_bytes
        self._body_items, self._body_bytes = body_items, body_bytes
        self._linger, self._timeout, self._pause_max = linger, timeout, pause_max
        self._on_dropped, self._on_problem = on_dropped, on_problem
        self._begin()
        self._start()
        atexit.register(self.close)
        _CLIENTS.add(self)

    # What a backend calls

    def batch(self, batch):
        """Queues what a phone sent (`POST /v1/batches`); true if it was taken into the queue.

        `received_at` is now, if `batch` does not say when the phone was heard. Times may be aware
        `datetime`s. Raises `TypeError` or `ValueError` for what is no JSON object.
        """
        return self._put("/v1/batches", {"received_at": _now_ms(), **batch})

    def transition(self, transition):
        """Queues the server's own change of a status (`POST /v1/transitions`), with an `id` so that
        a repeated request counts once; `at` is now unless it says otherwise."""
        return self._put(
            "/v1/transitions", {"at": _now_ms(), "id": uuid.uuid4().hex, **transition})

    def facts(self, facts):
        """Queues facts that the backend knows, such as a duty state (`POST /v1/responders`); `at` is
        now unless they say otherwise."""
        return self._put("/v1/responders", {"at": _now_ms(), **facts})

    def counts(self):
        """What became of all items so far, for the backend's own metrics: `given`, `accepted`,
        `duplicates`, `dropped` by reason, `waiting` and `waiting_bytes`; of requests `attempts`
        and `failures`. given = accepted + duplicates + all dropped + waiting."""
        with self._wake:
            return {**self._counts, "waiting": self._waiting(), "waiting_bytes": self._bytes,
                    "dropped": dict(self._dropped)}

    def close(self, within=5.0):
        """Sends what waits, for `within` seconds at most, and ends; how many items are left, which
        are reported as "closed". Heartbeats end at once. Call it once no more is to come."""
        atexit.unregister(self.close)
        with self._wake:
            if self._end is None:
                self._end = time.monotonic() + within
                for queue in self._queues():
                    queue.not_before = 0.0
            thread, wake = self._thread, self._wake
            wake.notify_all()
        if thread is not None and thread is not threading.current_thread():
            thread.join(max(0.0, self._end - time.monotonic()) + 0.1)
        with self._wake:
            left = sorted(self._body + [one for queue in self._queues() for one in queue.items])
            self._is_over = True
            self._body, self._bytes = [], 0
            self._fresh, self._of_cells = _Queue(), {}
        self._drop("closed", left, f"after {within} s")
        return len(left)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # The queue

    def _begin(self):
        """An empty queue, in a new process too: what the parent has queued is the parent's to send."""
        self._wake = threading.Condition()
        self._fresh = _Queue()
        self._of_cells = {}  # of items that were put aside, by the cell that did not take them
        self._oldest_at = 0.0
        self._body, self._body_queue = [], self._fresh  # what is sent
        self._body_at_most = self._body_items
        self._bytes = 0  # of all that waits, and the body
        self._end, self._is_over = None, False
        self._next_beat = 0.0
        self._counts = {"given": 0, "accepted": 0, "duplicates": 0, "attempts": 0, "failures": 0}
        self._dropped = collections.Counter()
        self._problems, self._logged = set(), {}
        self._connection, self._thread = None, None

    def _start(self):
        self._thread = threading.Thread(target=self._run, name="rollcall", daemon=True)
        self._thread.start()

    def _queues(self):
        return [self._fresh, *self._of_cells.values()]

    def _waiting(self):
        return len(self._body) + sum(len(queue.items) for queue in self._queues())

    def _put(self, path, item):
        line = json.dumps(item, separators=(",", ":"), allow_nan=False, default=_plain).encode()
        with self._wake:
            self._counts["given"] += 1
            # 41 is the same as "41".
            item = _Item(self._counts["given"], path, str(item.get("responder_id")), line)
        if len(line) > self._queue_bytes:
            self._drop("too_large", [item], f"{len(line)} bytes")
            return False
        full = []
        with self._wake:
            if self._end is not None:
                is_open = False
            else:
                is_open = True
                # What is being sent may have arrived: it cannot give way.
                while not (has_room := self._has_room(line)) and self._waiting() > len(self._body):
                    full.append(self._give_way())
                if has_room:
                    if not self._fresh.items:
                        self._oldest_at = time.monotonic()
                    self._fresh.append(item)
                    self._bytes += len(line)
                else:
                    full.append(item)
                if self._thread is None:
                    self._start()
                self._wake.notify()
        if not is_open:
            self._drop("closed", [item], "the client is closed")
            return False
        self._drop("full", full, f"{self._queue_items} items, {self._queue_bytes} bytes at most")
        return has_room

    def _has_room(self, line):
        return (self._waiting() < self._queue_items
                and self._bytes + len(line) <= self._queue_bytes)

    def _give_way(self):
        """Takes out the oldest item that waits."""
        queue = min((queue for queue in self._queues() if queue.items),
                   key=lambda queue: queue.items[0].number)
        item = queue.pop()
        self._leave(queue, [item])
        return item

    def _leave(self, queue, items):
        """These need not be sent any more."""
        self._bytes -= sum(len(item.line) for item in items)
        queue.forget(items)
        if not queue.people:
            self._of_cells.pop(queue.cell, None)

    def _take_body(self, queue):
        """Makes a body of the oldest items of one route; none if all were put aside, behind others of
        the same people."""
        self._body_queue, queue.sent_at, size = queue, time.monotonic(), 0
        while queue.items and len(self._body) < self._body_at_most:
            item = queue.items[0]
            other = next((one for one in self._of_cells.values() if item.person in one.people), queue)
            if other is not queue:
                queue.forget([queue.pop()])
                other.append(item)
                continue
            size += len(item.line) + 1
            if self._body and (item.path != self._body[0].path or size > self._body_bytes):
                break
            self._body.append(queue.pop())
        if queue is self._fresh:
            self._oldest_at = queue.sent_at

    # The thread

    def _run(self):
        while True:
            step = self._next_step()
            if step is None:
                break
            if step is _BEAT:
                self._beat()
            else:
                self._send_body()
        self._hang_up()

    def _next_step(self):
        """Waits for something to do: a beat, a body, or None at the end."""
        with self._wake:
            while True:
                now = time.monotonic()
                if self._is_over or self._end is not None and (
                        not self._waiting() or now >= self._end):
                    return None
                until = [self._end] if self._end is not None else []
                if self._heartbeat is not None and self._end is None:
                    if now >= self._next_beat:
                        return _BEAT
                    until.append(self._next_beat)
                if self._waiting():
                    queue, due = self._next_queue(now)
                    if now >= due:
                        if not self._body:
                            self._take_body(queue)
                        if self._body:
                            return queue
                        continue
                    until.append(due)
                self._wake.wait(max(0.001, min(until) - now) if until else None)

    def _next_queue(self, now):
        """What is sent next, and when: of queues that are due the one that was sent longest ago."""
        if self._body:
            return self._body_queue, self._body_queue.not_before
        due = {queue: queue.not_before for queue in self._queues() if queue.items}
        if self._fresh in due and self._end is None and not self._is_full_body():
            due[self._fresh] = max(self._fresh.not_before, self._oldest_at + self._linger)
        ready = [queue for queue in due if due[queue] <= now]
        queue = min(ready, key=lambda queue: queue.sent_at) if ready else min(due, key=due.get)
        return queue, due[queue]

    def _is_full_body(self):
        return (len(self._fresh.items) >= self._body_at_most
                or self._fresh.bytes >= self._body_bytes)

    def _beat(self):
        body = b'{"every_seconds":%d}' % self._heartbeat
        status, answer, _ = self._post(_BEAT, "application/json", body)
        # One that is late is not made up for; one that failed comes a little sooner.
        wait = self._heartbeat if status == 200 else self._heartbeat / 2
        self._next_beat = time.monotonic() + wait * random.uniform(0.9, 1.0)
        if status != 200:
            self._log(f"heartbeat {status}", logging.ERROR, f"heartbeat: {_told(status, answer)}")
        else:
            self._report_problems(_BEAT, answer, [body])

    def _send_body(self):
        body, queue = self._body, self._body_queue
        status, answer, retry_after = self._post(
            body[0].path, "application/x-ndjson", b"\n".join(item.line for item in body))
        verdict = _verdict(status, answer, len(body))
        if verdict is not None and not verdict["is_cut"]:
            self._settle(verdict, body, queue, retry_after)
        elif len(body) > 1 and (status == 413 or verdict is not None):
            half = max(1, len(body) // 2)
            with self._wake:
                if not self._is_over:
                    queue.put_back(body[half:])
                    del body[half:]
            if status == 413:  # Nothing of it was taken. From now on bodies are smaller.
                self._body_at_most = half
                self._log("413", logging.WARNING, f"413: at most {half} items from now on")
        elif 400 <= status < 500 and status not in (408, 429):
            with self._wake:
                if self._is_over:
                    return
                self._end_body(body, queue)
            self._drop("refused", body, _told(status, answer))
        else:
            self._fail(_told(status, answer), body, queue, retry_after)

    def _settle(self, verdict, body, queue, retry_after):
        """Rollcall has the body: who was taken, who was not, and who waits for their cell."""
        away = verdict["away"]
        with self._wake:
            if self._is_over:
                return
            self._counts["accepted"] += verdict["accepted"]
            self._counts["duplicates"] += verdict["duplicates"]
            self._end_body([item for place, item in enumerate(body) if place not in away], queue)
            if away:
                self._put_aside(
                    [(body[place], away[place]) for place in sorted(away)], queue, retry_after)
        if away:
            self._log("away", logging.WARNING,
                      f"{len(away)} items wait for cell {', '.join(sorted(set(away.values())))}")
        for one in verdict["rejected"]:
            if one["index"] < len(body):
                self._drop("rejected", [body[one["index"]]], f"{one['pointer']}: {one['detail']}")
        self._report_problems(body[0].path, verdict, [item.line for item in body])

    def _end_body(self, settled, queue):
        """Nothing is being sent any more, and these need not be again."""
        self._body = []
        self._leave(queue, settled)
        if queue is self._fresh or not queue.people or settled:
            queue.failed, queue.not_before = 0, 0.0

    def _put_aside(self, items, queue, retry_after):
        """These their cells did not take: they go again, and hold up nobody else."""
        self._counts["failures"] += 1
        if queue is self._fresh:
            queue.forget([item for item, _ in items])
            for item, cell in items:
                if cell not in self._of_cells:
                    self._of_cells[cell] = _Queue(cell)
                    self._pause(self._of_cells[cell], retry_after)
                self._of_cells[cell].append(item)
            return
        queue.put_back([item for item, _ in items])
        if {cell for _, cell in items} == {queue.cell}:
            self._pause(queue, retry_after)
        else:
            # The cell was split meanwhile: whose these are is asked anew, in their order.
            del self._of_cells[queue.cell]
            self._fresh.put_back(queue.items)
            self._fresh.people += queue.people

    def _fail(self, told, body, queue, retry_after):
        """Nobody knows what became of it: the same body goes again after a pause. If it was put aside
        it holds up nobody meanwhile."""
        with self._wake:
            if self._is_over:
                return
            self._counts["failures"] += 1
            self._pause(queue, retry_after)
            if queue is not self._fresh:
                queue.put_back(body)
                self._body = []
            waiting = self._waiting()
        self._log("again", logging.WARNING, f"{told}; {waiting} items wait")

    def _pause(self, queue, retry_after):
        queue.failed += 1
        most = min(self._pause_max, _PAUSE_MIN * 2 ** min(queue.failed - 1, 16))
        pause = random.uniform(most / 2, most)
        if retry_after is not None:
            pause = max(pause, min(retry_after, _RETRY_AFTER_MAX) * random.uniform(1.0, 1.2))
        if self._end is not None:
            pause = random.uniform(0.1, 0.3)
        queue.not_before = time.monotonic() + pause

    # HTTP

    def _post(self, path, kind, body):
        """The status, the answer (JSON, else None) and `Retry-After` in seconds; status 0 and the
        error's name if there was no answer."""
        with self._wake:
            self._counts["attempts"] += 1
            left = None if self._end is None else self._end - time.monotonic()
        fields = {"Content-Type": kind, "User-Agent": "rollcall-python"}
        for is_fresh in (False, True):
            was_open = self._connection is not None
            try:
                token = self._token() if callable(self._token) else self._token
                if token:
                    fields["Authorization"] = f"Bearer {_checked(token)}"
                connection = self._connect(left)
                # By the clock that stamps received_at, anew at each attempt (D10).
                fields["Rollcall-Sent-At"] = str(_now_ms())
                connection.request("POST", f"{self._path}{path}{self._query}", body, fields)
                answer = connection.getresponse()
                text = answer.read(_ANSWER_BYTES_MAX)
                if not answer.isclosed() or answer.will_close:
                    self._hang_up()
                return answer.status, _parsed(text), _seconds(answer.headers.get("Retry-After"))
            except (ConnectionError, http.client.BadStatusLine) as error:
                self._hang_up()
                # An idle connection may have been closed meanwhile: that is no failure.
                if is_fresh or not was_open:
                    return 0, _named(error), None
            except Exception as error:  # The thread must go on, whatever a token's function raises.
                self._hang_up()
                return 0, _named(error), None
        return 0, "no answer", None

    def _connect(self, left):
        timeout = self._timeout if left is None else max(0.05, min(self._timeout, left))
        if self._connection is None:
            if self._is_secure:
                context = self._ssl_context or ssl.create_default_context()
                self._connection = http.client.HTTPSConnection(
                    self._host, self._port, timeout=timeout, context=context)
            else:
                self._connection = http.client.HTTPConnection(
                    self._host, self._port, timeout=timeout)
            self._connection.connect()
            self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection.sock.settimeout(timeout)
        return self._connection

    def _hang_up(self):
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    # What is reported

    def _drop(self, reason, items, detail):
        if not items:
            return
        with self._wake:
            self._dropped[reason] += len(items)
        self._log(reason, logging.ERROR, f"{len(items)} items dropped: {reason} ({detail})")
        if self._on_dropped is not None:
            self._call(self._on_dropped, reason, [json.loads(item.line) for item in items], detail)

    def _report_problems(self, path, answer, lines):
        problems = answer.get("problems") if isinstance(answer, dict) else None
        for one in problems if isinstance(problems, list) else ():
            pointer, detail = str(one.get("pointer")), str(one.get("detail"))
            kind = (path, re.sub(r"/\d+", "/*", pointer), re.sub(r"\d+", "0", detail))
            if kind in self._problems or len(self._problems) >= _PROBLEMS_MAX:
                continue
            self._problems.add(kind)
            _LOG.warning("a problem in what %s takes: %s: %s", path, pointer, detail)
            place = one.get("index")
            if self._on_problem is not None and isinstance(place, int) and place < len(lines):
                self._call(self._on_problem, pointer, detail, json.loads(lines[place]))

    def _log(self, key, level, text):
        """One line a minute of a kind at most."""
        now = time.monotonic()
        with self._wake:
            last, held = self._logged.get(key, (None, 0))
            if last is not None and now - last < _LOG_EVERY:
                self._logged[key] = (last, held + 1)
                return
            self._logged[key] = (now, 0)
        _LOG.log(level, "%s%s", text, f" ({held} more like this before)" if held else "")

    @staticmethod
    def _call(function, *arguments):
        try:
            function(*arguments)
        except Exception:
            _LOG.exception("a callback raised")


_CLIENTS = weakref.WeakSet()


def _after_fork():
    for client in list(_CLIENTS):
        client._begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _now_ms():
    return time.time_ns() // 1_000_000


def _plain(value):
    """Times and ids as JSON."""
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            raise ValueError("a datetime without a time zone could mean any instant")
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    raise TypeError(f"no JSON: {type(value).__name__}")


def _checked(token):
    if not re.fullmatch(r"[\x21-\x7e]+", token):
        raise ValueError("token: visible ASCII characters without spaces expected")
    return token


def _parsed(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def _verdict(status, answer, count):
    """The answer, if it is Rollcall's and about all `count` items: another server's 200 is none. With
    `away`, for each item that a cell did not take that cell; `is_cut` if more were rejected than are
    named."""
    if status not in (200, 422, 503) or not isinstance(answer, dict):
        return None
    sums = [answer.get("accepted"), answer.get("duplicates")]
    rejected, unavailable = answer.get("rejected"), answer.get("unavailable", [])
    if not all(isinstance(number, int) for number in sums) or not isinstance(rejected, list):
        return None
    try:
        away = {place: str(part["cell"]) for part in unavailable for place in part["items"]}
    except (KeyError, TypeError):
        return None
    if not all(place in range(count) for place in away) or status == 503 and not away:
        return None
    unnamed = count - sum(sums) - len(rejected) - len(away)
    if unnamed < 0 or unnamed > 0 and len(rejected) < _NOTES_MAX:
        return None
    return {**answer, "away": away, "is_cut": unnamed > 0}


def _seconds(text):
    """`Retry-After` in seconds, which may also be a date; None without one (RFC 9110, 10.2.3)."""
    if not text:
        return None
    if text.strip().isdigit():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def _named(error):
    """An error by its kind alone, and the system's word for it."""
    reason = getattr(error, "strerror", None)
    return f"{type(error).__name__}: {reason}" if reason else type(error).__name__


def _told(status, answer):
    if status == 0:
        return str(answer)
    detail = answer.get("detail") if isinstance(answer, dict) else None
    return f"{status} {detail}" if detail else f"{status}"

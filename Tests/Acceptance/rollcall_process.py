"""The real binary, started, asked and stopped from outside, over loopback only.

Every wait is bounded in time and every loop in count: a server that hangs fails a test, it does
not hang the suite.
"""

import http.client
import json
import os
import queue
import re
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest
from datetime import datetime, timezone

HERE = os.path.dirname(os.path.abspath(__file__))
BINARY = os.environ.get("ROLLCALL_BINARY", "")
READY_LINE = re.compile(r"rollcall: listening on https?://(?:127\.0\.0\.1|0\.0\.0\.0):(\d+)\n")
READY_SECONDS = 30.0
STOP_SECONDS = 10.0

NDJSON = "application/x-ndjson"
OPEN_METRICS = "application/openmetrics-text; version=1.0.0"

STATUSES = ("ONLINE", "DEGRADED", "UNKNOWN", "OFFLINE")


# MARK: time


def now_ms():
    """The wall clock, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def rfc3339(milliseconds):
    """A time as the design's answers print it: UTC, three decimals."""
    seconds, rest = divmod(milliseconds, 1000)
    stamp = datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{stamp}.{rest:03d}Z"


def milliseconds(text):
    """The milliseconds since 1970 of an RFC 3339 time."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def sleep_until(wall_ms):
    """Sleeps until the wall clock shows `wall_ms`; at most ten minutes."""
    time.sleep(min(max(0, wall_ms - now_ms()), 600_000) / 1000)


def eventually(question, seconds, what, every=0.05):
    """The first true answer of `question` within `seconds`; an error that names `what` if none."""
    deadline = time.monotonic() + seconds
    while True:
        answer = question()
        if answer:
            return answer
        if time.monotonic() >= deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(every)


def taken(send, what, status=200, seconds=20):
    """The answer of what `send` does, which is done again as a client would: on a 503, and where None says that
    nobody answered. Whatever else comes must have the status, if there is one."""
    def answered():
        answer = send()
        if answer is None or answer.status == 503:
            return None
        if status is not None and answer.status != status:
            raise AssertionError(f"{what}: {answer}")
        return answer
    return eventually(answered, seconds, f"{what} is taken", every=0.1)


# MARK: HTTP


class Answer:
    """What came back: status, header fields by lower-case name, body."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = {name.lower(): value for name, value in headers}
        self.body = body

    @property
    def text(self):
        return self.body.decode("utf-8")

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"Answer({self.status}, {self.headers}, {self.body[:500]!r})"


class Client:
    """One keep-alive connection. It never sends a request again by itself."""

    def __init__(self, port, timeout=10.0, context=None):
        if context is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        else:
            self._connection = http.client.HTTPSConnection(
                "127.0.0.1", port, timeout=timeout, context=context)

    def request(self, method, target, body=None, headers=None):
        """Sends a request and reads its answer; `OSError` or `HTTPException` if none came.

        A connection that was closed while it was idle is made anew before anything is sent; one
        that is closed instead of an answer is an error.
        """
        kept = self._connection.sock
        if kept is not None and select.select([kept], [], [], 0)[0]:
            self._connection.close()
        fields = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            body = body.encode("utf-8") if isinstance(body, str) else json.dumps(body).encode()
        if body is not None and not any(name.lower() == "content-type" for name in fields):
            fields["Content-Type"] = "application/json"
        self._connection.request(method, target, body=body, headers=fields)
        if self._connection.sock is not None:
            self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        response = self._connection.getresponse()
        return Answer(response.status, response.getheaders(), response.read())

    def close(self):
        self._connection.close()


def ndjson(items):
    """Items as one object a line."""
    return b"".join(json.dumps(item).encode() + b"\n" for item in items)


# MARK: metrics

_SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$')
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)",?')
_SNAPSHOT_AGE = re.compile(r"^rollcall_snapshot_age_seconds (\S+)$", re.MULTILINE)
_ESCAPE = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


class Scrape:
    """Samples of a text 0.0.4 page by name and labels."""

    def __init__(self, text):
        self.text = text
        self.samples = {}
        for line in text.splitlines():
            if not line or line.startswith("#"):
                continue
            match = _SAMPLE.match(line)
            if match is None:
                raise AssertionError(f"not a sample: {line!r}")
            name, labels, value = match.groups()
            pairs = frozenset(
                (label, re.sub(r'\\.', lambda m: _ESCAPE[m.group()], raw))
                for label, raw in _LABEL.findall(labels or ""))
            if (name, pairs) in self.samples:
                raise AssertionError(f"twice on one page: {line!r}")
            self.samples[name, pairs] = float(value)

    def __call__(self, name, **labels):
        """The value of exactly this series; an error if it is not there."""
        key = (name, frozenset(labels.items()))
        if key not in self.samples:
            raise AssertionError(f"no series {name} {labels}")
        return self.samples[key]

    def all(self, name):
        """Every series of a name, by its labels."""
        return {labels: value for (n, labels), value in self.samples.items() if n == name}

    def total(self, name, **labels):
        """The sum of all series of a name that carry these labels."""
        wanted = set(labels.items())
        return sum(v for pairs, v in self.all(name).items() if wanted <= pairs)

    def milliseconds(self, name, **labels):
        """A value in seconds as whole milliseconds."""
        return round(self(name, **labels) * 1000)


# MARK: the process


class NotReady(AssertionError):
    """The process ended or stayed silent instead of saying where it listens."""


class Rollcall:
    """One store and the process that serves it, which may be stopped, killed and started anew."""

    def __init__(
            self, directory, config=None, name="rollcall", log_format=None,
            address="127.0.0.1:0", more=(), variables=None, prefix=()):
        self.directory = directory
        self.address = address
        self.more = more
        self.variables = variables or {}
        self.store = os.path.join(directory, f"{name}.db")
        self.log_path = os.path.join(directory, f"{name}.log")
        self.config_path = None
        self.log_format = log_format
        # What it is started by, and the variables that it gets beside the usual ones.
        self.prefix = list(prefix)
        self.port = None
        # What a client trusts of a server that speaks TLS; nothing where it does not.
        self.context = None
        self.process = None
        self._client = None
        if config is not None:
            self.config_path = os.path.join(directory, f"{name}.yaml")
            self.configure(config)

    def configure(self, config):
        """Writes the file of settings, as a whole."""
        with open(self.config_path + ".new", "w", encoding="utf-8") as file:
            file.write(config)
        os.replace(self.config_path + ".new", self.config_path)

    def events_stored(self):
        """The numbers of the decisions that are events, as the store holds them."""
        store = sqlite3.connect(f"file:{self.store}?mode=ro", uri=True, timeout=5)
        try:
            # 5, 6 and 9 are what a message holds, why somebody is not told, and clocks of sources.
            return [row[0] for row in store.execute(
                "SELECT id FROM decisions WHERE kind NOT IN (5, 6, 9) ORDER BY id")]
        finally:
            store.close()

    # Starting and ending

    def arguments(self):
        """The command line."""
        line = [
            BINARY, "serve", "--web.listen-address", self.address, "--storage.path", self.store,
            *self.more,
        ]
        if self.config_path is not None:
            line += ["--config.file", self.config_path]
        if self.log_format is not None:
            line += ["--log.format", self.log_format]
        return line

    def spawn(self):
        """Starts the process and does not wait."""
        assert self.process is None, "it runs already"
        log = open(self.log_path, "ab")
        try:
            self.process = subprocess.Popen(
                self.prefix + self.arguments(), stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log, cwd=self.directory,
                env={**plain_environment(), **self.variables})
        finally:
            log.close()

    def start(self):
        """Starts the process and waits for its one line."""
        self.spawn()
        line = read_line(self.process.stdout, READY_SECONDS)
        match = READY_LINE.fullmatch(line)
        if match is None:
            if line == "":
                self.process.kill()
            code = self.reap()
            raise NotReady(f"stdout {line!r}, exit {code}, log: {self.log()[-2000:]}")
        self.port = int(match.group(1))
        return self

    def stop(self, seconds=STOP_SECONDS):
        """SIGTERM; the exit status. A process that does not end within `seconds` is an error."""
        self.drop_client()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.reap()
            raise AssertionError(f"SIGTERM did not end it within {seconds} s") from None
        return self.reap()

    def kill(self):
        """SIGKILL: what a crash, the kernel or a power cut does to a process."""
        self.process.kill()
        self.reap()

    def pause(self):
        """SIGSTOP: the process stands still and its sockets stay open."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        """SIGCONT. The connection may have been idle for too long meanwhile."""
        self.drop_client()
        self.process.send_signal(signal.SIGCONT)

    def reap(self):
        """Waits for the end, closes what is left; the exit status."""
        code = self.process.wait(10)
        self.process.stdout.close()
        self.process = None
        self.drop_client()
        return code

    def close(self):
        """Ends the process however it is; for clean-up."""
        self.drop_client()
        if self.process is not None:
            self.process.kill()
            self.reap()

    def log(self):
        """What it wrote to standard error so far."""
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    # Talking

    def client(self, timeout=10.0):
        """A connection of its own."""
        return Client(self.port, timeout, self.context)

    def second(self):
        """A connection to the listener for metrics and health; only the log tells its port."""
        found = re.search(r"listener of their own.* port=(\d+)", self.log())
        assert found is not None, self.log()
        return Client(int(found.group(1)))

    def drop_client(self):
        if self._client is not None:
            self._client.close()
            self._client = None

    def request(self, method, target, body=None, headers=None, timeout=10.0):
        """A request over the test's connection, which is made anew after an error."""
        if self._client is None:
            self._client = self.client(timeout)
        try:
            return self._client.request(method, target, body, headers)
        except Exception:
            self.drop_client()
            raise

    def get(self, target, headers=None):
        return self.request("GET", target, headers=headers)

    def post(self, target, body, headers=None):
        return self.request("POST", target, body, headers)

    def write(self, target, body, headers=None):
        """A POST that must be taken; its answer's JSON."""
        answer = self.post(target, body, headers)
        if answer.status != 200:
            raise AssertionError(f"POST {target}: {answer}")
        return answer.json()

    def responder(self, responder_id):
        """What is known of one person."""
        answer = self.get(f"/v1/responders/{responder_id}")
        if answer.status != 200:
            raise AssertionError(f"GET {responder_id}: {answer}")
        return answer.json()

    def metrics(self, headers=None):
        """The page of metrics, as of now: where its writing takes long the last copy is answered, which
        tells its age (J8), and it is asked for again, for three seconds at most."""
        ends = time.monotonic() + 3
        while True:
            began = time.monotonic()
            answer = self.get("/metrics", headers)
            if answer.status != 200:
                raise AssertionError(f"GET /metrics: {answer}")
            age = _SNAPSHOT_AGE.search(answer.text)
            if age is None or float(age[1]) <= time.monotonic() - began or time.monotonic() >= ends:
                return answer
            time.sleep(0.05)

    def scrape(self):
        """The page of metrics, in text 0.0.4."""
        return Scrape(self.metrics().text)

    def scrape_at_once(self):
        """The page that is answered, be it the last copy of a server that stands still."""
        answer = self.get("/metrics")
        if answer.status != 200:
            raise AssertionError(f"GET /metrics: {answer}")
        return Scrape(answer.text)


def is_shipped():
    """True of a program that needs nothing of Swift on the machine that runs it."""
    return "libswift" not in subprocess.run(
        ["ldd", BINARY], check=True, capture_output=True, text=True, timeout=30).stdout


def packed(script):
    """The path of what a script of `.packages` makes of the program under test, now."""
    root = os.path.normpath(os.path.join(HERE, "..", ".."))
    outcome = subprocess.run(
        [os.path.join(root, ".packages", script)], capture_output=True, text=True, timeout=600,
        env={**plain_environment(), "ROLLCALL_BINARY": os.path.abspath(BINARY)})
    if outcome.returncode != 0:
        raise AssertionError(outcome.stderr)
    return os.path.join(root, outcome.stdout.strip())


def plain_environment():
    """The environment without settings of the product's own, which variables can carry, and
    without a service manager or a terminal's wishes that the tests themselves may run under."""
    return {
        name: value for name, value in os.environ.items()
        if not name.startswith(("ROLLCALL_", "NOTIFY_", "WATCHDOG_", "CLICOLOR"))
        and name not in ("COLUMNS", "LINES", "NO_COLOR")
        and not name.lower().endswith("_proxy")
    }


def read_line(stream, seconds):
    """The next line of a pipe, or what came of it; empty at its end or after `seconds`."""
    lines = queue.Queue()
    reader = threading.Thread(target=lambda: lines.put(stream.readline()), daemon=True)
    reader.start()
    try:
        return lines.get(timeout=seconds).decode("utf-8", "replace")
    except queue.Empty:
        return ""


class RollcallTestCase(unittest.TestCase):
    """A test with a directory of its own, gone afterwards with whatever still runs."""

    maxDiff = None

    def setUp(self):
        if not BINARY:
            self.fail("ROLLCALL_BINARY must name the binary")
        holder = tempfile.TemporaryDirectory(prefix="rollcall-")
        self.addCleanup(holder.cleanup)
        self.directory = holder.name

    def preloaded(self, name):
        """The library made of the C file of this name beside the tests, for LD_PRELOAD."""
        compiler = shutil.which("cc") or shutil.which("clang")
        if compiler is None:
            self.skipTest("no C compiler")
        library = os.path.join(self.directory, f"{name}.so")
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-Wall", "-Werror", "-o", library,
             os.path.join(HERE, f"{name}.c"), "-ldl"], check=True, timeout=60)
        return library

    def rollcall(self, config=None, **options):
        """A store with its process, not started yet."""
        process = Rollcall(self.directory, config, **options)
        self.addCleanup(process.close)
        return process

    def serve(self, config=None, **options):
        """A store with its process, ready."""
        return self.rollcall(config, **options).start()

    @classmethod
    def serve_all(cls, config=None, **options):
        """As `serve`, for all tests of the class; to be called while it is set up."""
        holder = cls("hold")
        holder.setUp()
        cls.addClassCleanup(holder.doCleanups)
        return holder.serve(config, **options)

    def hold(self):
        """Nothing: what owns such a process while the class lasts."""

    def assert_samples(self, told, before, after, unsteady):
        """Every sample of a page in text that was read `before` and `after` is told, none else, and with a
        value between theirs, but where `unsteady` is true of its key."""
        self.assertEqual((before.keys() & after.keys()) - told.keys(), set())
        self.assertEqual(told.keys() - (before.keys() | after.keys()), set())
        equal = 0
        for key, value in told.items():
            if unsteady(key) or key not in before or key not in after:
                continue
            least, most = sorted([before[key], after[key]])
            self.assertTrue(least <= value <= most, (key, least, value, most))
            equal += least == most
        self.assertGreater(equal, 1000)

    def assert_replays(self, server):
        """Exports the store of a server that has stopped: a replay decides what was decided (J4)."""
        export = os.path.join(self.directory, "export")
        for line in (
                ["export", "--storage.path", server.store, "--output", export],
                ["replay", "--verify", export]):
            done = subprocess.run(
                [BINARY, *line], capture_output=True, timeout=120, env=plain_environment())
            self.assertEqual(done.returncode, 0, done.stderr)

    def problem(self, answer, status):
        """Checks that an answer is a problem document of this status; the document."""
        self.assertEqual(answer.status, status, answer)
        self.assertEqual(answer.headers["content-type"], "application/problem+json")
        document = answer.json()
        self.assertEqual(document["status"], status)
        for member in ("type", "title", "detail"):
            self.assertIsInstance(document[member], str)
            self.assertTrue(document[member])
        return document

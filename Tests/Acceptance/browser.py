"""A headless Chromium, told what to do over its debugging pipe.

No driver and no downloaded browser: Debian's package, two pipes, JSON messages that end with a zero
byte (`--remote-debugging-pipe`). Every wait is bounded.
"""

import base64
import fcntl
import json
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import time

# The day in front of a time of the clock, which the page writes where that is not today's; and such a time,
# with seconds or without.
DAY = r"(?:\d{1,2} [A-Z][a-z]{2,3},? )?"
CLOCK = DAY + r"\d\d:\d\d(?::\d\d)?"

ANSWER_SECONDS = 30.0
END_SECONDS = 10.0

ARGUMENTS = (
    "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check",
    "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-default-apps", "--disable-extensions",
    "--disable-sync", "--disable-domain-reliability", "--metrics-recording-only",
    "--no-service-autorun", "--mute-audio", "--hide-scrollbars",
    # Nothing but loopback has a name.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


def program():
    """The browser's path; None where there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class BrowserError(AssertionError):
    """The browser refused a command, or did not answer."""


class Browser:
    """One process with a profile of its own; `close` ends it and all that it started."""

    def __init__(self):
        self._profile = tempfile.mkdtemp(prefix="rollcall-browser-")
        commands, self._commands = _pipe()
        self._answers, answers = _pipe()
        line = [program(), *ARGUMENTS, f"--user-data-dir={self._profile}", "about:blank"]
        if os.geteuid() == 0:
            line.insert(1, "--no-sandbox")
        self._log = open(os.path.join(self._profile, "log"), "wb")
        # The browser reads at 3 and writes at 4.
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{commands} 4>&{answers}', "browser", *line],
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
            pass_fds=(commands, answers), start_new_session=True)
        os.close(commands)
        os.close(answers)
        self._lock = threading.Lock()
        self._number = 0
        self._waiting = {}
        self._pages = {}
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        rest = b""
        while True:
            try:
                more = os.read(self._answers, 1 << 20)
            except OSError:
                more = b""
            if not more:
                break
            *messages, rest = (rest + more).split(b"\0")
            for text in messages:
                self._take(json.loads(text))
        with self._lock:
            for waiting in self._waiting.values():
                waiting.put({"error": {"message": "the browser is gone"}})

    def _take(self, message):
        if "id" in message:
            with self._lock:
                waiting = self._waiting.pop(message["id"], None)
            if waiting is not None:
                waiting.put(message)
            return
        page = self._pages.get(message.get("sessionId"))
        if page is not None:
            page.note(message["method"], message["params"])

    def send(self, method, parameters=None, session=None):
        """Tells without waiting; what the answer will come in."""
        waiting = queue.Queue(1)
        with self._lock:
            self._number += 1
            message = {"id": self._number, "method": method, "params": parameters or {}}
            if session is not None:
                message["sessionId"] = session
            self._waiting[self._number] = waiting
            data = json.dumps(message).encode() + b"\0"
            while data:
                data = data[os.write(self._commands, data):]
        return waiting

    def tell(self, method, parameters=None, session=None):
        """Tells and waits; the result."""
        try:
            answer = self.send(method, parameters, session).get(timeout=ANSWER_SECONDS)
        except queue.Empty:
            raise BrowserError(f"{method}: no answer within {ANSWER_SECONDS} s") from None
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error'].get('message')}")
        return answer["result"]

    def page(self, width=1440, height=900, scheme="light", login=None):
        """A window of its own, without what another one knows. `login` is a user and a password."""
        context = self.tell("Target.createBrowserContext")["browserContextId"]
        target = self.tell(
            "Target.createTarget", {"url": "about:blank", "browserContextId": context})["targetId"]
        session = self.tell(
            "Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = Page(self, session, target, login)
        self._pages[session] = page
        page.begin(width, height, scheme)
        return page

    def close(self):
        """Ends the browser, at first kindly."""
        try:
            self.send("Browser.close")
            self._process.wait(END_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            pass
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait(END_SECONDS)
        os.close(self._commands)
        self._log.close()
        shutil.rmtree(self._profile, ignore_errors=True)


def _pipe():
    """Two ends with numbers that the browser's own do not meet."""
    ends = os.pipe()
    moved = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in ends)
    for end in ends:
        os.close(end)
    return moved


class Page:
    """One window: where it is, what it shows, what went wrong in it."""

    def __init__(self, browser, session, target, login):
        self._browser = browser
        self._session = session
        self._target = target
        self._login = login
        # Exceptions, errors on the console and dialogs: none is ever expected.
        self.troubles = []
        # Every address that was asked for, in order.
        self.asked = []
        # Bytes that came, with their heads, as they were sent.
        self.received = 0
        self.challenges = 0

    def begin(self, width, height, scheme):
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.tell(f"{domain}.enable")
        if self._login is not None:
            self.tell("Fetch.enable", {"handleAuthRequests": True})
        self.resize(width, height, scheme)
        # Neither the tests' zone nor UTC: the page must say UTC wherever it is read.
        self.tell("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Kathmandu"})

    def resize(self, width, height, scheme):
        self.tell("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 700})
        self.tell("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"}]})

    def tell(self, method, parameters=None):
        return self._browser.tell(method, parameters, self._session)

    def note(self, method, parameters):
        """Takes an event; must not wait for an answer, since it is read on the same thread."""
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.troubles.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert"):
            self.troubles.append(str([one.get("value", one.get("description"))
                                      for one in parameters["args"]]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            entry = parameters["entry"]
            self.troubles.append(f"{entry['text']} ({entry.get('url', '')})")
        elif method == "Page.javascriptDialogOpening":
            self.troubles.append(f"dialog: {parameters['message']}")
            self._browser.send(
                "Page.handleJavaScriptDialog", {"accept": False}, self._session)
        elif method == "Network.requestWillBeSent":
            self.asked.append(parameters["request"]["url"])
        elif method == "Network.dataReceived":
            self.received += parameters["encodedDataLength"]
        elif method == "Network.responseReceived":
            self.received += parameters["response"]["encodedDataLength"]
        elif method == "Fetch.requestPaused":
            self._browser.send("Fetch.continueRequest", {
                "requestId": parameters["requestId"]}, self._session)
        elif method == "Fetch.authRequired":
            self.challenges += 1
            answer = {"response": "CancelAuth"}
            if self._login and self.challenges <= 3:
                user, password = self._login
                answer = {
                    "response": "ProvideCredentials", "username": user, "password": password}
            self._browser.send("Fetch.continueWithAuth", {
                "requestId": parameters["requestId"], "authChallengeResponse": answer},
                self._session)

    def login_with(self, user, password):
        """What is answered when the server asks for a password; None gives up."""
        self._login = (user, password) if user is not None else None
        self.challenges = 0

    def open(self, address):
        """Goes to an address and waits until it is read."""
        self.tell("Page.navigate", {"url": address})
        self.until("document.readyState === 'complete'", f"{address} is read")

    def run(self, expression):
        """The value of an expression in the page; what it promises, if it promises."""
        result = self.tell("Runtime.evaluate", {
            "expression": expression, "awaitPromise": True, "returnByValue": True})
        if "exceptionDetails" in result:
            raise BrowserError(f"{expression[:200]}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def until(self, expression, what, seconds=15.0):
        """Waits until an expression is true."""
        end = time.monotonic() + seconds
        while True:
            try:
                value = self.run(f"!!({expression})")
            except BrowserError:
                # While a page is left there is nothing to ask.
                value = None
            if value:
                return
            if time.monotonic() >= end:
                text = self.run("document.body.innerText.slice(0, 3000)")
                raise AssertionError(f"not within {seconds} s: {what}\n{text}\n{self.troubles}")
            time.sleep(0.1)

    def text(self, selector="body"):
        """What is read at a selector."""
        return self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def press(self, key, code=None):
        """A key, as a person presses it."""
        extra = {"Enter": {"text": "\r", "windowsVirtualKeyCode": 13},
                 "Tab": {"windowsVirtualKeyCode": 9},
                 "Escape": {"windowsVirtualKeyCode": 27}}.get(key, {})
        for kind in ("keyDown", "keyUp"):
            self.tell("Input.dispatchKeyEvent", {
                "type": kind, "key": key, "code": code or key,
                **(extra if kind == "keyDown" else {})})

    def type(self, text):
        self.tell("Input.insertText", {"text": text})

    def screenshot(self, path, is_whole=True):
        """Writes what is seen as PNG; the whole page, or only the window."""
        shape = {"format": "png"}
        if is_whole:
            size = self.tell("Page.getLayoutMetrics")["cssContentSize"]
            shape["captureBeyondViewport"] = True
            shape["clip"] = {
                "x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 6000),
                "scale": 1}
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.tell("Page.captureScreenshot", shape)["data"]))

    def close(self):
        self._browser.tell("Target.closeTarget", {"targetId": self._target})

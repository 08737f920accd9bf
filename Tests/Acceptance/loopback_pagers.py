"""Servers of people's receivers, on loopback: ntfy and Opsgenie, as their documentation describes
them. What either would refuse is refused here, with its own words, and kept as a fault.

Source: docs.ntfy.sh, "Publish as JSON"; docs.opsgenie.com, "Alert API".
"""

import base64
import re
import time
import uuid

from loopback_receivers import Receiver

TOPIC = re.compile(r"[-_A-Za-z0-9]{1,64}\Z")


class Ntfy(Receiver):
    """A server with one topic, which a token or a user with a password opens."""

    TOPIC = "rollcall-N0bodyKn0ws"
    TOKEN = "tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2"
    USER, PASSWORD = "phil", "mypass-mypass"
    MESSAGE_BYTES_MAX = 4096
    BODY_BYTES_MAX = 16384
    FIELDS = {"topic", "title", "message", "priority", "tags", "click", "actions", "attach", "markdown",
              "icon", "filename", "delay", "email", "call", "cache", "firebase"}

    def __init__(self, case):
        self.messages = []
        self.faults = []
        super().__init__(case)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/{self.TOPIC}"

    def judge(self, told):
        if not self.knows(told.headers.get("authorization", "")):
            return 403, {"code": 40301, "http": 403, "error": "forbidden"}
        fault = self.fault(told)
        if fault:
            self.faults.append((fault, told.body))
            return 400, {"code": 40017, "http": 400, "error": f"invalid request: {fault}"}
        message = told.json()
        self.messages.append(message)
        # The server answers with the message as it keeps it.
        return 200, {
            **message, "id": uuid.uuid4().hex[:12], "time": int(time.time()), "event": "message"}

    def knows(self, authorization):
        pair = base64.b64encode(f"{self.USER}:{self.PASSWORD}".encode()).decode()
        return authorization in (f"Bearer {self.TOKEN}", f"Basic {pair}")

    def fault(self, told):
        """Why ntfy would not take the message as it is meant; none if it would."""
        if told.path != "/" or len(told.body) > self.BODY_BYTES_MAX:
            return "JSON belongs to the root, and has a limit"
        message = told.json()
        if set(message) - self.FIELDS:
            return "unknown fields"
        if not TOPIC.match(message.get("topic", "")) or message["topic"] != self.TOPIC:
            return "topic"
        if not isinstance(message.get("title"), str) or not isinstance(message.get("message"), str):
            return "title or message"
        # An empty one becomes "triggered", a longer one an attachment.
        if not 1 <= len(message["message"].encode()) <= self.MESSAGE_BYTES_MAX:
            return "message"
        if "\n" in message["title"] or type(message.get("priority", 3)) is not int:
            return "title or priority"
        if not 1 <= message.get("priority", 3) <= 5:
            return "priority"
        if any(not isinstance(tag, str) or "," in tag for tag in message.get("tags", [])):
            return "tags"
        if not re.match(r"https?://", message.get("click", "http://")):
            return "click"
        return None


class OpsgenieAlert:
    """What somebody on call sees."""

    def __init__(self, body):
        self.body = body
        self.count = 1
        self.is_open = True


class Opsgenie(Receiver):
    """The Alert API v2, with one API integration's key: an alert that is open is counted up by another
    of its alias, and closed by its alias. Requests are taken first and worked off later, so a close of
    what nobody knows is a 202 like any other, or a 404 where `says_unknown`."""

    KEY = "eb243592-faa2-4ba2-a551-1afdf565c889"
    LIMITS = {"message": 130, "alias": 512, "description": 15000, "entity": 512, "source": 100,
              "user": 100, "note": 25000}
    CREATE = set(LIMITS) | {"responders", "visibleTo", "actions", "tags", "details", "priority"}

    def __init__(self, case):
        self.alerts = []
        self.faults = []
        # Closes of what is not open.
        self.ghosts = []
        self.says_unknown = False
        super().__init__(case)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def judge(self, told):
        if told.headers.get("authorization") != f"GenieKey {self.KEY}":
            key = told.headers.get("authorization", "").removeprefix("GenieKey ")
            return 422, self.answer(message=f"API Key {key} is not valid!")
        fault = self.fault(told)
        if fault:
            self.faults.append((fault, told.path, told.body))
            return 422, self.answer(
                message="Request body is not processable. Please check the errors.",
                errors={"body": fault})
        close = re.match(r"/v2/alerts/([^/?]+)/close\?identifierType=alias\Z", told.path)
        body = told.json()
        alias = close[1] if close else body["alias"]
        known = next((a for a in self.alerts if a.is_open and a.body["alias"] == alias), None)
        if not close and known:
            known.count += 1
        elif not close:
            self.alerts.append(OpsgenieAlert(body))
        elif known:
            known.is_open = False
        else:
            self.ghosts.append(alias)
            if self.says_unknown:
                return 404, self.answer(message="Alert not found")
        return 202, self.answer(result="Request will be processed")

    def answer(self, **members):
        return {**members, "took": 0.1, "requestId": str(uuid.uuid4())}

    def fault(self, told):
        """Why the API would not take the request; none if it would."""
        if told.headers.get("content-type") != "application/json":
            return "content type"
        body = told.json()
        for name, limit in self.LIMITS.items():
            text = body.get(name, "")
            if not isinstance(text, str) or len(text.encode("utf-16-le")) // 2 > limit:
                return f"{name} must be a text of at most {limit}"
        if told.path != "/v2/alerts":
            known = {"user", "source", "note"}
            return None if told.path.startswith("/v2/alerts/") and set(body) <= known else "close"
        if set(body) - self.CREATE or not body.get("message"):
            return "message is needed, and nothing that is not known"
        if body.get("priority", "P3") not in ("P1", "P2", "P3", "P4", "P5"):
            return "priority"
        tags = body.get("tags", [])
        if len(tags) > 20 or any(not isinstance(t, str) or not 1 <= len(t) <= 50 for t in tags):
            return "tags"
        details = body.get("details", {})
        if any(not isinstance(value, str) for value in details.values()):
            return "details"
        if sum(len(name) + len(value) for name, value in details.items()) > 8000:
            return "details"
        return None

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

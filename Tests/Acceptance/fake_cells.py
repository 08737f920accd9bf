"""A fleet cell and cells that answer as a test wants them to, over loopback only: hung, wrong, or with another
map than they were told. What they are asked is kept."""

import json
import socket
import threading

from loopback import Loopback


class Asked:
    """A request as it came."""

    def __init__(self, method, target, fields, body):
        self.method, self.target, self.body = method, target, body
        self.path = target.split("?")[0]
        self.fields = fields

    def __repr__(self):
        return f"{self.method} {self.target} {self.body[:100]!r}"


class Said:
    """An answer of a tree of JSON, or of bytes."""

    def __init__(self, tree=None, status=200, body=None, fields=None, kind="application/json"):
        self.status = status
        self.body = json.dumps(tree).encode() if body is None else body
        self.fields = {"Content-Type": kind, **(fields or {})}

    def __bytes__(self):
        fields = {**self.fields, "Content-Length": str(len(self.body))}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        return f"HTTP/1.1 {self.status} Said\r\n{head}\r\n".encode() + self.body


class Hang:
    """No answer at all."""


TAKEN = {
    "accepted": 1, "duplicates": 0, "rejected": [], "problems": [],
    "updates": {"accepted": 1, "duplicate": 0, "late": 0}}


def elsewhere(cell, version):
    """What a cell says of somebody who is another one's."""
    tree = {"type": "about:blank", "title": "Misdirected Request", "status": 421, "detail": "elsewhere",
            "map_version": version, "index": 0, "cell": cell}
    return Said(tree, 421, fields={"Rollcall-Cell-Map": str(version)}, kind="application/problem+json")


class FakeWatch:
    """One watch. `answer` says what it answers to each request."""

    def __init__(self, case, answer):
        self.answer = answer
        self.asked = []
        # Requests that were on their way at once, at most.
        self.most = 0
        self._now = 0
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._connections = []
        self._listener = Loopback(case, self._serve)
        self.port = self._listener.port
        self.url = f"http://127.0.0.1:{self.port}"
        case.addCleanup(self.close)

    def close(self):
        self._over.set()
        self._listener.close()
        for one in self._connections:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def asked_for(self, path, method=None):
        """The requests for a path."""
        with self._lock:
            return [one for one in self.asked if one.path == path and method in (None, one.method)]

    def _serve(self, connection):
        self._connections.append(connection)
        try:
            with connection, connection.makefile("rb") as stream:
                while (request := self._read(stream)) is not None:
                    with self._lock:
                        self.asked.append(request)
                        self._now += 1
                        self.most = max(self.most, self._now)
                    try:
                        said = self.answer(request)
                        if isinstance(said, Hang):
                            self._over.wait(60)
                            return
                    finally:
                        with self._lock:
                            self._now -= 1
                    connection.sendall(bytes(said))
        except OSError:
            pass

    @staticmethod
    def _read(stream):
        line = stream.readline().decode()
        if not line:
            return None
        method, target, _ = line.split(" ")
        fields = {}
        while (line := stream.readline().decode().rstrip("\r\n")):
            name, value = line.split(":", 1)
            fields[name.lower()] = value.strip()
        body = stream.read(int(fields.get("content-length", 0)))
        return Asked(method, target, fields, body)


class FakeFleet:
    """A fleet cell and two cells, a with the lower half of the slots, and a third one without any. Without another
    word they take everything."""

    def __init__(self, case):
        self.version = 1
        self.slots = {"a": ["0-2047"], "b": ["2048-4095"]}
        # What the fleet cell answers to whoever asks whose people are whose; the map without it.
        self.instead = None
        self.answers = {name: self.takes for name in "fabc"}
        self.cells = {name: FakeWatch(case, lambda request, name=name: self._answer(name, request))
                      for name in "fabc"}
        self.url = self.cells["f"].url
        self.urls = {name: self.cells[name].url for name in "abc"}

    def __getitem__(self, name):
        return self.cells[name]

    @staticmethod
    def takes(request):
        """Takes everything."""
        if request.path == "/v1/events":
            return Said({"events": [], "next": "1", "as_of": "2026-01-01T00:00:00Z", "watching": True})
        return Said(TAKEN)

    def _answer(self, name, request):
        if name == "f" and request.method == "GET" and request.path == "/v1/cells" and "via" not in request.fields:
            if self.instead is not None:
                return self.instead
            return Said({
                "role": "fleet", "cell": None, "version": self.version, "slots": 4096, "standing": [],
                "cells": [{"name": cell, "urls": [self.urls[cell]], "slots": self.slots[cell]}
                          for cell in sorted(self.slots)]})
        return self.answers[name](request)


def hangs(_):
    """Answers nothing."""
    return Hang()

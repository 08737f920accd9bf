"""Requests that no good client sends, byte by byte: each gets its status, and the end of its
connection wherever it is open to interpretation what comes next on it. What stands behind such a
request is never taken for another one.

Source: RFC 9112 §2.2, §3, §5, §6, §7, §11; reliability F6, F9, I-01 to I-26, §5 A7.
"""

import os
import re
import socket
import struct
import threading
import unittest
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor

from rollcall_process import BINARY, Client, RollcallTestCase, eventually

# What comes of the bytes: the statuses of all answers to them, whether the connection ends, and
# whether the person in the outer request's body is known afterwards.
Case = namedtuple("Case", "name data statuses ends takes")

HOST = b"Host: 127.0.0.1\r\n"
# Replaced by ids of the same length, one for each case.
ITEM = b'{"responder_id":"@OUTER@@"}'
HIDDEN_ITEM = b'{"responder_id":"@HIDDEN@"}'
LENGTH = b"Content-Length: 27\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
CHUNK = b"1b\r\n" + ITEM + b"\r\n"
LAST = b"0\r\n\r\n"
BODY_MAX = 65536


def post(fields, body=ITEM, line=b"POST /v1/batches HTTP/1.1", host=HOST):
    return line + b"\r\n" + host + fields + b"\r\n" + body


def chunked(body, fields=CHUNKED):
    return post(fields, body)


def get(fields=b"", target=b"/-/healthy", version=b" HTTP/1.1", host=HOST):
    return b"GET " + target + version + b"\r\n" + host + fields + b"\r\n"


# The request that must not be executed wherever it hides behind another one's end.
HIDDEN = post(LENGTH, HIDDEN_ITEM)
CLIENT_HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(range(1, 33)) * 6

ENDS, STAYS = True, False
TAKES, REFUSES = True, False


def length(value):
    """A body behind this `Content-Length`, and a request behind the body."""
    return post(b"Content-Length:" + value + b"\r\n") + HIDDEN


def case(name, data, *statuses, ends=ENDS, takes=REFUSES):
    return Case(name, data, statuses, ends, takes)


FRAMING = [
    case("length and chunks", post(LENGTH + CHUNKED, LAST + HIDDEN), 400),
    case("chunks and length", post(CHUNKED + b"Content-Length: 5\r\n", LAST + HIDDEN), 400),
    case("two equal lengths", post(LENGTH * 2) + HIDDEN, 400),
    case("two lengths", post(LENGTH + b"Content-Length: 0\r\n") + HIDDEN, 400),
    case("two lengths, cases differ", post(LENGTH + b"CONTENT-LENGTH: 0\r\n") + HIDDEN, 400),
    case("length 0x1b", length(b" 0x1b"), 400),
    case("length +27", length(b" +27"), 400),
    case("length -27", length(b" -27"), 400),
    case("length 27 and a space", length(b" 27 "), 400),
    case("length 2 7", length(b" 2 7"), 400),
    case("length 27, 27", length(b" 27, 27"), 400),
    case("length 27;0", length(b" 27;0"), 400),
    case("length 27.0", length(b" 27.0"), 400),
    case("length of nothing", length(b""), 400),
    case("length 2^64", length(b" 18446744073709551616"), 413),
    case("length 2^64 + 27", length(b" 18446744073709551643"), 413),
    case("length 2^63", length(b" 9223372036854775808"), 413),
    case("length of a thousand digits", length(b" " + b"9" * 1000), 413),
    case("length past the limit", length(b" %d" % (BODY_MAX + 1)), 413),
    case("length with zeros", post(b"Content-Length: 00027\r\n"), 200, ends=STAYS, takes=TAKES),
    case("coding gzip", chunked(LAST + HIDDEN, b"Transfer-Encoding: gzip\r\n"), 400),
    case("coding identity", post(b"Transfer-Encoding: identity\r\n" + LENGTH) + HIDDEN, 400),
    case("coding xchunked", chunked(LAST + HIDDEN, b"Transfer-Encoding: xchunked\r\n"), 400),
    case("coding gzip, chunked",
         chunked(LAST + HIDDEN, b"Transfer-Encoding: gzip, chunked\r\n"), 400),
    case("coding chunked, identity",
         chunked(LAST + HIDDEN, b"Transfer-Encoding: chunked, identity\r\n"), 400),
    case("coding chunked twice", chunked(LAST + HIDDEN, CHUNKED * 2), 400),
    case("coding in quotes", chunked(LAST + HIDDEN, b'Transfer-Encoding: "chunked"\r\n'), 400),
    case("coding behind a vertical tab",
         chunked(LAST + HIDDEN, b"Transfer-Encoding: \x0bchunked\r\n"), 400),
    case("coding of nothing", post(b"Transfer-Encoding:\r\n" + LENGTH) + HIDDEN, 400),
    case("coding in HTTP/1.0",
         post(CHUNKED, LAST + HIDDEN, b"POST /v1/batches HTTP/1.0"), 400),
    case("coding in capitals", chunked(CHUNK + LAST, b"TRANSFER-ENCODING: CHUNKED\r\n"), 200,
         takes=TAKES),
    case("a name that is nearly one", post(b"Transfer_Encoding: chunked\r\n" + LENGTH), 200,
         ends=STAYS, takes=TAKES),
]

LINES = [
    case("a space before the colon", post(b"Content-Length : 27\r\n"), 400),
    case("a tab before the colon", post(b"Transfer-Encoding\t: chunked\r\n" + LENGTH), 400),
    case("a folded length", post(b"Content-Length: 2\r\n 7\r\n") + HIDDEN, 400),
    case("a folded field", get(b"X: a\r\n\tb\r\n") + HIDDEN, 400),
    case("a first field that begins with a space", get(host=b" Host: 127.0.0.1\r\n"), 400),
    case("a bare LF hides a coding",
         post(b"X: a\nTransfer-Encoding: chunked\r\n" + LENGTH) + HIDDEN, 400),
    case("a bare CR hides a coding",
         post(b"X: a\rTransfer-Encoding: chunked\r\n" + LENGTH) + HIDDEN, 400),
    case("bare LFs", post(LENGTH).replace(b"\r\n", b"\n") + HIDDEN, 400),
    case("a bare LF ends the head", get()[:-2] + b"\n" + HIDDEN, 400),
    case("a bare LF ends the first line", get().replace(b"\r\n", b"\n", 1), 400),
    case("a CR too many", get(b"X: a\r\r\n"), 400),
    case("NUL in a value", get(b"X: a\0b\r\n"), 400),
    case("NUL in a name", get(b"X\0: a\r\n"), 400),
    case("NUL in the version", get(version=b" HTTP/1.1\0"), 400),
    case("NUL in the method", get().replace(b"GET", b"G\0T"), 400),
    case("NUL in the path", get(target=b"/-/healthy\0/../../v1/status"), 400),
    case("NUL in the query", get(target=b"/v1/responders?limit=1\0&region=x"), 400),
    case("NUL before all", b"\0" + get(), 400),
    case("a name with a parenthesis", get(b"X(y): a\r\n"), 400),
    case("a name of nothing", get(b": a\r\n"), 400),
    case("a name with a letter beyond ASCII", get("Hôst: a\r\n".encode()), 400),
    case("a line without a colon", get(b"GET / HTTP/1.1\r\n"), 400),
    case("empty lines first", b"\r\n\r\n" + get(), 200, ends=STAYS),
    case("what may stand in a value", get(b'X: \ta "b\\" \xe4 (\r\n'), 200, ends=STAYS),
]

FIRST_LINES = [
    case("no Host", get(host=b""), 400),
    case("two Hosts", get(host=HOST * 2), 400),
    case("two Hosts that differ", get(host=HOST + b"Host: evil.example\r\n"), 400),
    case("a Host with a space", get(host=b"Host: 127.0.0.1 evil\r\n"), 400),
    case("a Host with a path", get(host=b"Host: 127.0.0.1/evil\r\n"), 400),
    case("a Host with a user", get(host=b"Host: 127.0.0.1@evil.example\r\n"), 400),
    case("a Host beyond ASCII", get(host="Host: 127.0.0.1\u0131\r\n".encode()), 400),
    case("a Host of nothing", get(host=b"Host:\r\n"), 403, ends=STAYS),
    case("a Host of somebody else", get(host=b"Host: evil.example\r\n"), 403, ends=STAYS),
    case("two words", get(version=b""), 400),
    case("HTTP/0.9", b"GET /-/healthy\r\n\r\n", 400),
    case("four words", get(target=b"/-/healthy /"), 400),
    case("two spaces", get(target=b" /-/healthy"), 400),
    case("a tab for a space", get().replace(b"GET ", b"GET\t"), 400),
    case("a space behind the version", get(version=b" HTTP/1.1 "), 400),
    case("a version in small letters", get(version=b" http/1.1"), 400),
    case("another protocol's version", get(version=b" HTTX/1.1"), 400),
    case("HTTP/11", get(version=b" HTTP/11"), 400),
    case("HTTP/1.10", get(version=b" HTTP/1.10"), 400),
    case("HTTP/2.0", get(version=b" HTTP/2.0"), 505),
    case("HTTP/1.9 is read as 1.1", get(version=b" HTTP/1.9"), 200, ends=STAYS),
    case("HTTP/1.9 needs a Host too", get(version=b" HTTP/1.9", host=b""), 400),
    case("HTTP/1.0", get(version=b" HTTP/1.0", host=b""), 200),
    case("HTTP/1.0 kept alive",
         get(b"Connection: keep-alive\r\n", version=b" HTTP/1.0"), 200, ends=STAYS),
    case("the end is wished for", get(b"Connection: close\r\n") + HIDDEN, 200),
    case("HTTP/2 with prior knowledge", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9), 505),
    case("an upgrade to HTTP/2",
         get(b"Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"), 200, ends=STAYS),
    case("an upgrade to a web socket",
         get(b"Connection: Upgrade\r\nUpgrade: websocket\r\n"), 200, ends=STAYS),
    # Nothing of them is a line, so the deadline of the head ends them.
    case("a TLS hello", CLIENT_HELLO.replace(b"\n", b"")),
    case("NULs", bytes(4000)),
    case("a TLS hello with a line's end", CLIENT_HELLO + b"\r\n\r\n"),
    case("another protocol", b"SSH-2.0-OpenSSH_9.2\r\n"),
    case("a tunnel", get(target=b"127.0.0.1:80").replace(b"GET", b"CONNECT") + HIDDEN, 400),
    case("TRACE", get(b"Cookie: secret\r\n").replace(b"GET", b"TRACE"), 405, ends=STAYS),
    case("OPTIONS *", get(target=b"*").replace(b"GET", b"OPTIONS"), 404, ends=STAYS),
    case("a method in small letters", get().replace(b"GET", b"get"), 405, ends=STAYS),
    case("a method of 5000 letters", get().replace(b"GET", b"A" * 5000), 405, ends=STAYS),
]

TARGETS = [
    case("a target with its host", get(target=b"http://127.0.0.1/-/healthy"), 200, ends=STAYS),
    case("a target of another host", get(target=b"http://evil.example/-/healthy"), 403, ends=STAYS),
    case("a target with a user", get(target=b"http://127.0.0.1@evil.example/"), 400),
    case("a target of another scheme", get(target=b"https://127.0.0.1/-/healthy"), 400),
    case("a target without a host", get(target=b"http:///-/healthy"), 400),
    case("a target without a slash", get(target=b"-/healthy"), 400),
    case("a target with backslashes", get(target=b"\\-\\healthy"), 400),
    case("a target of nothing", get(target=b""), 400),
    case("%00", get(target=b"/v1/responders/a%00b"), 404, ends=STAYS),
    case("%00 behind a known path", get(target=b"/-/healthy%00"), 404, ends=STAYS),
    case("..", get(target=b"/v1/../-/healthy"), 404, ends=STAYS),
    case("%2e%2e", get(target=b"/v1/%2e%2e/-/healthy"), 404, ends=STAYS),
    case("a file", get(target=b"/../../../../etc/passwd"), 404, ends=STAYS),
    case("%2f for a slash", get(target=b"/v1%2fstatus"), 404, ends=STAYS),
    case("two slashes", get(target=b"//v1/status"), 404, ends=STAYS),
    case("overlong UTF-8", get(target=b"/v1/responders/%c0%ae%c0%af"), 404, ends=STAYS),
    case("no UTF-8", get(target=b"/v1/responders/%ff"), 404, ends=STAYS),
    case("bytes beyond ASCII", get(target=b"/v1/responders/\xff\xfe"), 404, ends=STAYS),
    case("%u0041", get(target=b"/v1/responders/%u0041"), 404, ends=STAYS),
    case("escaped line ends in a name",
         post(LENGTH, line=b"POST /v1/batches?source=a%0d%0aX HTTP/1.1"), 422, ends=STAYS),
    case("%00 in a name", post(LENGTH, line=b"POST /v1/batches?source=a%00 HTTP/1.1"), 422,
         ends=STAYS),
    case("64 KB of path", get(target=b"/" + b"a" * 65536), 414),
    case("64 KB of query", get(target=b"/-/healthy?" + b"a" * 65536), 414),
    # There is not even room to note them, and so none for an answer.
    case("5000 empty arguments", get(target=b"/-/healthy?" + b"&" * 5000)),
    case("100 empty arguments", get(target=b"/-/healthy?" + b"&" * 100), 200, ends=STAYS),
    case("an empty query", get(target=b"/-/healthy?"), 200, ends=STAYS),
]

FIELDS = [
    case("10,000 fields", get(b"".join(b"X-%d: y\r\n" % number for number in range(10_000))), 431),
    case("300 fields", get(b"X: y\r\n" * 300), 431),
    case("a cookie of 1 MB", get(b"Cookie: " + b"c" * (1 << 20) + b"\r\n"), 431),
    case("a name of 1 MB", get(b"c" * (1 << 20) + b": x\r\n"), 431),
    case("an expectation of something else", post(b"Expect: 200-ok\r\n" + LENGTH) + HIDDEN, 417),
    case("an expectation and more", post(b"Expect: 100-continue, x\r\n" + LENGTH) + HIDDEN, 417),
    case("an expectation hidden in a word", post(b"Expect: y 100-continue\r\n" + LENGTH), 417),
    case("the known expectation", post(b"Expect: 100-continue\r\n" + LENGTH), 100, 200,
         ends=STAYS, takes=TAKES),
    case("the known expectation of what is refused",
         post(b"Expect: 100-continue\r\n" + LENGTH, line=b"POST /nowhere HTTP/1.1") + HIDDEN, 404),
    case("no gzip", post(b"Content-Encoding: gzip\r\n" + LENGTH), 400, ends=STAYS),
    case("no gzip, in chunks", chunked(CHUNK + LAST, CHUNKED + b"Content-Encoding: gzip\r\n"), 400),
    case("two codings", post(b"Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n" + LENGTH), 415,
         ends=STAYS),
    case("a coding called identity", post(b"Content-Encoding: identity\r\n" + LENGTH), 415,
         ends=STAYS),
    case("two types", post(b"Content-Type: application/json\r\nContent-Type: a/b\r\n" + LENGTH), 400),
    case("a list of types", post(b"Content-Type: application/json, a/b\r\n" + LENGTH), 415,
         ends=STAYS),
    case("a form with parts", post(b"Content-Type: multipart/form-data; boundary=x\r\n" + LENGTH),
         415, ends=STAYS),
    case("two tokens", get(b"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n"), 400),
    case("two origins", post(b"Origin: http://a\r\nOrigin: http://127.0.0.1\r\n" + LENGTH), 400),
]

BODIES = [
    case("GET with a body", get(b"Content-Length: %d\r\n" % len(HIDDEN)) + HIDDEN, 200),
    case("GET with chunks", get(CHUNKED) + b"%x\r\n%s\r\n" % (len(HIDDEN), HIDDEN) + LAST, 200),
    case("HEAD with a body", get(b"Content-Length: %d\r\n" % len(HIDDEN)).replace(b"GET", b"HEAD")
         + HIDDEN, 200),
    case("DELETE with a body", post(b"Content-Length: %d\r\n" % len(HIDDEN), HIDDEN,
         b"DELETE /v1/heartbeat?source=x HTTP/1.1"), 200),
    case("a body for nobody", post(b"Content-Length: %d\r\n" % len(HIDDEN), HIDDEN,
         b"POST /nowhere HTTP/1.1"), 404, ends=STAYS),
    case("a body in chunks for nobody", post(CHUNKED, CHUNK + LAST + HIDDEN,
         b"POST /nowhere HTTP/1.1"), 404),
    case("a body of no JSON", post(b"Content-Length: 7\r\n", b'{"a":\0}'), 400, ends=STAYS),
]

# 0.9.75 takes a bare LF for a line's end, an extension and trailers: what is read out of them is
# taken, and nothing behind it ever is.
CHUNKS = [
    case("chunks", chunked(CHUNK + LAST + HIDDEN), 200, takes=TAKES),
    case("a size with zeros", chunked(b"0000" + CHUNK + LAST), 200, takes=TAKES),
    case("an extension", chunked(CHUNK.replace(b"1b", b"1b;a=b", 1) + LAST), 200, takes=TAKES),
    case("a quote in an extension", chunked(CHUNK.replace(b"1b", b'1b;a="', 1) + LAST + HIDDEN),
         200, takes=TAKES),
    case("a bare LF behind a size", chunked(CHUNK.replace(b"\r\n", b"\n", 1) + LAST + HIDDEN),
         200, takes=TAKES),
    case("a bare LF in an extension",
         chunked(CHUNK.replace(b"1b\r\n", b"1b;\n", 1) + LAST + HIDDEN), 200, takes=TAKES),
    case("a bare LF behind a chunk", chunked(CHUNK[:-2] + b"\n" + LAST + HIDDEN), 200, takes=TAKES),
    case("bare LFs at the end", chunked(CHUNK + b"0\n\n" + HIDDEN), 200, takes=TAKES),
    case("a bare LF ends a trailer", chunked(CHUNK + b"0\r\nX: a\n\n" + HIDDEN), 200, takes=TAKES),
    case("a trailer", chunked(CHUNK + b"0\r\nX: a\r\n\r\n" + HIDDEN), 200, takes=TAKES),
    case("a trailer of another framing",
         chunked(CHUNK + b"0\r\nContent-Length: 5\r\nTransfer-Encoding: gzip\r\n\r\n" + HIDDEN), 200,
         takes=TAKES),
    case("a trailer without a colon", chunked(CHUNK + b"0\r\n" + HIDDEN), 400),
    case("10,000 trailers", chunked(CHUNK + b"0\r\n" + b"X: a\r\n" * 10_000 + b"\r\n"), 431),
    case("a trailer of 1 MB", chunked(CHUNK + b"0\r\nX: " + b"a" * (1 << 20) + b"\r\n\r\n"), 431),
    # There is no room for the line, and libmicrohttpd takes that for our fault.
    case("an extension of 1 MB",
         chunked(CHUNK.replace(b"1b", b"1b;" + b"a" * (1 << 20), 1) + LAST), 500),
    case("a size of ffffffffffffffff",
         chunked(b"ffffffffffffffff\r\n" + HIDDEN + b" " * BODY_MAX), 413),
    case("a size of 2^64", chunked(b"10000000000000000\r\n" + HIDDEN), 413),
    case("chunks without end", chunked(b"400\r\n" + b" " * 1024 + b"\r\n", CHUNKED)
         + (b"400\r\n" + b" " * 1024 + b"\r\n") * 100, 413),
    case("a size of -1", chunked(b"-1\r\n" + HIDDEN), 400),
    case("a size of +1b", chunked(b"+" + CHUNK + LAST), 400),
    case("a size of 0x1b", chunked(b"0x" + CHUNK + LAST), 400),
    case("a size behind a space", chunked(b" " + CHUNK + LAST), 400),
    case("a size before a space", chunked(CHUNK.replace(b"1b", b"1b ", 1) + LAST), 400),
    case("a size of nothing", chunked(b"\r\n" + HIDDEN), 400),
    case("a size of g", chunked(b"g\r\n" + HIDDEN), 400),
    case("a last size of -0", chunked(CHUNK + b"-0\r\n\r\n" + HIDDEN), 400),
    case("nothing behind a chunk", chunked(CHUNK[:-2] + LAST + HIDDEN), 400),
    case("something behind a chunk", chunked(CHUNK[:-2] + b"XX\r\n" + LAST + HIDDEN), 400),
    case("a bare CR behind a chunk", chunked(CHUNK[:-2] + b"\r" + LAST + HIDDEN), 400),
]

CORPUS = FRAMING + LINES + FIRST_LINES + TARGETS + FIELDS + BODIES + CHUNKS

# 0.9.75 answers a length that it cannot read itself, with its head twice.
HEAD_TWICE = re.compile(rb"HTTP/1\.1 4(00|13) .*\r\n\r\nHTTP/1\.1 4\1 ", re.DOTALL)


class Wire:
    """A connection that sends any bytes and reads answers strictly."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        """Sends as far as the other side lets us."""
        try:
            self.socket.sendall(data)
        except ConnectionError:
            pass

    def more(self):
        """Reads on; false at the end, which may come as a reset if not all was read there."""
        try:
            part = self.socket.recv(65536)
        except ConnectionError:
            return False
        self.received += part
        return part != b""

    def answer(self, is_head=False):
        """Status, fields and body of the next answer; none at the end."""
        while b"\r\n\r\n" not in self.received:
            if not self.more():
                if self.received:
                    raise AssertionError(f"no answer: {self.received[:500]!r}")
                return None
        if HEAD_TWICE.match(self.received):
            self.received = self.received.split(b"\r\n\r\n", 1)[1]
        head, rest = self.received.split(b"\r\n\r\n", 1)
        first, *lines = head.split(b"\r\n")
        match = re.fullmatch(rb"HTTP/1\.[01] ([1-5]\d\d) [ -~]*", first)
        if match is None:
            raise AssertionError(f"no status line: {first[:500]!r}")
        status = int(match.group(1))
        fields = [line.split(b": ", 1) for line in lines]
        lengths = [int(value) for name, value in fields if name == b"Content-Length"]
        size = 0 if is_head or status == 100 else lengths[0]
        if len(lengths) != (0 if status == 100 else 1):
            raise AssertionError(f"lengths: {head!r}")
        while len(rest) < size:
            if not self.more():
                raise AssertionError(f"no whole body: {self.received[:500]!r}")
            rest = self.received.split(b"\r\n\r\n", 1)[1]
        self.received = rest[size:]
        if b"Access-Control-" in head:
            raise AssertionError(f"pages of others are let in: {head!r}")
        return status, dict(fields), rest[:size]


class CorpusTests(RollcallTestCase):
    def test_each_has_its_status_and_its_end_and_none_hides_another(self):
        self.assertGreaterEqual(len(CORPUS), 60)
        self.assertLess(len(CORPUS), 1000)
        server = self.serve("limits: {body: 64KiB}\n")
        self.assertEqual(server.get("/-/healthy").status, 200)
        descriptors = open_descriptors(server)
        lock = threading.Lock()

        def play(place):
            one = CORPUS[place]
            ids = {b"@OUTER@@": b"outer%03d" % place, b"@HIDDEN@": b"hidde%03d" % place}
            data = one.data
            for mark, name in ids.items():
                data = data.replace(mark, name)
            faults = list(self.faults(server, one, data))
            client = Client(server.port)
            try:
                known = [
                    client.request("GET", f"/v1/responders/{name.decode()}").status == 200
                    for name in ids.values()]
            finally:
                client.close()
            if known[0] != one.takes:
                faults.append(f"taken: {known[0]}")
            if known[1]:
                faults.append("the hidden request was executed")
            with lock:
                # One connection lives through all of it.
                if server.get("/-/ready").status != 200:
                    faults.append("not ready")
            return faults

        with ThreadPoolExecutor(16) as pool:
            for one, faults in zip(CORPUS, pool.map(play, range(len(CORPUS)))):
                with self.subTest(one.name):
                    self.assertEqual(faults, [])
        people = [p["responder_id"] for p in server.get("/v1/responders").json()["responders"]]
        self.assertEqual(len(people), sum(one.takes for one in CORPUS))
        eventually(
            lambda: open_descriptors(server) <= descriptors, 20, "no connection is left behind")
        self.assertEqual(server.stop(), 0)
        self.assertNotIn("Fatal", server.log())

    def faults(self, server, one, data):
        """What is not as it should be."""
        with Wire(server.port) as wire:
            wire.send(data)
            if one.ends:
                yield from self.faults_until_the_end(wire, one, data.startswith(b"HEAD"))
                return
            statuses = [wire.answer(data.startswith(b"HEAD"))[0] for _ in one.statuses]
            if statuses != list(one.statuses):
                yield f"answered {statuses}"
            # Still in step: the next request is answered, once, and the connection ends after it.
            wire.send(get(b"Connection: close\r\n"))
            answer = wire.answer()
            if answer is None or answer[0] != 200 or answer[2] != b"Rollcall is healthy.\n":
                yield f"out of step: {answer}"
            if wire.answer() is not None:
                yield "more answers than requests"

    def faults_until_the_end(self, wire, one, is_head):
        """What is not as it should be of a connection that ends."""
        answers = []
        while True:
            answer = wire.answer(is_head)
            if answer is None:
                break
            answers.append(answer)
        statuses = [answer[0] for answer in answers]
        if statuses != list(one.statuses):
            yield f"answered {statuses}"
        if answers and answers[-1][1].get(b"Connection") != b"close":
            yield f"the end is not said: {answers[-1][1]}"


def open_descriptors(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


class LibraryTests(unittest.TestCase):
    def test_what_libmicrohttpd_did_wrong_before_is_not_used(self):
        with open(BINARY, "rb") as file:
            program = file.read()
        self.assertIn(b"MHD_start_daemon", program)
        for name in (b"MHD_create_post_processor", b"MHD_digest_auth_check", b"MHD_basic_auth",
                     b"MHD_create_response_for_upgrade", b"MHD_create_response_from_fd"):
            self.assertNotIn(name, program)


class LeavingTests(RollcallTestCase):
    def test_who_leaves_in_the_middle_leaves_nothing(self):
        server = self.serve()
        request = post(LENGTH).replace(b"@OUTER@@", b"leaver00")
        for end in range(len(request)):
            with Wire(server.port) as wire:
                wire.send(request[:end])
                if end % 3 == 1:
                    wire.socket.shutdown(socket.SHUT_WR)
                elif end % 3 == 2:
                    # With a reset.
                    wire.socket.setsockopt(
                        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.assertEqual(server.get("/v1/responders").json()["responders"], [])
        with Wire(server.port) as wire:
            wire.send(request)
            self.assertEqual(wire.answer()[0], 200)

    def test_chunks_that_come_byte_by_byte_are_what_they_are_at_once(self):
        server = self.serve()
        for number, (data, status) in enumerate((
                (chunked(CHUNK + LAST), 200), (chunked(CHUNK[:-2] + b"XX" + LAST), 400),
                (chunked(b"+" + CHUNK + LAST), 400))):
            data = data.replace(b"@OUTER@@", b"slowly%02d" % number)
            with self.subTest(status), Wire(server.port) as wire:
                for place in range(len(data)):
                    wire.send(data[place:place + 1])
                self.assertEqual(wire.answer()[0], status)
                self.assertIsNone(wire.answer())


class PipelineTests(RollcallTestCase):
    def test_a_thousand_requests_at_once_are_answered_in_their_order(self):
        server = self.serve()
        requests = []
        for number in range(500):
            requests.append(
                post(LENGTH).replace(b"@OUTER@@", b"piped%03d" % number))
            requests.append(get(target=b"/v1/responders/piped%03d" % number))
        with Wire(server.port) as wire:
            sender = threading.Thread(target=wire.send, args=(b"".join(requests),), daemon=True)
            sender.start()
            for number in range(500):
                self.assertEqual(wire.answer()[0], 200)
                status, _, body = wire.answer()
                self.assertEqual(status, 200)
                self.assertIn(b'"piped%03d"' % number, body)
            sender.join(10)
            self.assertFalse(sender.is_alive())
        self.assertEqual(
            len(server.get("/v1/responders?limit=1000").json()["responders"]), 500)


class RandomTests(RollcallTestCase):
    def test_bytes_at_random_end_in_an_error_or_in_nothing(self):
        server = self.serve()
        whole = post(LENGTH)
        for _ in range(300):
            seed = os.urandom(8)
            noise = bytearray(whole)
            for place in range(0, 8, 2):
                noise[int.from_bytes(seed[place:place + 2], "big") % 60] = seed[place]
            with self.subTest(seed.hex()), Wire(server.port) as wire:
                wire.send(bytes(noise))
                wire.socket.shutdown(socket.SHUT_WR)
                while True:
                    answer = wire.answer()
                    if answer is None:
                        break
                    self.assertLess(answer[0], 506)
        self.assertEqual(server.get("/-/ready").status, 200)


if __name__ == "__main__":
    unittest.main()

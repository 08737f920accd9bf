"""Receivers on loopback that answer anything but what they should, and the certificates of some.

A receiver's port is the kernel's, and it is gone with its test.
"""

import os
import socket
import ssl
import struct
import subprocess
import time

from loopback import Loopback

HEAD_BYTES_MAX = 64 * 1024
# Nobody is answered for longer, however patient they are.
PLAY_SECONDS = 30
# Nobody is sent more, however much they take.
PLAY_BYTES = 1 << 30


class Play:
    """One connection with its request, as a script sees it."""

    def __init__(self, connection, request):
        self.connection = connection
        self.request = request
        self.sent = 0
        self.is_over = False
        self.until = time.monotonic() + PLAY_SECONDS

    def send(self, data):
        """Sends; false once the other side is gone, or it is enough."""
        if time.monotonic() > self.until or self.sent > PLAY_BYTES:
            return False
        try:
            self.connection.sendall(data)
        except OSError:
            return False
        self.sent += len(data)
        return True

    def for_ever(self, data, every=0.0):
        """Sends the same again and again."""
        while self.send(data):
            time.sleep(every)

    def wait(self):
        """Says nothing until the other side is gone."""
        self.connection.settimeout(PLAY_SECONDS)
        try:
            while self.connection.recv(65536):
                pass
        except OSError:
            pass

    def reset(self):
        """Closes with a reset."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class HostileReceiver:
    """Plays to each connection the script of its request's path: `scripts[path](play)`.

    With `tls`, a context, the request comes within; `handshake` decides what comes before: a
    function that gets the bare socket and returns the one to go on with, or none.
    """

    def __init__(self, case, scripts, tls=None):
        self.scripts = scripts
        self.tls = tls
        self.plays = []
        self.faults = []
        self.port = Loopback(case, self._serve).port

    def url(self, path, host="127.0.0.1"):
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}{path}"

    def of(self, path):
        """What was played to requests of this path."""
        return [play for play in list(self.plays) if play.request.split(b" ")[1] == path.encode()]

    def _serve(self, connection):
        connection.settimeout(PLAY_SECONDS)
        try:
            if self.tls is not None:
                connection = self.tls.wrap_socket(connection, server_side=True)
            request = read_request(connection)
            if request is None:
                return
            play = Play(connection, request)
            self.plays.append(play)
            self.scripts[request.split(b" ")[1].split(b"?")[0].decode()](play)
            play.is_over = True
        except OSError as fault:
            self.faults.append(fault)
        finally:
            connection.close()


def read_request(connection):
    """A whole request with a `Content-Length`; none at the end."""
    data = b""
    while True:
        head, mark, body = data.partition(b"\r\n\r\n")
        if mark:
            lengths = [
                int(line.split(b":")[1]) for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length:")]
            if len(body) >= sum(lengths):
                return data
        elif len(data) > HEAD_BYTES_MAX:
            return None
        part = connection.recv(65536)
        if not part:
            return None
        data += part


class Certificates:
    """An authority of the test's own, and what it vouches for."""

    def __init__(self, directory):
        self.directory = directory
        self.authority = self._self_signed("authority", "rollcall test authority")
        self.good = self._signed("good", "IP:127.0.0.1,DNS:localhost")
        self.other_host = self._signed("other", "DNS:other.example")
        self.expired = self._signed("expired", "IP:127.0.0.1", "-days", "-1")
        self.self_signed = self._self_signed("self", "127.0.0.1", "IP:127.0.0.1")

    def context(self, name, newest=None):
        """A server's context with this certificate, and no later TLS than `newest`."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{self._path(name)}.crt", f"{self._path(name)}.key")
        if newest is not None:
            # Old versions need weak keys to be allowed, on this side too.
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = ssl.TLSVersion.TLSv1
            context.maximum_version = newest
        return context

    def _path(self, name):
        return os.path.join(self.directory, name)

    def _openssl(self, *arguments):
        subprocess.run(
            ["openssl", *arguments], check=True, capture_output=True, timeout=60,
            cwd=self.directory)

    def _self_signed(self, name, subject, names=None):
        more = ["-addext", f"subjectAltName={names}"] if names else []
        self._openssl(
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={subject}",
            "-keyout", f"{name}.key", "-out", f"{name}.crt", *more)
        return f"{self._path(name)}.crt"

    def _signed(self, name, names, *validity):
        self._openssl(
            "req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout",
            f"{name}.key", "-out", f"{name}.csr")
        with open(f"{self._path(name)}.ext", "w", encoding="ascii") as file:
            file.write(f"subjectAltName={names}\n")
        self._openssl(
            "x509", "-req", "-in", f"{name}.csr", "-CA", "authority.crt", "-CAkey", "authority.key",
            "-CAcreateserial", "-extfile", f"{name}.ext", "-out", f"{name}.crt",
            *(validity or ("-days", "2")))
        return f"{self._path(name)}.crt"

"""Debian's mosquitto with a directory, a port and a process of its own, and a client that publishes.

Source of the packets: MQTT 3.1.1 (OASIS), §3.
"""

import os
import shutil
import signal
import socket
import struct
import subprocess
import time

from cluster_process import free_ports
from rollcall_process import eventually


class Mosquitto:
    """One broker that keeps its sessions on the disk; it may be killed and started anew."""

    def __init__(self, case, more="", tls=None):
        self.program = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
        if not os.access(self.program, os.X_OK):
            case.fail("no mosquitto: apt-get install mosquitto")
        self.directory = os.path.join(case.directory, "mosquitto")
        os.mkdir(self.directory)
        self.port, self.secure_port = free_ports(2)
        listeners = f"listener {self.port} 127.0.0.1\n"
        if tls is not None:
            certificate, key = tls
            listeners += (f"listener {self.secure_port} 127.0.0.1\n"
                          f"certfile {certificate}\nkeyfile {key}\n")
        who = "" if "password_file" in more else "allow_anonymous true\n"
        self.config = os.path.join(self.directory, "mosquitto.conf")
        with open(self.config, "w", encoding="utf-8") as file:
            # Without a limit of what it keeps, and written to the disk only when it is told to.
            file.write(
                f"{who}{more}{listeners}user root\npersistence true\n"
                f"persistence_location {self.directory}/\nautosave_interval 0\n"
                "max_queued_messages 0\nlog_type all\nlog_dest stderr\n")
        self.process = None
        case.addCleanup(self.close)
        self.start()

    @property
    def url(self):
        return f"mqtt://127.0.0.1:{self.port}"

    def start(self):
        with open(os.path.join(self.directory, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [self.program, "-c", self.config], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        eventually(self.is_there, 10, "mosquitto listens")

    def is_there(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def save(self):
        """Has it write all that it holds to the disk, and waits for that."""
        path = os.path.join(self.directory, "mosquitto.db")
        before = os.stat(path).st_mtime_ns if os.path.exists(path) else 0
        time.sleep(0.02)
        self.process.send_signal(signal.SIGUSR1)
        eventually(
            lambda: os.path.exists(path) and os.stat(path).st_mtime_ns > before, 10, "it is saved")

    def kill(self):
        """What a crash does to it."""
        self.process.kill()
        self.process.wait(10)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)

    def log(self):
        with open(os.path.join(self.directory, "log"), encoding="utf-8", errors="replace") as file:
            return file.read()


def _text(text):
    data = text.encode() if isinstance(text, str) else text
    return struct.pack(">H", len(data)) + data


def _packet(first, body):
    length, rest = b"", len(body)
    while True:
        rest, digit = divmod(rest, 128)
        length += bytes([digit | (0x80 if rest else 0)])
        if not rest:
            return bytes([first]) + length + body


class Publisher:
    """A client that publishes with QoS 1 and waits until the broker has taken each message."""

    def __init__(self, broker, name="phone", will=None, user=None, password=None, clean=True):
        self.socket = socket.create_connection(("127.0.0.1", broker.port), 10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        flags = 2 if clean else 0
        body = _text(name)
        if will is not None:
            flags |= 0x04 | 0x08 | (0x20 if will[2] else 0)
            body += _text(will[0]) + _text(will[1])
        if user is not None:
            flags |= 0xC0
            body += _text(user) + _text(password)
        self.socket.sendall(
            _packet(0x10, _text("MQTT") + bytes([4, flags]) + struct.pack(">H", 60) + body))
        assert self._read(4)[3] == 0, "the broker refuses the phone"
        self.identifier = 0

    def _read(self, count):
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise ConnectionError("the broker has closed the connection")
            data += part
        return data

    def send(self, topic, payload, retain=False):
        """Hands a message to the network; `wait` waits for the broker's word."""
        self.identifier = self.identifier % 65535 + 1
        self.socket.sendall(_packet(
            0x32 | (1 if retain else 0),
            _text(topic) + struct.pack(">H", self.identifier)
            + (payload.encode() if isinstance(payload, str) else payload)))

    def wait(self):
        assert self._read(4)[0] == 0x40

    def publish(self, topic, payload, retain=False):
        self.send(topic, payload, retain)
        self.wait()

    def vanish(self):
        """Goes without a word: the broker publishes the last will."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self):
        try:
            self.socket.sendall(b"\xe0\x00")
        except OSError:
            pass
        self.socket.close()

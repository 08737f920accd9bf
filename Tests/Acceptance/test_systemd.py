"""What the binary tells a service manager, and how it lives under the filters of its unit.

Source: issue of the main job, "systemd notification with watchdog fed by the keeper".
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from rollcall_process import BINARY, RollcallTestCase, eventually, plain_environment

HERE = os.path.dirname(os.path.abspath(__file__))
# Half of it, less the second that a turn may take: a beat each second.
WATCHDOG_SECONDS = 4
SLOW_SYNC = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
int fdatasync(int descriptor) {
    static int (*next)(int);
    if (!next) next = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    for (int i = 0; i < 300 && access(getenv("SLOW_SYNC_WHILE"), F_OK) == 0; i++) usleep(100000);
    return next(descriptor);
}
int fsync(int descriptor) { return fdatasync(descriptor); }
"""


class Manager:
    """A socket such as systemd's, at a path or, with @, at an abstract name."""

    def __init__(self, name):
        self.name = name
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + name[1:] if name.startswith("@") else name)

    def environment(self, watchdog=WATCHDOG_SECONDS):
        """The variables that systemd would set; the process' own number it cannot know here."""
        return {"NOTIFY_SOCKET": self.name, "WATCHDOG_USEC": str(watchdog * 1_000_000)}

    def next(self, seconds=10.0):
        """The next datagram; None if none came."""
        self.socket.settimeout(seconds)
        try:
            return self.socket.recv(8192).decode()
        except (TimeoutError, BlockingIOError):
            return None

    def all(self):
        """What has come already."""
        texts = []
        while len(texts) < 1000 and (text := self.next(0)) is not None:
            texts.append(text)
        return texts

    def close(self):
        self.socket.close()


class NotificationTests(RollcallTestCase):
    """READY once there is an address, beats while the keeper goes round, STOPPING first."""

    def manager(self, name=None):
        manager = Manager(name or os.path.join(self.directory, "notify"))
        self.addCleanup(manager.close)
        return manager

    def assert_beating(self, manager, seconds):
        """A beat at least every half of the watchdog's time, and nothing else."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.assertEqual(manager.next(WATCHDOG_SECONDS / 2 + 0.5), "WATCHDOG=1")

    def test_ready_beats_and_stopping(self):
        for name in (None, f"@rollcall-{os.getpid()}-{time.monotonic_ns()}"):
            with self.subTest(name):
                manager = self.manager(name)
                server = self.rollcall(
                    name="path" if name is None else "abstract",
                    variables=manager.environment())
                server.start()
                url = f"http://127.0.0.1:{server.port}"
                self.assertEqual(manager.next(), f"READY=1\nSTATUS=Listening on {url}")
                self.assertEqual(server.get("/-/ready").status, 200)
                self.assert_beating(manager, 5)
                self.assertEqual(server.stop(), 0)
                told = [text for text in manager.all() if text != "WATCHDOG=1"]
                self.assertEqual(told, ["STOPPING=1\nSTATUS=Draining, then a checkpoint"])

    def test_nothing_is_told_before_the_address_can_be_had(self):
        manager = self.manager()
        server = self.rollcall(variables=manager.environment())
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            outcome = subprocess.run(
                [BINARY, "serve", "--storage.path", server.store, "--web.listen-address",
                 f"127.0.0.1:{taken.getsockname()[1]}"],
                env=plain_environment() | manager.environment(), capture_output=True, timeout=30)
        self.assertEqual(outcome.returncode, 1)
        self.assertEqual(manager.all(), [])

    def test_a_stopped_process_does_not_beat(self):
        manager = self.manager()
        server = self.serve(variables=manager.environment())
        self.assertRegex(manager.next(), "^READY=1\n")
        self.assert_beating(manager, 2)
        server.pause()
        manager.all()
        self.assertIsNone(manager.next(WATCHDOG_SECONDS))
        server.resume()
        self.assertEqual(manager.next(), "WATCHDOG=1")
        self.assertEqual(server.stop(), 0)

    def test_a_keeper_that_hangs_in_its_disk_does_not_beat(self):
        compiler = shutil.which("cc") or shutil.which("clang")
        if compiler is None:
            self.skipTest("no C compiler for a disk that hangs")
        library = os.path.join(self.directory, "slow_sync.so")
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", library, "-ldl"],
            input=SLOW_SYNC.encode(), check=True, timeout=60)
        hangs = os.path.join(self.directory, "disk-hangs")
        manager = self.manager()
        server = self.serve(variables=manager.environment() | {
            "LD_PRELOAD": library, "SLOW_SYNC_WHILE": hangs})
        self.assertRegex(manager.next(), "^READY=1\n")
        self.assert_beating(manager, 2)
        with open(hangs, "w", encoding="utf-8"):
            pass
        # The listener goes on and says that nobody knows: it is the keeper that hangs.
        self.problem(server.post("/v1/batches", {"responder_id": "r-1"}), 503)
        self.assertEqual(server.get("/-/healthy").status, 200)
        manager.all()
        self.assertIsNone(manager.next(WATCHDOG_SECONDS))
        os.unlink(hangs)
        self.assertEqual(manager.next(), "WATCHDOG=1")
        self.assertEqual(server.stop(), 0)

    def test_a_full_disk_is_no_hang(self):
        mount = tempfile.mkdtemp(prefix="rollcall-disk-")
        self.addCleanup(os.rmdir, mount)
        outcome = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", mount], capture_output=True)
        if outcome.returncode != 0:
            self.skipTest("no tmpfs can be mounted here")
        self.addCleanup(subprocess.run, ["umount", mount], check=True)
        manager = self.manager()
        self.directory = mount
        server = self.serve(variables=manager.environment())
        self.assertRegex(manager.next(), "^READY=1\n")
        with open(os.path.join(mount, "ballast"), "wb") as file:
            try:
                for _ in range(4096):
                    os.write(file.fileno(), bytes(4096))
            except OSError:
                pass
        for number in range(100):
            items = [{"responder_id": f"p{number}-{item}"} for item in range(100)]
            if server.post("/v1/batches", items).status == 503:
                break
        self.problem(server.get("/-/ready"), 503)
        manager.all()
        self.assert_beating(manager, 6)
        os.unlink(os.path.join(mount, "ballast"))
        eventually(lambda: server.get("/-/ready").status == 200, 10, "ready again")
        self.assertEqual(server.stop(), 0)

    def test_a_name_that_is_none_is_said_and_harmless(self):
        server = self.serve(variables={"NOTIFY_SOCKET": "relative", "WATCHDOG_USEC": "1"})
        self.assertEqual(server.get("/-/ready").status, 200)
        self.assertIn("NOTIFY_SOCKET must be /PATH or @NAME", server.log())
        self.assertEqual(server.stop(), 0)


@unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not installed")
class UnitTests(RollcallTestCase):
    """The unit as systemd's own tools read it, and the binary under its filters."""

    def unit(self, *arguments):
        """The unit as it is printed, for the binary where it is."""
        text = subprocess.run(
            [BINARY, "manifest", "systemd", *arguments], capture_output=True, text=True,
            check=True, timeout=30, env=plain_environment()).stdout
        path = os.path.join(self.directory, "rollcall.service")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("/usr/local/bin/rollcall", BINARY))
        return path

    def analyze(self, *arguments):
        outcome = subprocess.run(
            ["systemd-analyze", "--no-pager", *arguments], capture_output=True, text=True,
            timeout=60)
        self.assertEqual(outcome.returncode, 0, outcome.stdout + outcome.stderr)
        return outcome.stdout + outcome.stderr

    def test_systemd_reads_it_without_a_word(self):
        self.assertEqual(self.analyze("verify", "--man=no", self.unit()), "")
        settings = os.path.join(self.directory, "my settings.yml")
        with open(settings, "w", encoding="utf-8") as file:
            file.write("limits: {connections: 100}\n")
        self.assertEqual(
            self.analyze("verify", "--man=no", self.unit("--config.file", settings)), "")
        self.assertEqual(self.analyze("verify", "--man=no", self.unit("--members", "2")), "")
        text = subprocess.run(
            [BINARY, "manifest", "etcd"], capture_output=True, text=True, check=True, timeout=30,
            env=plain_environment()).stdout
        etcd = os.path.join(self.directory, "rollcall-etcd.service")
        with open(etcd, "w", encoding="utf-8") as file:
            file.write(text)
        self.assertEqual(self.analyze("verify", "--man=no", etcd), "")

    def test_its_exposure_is_two_at_most(self):
        self.analyze("security", "--offline=true", "--threshold=20", self.unit())

    def test_the_binary_works_under_its_filters(self):
        manager = Manager(os.path.join(self.directory, "notify"))
        self.addCleanup(manager.close)
        prefix = [sys.executable, os.path.join(HERE, "seccomp_exec.py"), self.unit()]
        # The filters are in force: what they forbid fails for another program.
        outcome = subprocess.run(
            [*prefix, sys.executable, "-c",
             "import mmap, os, socket\n"
             "for call in (lambda: os.chroot('/'), lambda: os.setpriority(0, 0, 1),\n"
             "             lambda: mmap.mmap(-1, 4096, prot=6),\n"
             "             lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)):\n"
             "    try:\n"
             "        call()\n"
             "        print('worked')\n"
             "    except PermissionError as error:\n"
             "        print(error.errno)\n"],
            capture_output=True, text=True, timeout=30)
        self.assertEqual((outcome.stdout, outcome.stderr), ("1\n" * 4, ""))

        server = self.rollcall(prefix=prefix, variables=manager.environment())
        server.start()
        self.assertRegex(manager.next(), "^READY=1\n")
        with open(f"/proc/{server.process.pid}/status", encoding="utf-8") as file:
            status = file.read()
        self.assertIn("NoNewPrivs:\t1\n", status)
        self.assertIn("Seccomp:\t2\n", status)
        for number in range(50):
            items = [{"responder_id": f"p{number}-{item}"} for item in range(200)]
            server.write("/v1/batches", items)
        page = server.scrape()
        self.assertEqual(page("responders_by_status", status="ONLINE"), 10_000)
        self.assertEqual(page("process_max_fds"), 2048)
        for name in ("cpu_seconds_total", "open_fds", "start_time_seconds", "threads"):
            self.assertGreater(page(f"process_{name}"), 0)
        self.assertEqual(manager.next(), "WATCHDOG=1")
        server.kill()
        server.start()
        self.assertEqual(server.responder("p49-199")["status"], "ONLINE")
        self.assertEqual(server.get("/v1/responders").status, 200)
        server.process.send_signal(signal.SIGHUP)
        self.assertEqual(server.get("/-/ready").status, 200)
        self.assertEqual(server.stop(), 0)
        self.assertNotIn("level=error", server.log())
        self.assertEqual(os.stat(server.store).st_mode & 0o777, 0o600)


if __name__ == "__main__":
    unittest.main()

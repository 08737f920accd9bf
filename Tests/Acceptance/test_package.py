"""Debian's package, as `.packages/deb` builds it of the program under test.

    ROLLCALL_IMAGE=1    build it twice, and install it on a fresh Debian of its own with systemd (mmdebstrap,
                        systemd-nspawn): it starts, an upgrade starts it anew, a purge asks; else skipped

Source: Operate, "Run it for good".
"""

import gzip
import hashlib
import os
import shutil
import signal
import subprocess
import unittest

import yaml

from rollcall_process import (
    BINARY, RollcallTestCase, eventually, is_shipped, packed, plain_environment)

WANTED = os.environ.get("ROLLCALL_IMAGE")
SOURCES = "/etc/apt/sources.list.d/debian.sources"


@unittest.skipUnless(is_shipped(), "the program under test is not built with -static-stdlib")
class PackageTests(RollcallTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.package = packed("deb")

    def asked(self, *line):
        return subprocess.run(
            line, check=True, capture_output=True, text=True, timeout=60,
            env=plain_environment()).stdout

    def unpacked(self):
        tree = os.path.join(self.directory, "tree")
        self.asked("dpkg-deb", "--raw-extract", self.package, tree)
        return tree

    @unittest.skipUnless(WANTED, "ROLLCALL_IMAGE is not set")
    def test_two_builds_are_the_same_bytes(self):
        digests = []
        for path in (self.package, packed("deb")):
            with open(path, "rb") as file:
                digests.append(hashlib.sha256(file.read()).hexdigest())
        self.assertEqual(digests[0], digests[1])

    def test_everything_is_where_debian_has_it(self):
        tree = self.unpacked()
        version = self.asked(BINARY, "--version").split()[2]
        self.assertEqual(self.asked("dpkg-deb", "--field", self.package, "Version").strip(), version)
        for path in ("usr/bin/rollcall", "usr/share/bash-completion/completions/rollcall",
                     "usr/share/zsh/vendor-completions/_rollcall",
                     "usr/share/fish/vendor_completions.d/rollcall.fish"):
            self.assertGreater(os.path.getsize(os.path.join(tree, path)), 1000, path)
        with gzip.open(os.path.join(tree, "usr/share/man/man1/rollcall.1.gz"), "rt") as page:
            self.assertIn(".TH", page.read())
        needed = self.asked("dpkg-deb", "--field", self.package, "Depends")
        for library in ("libsqlite3-0", "libmicrohttpd12", "libc6"):
            self.assertIn(library, needed)
        self.assertIn("libcurl4", self.asked("dpkg-deb", "--field", self.package, "Recommends"))

    def test_its_settings_are_the_standard_ones_and_are_taken(self):
        tree = self.unpacked()
        settings = os.path.join(tree, "etc/rollcall/rollcall.yml")
        with open(settings, encoding="utf-8") as file:
            self.assertIsNotNone(yaml.safe_load(file))
        with open(os.path.join(tree, "DEBIAN/conffiles"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "/etc/rollcall/rollcall.yml\n")
        self.asked(os.path.join(tree, "usr/bin/rollcall"), "check", settings)
        # An upgrade asks whoever changed them, so it is another file only if a default is another.
        version = self.asked("dpkg-deb", "--field", self.package, "Version").strip()
        with open(settings, encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual(lines[1:], self.asked(BINARY, "config").splitlines()[1:])
        self.assertNotIn(version, lines[0])

    def test_its_unit_starts_the_program_of_the_package(self):
        tree = self.unpacked()
        path = os.path.join(tree, "lib/systemd/system/rollcall.service")
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertIn("User=rollcall", lines)
        self.assertNotIn("DynamicUser=yes", lines)
        self.assertFalse([line for line in lines if "/usr/local" in line])
        # Of the program it says that this machine has none.
        troubles = [line for line in subprocess.run(
            ["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True,
            timeout=60, env=plain_environment()).stderr.splitlines()
            if "rollcall.service" in line and "/usr/bin/rollcall is not executable" not in line]
        self.assertEqual(troubles, [])


@unittest.skipUnless(WANTED, "ROLLCALL_IMAGE is not set")
@unittest.skipUnless(is_shipped(), "the program under test is not built with -static-stdlib")
class InstallTests(RollcallTestCase):
    """A Debian that was made for this, booted in a container."""

    def setUp(self):
        super().setUp()
        self.root = os.path.join(self.directory, "root")
        sources = [SOURCES] if os.path.exists(SOURCES) else []
        subprocess.run(
            ["mmdebstrap", "--quiet", "--variant=minbase",
             "--include=systemd,systemd-sysv,dbus,debconf,adduser,curl,libsqlite3-0,libmicrohttpd12",
             "bookworm", self.root, *sources], check=True, timeout=600, env=plain_environment())
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        shutil.copy(packed("deb"), os.path.join(self.root, "root/rollcall.deb"))
        self.boot()

    def boot(self):
        with open(os.path.join(self.directory, "boot.log"), "wb") as log:
            container = subprocess.Popen(
                ["systemd-nspawn", "--quiet", "-D", self.root, "--boot", "--register=no",
                 "--keep-unit", "--private-network", "--console=pipe"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self.addCleanup(container.wait, 30)
        self.addCleanup(os.killpg, container.pid, signal.SIGKILL)

        def first():
            with open(f"/proc/{container.pid}/task/{container.pid}/children", encoding="ascii") as file:
                return file.read().split()

        self.leader = eventually(first, 30, "the container's first process")[0]
        eventually(lambda: self.inside("systemctl is-system-running || true").strip()
                   in ("running", "degraded"), 60, "it is up")

    def inside(self, script, check=True):
        """The output of a line of shell in the container."""
        return subprocess.run(
            ["nsenter", "-t", self.leader, "-m", "-p", "-u", "-i", "-n", "env", "-i",
             "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "sh", "-c",
             script], check=check, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=120).stdout

    def is_active(self):
        return self.inside("systemctl is-active rollcall || true").strip() == "active"

    def process(self):
        return self.inside("systemctl show --property MainPID --value rollcall").strip()

    INSTALL = "apt-get install -y --no-install-recommends --reinstall /root/rollcall.deb"

    def test_it_starts_it_is_upgraded_and_a_purge_asks(self):
        self.inside(self.INSTALL)
        eventually(self.is_active, 20, "it runs")
        answer = self.inside("curl --silent --fail http://127.0.0.1:10112/v1/status")
        self.assertIn('"watching"', answer)
        self.inside(
            "curl --silent --fail -H 'Content-Type: application/json' -d "
            "'[{\"responder_id\":\"kim\",\"duty_state\":\"ON_DUTY\"}]' "
            "http://127.0.0.1:10112/v1/batches")
        owner = self.inside("stat --format '%U %a' /var/lib/rollcall /var/lib/rollcall/rollcall.db")
        self.assertEqual(owner.split("\n")[:2], ["rollcall 700", "rollcall 600"])
        # An upgrade starts it anew, with what it knew, and with the settings that somebody changed.
        before = self.process()
        self.inside("sed -i 's/^  retention: 30d/  retention: 14d/' /etc/rollcall/rollcall.yml")
        self.inside(self.INSTALL)
        eventually(self.is_active, 20, "it runs again")
        self.assertNotEqual(self.process(), before)
        self.inside("grep '^  retention: 14d' /etc/rollcall/rollcall.yml")
        known = "curl --silent --fail http://127.0.0.1:10112/v1/responders/kim"
        self.assertIn("ON_DUTY", self.inside(known))
        # Nobody answers: the store is kept, and a Rollcall that comes later goes on with it.
        self.assertIn("is kept", self.inside("apt-get purge -y rollcall"))
        self.assertFalse(self.is_active())
        self.inside("test -f /var/lib/rollcall/rollcall.db && ! test -e /etc/rollcall")
        self.inside(self.INSTALL)
        eventually(self.is_active, 20, "it runs once more")
        self.assertIn("ON_DUTY", self.inside(known))
        # Somebody says yes.
        self.inside("echo 'rollcall rollcall/delete_store boolean true' | debconf-set-selections")
        self.inside("apt-get purge -y rollcall")
        self.inside("! test -e /var/lib/rollcall")


if __name__ == "__main__":
    unittest.main()

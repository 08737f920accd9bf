"""A store of each older version is brought up to date under load, killed meanwhile, and goes back.

Source: J15; J3, J4, I11.
"""

import glob
import json
import os
import re
import shutil
import sqlite3
import subprocess
import threading
import time
import unittest

from rollcall_process import (
    BINARY, HERE, NotReady, RollcallTestCase, eventually, plain_environment)

GOLDEN = os.path.join(HERE, "../RollcallTests/Golden")
VERSIONS = sorted(
    int(name.rsplit("-", 1)[1]) for name in glob.glob(f"{GOLDEN}/store-*") if name[-1].isdigit())


def run(*arguments, **variables):
    return subprocess.run(
        [BINARY, *arguments], capture_output=True, text=True, timeout=60,
        env={**plain_environment(), **variables})


def content(path):
    with open(path, "rb") as file:
        return file.read()


class UpgradeTests(RollcallTestCase):
    def unpack(self, version):
        """A server of the store that `version` left after a kill, and its file once its own program
        would have moved the log into it."""
        server = self.rollcall(name=f"store-{version}")
        for ending in ("", "-wal"):
            shutil.copy(f"{GOLDEN}/store-{version}{ending}", server.store + ending)
        whole = server.store + ".whole"
        for ending in ("", "-wal"):
            shutil.copy(server.store + ending, whole + ending)
        connection = sqlite3.connect(whole)
        self.assertEqual(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0], 0)
        reference = content(whole)
        connection.close()
        for ending in ("", "-wal", "-shm"):
            if os.path.exists(whole + ending):
                os.unlink(whole + ending)
        return server, reference

    def copies(self, server):
        return [name for name in glob.glob(f"{server.store}.version-*")]

    def people(self, server):
        return [each["responder_id"] for each in
                server.get("/v1/responders?limit=1000").json()["responders"]]

    def test_each_older_store_goes_forward_under_load_and_back(self):
        for version in VERSIONS:
            with self.subTest(version=version):
                self.forward_and_back(version)

    def forward_and_back(self, version):
        server, reference = self.unpack(version)
        told = run("upgrade", "--check", server.store)
        self.assertEqual(told.returncode, 0, told)
        self.assertIn(f"is of version {version} (engine", told.stdout)
        self.assertEqual(self.copies(server), [])
        # Kills anywhere in the start: of the copy, of the transaction, of the first commit.
        for number in range(4):
            server.spawn()
            time.sleep(0.004 * (number + 1))
            server.kill()
        server.start()
        taken = []
        stop = threading.Event()

        def write():
            client = server.client()
            for sequence in range(100_000):
                if stop.is_set():
                    return
                answer = client.request("POST", "/v1/batches", {
                    "responder_id": "after", "updates": [{"sequence": sequence}]})
                if answer.status == 200:
                    taken.append(sequence)

        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        eventually(lambda: len(taken) > 50, 15, "batches are taken")
        stop.set()
        writer.join(10)
        people = self.people(server)
        self.assertIn("after", people)
        if "people are being erased" in told.stdout:
            # They must not stay in a copy: it is gone by now, or will be.
            eventually(lambda: not self.copies(server), 15, "the copy went with the erasure")
            eventually(
                lambda: "copies of the store from before an upgrade are deleted" in server.log(), 15,
                "it is said once all are gone")
            self.assertEqual(run("downgrade", server.store).returncode, 64)
            self.assertEqual(server.stop(), 0)
            return
        copy, = self.copies(server)
        self.assertRegex(copy, rf"\.version-{version}\.\d+$")
        self.assertEqual(content(copy), reference)
        self.assertEqual(os.stat(copy).st_mode & 0o777, 0o600)
        self.assertIn("a copy of the store is kept: rollcall downgrade puts it back", server.log())
        refused = run("downgrade", server.store, "--yes")
        self.assertEqual(refused.returncode, 1, refused)
        self.assertIn("is locked by process", refused.stderr)
        server.kill()
        asked = run("downgrade", server.store)
        self.assertEqual(asked.returncode, 1)
        self.assertIn("nothing was done: --yes does it", asked.stderr)
        self.assertEqual(len(self.copies(server)), 1)
        rows = re.search(r"not in it: \d+ turns with (\d+) batches and other events", asked.stdout)
        self.assertGreaterEqual(int(rows[1]), len(taken))
        done = run("downgrade", server.store, "--yes")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(content(server.store), reference)
        self.assertEqual(self.copies(server), [])
        newer, = glob.glob(f"{server.store}.newer-*")
        self.assertIn(newer, done.stdout)
        # What was acknowledged meanwhile is in the one that gave way.
        lines = run("export", "--storage.path", newer).stdout.splitlines()
        self.assertTrue(any('"after"' in line for line in lines))
        # And all that was acknowledged before it is in the one that came back.
        server.start()
        again = self.people(server)
        self.assertEqual(again, [person for person in people if person != "after"])
        self.assertEqual(server.stop(), 0)

    def test_without_room_a_start_is_refused_and_says_how_to_go_on(self):
        server, _ = self.unpack(10)
        fault = f"{self.directory}/fault"
        with open(fault, "w", encoding="ascii") as file:
            file.write("full .partial\n")
        server.variables = {
            "LD_PRELOAD": self.preloaded("failing_disk"), "DISK_FAULT": fault}
        with self.assertRaises(NotReady) as refused:
            server.start()
        self.assertIn("bytes must be free, and", str(refused.exception))
        self.assertIn("ROLLCALL_STORAGE_UPGRADE_COPY=false", str(refused.exception))
        self.assertEqual(self.copies(server), [])
        connection = sqlite3.connect(server.store)
        self.assertEqual(connection.execute("PRAGMA user_version").fetchone(), (10,))
        connection.close()
        server.variables["ROLLCALL_STORAGE_UPGRADE_COPY"] = "false"
        server.start()
        self.assertIn("is brought up to date without a copy", server.log())
        self.assertEqual(self.copies(server), [])

    def test_an_erasure_takes_the_copies_with_it(self):
        server, _ = self.unpack(10)
        server.start()
        person = self.people(server)[0]
        copy, = self.copies(server)
        self.assertIn(person.encode(), content(copy))
        shutil.copy(copy, f"{server.store}.newer-20261128T000000Z")
        number = server.request("DELETE", f"/v1/responders/{person}").json()["erasure"]
        eventually(
            lambda: server.get(f"/v1/erasures/{number}").json()["state"] == "done", 30,
            "the erasure is done")
        self.assertEqual(self.copies(server), [])
        self.assertEqual(glob.glob(f"{server.store}.newer-*"), [])
        eventually(
            lambda: "copies of the store from before an upgrade are deleted" in server.log(), 15,
            "it is said once all are gone")
        self.assertEqual(server.stop(), 0)
        done = run("downgrade", server.store, "--yes")
        self.assertEqual(done.returncode, 64, done)
        self.assertIn("no copy of an older version stands beside it", done.stderr)

    def test_a_copy_goes_after_a_week(self):
        server, _ = self.unpack(9)
        server.start()
        copy, = self.copies(server)
        self.assertEqual(server.stop(), 0)
        old = time.time() - 8 * 86400
        os.utime(copy, (old, old))
        server.start()
        eventually(lambda: not self.copies(server), 15, "the copy is gone")
        eventually(lambda: "they are old" in server.log(), 15, "why is said once all are gone")

    def test_upgrade_does_it_without_serving(self):
        server, reference = self.unpack(8)
        told = json.loads(run("upgrade", "--check", "--json", server.store).stdout)
        self.assertEqual(
            (told["upgrade"], told["possible"], told["version"]["store"]), (True, True, 8))
        done = run("upgrade", server.store)
        self.assertEqual(done.returncode, 0, done)
        copy, = self.copies(server)
        self.assertEqual((copy, content(copy)), (told["copy"], reference))
        told = json.loads(run("upgrade", "--check", "--json", server.store).stdout)
        self.assertEqual((told["upgrade"], [each["file"] for each in told["copies"]]), (False, [copy]))
        self.assertEqual(run("upgrade", "--check", f"{self.directory}/none").returncode, 64)

    def test_upgrade_keeps_no_copy_where_that_is_set(self):
        for number, by_file in enumerate((False, True)):
            server, _ = self.unpack(10 - number)
            arguments, variables = [], {}
            if by_file:
                arguments = ["--config.file", f"{self.directory}/settings.yml"]
                with open(arguments[1], "w", encoding="ascii") as file:
                    file.write("storage: {upgrade_copy: false}\n")
            else:
                variables = {"ROLLCALL_STORAGE_UPGRADE_COPY": "false"}
            told = run("upgrade", "--check", server.store, *arguments, **variables)
            self.assertEqual(told.returncode, 0, told)
            self.assertIn("No copy is kept before that", told.stdout)
            done = run("upgrade", server.store, *arguments, **variables)
            self.assertEqual(done.returncode, 0, done)
            self.assertEqual(self.copies(server), [])
            self.assertNotIn("A copy is kept", done.stderr)
        wrong = run("upgrade", server.store, ROLLCALL_STORAGE_UPGRADE_COPY="perhaps")
        self.assertEqual(wrong.returncode, 64, wrong)

    def test_who_an_older_program_erased_is_not_in_the_store_that_gave_way(self):
        server, _ = self.unpack(10)
        self.assertEqual(run("upgrade", server.store).returncode, 0)
        self.assertEqual(run("downgrade", server.store, "--yes").returncode, 0)
        newer, = glob.glob(f"{server.store}.newer-*")
        # Nobody was erased since: it is kept.
        server.start()
        eventually(lambda: self.copies(server), 15, "it is brought up to date again")
        self.assertEqual(server.stop(), 0)
        self.assertEqual(glob.glob(f"{server.store}.newer-*"), [newer])
        self.assertEqual(run("downgrade", server.store, "--yes").returncode, 0)
        older = glob.glob(f"{server.store}.newer-*")
        self.assertEqual(len(older), 2)
        shutil.copy(newer, f"{server.store}.version-9.6")
        # The erasure that the store of version 10 remembers is over later than that.
        connection = sqlite3.connect(server.store)
        connection.execute(
            "UPDATE erasures SET finished_ms = ?, checksum = NULL", (time.time_ns() // 1_000_000 + 1,))
        connection.commit()
        connection.close()
        server.start()
        eventually(lambda: not glob.glob(f"{server.store}.newer-*"), 15, "what gave way is gone")
        eventually(
            lambda: "or somebody was erased since" in server.log(), 15, "the log says so")
        # Who was erased is in no older copy, and not in the one of just now.
        eventually(
            lambda: self.copies(server) == [f"{server.store}.version-10.8"], 15, "one copy is left")

    def test_a_downgrade_that_was_killed_leaves_no_second_name_for_long(self):
        server, _ = self.unpack(10)
        self.assertEqual(run("upgrade", server.store).returncode, 0)
        second = f"{server.store}.newer-20261128T000000Z"
        os.link(server.store, second)
        server.start()
        eventually(lambda: not os.path.exists(second), 15, "the second name is gone")
        self.assertTrue(self.people(server))
        self.assertEqual(len(self.copies(server)), 1)


if __name__ == "__main__":
    unittest.main()

"""What people ask of a watch on several machines, on a real etcd: erase somebody everywhere, say who is
a member, hand over, go on after the log was lost, and learn whether etcd is set up well.

Source: Contract/Cluster, S11, S13, S16, S17.
"""

import base64
import glob
import json
import os
import shutil
import subprocess
import time
import urllib.request
import zlib

from cluster_process import Backend, ClusterTestCase, Etcd, Members, batch
from journal_rows import journal_rows
from rollcall_process import BINARY, Rollcall, eventually, plain_environment, taken


def holds(text, *paths):
    """The files in which a text stands, whoever wrote it there."""
    found = []
    for path in paths:
        if os.path.isfile(path):
            with open(path, "rb") as file:
                if text.encode() in file.read():
                    found.append(os.path.basename(path))
    return found


class ClusterOrderTests(ClusterTestCase):
    def cluster(self, member, *words, code=0):
        """What `rollcall cluster WORDS` prints, asked of a member."""
        outcome = subprocess.run(
            [BINARY, "cluster", *words, "--server", f"http://{member.address}"],
            capture_output=True, text=True, timeout=30, env=plain_environment())
        self.assertEqual(outcome.returncode, code, outcome.stdout + outcome.stderr)
        return " ".join((outcome.stdout + outcome.stderr).split())

    def listed(self, members, *names):
        """Waits until the log names exactly these."""
        def same():
            standing = members.standing(members.names[0]) or {}
            found = [one["member"] for one in standing.get("members", []) if one["listed"]]
            return found == sorted(names)
        eventually(same, 20, f"the log names {names}")

    def erase(self, member, person):
        """Has somebody erased, asked again on a 503; the erasure's number."""
        answer = taken(
            lambda: member.request("DELETE", f"/v1/responders/{person}"), f"the erasure of {person}", 202)
        return answer.json()["erasure"]

    def call(self, etcd, path, body):
        """What etcd answers to a request of ours."""
        request = urllib.request.Request(
            etcd.clients[0] + path, data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def in_log(self, etcd, text):
        """The entries of the log that hold a text: of each slot, unpacked."""
        body = {
            "key": base64.b64encode(b"/watch/").decode(),
            "range_end": base64.b64encode(b"/watch0").decode()}
        rows = self.call(etcd, "/v3/kv/range", body).get("kvs", [])
        found = []
        for row in rows:
            value = base64.b64decode(row.get("value", ""))
            texts = [value]
            at = value.find(b"\x78\x01")
            while at >= 0:
                try:
                    texts.append(zlib.decompressobj().decompress(value[at:]))
                except zlib.error:
                    pass
                at = value.find(b"\x78\x01", at + 1)
            if any(text.encode() in one for one in texts):
                found.append(base64.b64decode(row["key"]).decode())
        return found

    def test_an_erasure_is_pending_until_nobody_lacks_it_and_the_log_lets_go(self):
        """S13: with the names of who is waited for, also across a member that is away."""
        etcd = Etcd(self, members=1)
        # Whoever leads is asked all along, and leads on when the machine is late for a second or two.
        members = Members(self, etcd, silence="3s")
        members.start()
        members.settled()
        self.listed(members, "a", "b", "c")
        leader = members.leader()
        person = "erase-me-everywhere"
        members.write("/v1/batches", [batch(person), batch("stays")])
        members.settled()
        self.assertNotEqual(self.in_log(etcd, person), [])
        away = next(name for name in members.names if name != leader)
        # What was put aside of its store once, and holds the person.
        aside = members[away].store + ".corrupt-20260101T000000Z"
        with open(aside, "w", encoding="utf-8") as file:
            file.write(person)
        os.utime(aside, (time.time() - 3600, time.time() - 3600))
        members[away].kill()
        gone = members[leader].request("DELETE", f"/v1/responders/{person}")
        self.assertEqual(gone.status, 202, gone)
        number = gone.json()["erasure"]
        show = lambda name: members[name].get(f"/v1/erasures/{number}").json()
        others = [name for name in members.names if name != away]
        eventually(lambda: show(leader)["cluster"]["missing"] == [away], 60, "one is missing")
        time.sleep(2)
        erasure = show(leader)
        self.assertEqual((erasure["state"], erasure["finished_at"]), ("running", None))
        self.assertTrue(erasure["cluster"]["in_log"])
        told = self.cluster(members[leader], "status")
        self.assertIn("1 erasure is not over", told)
        self.assertIn(f"something may be left at {away} and in the log", told)
        self.assertEqual(members[leader].scrape()("rollcall_erasures_pending"), 1)
        self.assertNotEqual(self.in_log(etcd, person), [])
        # It comes back, and never says anything of the person.
        members[away].start()

        def answered():
            answer = members[away].get(f"/v1/responders/{person}")
            self.assertIn(answer.status, (404, 503), answer)
            return answer.status == 404
        eventually(answered, 20, "it answers", every=0.01)
        eventually(lambda: not os.path.exists(aside), 20, "what was put aside is deleted")
        eventually(lambda: show(leader)["state"] == "done", 90, "it is over", every=0.5)
        self.assertEqual(self.in_log(etcd, person), [])
        self.assertEqual(members[leader].scrape()("rollcall_erasures_pending"), 0)
        erasure = show(leader)
        self.assertEqual(erasure["cluster"], {"missing": [], "in_log": False})
        self.assertIsNotNone(erasure["finished_at"])
        members.settled()
        for name in members.names:
            store = members[name].store
            self.assertEqual(holds(person, store, store + "-wal"), [], name)
            self.assertEqual(members[name].get("/v1/responders/stays").status, 200)
        self.assertEqual(sorted(others + [away]), members.names)

    def test_a_member_that_never_comes_back_is_taken_out(self):
        """S13, S17: nothing waits for it, and one that was not named only follows."""
        etcd = Etcd(self, members=1)
        members = Members(self, etcd, names="abcd")
        members.start("a", "b", "c")
        members.names = ["a", "b", "c"]
        members.settled()
        self.listed(members, "a", "b", "c")
        leader = members.leader()
        gone = next(name for name in members.names if name != leader)
        members.write("/v1/batches", [batch("p-erased")])
        members.settled()
        members[gone].kill()
        members.names.remove(gone)
        number = self.erase(members[leader], "p-erased")
        show = lambda: members[leader].get(f"/v1/erasures/{number}").json()
        eventually(lambda: show()["cluster"]["missing"] == [gone], 60, "one is missing")
        self.assertIn("no member has this name", self.cluster(members[leader], "remove", "x", code=1))
        self.assertEqual(
            self.cluster(members[leader], "remove", gone), f"Members: {', '.join(members.names)}.")
        eventually(lambda: show()["state"] == "done", 90, "it is over", every=0.5)
        # A fourth one follows, and never leads, whoever dies.
        members.start("d")
        follows = lambda: (members.standing("d") or {"confirmed": None, "leader": None})
        eventually(lambda: follows()["confirmed"] and follows()["leader"], 20, "d follows")
        self.assertIn("no member", self.cluster(members["d"]))
        members[leader].kill()
        other = next(name for name in members.names if name != leader)
        after = members.leader()
        self.assertEqual(after, other)
        members[other].kill()
        time.sleep(5)
        standing = eventually(lambda: members.standing("d"), 15, "d says how it stands")
        self.assertNotEqual(standing["role"], "leading")
        members[other].start()
        self.assertEqual(members.leader(20), other)
        self.cluster(members[other], "add", "d")
        members.names = [other]
        self.listed(members, leader, other, "d")
        members[other].kill()
        eventually(lambda: members.leads("d"), 20, "d leads now that it is a member")

    def test_a_leader_hands_over_when_it_is_asked_to(self):
        """S17: without a pause of half a second, and does not take the lead back."""
        etcd = Etcd(self, members=3)
        members = Members(self, etcd)
        members.start()
        members.settled()
        self.listed(members, "a", "b", "c")
        backend = Backend(self, members, every=0.001).start()
        eventually(lambda: len(backend.taken) > 20, 30, "batches are taken")
        gaps = []
        for _ in range(3):
            leader = members.leader()
            began = time.monotonic()
            self.assertIn("leads only if nobody else does", self.cluster(members[leader], "drain"))
            eventually(lambda: backend.times[-1] > began + 1.5, 15, "batches are taken")
            gaps.append(backend.longest_gap(began))
            self.assertNotEqual(members.leader(), leader)
            self.assertIn("leaves the lead to others", self.cluster(members[leader], "status"))
        print("     hand-overs, without an acknowledgement", *(f"{gap:.3f} s" for gap in gaps))
        self.assertLess(sorted(gaps)[1], 0.5, gaps)
        backend.end()
        self.check_all_hold(members, backend.taken)

    def test_a_follower_that_is_drained_leaves_the_leader_alone(self):
        """S15, S17: the order is no write that goes on to the leader."""
        members = Members(self, Etcd(self, members=1), names="ab", silence="3s")
        members.start()
        members.settled()
        leader = members.leader()
        follower = next(name for name in members.names if name != leader)
        self.assertIn("leads only if nobody else does", self.cluster(members[follower], "drain"))
        time.sleep(2)
        self.assertEqual(members.leader(), leader)
        standing = [
            eventually(lambda name=name: members.standing(name), 15, f"{name} says how it stands")
            for name in (leader, follower)]
        self.assertEqual([one["drained"] for one in standing], [False, True])

    def test_nobody_is_drained_whom_nobody_can_follow(self):
        """S17"""
        members = Members(self, Etcd(self, members=1), names="a", silence="3s")
        members.start()
        members.leader()
        time.sleep(2)
        self.assertIn("no other member", self.cluster(members["a"], "drain", code=1))
        self.assertEqual(members.leader(), "a")
        # On one machine there is nothing of all this.
        alone = Rollcall(self.directory, None, name="alone")
        self.addCleanup(alone.close)
        alone.start()
        for method, path in (
                ("PUT", "/v1/cluster/members/b"), ("DELETE", "/v1/cluster/members/b"),
                ("POST", "/v1/cluster/drain"), ("POST", "/v1/cluster/join"),
                ("POST", "/v1/cluster/adopt")):
            self.assertEqual(alone.request(method, path).status, 404, path)
        self.assertNotIn(36, {kind for kind, _ in journal_rows(alone.store)})

    def test_a_lost_log_is_begun_anew_from_who_holds_most(self):
        """S11: nobody leads until somebody says so; what gives way is kept aside."""
        etcd = Etcd(self, members=1)
        members = Members(self, etcd)
        members.start()
        members.settled()
        leader = members.leader()
        members.write("/v1/batches", [batch("p-1")])
        etcd.kill(0)
        shutil.copytree(etcd.data(0), etcd.data(0) + ".old")
        etcd.start(0)
        leader = members.leader(30)
        behind = next(name for name in members.names if name != leader)
        members.settled()
        members[behind].kill()
        for number in range(5):
            members.write("/v1/batches", [batch(f"q-{number}")])
        # Whoever led meanwhile, both hold all of it.
        members.settled(*(name for name in members.names if name != behind))
        etcd.kill(0)
        shutil.rmtree(etcd.data(0))
        os.rename(etcd.data(0) + ".old", etcd.data(0))
        etcd.start(0)
        members[behind].start()
        for name in members.names:
            eventually(
                lambda name=name: (members.standing(name) or {}).get("role") == "lost", 40,
                f"{name} notices")
        self.assertIn("holds", self.cluster(members[behind], "adopt", code=1))
        adopter = leader
        self.cluster(members[adopter], "adopt")
        # It begins the log; whoever follows it first may lead.
        leader = members.leader(30)
        members.settled(seconds=60)
        for name in members.names:
            self.assertIn("q-4", self.people(members[name]), name)
            kept = glob.glob(members[name].store + ".replaced-*")
            self.assertEqual(bool(kept), name != adopter, (name, kept))
        # By hand, too: what a member is asked to do it does itself.
        follower = next(name for name in members.names if name != leader)
        self.assertIn("copy", self.cluster(members[follower], "join"))
        time.sleep(1)
        members.settled(seconds=60)
        self.assertIn("nothing to be adopted", self.cluster(members[leader], "adopt", code=1))
        # Somebody is erased: what was put aside goes.
        self.erase(members[leader], "p-1")
        for name in members.names:
            eventually(
                lambda name=name: not glob.glob(members[name].store + ".replaced-*"), 30,
                f"what {name} had put aside is gone")
        # Nor does one that was away meanwhile keep the copy of an upgrade, in which they still are.
        members[follower].kill()
        copy = members[follower].store + ".version-10.8"
        with open(copy, "w", encoding="ascii") as file:
            file.write("p-1")
        long_ago = time.time() - 3600
        os.utime(copy, (long_ago, long_ago))
        members[follower].start()
        eventually(lambda: not os.path.exists(copy), 30, f"{follower} keeps no old copy")

    def test_check_asks_etcd_how_it_is_set_up(self):
        """S17: and says what it could not ask."""
        etcd = Etcd(self, members=1, more=["--quota-backend-bytes", str(64 << 20)])
        config = os.path.join(self.directory, "check.yaml")

        def check(url):
            with open(config, "w", encoding="utf-8") as file:
                file.write(f'cluster: {{silence: 2s, log: {{etcd: {{endpoints: ["{url}"]}}}}}}\n')
            outcome = subprocess.run(
                [BINARY, "check", config], capture_output=True, text=True, timeout=60,
                env=plain_environment())
            return outcome.returncode, " ".join(outcome.stdout.split())

        code, told = check(etcd.clients[0])
        self.assertEqual(code, 0, told)
        self.assertIn("quota 64 MiB", told)
        self.assertIn("weak: etcd has 1 voting member", told)
        self.assertIn("not known: etcd's election timeout", told)
        self.assertIn("at most 1000 ms", told)
        # Its quota is used up.
        body = {"action": "ACTIVATE", "memberID": "0", "alarm": "NOSPACE"}
        self.call(etcd, "/v3/maintenance/alarm", body)
        code, told = check(etcd.clients[0])
        self.assertEqual(code, 1, told)
        self.assertIn("UNSAFE: etcd has the alarm NOSPACE", told)
        etcd.kill(0)
        code, told = check(etcd.clients[0])
        self.assertEqual(code, 0, told)
        self.assertIn("not known: etcd at", told)

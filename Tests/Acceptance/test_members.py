"""A watch on several machines: real members on a real etcd, one thing at a time.

Source: Contract/Cluster, S1, S4, S6, S7, S11, S12, S15, S18.
"""

import os
import shutil
import signal
import subprocess
import time

from cluster_process import Backend, ClusterTestCase, Etcd, Members, batch
from loopback_receivers import Pager
from rollcall_process import BINARY, Rollcall, eventually, plain_environment

PAGED = """
liveness: {{on_duty: {{expected: 300ms, degraded_after: 4s, offline_after: 8s}}}}
alerts:
  HighOfflineRate: {{enabled: false}}
  NoOnlineResponders: {{for: 100ms, keep_firing_for: 0s}}
receivers:
  - name: oncall
    pagerduty: {{url: "{url}", routing_key: "{key}"}}
"""


class MembersTests(ClusterTestCase):
    def test_a_leader_dies_and_another_goes_on(self):
        """S1, S8: kill -9, SIGSTOP and SIGTERM of whoever leads."""
        members = Members(self, Etcd(self))
        members.start()
        members.settled()
        backend = Backend(self, members).start()
        eventually(lambda: len(backend.taken) > 20, 30, "batches are taken")
        leader = members.leader()
        status = members[leader].get("/v1/status").json()["cluster"]
        self.assertEqual((status["role"], status["leader"]), ("leading", leader))
        self.assertEqual([one["member"] for one in status["members"]], members.names)
        told = subprocess.run(
            [BINARY, "status", "--server", f"http://{members[leader].address}"],
            capture_output=True, text=True, timeout=30, env=plain_environment()).stdout
        self.assertIn("leads, one of 3 members", " ".join(told.split()))
        began = time.monotonic()
        members[leader].kill()
        eventually(lambda: backend.times[-1] > began + 0.5, 15, "another takes batches")
        self.assertLess(backend.longest_gap(began), 6)
        members[leader].start()
        members.settled()
        # It hands over when it is told to end.
        leader = members.leader()
        reign = eventually(lambda: members.standing(leader), 15, "it says how it stands")["reign"]
        self.assertEqual(members[leader].stop(), 0)
        after = members.leader()
        self.assertNotEqual(after, leader)
        standing = eventually(lambda: members.standing(after), 15, "it says how it stands")
        self.assertEqual(standing["reign"], reign + 1)
        members[leader].start()
        members.settled()
        # One that stood still wakes up and must take nothing.
        leader = members.leader()
        members[leader].pause()
        others = [name for name in members.names if name != leader]
        eventually(lambda: any(members.leads(name) for name in others), 15, "another leads")
        members[leader].resume()
        # It steps down at once; whom it follows it reads in the log.
        eventually(
            lambda: (members.standing(leader) or {}).get("leader") in others, 15, "it follows")
        refused = eventually(
            lambda: members[leader].post(
                "/v1/batches", [batch("p-late")], {"Rollcall-Passed-On": "0"}), 5, "an answer")
        self.assertEqual(refused.status, 503, refused)
        self.assertIn(
            refused.headers["rollcall-leader"],
            [f"http://{members[name].address}" for name in others])
        backend.end()
        self.check_all_hold(members, backend.taken)

    def test_most_of_etcd_dies_and_comes_back(self):
        """S3, S15: nothing is acknowledged meanwhile, and answers say that nobody watches."""
        etcd = Etcd(self)
        members = Members(self, etcd)
        members.start()
        members.settled()
        backend = Backend(self, members).start()
        eventually(lambda: len(backend.taken) > 20, 30, "batches are taken")
        for number in (0, 1):
            etcd.kill(number)
        time.sleep(4)
        for name in members.names:
            def is_unconfirmed(member=members[name]):
                return not member.get("/v1/responders?limit=1").json()["responders"][0]["confirmed"]
            eventually(is_unconfirmed, 10, f"{name} confirms nobody")
            eventually(
                lambda name=name: members[name].scrape()("rollcall_watching") == 0, 10,
                f"{name} does not watch")
            eventually(
                lambda name=name: members[name].get("/-/ready").status == 503, 10,
                f"{name} is not ready")
        taken = len(backend.taken)
        for number in (0, 1):
            etcd.start(number)
        eventually(lambda: len(backend.taken) > taken + 20, 30, "batches are taken again")
        backend.end()
        self.check_all_hold(members, backend.taken)

    def test_a_member_without_its_disk_takes_a_copy(self):
        """S12: also of a store whose history began before there were members."""
        alone = Rollcall(self.directory, None, name="a")
        self.addCleanup(alone.close)
        alone.start()
        alone.write("/v1/batches", [batch(f"old-{number}") for number in range(500)])
        self.assertEqual(alone.stop(), 0)
        members = Members(self, Etcd(self, members=1))
        members.start("a")
        self.assertEqual(members.leader(), "a")
        members.start("b", "c")
        members.settled(seconds=40)
        taken = [f"old-{number}" for number in range(500)]
        for name in members.names:
            self.assertEqual(set(taken) - self.people(members[name]), set(), name)
        # A disk that is gone, while the others go on.
        leader = members.leader()
        lost = next(name for name in members.names if name != leader)
        members[lost].kill()
        for ending in ("", "-wal", "-shm", ".epoch"):
            path = members[lost].store + ending
            if os.path.exists(path):
                os.remove(path)
        members.write("/v1/batches", [batch("new-1")])
        members[lost].start()
        members.settled(seconds=40)
        self.check_all_hold(members, taken + ["new-1"])

    def test_an_etcd_restored_from_an_older_copy_is_noticed(self):
        """S11: nobody leads, and nobody writes over what was acknowledged."""
        etcd = Etcd(self, members=1)
        members = Members(self, etcd, names="ab")
        members.start()
        members.settled()
        leader = members.leader()
        members.write("/v1/batches", [batch("p-1")])
        etcd.kill(0)
        shutil.copytree(etcd.data(0), etcd.data(0) + ".old")
        etcd.start(0)
        leader = members.leader(30)
        for number in range(5):
            members.write("/v1/batches", [batch(f"q-{number}")])
        members.settled()
        etcd.kill(0)
        shutil.rmtree(etcd.data(0))
        os.rename(etcd.data(0) + ".old", etcd.data(0))
        etcd.start(0)
        for name in members.names:
            eventually(
                lambda name=name: (members.standing(name) or {}).get("role") == "lost", 30,
                f"{name} notices")
            self.assertEqual(members[name].get("/-/ready").status, 503)
            self.assertEqual(members[name].post("/v1/batches", [batch("r")]).status, 503)
            self.assertIn("q-4", self.people(members[name]))

    def test_a_page_has_one_key_whoever_sends_it(self):
        """S6, S7: a fire is opened by one leader and ended by the next."""
        pager = Pager(self)
        settings = PAGED.format(url=pager.url, key=Pager.ROUTING_KEY)
        members = Members(self, Etcd(self), settings=settings)
        members.start()
        members.settled()
        leader = members.leader()
        members.write("/v1/batches", [batch(f"n-{number}") for number in range(3)])
        eventually(lambda: pager.incidents, 20, "a page")
        members[leader].kill()
        members.names = [name for name in members.names if name != leader]
        after = members.leader()

        def is_over():
            members.write("/v1/batches", [batch(f"n-{number}") for number in range(3)])
            return not any(incident.is_open for incident in pager.incidents)

        eventually(is_over, 20, "the end of it", every=0.2)
        self.assertEqual(len(pager.incidents), 1)
        self.assertEqual((pager.faults, pager.ghosts), ([], []))

    def test_without_the_log_for_long_somebody_is_told(self):
        """S18: from memory, and once it is over that too."""
        pager = Pager(self)
        etcd = Etcd(self, members=1)
        settings = PAGED.format(url=pager.url, key=Pager.ROUTING_KEY)
        members = Members(self, etcd, names="ab", settings=settings)
        members.start()
        members.settled()
        members.leader()
        etcd.signal(0, signal.SIGSTOP)
        told = lambda incident: "RollcallStoreFailing" in str(incident.payload)
        eventually(lambda: any(told(i) for i in pager.incidents), 30, "RollcallStoreFailing")
        self.assertEqual(len(pager.incidents), 1)
        etcd.signal(0, signal.SIGCONT)
        eventually(lambda: not any(i.is_open for i in pager.incidents), 30, "the end of it")
        members.leader(20)

"""Three members on three etcds through faults drawn by chance, with a ledger of everything that was
acknowledged, and receivers that count.

Source: Contract/Cluster, S1 to S9.

    ROLLCALL_CLUSTER_FAULTS   how many faults; 20 without it
    ROLLCALL_CLUSTER_SEED     which; 1 without it
"""

import os
import random
import signal
import statistics
import threading
import time

from cluster_process import Backend, ClusterTestCase, Etcd, Members, Proxy, batch
from loopback_phones import PushHook
from loopback_receivers import Pager
from rollcall_process import Client, eventually, now_ms, rfc3339

FAULTS = int(os.environ.get("ROLLCALL_CLUSTER_FAULTS", "20"))
SEED = int(os.environ.get("ROLLCALL_CLUSTER_SEED", "1"))
SETTINGS = """
liveness:
  on_duty: {{expected: 500ms, degraded_after: 2s, offline_after: 4s}}
  # Longer than any outage here: more than three changes of leaders in 5 min earn nobody a wait (S9).
  on_mission: {{expected: 500ms, degraded_after: 12s, offline_after: 20s}}
alerts:
  HighOfflineRate: {{enabled: false}}
  ResponderFlapping: {{enabled: false}}
  NoOnlineResponders: {{for: 100ms, keep_firing_for: 0s}}
receivers:
  # Faults change leaders again and again: that this is paged, too, is tested elsewhere.
  - name: oncall
    match: {{alertname: "!=RollcallUnsteady"}}
    pagerduty: {{url: "{pager}", routing_key: "{key}"}}
nudges:
  stale_after: 1s
  min_interval: 5s
  sink: {{webhook: {{url: "{hook}", secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}}}
"""
# Longer than any fault takes with what follows it.
PATIENCE = 60


class Phones:
    """Two regions whose phones report each 0.3 s to whoever takes writes; those of `flicker` fall
    silent and come back."""

    def __init__(self, case, members):
        self.steady = [f"steady-{number}" for number in range(20)]
        self.flicker = [f"flicker-{number}" for number in range(3)]
        self.is_flicker_silent = False
        self._sequence = 0
        self._members = members
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        case.addCleanup(self.end)

    def start(self):
        self._thread.start()
        return self

    def end(self):
        self._end.set()
        if self._thread.ident is not None:
            self._thread.join(20)

    def _run(self):
        began = time.monotonic()
        names = list(self._members.names)
        while not self._end.wait(0.3):
            self.is_flicker_silent = (time.monotonic() - began) % 20 > 12
            body = [self._report(one, "steady") for one in self.steady]
            if not self.is_flicker_silent:
                body += [self._report(one, "flicker") for one in self.flicker]
            for _ in names:
                client = Client(int(self._members[names[0]].address.split(":")[1]), 2.0)
                try:
                    if client.request("POST", "/v1/batches", body).status == 200:
                        break
                except Exception:  # whatever a member that dies answers
                    pass
                finally:
                    client.close()
                names.append(names.pop(0))

    def _report(self, responder_id, region):
        self._sequence += 1
        return {
            **batch(responder_id, region), "circles": ["crew"],
            "duty_state": "ON_MISSION" if region == "steady" else "ON_DUTY",
            "updates": [{"sequence": self._sequence, "captured_at": rfc3339(now_ms())}]}


class ClusterChaosTests(ClusterTestCase):
    def setUp(self):
        super().setUp()
        self.dice = random.Random(SEED)
        self.etcd = Etcd(self)
        self.ways = {
            name: [Proxy(self, int(url.rsplit(":", 1)[1])) for url in self.etcd.clients]
            for name in "abc"}
        libraries = f"{self.preloaded('failing_disk')}:{self.preloaded('stepped_clock')}"
        self.pager = Pager(self)
        self.hook = PushHook(self)
        self.members = Members(
            self, self.etcd,
            settings=SETTINGS.format(
                pager=self.pager.url, key=Pager.ROUTING_KEY, hook=self.hook.url),
            endpoints=lambda name: [way.url for way in self.ways[name]],
            variables=lambda name: {
                "LD_PRELOAD": libraries, "DISK_FAULT": self.path(name, "disk"),
                "CLOCK_STEPS": self.path(name, "clock")})

    def path(self, name, what):
        return os.path.join(self.directory, f"{name}.{what}")

    def say(self, name, what, words):
        with open(self.path(name, what) + ".new", "w", encoding="utf-8") as file:
            file.write(words)
        os.replace(self.path(name, what) + ".new", self.path(name, what))

    # Faults: each does something, and returns how it is mended.

    def start_again(self, name):
        member = self.members[name]
        if member.process is not None and member.process.poll() is not None:
            member.reap()
        if member.process is None:
            member.start()

    def kill(self, name):
        self.members[name].kill()
        return lambda: self.start_again(name)

    def pause(self, name):
        self.members[name].pause()
        return lambda: self.members[name].resume()

    def cut(self, name, mode):
        for way in self.ways[name]:
            way.mode = mode
        return lambda: self.open(name)

    def open(self, name):
        for way in self.ways[name]:
            way.mode = "open"

    def kill_etcd(self, *numbers):
        for number in numbers:
            self.etcd.kill(number)
        return lambda: [self.etcd.start(number) for number in numbers]

    def pause_etcd(self, number):
        self.etcd.signal(number, signal.SIGSTOP)
        return lambda: self.etcd.signal(number, signal.SIGCONT)

    def silence_etcd(self, number):
        for ways in self.ways.values():
            ways[number].mode = "silent"

        def mend():
            for ways in self.ways.values():
                ways[number].mode = "open"
        return mend

    def fail_disk(self, name, words):
        self.say(name, "disk", words)

        def mend():
            self.say(name, "disk", "")
            # A disk that fails for good ends the process, and a supervisor starts it again.
            time.sleep(0.3)
            self.start_again(name)
        return mend

    def step_wall(self, name, milliseconds):
        self.say(name, "clock", f"{milliseconds} 0")
        return lambda: self.say(name, "clock", "0 0")

    def faults(self, leader, follower, etcd_leader):
        other = (etcd_leader + 1) % 3
        return {
            "the leader is killed": (lambda: self.kill(leader), 0.5),
            "a follower is killed": (lambda: self.kill(follower), 0.5),
            "the leader stands still": (lambda: self.pause(leader), 3),
            "a follower stands still": (lambda: self.pause(follower), 3),
            "the leader reaches no etcd": (lambda: self.cut(leader, "refused"), 4),
            "the leader hears no etcd": (lambda: self.cut(leader, "silent"), 4),
            "a follower hears no etcd": (lambda: self.cut(follower, "silent"), 4),
            "the leader's requests are late": (lambda: self.cut(leader, "late"), 4),
            "etcd's leader is killed": (lambda: self.kill_etcd(etcd_leader), 2),
            "etcd's leader stands still": (lambda: self.pause_etcd(etcd_leader), 3),
            "nobody hears etcd's leader": (lambda: self.silence_etcd(etcd_leader), 3),
            "most of etcd is away": (lambda: self.kill_etcd(etcd_leader, other), 3),
            "the leader's disk takes nothing": (
                lambda: self.fail_disk(leader, "readonly"), 3),
            "a follower's disk takes nothing": (
                lambda: self.fail_disk(follower, "readonly"), 3),
            "the leader's disk fails": (lambda: self.fail_disk(leader, "eio"), 1),
            "the leader's wall is put forward": (lambda: self.step_wall(leader, 3000), 3),
            "a follower's wall is put back": (lambda: self.step_wall(follower, -3000), 3),
        }

    def test_chaos(self):
        members = self.members
        members.start()
        members.leader()
        members.settled()
        phones = Phones(self, members).start()
        backends = [Backend(self, members, prefix=f"w{number}").start() for number in range(2)]
        eventually(lambda: all(one.times for one in backends), 30, "batches are taken")
        gaps = {}
        kinds = []
        for number in range(FAULTS):
            leader = members.leader(PATIENCE)
            follower = self.dice.choice([name for name in members.names if name != leader])
            etcd_leader = self.etcd.leader()
            known = self.faults(leader, follower, number % 3 if etcd_leader is None else etcd_leader)
            # Each kind once before one comes again.
            kinds = kinds or self.dice.sample(sorted(known), len(known))
            kind = kinds.pop()
            fault, seconds = known[kind]
            began = time.monotonic()
            mend = fault()
            time.sleep(seconds)
            mend()
            mended = time.monotonic()
            try:
                eventually(
                    lambda: all(one.times[-1] > mended for one in backends), PATIENCE,
                    f"somebody takes batches after: {kind}")
            except AssertionError:
                for name in members.names:
                    print(name, members.standing(name), members[name].log()[-1500:], flush=True)
                raise
            time.sleep(1)
            gaps.setdefault(kind, []).append(max(one.longest_gap(began) for one in backends))
            for name in members.names:
                self.start_again(name)
        for one in backends:
            one.end()
        self.report(gaps, backends)
        eventually(lambda: not phones.is_flicker_silent, 30, "all phones report")
        eventually(
            lambda: not any(i.is_open for i in self.pager.incidents), 30, "every incident is over")
        # They are asked about while they report: afterwards they are silent by right.
        late = self.offline(phones.steady)
        phones.end()
        taken = [person for one in backends for person in one.taken]
        self.check_all_hold(members, taken)
        self.assertEqual(late, [], "steady phones that were called OFFLINE")
        self.assertEqual((self.pager.faults, self.pager.ghosts), ([], []))
        self.assertEqual(self.doubled(), [])

    def offline(self, people):
        """Who of them was ever called OFFLINE."""
        def timeline(person):
            answer = self.members[self.members.leader()].get(f"/v1/responders/{person}/timeline")
            return answer.json() if answer.status == 200 else None

        return [
            person for person in people
            if any(event.get("to") == "OFFLINE" for event in eventually(
                lambda person=person: timeline(person), 20, f"{person}'s timeline is told")["events"])]

    def doubled(self):
        """Incidents that were opened again, and pushes that came twice."""
        keys = [incident.key for incident in self.pager.incidents]
        ids = [request.headers.get("webhook-id") for request in self.hook.requests]
        return sorted(
            [key for key in set(keys) if keys.count(key) > 1]
            + [one for one in set(ids) if ids.count(one) > 1])

    def report(self, gaps, backends):
        taken = sum(len(one.taken) for one in backends)
        print(f"     seed {SEED}: {FAULTS} faults, {taken} batches acknowledged, "
              f"{len(self.pager.incidents)} incidents, {len(self.hook.requests)} pushes")
        for kind, found in sorted(gaps.items()):
            print(f"     {kind}: {len(found)} times, without an acknowledgement "
                  f"{statistics.median(found):.1f} s, at most {max(found):.1f} s", flush=True)

"""Everything at once, on loopback: backends that forward sequences, regions that are cut off and
come back, people whose apps are swiped away; a pager and a sink for pushes that answer late,
refuse, or lose their answers. And what must be true of it at the end, whatever the server suffered.

Source: J9 (a 2xx means committed), A9, I1, N2, N7; Q7.
"""

import collections
import http.client
import random
import threading
import time

from loopback_phones import PushHook
from loopback_receivers import Fleet, Pager, people
from rollcall_process import NDJSON, Client, eventually, ndjson, now_ms

REGIONS = ("cut-0", "cut-1", "cut-2", "cut-3")
CONFIG = """
liveness: {{on_duty: {{expected: 100ms, degraded_after: 300ms, offline_after: 500ms}}}}
alerts:
  HighOfflineRate: {{enabled: false}}
  ResponderFlapping: {{enabled: false}}
  TelemetryFeedDown: {{enabled: false}}
  NoOnlineResponders: {{for: 100ms, keep_firing_for: 0s}}
receivers:
  - name: oncall
    pagerduty: {{url: "{pager}", routing_key_file: routing.key}}
    match: {{region: "{regions}"}}
nudges:
  stale_after: 1s
  min_interval: 6h
  rate: 50/s
  sink: {{webhook: {{url: "{hook}", secret_file: push.secret}}}}
"""
# The engine's counters go on over restarts.
CONTINUING = (
    "rollcall_batches_total", "rollcall_updates_total", "location_update_delay_seconds_sum",
    "location_update_delay_seconds_count", "rollcall_journal_events_total",
    "status_transitions_total", "rollcall_nudges_total", "rollcall_pushes_total")
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


class Writer(threading.Thread):
    """A forwarder of some phones that keeps what it sent until it is acknowledged, as it must.

    Each round of its life is one connection and ends with it. What was on its way then is sent
    first in the next round: it may have been taken, or not.
    """

    def __init__(self, number, seed):
        super().__init__(daemon=True)
        self.phones = [f"w{number}-p{phone}" for phone in range(3)]
        # Sequences acknowledged are those below.
        self.acknowledged = {phone: 0 for phone in self.phones}
        self.pending = None
        self.requests = 0
        self.accepted = 0
        self.duplicate = 0
        self.failure = None
        self._random = random.Random(seed + number)

    def body(self):
        """One to three batches with rising sequences, and where each phone is after them."""
        ends = dict(self.acknowledged)
        items = []
        for _ in range(self._random.randint(1, 3)):
            phone = self._random.choice(self.phones)
            count = self._random.randint(1, 8)
            items.append({
                "responder_id": phone, "platform": "ios", "region": phone[:2],
                "updates": [
                    {"sequence": sequence, "captured_at": now_ms() - 40}
                    for sequence in range(ends[phone], ends[phone] + count)]})
            ends[phone] += count
        return ndjson(items), ends

    def live(self, server, seconds):
        """Sends until the connection breaks or the time is over."""
        client = server.client(timeout=10)
        try:
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline:
                self.pending = self.pending or self.body()
                body, ends = self.pending
                answer = client.request("POST", "/v1/batches", body, {"Content-Type": NDJSON})
                if answer.status == 503:
                    continue
                if answer.status != 200:
                    self.failure = repr(answer)
                    return
                self.take(answer.json(), ends)
        except (OSError, http.client.HTTPException):
            pass
        finally:
            client.close()

    def take(self, verdict, ends):
        sent = sum(ends.values()) - sum(self.acknowledged.values())
        updates = verdict["updates"]
        if verdict["rejected"] or verdict["problems"] or updates["late"]:
            self.failure = f"verdict {verdict}"
        if updates["accepted"] + updates["duplicate"] != sent:
            self.failure = f"verdict {verdict} on {sent} updates"
        self.acknowledged = ends
        self.pending = None
        self.requests += 1
        self.accepted += updates["accepted"]
        self.duplicate += updates["duplicate"]


def number(key):
    """The incident that a pager's key is made of."""
    return int(key.rsplit("-", 1)[1])


class MoodyPager(Pager):
    """Takes every event, and answers late now and then, or never."""

    def __init__(self, case, seed):
        self.dice = random.Random(seed)
        self.is_moody = True
        # Times of requests by incident and action.
        self.seen = collections.defaultdict(list)
        super().__init__(case)

    def judge(self, told):
        event = told.json()
        self.seen[number(event["dedup_key"]), event["event_action"]].append(told.at)
        return super().judge(told)

    def pause(self, told):
        mood = self.dice.random() if self.is_moody else 1
        if mood < 0.1:
            return None
        return mood if mood < 0.3 else 0


class MoodyHook(PushHook):
    """A sink that takes most pushes, refuses some, and loses some of its answers."""

    def __init__(self, case, seed):
        self.dice = random.Random(seed)
        # Pushes that were taken, or may have been, by people.
        self.taken = collections.Counter()
        super().__init__(case)

    def judge(self, told):
        told.mood = self.dice.random()
        if told.mood < 0.15:
            return 429, {"error": "later"}
        event = told.json()
        if event["type"] == "responder.nudge":
            self.taken[event["data"]["responder_id"]] += 1
        return 200, {}

    def pause(self, told):
        return None if told.mood > 0.9 else max(0, told.mood - 0.7)


class QuickFleet(Fleet):
    EVERY_SECONDS = 0.08


class World:
    """Who is there, and what came of it."""

    def __init__(self, case, seed, writers=4, config=CONFIG):
        self.case = case
        self.seed = seed
        self.dice = random.Random(seed)
        self.pager = MoodyPager(case, seed + 1)
        self.hook = MoodyHook(case, seed + 2)
        for name, text in (("routing.key", Pager.ROUTING_KEY), ("push.secret", SECRET)):
            with open(f"{case.directory}/{name}", "w", encoding="utf-8") as file:
                file.write(text + "\n")
        self.server = case.serve(config.format(
            pager=self.pager.url, hook=self.hook.url, regions="|".join(REGIONS)))
        self.writers = [Writer(number, seed) for number in range(writers)]
        self.fleet = QuickFleet(
            case, self.server, [item for region in REGIONS for item in people(region, 2)]).start()
        self.located = 0
        # Incidents and actions of which a start found that their 2xx is stored, and when.
        self.stored = {}
        # What counters showed when they were looked at last.
        self._counters = {}
        self._restless = threading.Event()
        self._mover = threading.Thread(target=self._move, daemon=True)
        case.addCleanup(self.calm)
        self._mover.start()

    def _move(self):
        """Cuts regions off and lets them come back, for ever."""
        until = {region: 0 for region in REGIONS}
        is_cut = {region: False for region in REGIONS}
        while not self._restless.wait(0.05):
            for region in REGIONS:
                if time.monotonic() < until[region]:
                    continue
                is_cut[region] = not is_cut[region]
                (self.fleet.cut if is_cut[region] else self.fleet.restore)(
                    *self.fleet.of(region))
                until[region] = time.monotonic() + self.dice.uniform(0.5, 1.8)

    def calm(self):
        """Nobody is cut off any more."""
        self._restless.set()
        self._mover.join(10)
        for region in REGIONS:
            self.fleet.restore(*self.fleet.of(region))

    def slacken(self):
        """From now on nobody is silent because a busy machine lets them wait for a second or two."""
        with open(self.server.config_path, encoding="utf-8") as file:
            config = file.read()
        self.server.configure(
            config.replace("expected: 100ms", "expected: 1s")
            .replace("degraded_after: 300ms", "degraded_after: 7s")
            .replace("offline_after: 500ms", "offline_after: 9s"))
        self.case.assertEqual(self.server.post("/-/reload", "").status, 200)

    def swipe_away(self, count=3):
        """Some more people are located, and never again."""
        items = [
            {"responder_id": f"gone-{self.located + number}", "region": "wave",
             "circles": ["wave"], "updates": [{"sequence": 1, "captured_at": now_ms()}]}
            for number in range(count)]
        client = Client(self.server.port, timeout=5)
        try:
            answer = client.request("POST", "/v1/batches", ndjson(items), {"Content-Type": NDJSON})
            if answer.status == 200:
                self.located += count
        except (OSError, http.client.HTTPException):
            # Killed: the same people are told of next time.
            pass
        finally:
            client.close()

    def under_load(self, seconds, act, longer=30):
        """Lets everybody send, calls `act` after `seconds`, waits for the writers' end: that of
        their connections, or after so much longer."""
        threads = [
            threading.Thread(target=writer.live, args=(self.server, seconds + longer), daemon=True)
            for writer in self.writers]
        for thread in threads:
            thread.start()
        self.swipe_away()
        time.sleep(seconds)
        act()
        for thread in threads:
            thread.join(45)
            self.case.assertFalse(thread.is_alive(), "a writer hangs")
        self.case.assertEqual(
            [w.failure for w in self.writers if w.failure], [], f"seed {self.seed}")

    # What must be true

    def check_whole(self):
        """Nothing acknowledged is missing, nothing counted twice; nothing is decided otherwise."""
        page = self.server.scrape()
        accepted = page("rollcall_updates_total", outcome="accepted")
        acknowledged = sum(sum(writer.acknowledged.values()) for writer in self.writers)
        on_the_way = sum(
            sum(writer.pending[1].values()) - sum(writer.acknowledged.values())
            for writer in self.writers if writer.pending)
        # Those that were swiped away have an update each; the last ones may have no answer yet.
        self.case.assertGreaterEqual(accepted, acknowledged + self.located, f"seed {self.seed}")
        self.case.assertLessEqual(
            accepted, acknowledged + on_the_way + self.located + 3, f"seed {self.seed}")
        self.case.assertEqual(page("rollcall_refold_differences_total"), 0, f"seed {self.seed}")
        for name in CONTINUING:
            for labels, value in page.all(name).items():
                self.case.assertGreaterEqual(
                    value, self._counters.get((name, labels), 0),
                    f"{name} {labels}, seed {self.seed}")
                self._counters[name, labels] = value
        return page

    def incidents(self, limit=1000):
        """Newest first, each with its notices to the pager."""
        found, before = [], ""
        while True:
            target = f"/v1/alerts/history?alertname=NoOnlineResponders&limit={limit}{before}"
            answer = self.server.get(target)
            if answer.status == 503:
                time.sleep(0.05)
                continue
            document = answer.json()
            found += [
                i for i in document["incidents"] if i["labels"]["region"] in REGIONS]
            if document["next"] is None or limit < 1000:
                return found
            before = f"&before={document['next']}"

    @staticmethod
    def attempts(incidents):
        """Statuses of attempts by key and action."""
        words = {"fired": "trigger", "resolved": "resolve"}
        return {
            (incident["incident"], words[notice["kind"]]):
                [attempt["status"] for attempt in notice["targets"][0]["attempts"]]
            for incident in incidents for notice in incident["notices"]}

    def note_stored(self):
        """What the store says is delivered now must never be sent again."""
        attempts = self.attempts(self.incidents(limit=24))
        now = time.time()
        for message, statuses in attempts.items():
            if 202 in statuses:
                self.stored.setdefault(message, now)

    def settle(self):
        """Everybody reports, nothing is on its way."""
        self.calm()
        self.slacken()
        self.pager.is_moody = False
        for writer in self.writers:
            # What was on its way gets its answer now.
            if writer.pending:
                body, ends = writer.pending
                writer.take(self.server.write(
                    "/v1/batches", body.decode(), {"Content-Type": NDJSON}), ends)
                self.case.assertIsNone(writer.failure)
        # So that nobody is left of whom it is unknown whether they were taken.
        located = self.located
        self.swipe_away()
        self.case.assertEqual(self.located, located + 3)
        eventually(
            lambda: not [
                a for a in self.server.get("/v1/alerts").json()["alerts"]
                if a["labels"].get("region") in REGIONS and a["state"] != "inactive"],
            30, "no region is cut off")
        eventually(
            lambda: self.server.scrape().total("rollcall_outbox_pending") == 0, 60,
            "the pager is told all")

    def check_sequences(self):
        """Every acknowledged sequence comes back as a duplicate; how many there are."""
        count = 0
        for writer in self.writers:
            for phone, end in writer.acknowledged.items():
                # A thousand kills leave more than fits into a body.
                for begin in range(0, end, 100_000):
                    some = range(begin, min(begin + 100_000, end))
                    verdict = self.server.write("/v1/batches", {
                        "responder_id": phone,
                        "updates": [{"sequence": sequence} for sequence in some]})
                    self.case.assertEqual(
                        verdict["updates"], {"accepted": 0, "duplicate": len(some), "late": 0},
                        f"{phone}, seed {self.seed}")
                count += end
        return count

    def check_pages(self):
        """One incident for each that was told, under one key, and it is over; what was stored as
        taken is never sent again."""
        case, why = self.case, f"seed {self.seed}"
        case.assertEqual(self.pager.faults, [], why)
        incidents = self.incidents()
        numbers = [incident["incident"] for incident in incidents]
        case.assertEqual(len(numbers), len(set(numbers)), why)
        case.assertLessEqual({incident for incident, _ in self.pager.seen}, set(numbers), why)
        opened = [incident.key for incident in self.pager.incidents]
        case.assertEqual(len({key.rsplit("-", 1)[0] for key in opened}), 1, why)
        case.assertEqual(len(opened), len(set(opened)), f"opened twice, {why}")
        stuck = [incident.key for incident in self.pager.incidents if incident.is_open]
        case.assertEqual(stuck, [], f"still open, {why}")
        attempts = self.attempts(incidents)
        doubled = {
            message: statuses for message, statuses in attempts.items()
            if 202 in statuses[:-1]}
        case.assertEqual(doubled, {}, f"attempts after a stored 2xx, {why}")
        again = {
            message for message, at in self.stored.items()
            if any(time > at for time in self.pager.seen[message])}
        case.assertEqual(again, set(), f"sent after a stored 2xx, {why}")
        # A resolve for whatever the pager may have seen.
        lost = [
            incident for incident, action in self.pager.seen
            if action == "trigger" and 202 not in attempts.get((incident, "resolve"), [])]
        case.assertEqual(lost, [], f"resolves lost, {why}")
        return len(opened), sum(len(times) for times in self.pager.seen.values())

    def check_nudges(self):
        """Nobody is nudged twice within the interval, and who was not is accounted for."""
        twice = {who: count for who, count in self.hook.taken.items() if count > 1}
        self.case.assertEqual(twice, {}, f"nudged twice, seed {self.seed}")
        arrived = len(self.hook.taken)
        page = self.server.scrape()
        decided = page("rollcall_nudges_total", decision="send", reason="due")
        ends = page.all("rollcall_pushes_total")
        delivered, unknown, dropped = (
            ends[frozenset({("kind", "nudge"), ("outcome", word)})]
            for word in ("delivered", "unknown", "dropped"))
        on_the_way = decided - sum(
            count for labels, count in ends.items() if ("kind", "nudge") in labels)
        why = f"seed {self.seed}"
        self.case.assertLessEqual(arrived, decided, why)
        self.case.assertLessEqual(decided - arrived, unknown + dropped + on_the_way, why)
        self.case.assertGreater(delivered, 0)
        return int(decided), arrived, int(unknown)

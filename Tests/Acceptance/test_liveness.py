"""On the dot: thresholds, crashes, stopped processes and missing heartbeats in real time.

Source: T1, B1-B5, §4 L4, L8, L11.
"""

import threading
import time
import unittest

from rollcall_process import RollcallTestCase, eventually, milliseconds, now_ms, sleep_until

DEGRADED = 2000
OFFLINE = 4000
THRESHOLDS = """
liveness:
  on_duty: {expected: 1s, degraded_after: 2s, offline_after: 4s}
"""
# With so much time between that a machine that is busy asks what it means to ask.
SLOW_DEGRADED = 5000
SLOW_OFFLINE = 10_000
SLOW_THRESHOLDS = """
liveness:
  on_duty: {expected: 1s, degraded_after: 5s, offline_after: 10s}
"""
# Noticed by a question this long after the deadline: a busy machine, not the promise of 100 ms.
SLACK = 1000


def contact(server, responder_id, ago=100, source=None):
    """Contact as of `ago` milliseconds before now; when that was.

    A backend always hears a phone before it forwards it. With less than the drift of a wall clock
    the time would be clamped to the server's now.
    """
    at = now_ms() - ago
    server.write(
        "/v1/batches" + (f"?source={source}" if source else ""),
        {"responder_id": responder_id, "received_at": at})
    return at


def enrol(server, *responder_ids):
    """Batches that make people active, a while before what the test tells of them: deadlines
    count from becoming active if that is later than the contact (F18)."""
    server.write("/v1/batches", [{"responder_id": name} for name in responder_ids])
    time.sleep(0.2)


class LivenessTestCase(RollcallTestCase):
    def status_when_due(self, server, responder_id, status, due):
        """Checks that a status holds since `due`, seen soon after it."""
        sleep_until(due + SLACK)
        person = server.responder(responder_id)
        self.assertEqual((person["status"], milliseconds(person["since"]) - due), (status, 0))
        return person

    def status_before(self, server, responder_id, status, due):
        """Checks that a status holds shortly before `due`, unless the answer comes too late."""
        sleep_until(due - 300)
        person = server.responder(responder_id)
        if milliseconds(person["as_of"]) < due:
            self.assertEqual(person["status"], status)

    def blind(self, server, reason):
        """Milliseconds blind so far."""
        return server.scrape().milliseconds("rollcall_blind_seconds_total", reason=reason)

    def counted(self, server, **labels):
        return server.scrape().total("status_transitions_total", **labels)


class DeadlineTests(LivenessTestCase):
    def test_a_silent_phone_is_degraded_and_offline_on_the_dot(self):
        server = self.serve(SLOW_THRESHOLDS)
        enrol(server, "a")
        at = contact(server, "a")
        person = server.responder("a")
        self.assertEqual((person["status"], person["reachable"]), ("ONLINE", "yes"))
        self.assertEqual(milliseconds(person["last_contact_at"]), at)
        self.status_before(server, "a", "ONLINE", at + SLOW_DEGRADED)
        person = self.status_when_due(server, "a", "DEGRADED", at + SLOW_DEGRADED)
        self.assertEqual(person["reachable"], "unknown")
        self.status_before(server, "a", "DEGRADED", at + SLOW_OFFLINE)
        person = self.status_when_due(server, "a", "OFFLINE", at + SLOW_OFFLINE)
        self.assertEqual((person["reachable"], person["confirmed"]), ("no", True))
        page = server.scrape()
        self.assertEqual(page("rollcall_detection_lateness_seconds_count"), 2)
        self.assertEqual(page("status_transitions_total", **{"from": "UNKNOWN", "to": "ONLINE"}), 1)
        self.assertEqual(page("status_transitions_total", **{"from": "ONLINE", "to": "DEGRADED"}), 1)
        self.assertEqual(page("status_transitions_total", **{"from": "DEGRADED", "to": "OFFLINE"}), 1)
        self.assertEqual(page.total("status_transitions_total"), 3)
        contact(server, "a")
        self.assertEqual(server.responder("a")["status"], "ONLINE")

    def test_a_hundred_phones_each_on_their_own_dot(self):
        server = self.serve(SLOW_THRESHOLDS)
        names = [f"p{number:03d}" for number in range(100)]
        enrol(server, *names)
        time.sleep(1.1)
        began = now_ms()
        heard = {name: began - 1200 + 12 * number for number, name in enumerate(names)}
        server.write("/v1/batches", [
            {"responder_id": name, "received_at": at} for name, at in heard.items()])
        sleep_until(began + SLOW_OFFLINE + SLACK)
        answer = server.get("/v1/responders?limit=1000&status=OFFLINE").json()
        since = {p["responder_id"]: milliseconds(p["since"]) for p in answer["responders"]}
        self.assertEqual(since, {name: at + SLOW_OFFLINE for name, at in heard.items()})
        page = server.scrape()
        self.assertEqual(page("rollcall_detection_lateness_seconds_count"), 200)
        # The promise is all of them; a machine that does other things as well is allowed some.
        self.assertGreaterEqual(
            page("rollcall_detection_lateness_seconds_bucket", le="0.1"), 150, page.text)

    def test_who_is_on_duty_and_never_heard_goes_offline(self):
        server = self.serve(THRESHOLDS)
        server.write("/v1/responders", {"responder_id": "a", "duty_state": "ON_DUTY"})
        person = server.responder("a")
        self.assertEqual((person["status"], person["reachable"]), ("UNKNOWN", "unknown"))
        self.status_when_due(server, "a", "OFFLINE", milliseconds(person["since"]) + OFFLINE)

    def test_who_pauses_is_not_expected_until_the_pause_ends(self):
        server = self.serve(SLOW_THRESHOLDS)
        contact(server, "a")
        until = now_ms() + 4000
        server.write("/v1/responders", {"responder_id": "a", "paused_until": until})
        person = server.responder("a")
        self.assertEqual((person["status"], person["not_expected"]), ("NOT_EXPECTED", "paused"))
        self.assertEqual(milliseconds(person["paused_until"]), until)
        sleep_until(until + SLACK)
        person = server.responder("a")
        self.assertNotEqual(person["status"], "NOT_EXPECTED")
        self.assertEqual(milliseconds(person["since"]), until)


class CrashTests(LivenessTestCase):
    def test_a_kill_in_between_changes_nothing_but_for_the_blind_time(self):
        server = self.serve(SLOW_THRESHOLDS)
        enrol(server, "a")
        at = contact(server, "a")
        sleep_until(at + 1000)
        server.kill()
        time.sleep(1.5)
        server.start()
        person = server.responder("a")
        self.assertEqual((person["status"], person["confirmed"]), ("ONLINE", False))
        self.assertEqual(person["reachable"], "unknown")
        blind = self.blind(server, "stopped")
        self.assertGreaterEqual(blind, 1500)
        self.status_when_due(server, "a", "DEGRADED", at + SLOW_DEGRADED + blind)
        # And once more, between DEGRADED and OFFLINE.
        server.kill()
        server.start()
        blind = self.blind(server, "stopped")
        person = self.status_when_due(server, "a", "OFFLINE", at + SLOW_OFFLINE + blind)
        self.assertEqual((person["reachable"], person["confirmed"]), ("no", True))
        self.assertEqual(self.counted(server), 3)
        # What was decided stands: the same from the store, after a clean stop as after a crash.
        self.assertEqual(server.stop(), 0)
        server.start()
        again = server.responder("a")
        self.assertEqual((again["status"], again["since"]), ("OFFLINE", person["since"]))
        self.assertEqual(self.counted(server), 3)

    def test_nobody_goes_offline_because_we_were_down(self):
        # Sixty questions are asked between two contacts.
        server = self.serve(SLOW_THRESHOLDS.replace("degraded_after: 5s", "degraded_after: 9s"))
        names = [f"p{number}" for number in range(20)]
        for name in names:
            contact(server, name)
        server.kill()
        time.sleep(SLOW_OFFLINE / 1000 + 1.5)
        server.start()
        page = server.scrape()
        self.assertEqual(page("responders_by_status", status="ONLINE"), 20)
        self.assertEqual(page("rollcall_watching"), 1)
        self.assertEqual([server.responder(name)["confirmed"] for name in names], [False] * 20)
        for name in names:
            contact(server, name, ago=0)
        self.assertEqual([server.responder(name)["confirmed"] for name in names], [True] * 20)
        self.assertEqual(server.get("/v1/responders?reachable=no").json()["responders"], [])
        self.assertEqual(self.counted(server, to="OFFLINE") + self.counted(server, to="DEGRADED"), 0)

    def test_what_was_pending_at_the_crash_is_found_after_it(self):
        server = self.serve(THRESHOLDS.replace("offline_after: 4s", "offline_after: 60s"))
        enrol(server, "late")
        at = contact(server, "late")
        server.write("/v1/responders", {"responder_id": "off", "duty_state": "OFF_DUTY"})
        paused = now_ms() + 12_000
        server.write("/v1/responders", [
            {"responder_id": "paused", "duty_state": "ON_DUTY", "paused_until": paused}])
        self.status_when_due(server, "late", "DEGRADED", at + DEGRADED)
        before = {name: server.responder(name) for name in ("late", "off", "paused")}
        server.kill()
        server.start()
        for name, person in before.items():
            again = server.responder(name)
            for member in ("status", "since", "last_contact_at", "sharing", "region"):
                self.assertEqual(again[member], person[member], (name, member))
        sleep_until(paused + SLACK)
        self.assertNotEqual(server.responder("paused")["status"], "NOT_EXPECTED")


class SuspensionTests(LivenessTestCase):
    @staticmethod
    def stand_still(server):
        """Stops it for so long that it is noticed in the middle of a turn, too: the next one is due 5 s after that one
        began, and late if it comes 5 s after that (B1)."""
        server.pause()
        try:
            time.sleep(11)
        finally:
            server.resume()

    def test_a_stopped_process_makes_nobody_offline(self):
        server = self.serve("""
liveness:
  on_duty: {expected: 1s, degraded_after: 5s, offline_after: 6s}
""")
        phones = Phones(server, count=24)
        self.addCleanup(phones.stop)
        phones.start()
        time.sleep(2)
        eventually(
            lambda: server.scrape()("responders_by_status", status="ONLINE") == 24, 10, "all are ONLINE")
        self.stand_still(server)
        time.sleep(1)
        # The first answer may be older than the turn that notices.
        blind = eventually(lambda: self.blind(server, "suspended"), 20, "blind for a while")
        time.sleep(3)
        # While they report still: those who have ended fall silent.
        page = server.scrape()
        phones.stop()
        self.assertGreater(phones.reports, 24 * 4)
        self.assertGreaterEqual(blind, 9500)
        self.assertLess(blind, 15_000)
        self.assertEqual(page.total("status_transitions_total", to="OFFLINE"), 0)
        self.assertEqual(page("responders_by_status", status="ONLINE"), 24)
        self.assertEqual(page("rollcall_watching"), 1)
        self.assertEqual(
            page.milliseconds("rollcall_blind_seconds_total", reason="suspended"), blind)

    def test_a_stopped_process_moves_deadlines_by_the_time_it_stood(self):
        server = self.serve(SLOW_THRESHOLDS)
        enrol(server, "a")
        at = contact(server, "a")
        self.stand_still(server)
        # The first answer may be older than the turn that notices.
        blind = eventually(lambda: self.blind(server, "suspended"), 20, "blind for a while")
        self.assertGreaterEqual(blind, 10_500)
        self.status_when_due(server, "a", "DEGRADED", at + SLOW_DEGRADED + blind)
        self.status_when_due(server, "a", "OFFLINE", at + SLOW_OFFLINE + blind)


class HeartbeatTests(LivenessTestCase):
    def test_when_all_sources_are_missing_statuses_stand_still(self):
        degraded, offline = 4000, 8000
        server = self.serve(THRESHOLDS.replace(
            "degraded_after: 2s, offline_after: 4s", "degraded_after: 4s, offline_after: 8s"))
        server.write("/v1/heartbeat", {"every_seconds": 2, "source": "pod-1"})
        server.write("/v1/heartbeat?source=pod-2", {"every_seconds": 2})
        self.assertEqual(
            server.scrape().all("rollcall_feed_up"),
            {frozenset({("source", "pod-1")}): 1, frozenset({("source", "pod-2")}): 1})
        for _ in range(4):
            time.sleep(2)
            at = contact(server, "a", source="pod-2")
        # pod-1 is missing, pod-2 beats by what it writes.
        page = server.scrape()
        self.assertEqual(page("rollcall_feed_up", source="pod-1"), 0)
        self.assertEqual(page("rollcall_feed_up", source="pod-2"), 1)
        self.assertEqual(page("rollcall_watching"), 1)
        self.assertEqual(page("rollcall_blind", reason="heartbeat"), 0)
        # DEGRADED comes 4 s after the contact, blindness 5 s after the last beat.
        self.status_when_due(server, "a", "DEGRADED", at + degraded)
        sleep_until(at + offline + 1000)
        person = server.responder("a")
        self.assertEqual(
            (person["status"], person["confirmed"], person["reachable"]),
            ("DEGRADED", False, "unknown"))
        page = server.scrape()
        self.assertEqual(page("rollcall_watching"), 0)
        self.assertEqual(page("rollcall_blind", reason="heartbeat"), 1)
        status = server.get("/v1/status").json()
        self.assertIs(status["watching"], False)
        self.assertEqual([cause["reason"] for cause in status["blind"]], ["heartbeat"])
        onset = milliseconds(status["not_watching_since"])
        # The beat and not when it was missed, which is five seconds later.
        self.assertLess(abs(onset - at), 3000)
        # What arrives still improves; what comes from nobody known ends no absence.
        contact(server, "b", ago=0)
        self.assertEqual(server.responder("b")["status"], "ONLINE")
        self.assertIs(server.responder("b")["confirmed"], False)
        self.assertEqual(server.scrape()("rollcall_watching"), 0)
        server.write("/v1/heartbeat?source=pod-2", {"every_seconds": 60})
        page = server.scrape()
        self.assertEqual(page("rollcall_watching"), 1)
        self.assertEqual(page("rollcall_feed_up", source="pod-2"), 1)
        blind = page.milliseconds("rollcall_blind_seconds_total", reason="heartbeat")
        person = server.responder("a")
        self.assertEqual((person["status"], person["confirmed"]), ("DEGRADED", False))
        # B1: watched time was set back to the last beat, so it goes on from there.
        person = self.status_when_due(server, "a", "OFFLINE", at + offline + blind)
        self.assertIs(person["confirmed"], True)

    def test_a_source_that_says_goodbye_is_not_missed(self):
        server = self.serve(THRESHOLDS)
        server.write("/v1/heartbeat?source=pod-1", {"every_seconds": 1})
        eventually(lambda: server.scrape()("rollcall_watching") == 0, 15, "it is missed")
        self.assertEqual(server.request("DELETE", "/v1/heartbeat?source=pod-1").status, 200)
        page = server.scrape()
        self.assertEqual(page("rollcall_watching"), 1)
        self.assertEqual(page.all("rollcall_feed_up"), {})

    def test_a_crash_forgets_no_source(self):
        server = self.serve(THRESHOLDS)
        server.write("/v1/heartbeat?source=pod-1", {"every_seconds": 2})
        server.kill()
        server.start()
        page = server.scrape()
        self.assertEqual(page("rollcall_feed_up", source="pod-1"), 1)
        eventually(lambda: server.scrape()("rollcall_watching") == 0, 20, "it is missed")
        page = server.scrape()
        self.assertEqual(page("rollcall_feed_up", source="pod-1"), 0)
        self.assertEqual(page("rollcall_watching"), 0)
        server.kill()
        server.start()
        self.assertEqual(server.scrape()("rollcall_blind", reason="heartbeat"), 1)


class Phones:
    """Phones that report each second through four forwarders, whatever the server does."""

    def __init__(self, server, count):
        self.server = server
        self.reports = 0
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._forward, args=([f"p{n}" for n in range(part, count, 4)],))
            for part in range(4)]

    def start(self):
        for thread in self._threads:
            thread.start()

    def stop(self):
        self._stopped.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(20)

    def _forward(self, names):
        client = self.server.client(timeout=2)
        for sequence in range(120):
            body = [
                {"responder_id": name, "received_at": now_ms(),
                 "updates": [{"sequence": sequence, "captured_at": now_ms()}]} for name in names]
            try:
                if client.request("POST", "/v1/batches", body).status == 200:
                    with self._lock:
                        self.reports += len(names)
            except OSError:
                # As a backend does whose request timed out: it goes on with a new connection.
                client.close()
                client = self.server.client(timeout=2)
            if self._stopped.wait(1):
                break
        client.close()


if __name__ == "__main__":
    unittest.main()

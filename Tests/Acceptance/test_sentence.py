"""How everything stands, in one sentence: by the server, the same everywhere; and its numbers, which are
the engine's of the same instant.

Source: V14.
"""

import json
import socket
import subprocess
import time
import unittest

from loopback_receivers import Fleet, Hook, people
from rollcall_process import BINARY, RollcallTestCase, eventually, plain_environment

CONFIG = """
liveness: {{on_duty: {{expected: 1s, degraded_after: 1500ms, offline_after: 3s}}}}
alerts:
  HighOfflineRate: {{enabled: {rate}, for: 500ms, keep_firing_for: 0s, min_active: 2, min_offline: 2}}
  NoOnlineResponders: {{for: 500ms, keep_firing_for: {keep}}}
{more}
"""
SOON = 15


class SentenceTests(RollcallTestCase):
    def begin(self, rate="false", keep="0s", more=""):
        return self.serve(CONFIG.format(rate=rate, keep=keep, more=more))

    def sentence(self, server):
        return server.get("/v1/status").json()["sentence"]

    def says(self, server, headline, rest=None):
        """Waits for a headline; the sentence, after a look at its numbers."""
        def said():
            found = self.sentence(server)
            return found if found["headline"] == headline and rest in (None, found["rest"]) else None
        try:
            found = eventually(said, SOON, headline)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.sentence(server)}") from None
        self.assert_counts(server)
        return found

    def assert_counts(self, server):
        """Who can be reached is as many as the list of them has: asked twice around it, since people
        are heard meanwhile."""
        def same():
            before = server.get("/v1/status").json()["reachable"]
            found = server.get("/v1/responders?reachable=yes&limit=1000").json()["responders"]
            after = server.get("/v1/status").json()["reachable"]
            return before == after and (before["at_most"] or before["yes"] == len(found))
        eventually(same, 5, "the numbers are the list's")

    def fleet(self, server, *crowds):
        every = [one for crowd in crowds for one in people(*crowd)]
        fleet = Fleet(self, server, every).start()
        eventually(
            lambda: server.get("/v1/status").json()["responders"]["ONLINE"] == len(every), SOON,
            "everybody is ONLINE")
        return fleet

    def test_from_nothing_over_calm_to_a_region_that_is_dark_and_back(self):
        server = self.begin()
        self.assertEqual(self.says(server, "Nothing has come yet.")["level"], "good")
        fleet = self.fleet(server, ("harbour", 3), ("north", 4))
        calm = self.says(server, "All 7 can be reached.")
        self.assertEqual((calm["level"], calm["rest"], calm["incident"]), ("good", "", None))
        fleet.cut(fleet.of("north")[0])
        one = self.says(server, "1 of 7 cannot be reached.", "6 can.")
        self.assertEqual(one["level"], "late")
        self.assertRegex(one["detail"], r"^Most likely: 1 [a-z ]+\.$")
        fleet.cut(*fleet.of("harbour"))
        dark = self.says(server, "Nobody can be reached in harbour.", "Elsewhere 3 of 4 can be reached.")
        self.assertEqual(dark["level"], "bad")
        eventually(lambda: self.sentence(server)["incident"], SOON, "it fires")
        alert = next(one for one in server.get("/v1/alerts").json()["alerts"]
                     if one["alertname"] == "NoOnlineResponders")
        dark = self.sentence(server)
        self.assertEqual(dark["incident"], alert["key"])
        self.assertEqual(dark["since"], alert["active_at"])
        # What a pager is told begins with the same words.
        self.assertTrue(
            alert["annotations"]["summary"].startswith("Nobody can be reached in harbour, 3 of 3"))
        self.assertIn("3 of 3 are out of contact.", dark["detail"])
        server.write(f"/v1/incidents/{alert['key']}/take", {"by": "anna"})
        self.assertIn("anna sees to it.", self.sentence(server)["detail"])
        fleet.cut(*fleet.of("north"))
        both = self.says(server, "Nobody can be reached in north and harbour.", "")
        # Of whom nobody sees to one, nobody sees to both.
        self.assertNotIn("sees to it", both["detail"])
        fleet.restore(*fleet.people)
        self.says(server, "All 7 can be reached.")

    def test_an_alert_that_goes_on_after_its_reason_is_no_reason(self):
        server = self.begin(keep="1h")
        fleet = self.fleet(server, ("harbour", 2))
        fleet.cut(*fleet.of("harbour"))
        self.says(server, "Nobody can be reached in harbour.")
        eventually(lambda: self.sentence(server)["incident"], SOON, "it fires")
        fleet.restore(*fleet.people)
        self.says(server, "All 2 can be reached.")
        self.assertEqual(server.get("/v1/status").json()["alerts"]["firing"], 1)

    def test_unstaffed_and_unreachable_are_different_and_both_are_said(self):
        server = self.begin(more="coverage: {regions: [lighthouse]}")
        fleet = self.fleet(server, ("harbour", 1), ("north", 2))
        self.says(server, "Nobody is on duty in lighthouse.", "Elsewhere 3 of 3 can be reached.")
        fleet.cut(*fleet.of("harbour"))
        self.says(
            server, "Nobody can be reached in harbour.",
            "Nobody is on duty in lighthouse. Elsewhere 2 of 2 can be reached.")

    def test_what_is_silenced_is_said_more_quietly_and_after_what_is_not(self):
        hook = Hook(self)
        server = self.begin(more=f"receivers: [{{name: hook, webhook: {{url: '{hook.url}'}}}}]")
        fleet = self.fleet(server, ("alpha", 2), ("beta", 1), ("north", 1))
        server.write("/v1/silences", {
            "matchers": ["region=alpha"], "author": "kim", "comment": "the mast is moved",
            "duration": "1h"})
        fleet.cut(*fleet.of("alpha"))
        quiet = self.says(server, "Nobody can be reached in alpha.")
        eventually(lambda: self.sentence(server)["incident"], SOON, "it fires")
        quiet = eventually(
            lambda: (lambda one: one if one["level"] == "late" else None)(self.sentence(server)),
            SOON, "it is silenced")
        self.assertIn("Alerts about it are silenced.", quiet["detail"])
        fleet.cut(*fleet.of("beta"))
        loud = self.says(server, "Nobody can be reached in beta and alpha.")
        self.assertEqual(loud["level"], "bad")
        self.assertNotIn("silenced", loud["detail"])

    def test_a_rate_has_the_numbers_and_the_place_of_its_alert(self):
        server = self.begin(rate="true")
        fleet = self.fleet(server, ("north", 6))
        fleet.cut(*fleet.of("north")[:3])
        rate = self.says(server, "3 of 6 cannot be reached.", "3 of 6 can be reached.")
        self.assertEqual(rate["level"], "bad")
        alert = next(one for one in server.get("/v1/alerts").json()["alerts"]
                     if one["alertname"] == "HighOfflineRate" and one["state"] == "firing")
        self.assertTrue(alert["annotations"]["summary"].startswith("3 of 6 cannot be reached"))

    def test_blind_it_says_that_nothing_is_known_and_why_and_after_it_who_was_heard(self):
        server = self.begin()
        fleet = self.fleet(server, ("north", 3))
        server.write("/v1/heartbeat", {"source": "gone", "every_seconds": 1})
        blind = self.says(
            server, "Rollcall is not watching: who can be reached is not known.",
            "Last, 3 of 3 could be reached.")
        self.assertEqual(blind["level"], "unknown")
        self.assertIn("your backend's heartbeats stayed away", blind["detail"])
        self.assertEqual(server.get("/v1/status").json()["reachable"]["yes"], 0)
        fleet.cut(*fleet.of("north")[:1])
        server.request("DELETE", "/v1/heartbeat?source=gone")
        # Of who was not heard since, nothing is known: they are not among those who can be reached.
        eventually(lambda: server.get("/v1/status").json()["watching"], SOON, "it watches")
        self.says(server, "1 of 3 cannot be reached.", "2 can.")

    def test_a_restored_watch_counts_nobody_who_was_not_heard_since(self):
        server = self.serve("liveness: {on_duty: {expected: 60s, degraded_after: 90s, offline_after: 180s}}")
        server.write("/v1/batches", [{"responder_id": f"p-{n}"} for n in range(5)])
        self.says(server, "All 5 can be reached.")
        server.kill()
        time.sleep(1.2)
        server.start()
        server.write("/v1/batches", [{"responder_id": "p-1"}])
        status = server.get("/v1/status").json()
        self.assertEqual(status["responders"]["ONLINE"], 5)
        heard = self.says(server, "1 of 5 can be reached; 4 have not been heard again yet.")
        self.assertEqual(heard["level"], "late")

    def test_names_of_regions_are_text_of_bounded_length(self):
        server = self.begin(more="coverage: {regions: ['" + "x" * 60 + "', '<b>bold']}")
        server.write("/v1/batches", [{"responder_id": "a", "region": "north"}])
        found = eventually(lambda: (
            lambda one: one if "on duty" in one["headline"] else None)(self.sentence(server)), SOON, "dark")
        self.assertLess(len(found["headline"]), 120)
        page = server.get("/", {"Accept": "text/html"}).text
        self.assertNotIn("<b>", page)
        self.assertIn("&lt;b&gt;", page)

    def test_a_name_turns_nothing_around_it(self):
        server = self.begin(more="coverage: {regions: ['a\u202eb', 'שלום']}")
        server.write("/v1/batches", [{"responder_id": "a", "region": "north"}])
        held = "a\ufffdb"
        found = eventually(lambda: (lambda one: one if held in one["headline"] else None)(
            self.sentence(server)), SOON, "nobody is there")
        self.assertEqual(found["headline"], f"Nobody is on duty in {held} and שלום.")
        page = server.get("/", {"Accept": "text/html"}).text
        self.assertIn(f"<h1>Nobody is on duty in <bdi>{held}</bdi> and <bdi>שלום</bdi>.</h1>", page)
        # No element stands in a title.
        self.assertIn(
            f"<title>Nobody is on duty in \u2068{held}\u2069 and \u2068שלום\u2069. · Rollcall</title>",
            page)
        self.assertNotIn("\u202e", page)

    def test_numbers_of_many_are_grouped_for_people_and_not_for_programs(self):
        server = self.begin()
        self.fleet(server, ("north", 1))
        for start in range(0, 12_000, 2000):
            server.write("/v1/batches", [
                {"responder_id": f"p-{n}", "region": "north"} for n in range(start, start + 2000)])
        self.says(server, "12,000 of 12,001 cannot be reached.", "1 can.")
        self.assertEqual(server.get("/v1/status").json()["responders"]["OFFLINE"], 12_000)
        page = server.get("/", {"Accept": "text/html"}).text
        self.assertIn("<title>12,000 of 12,001 cannot be reached. ", page)
        self.assertIn('<th scope="row">OFFLINE</th><td>12,000</td>', page)
        done = subprocess.run(
            [BINARY, "status", "--server", f"http://127.0.0.1:{server.port}"], capture_output=True,
            text=True, timeout=30, env=plain_environment())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.startswith("12,000 of 12,001 cannot be reached. 1 can."), done.stdout)
        self.assertRegex(done.stdout, r"\nnorth +12,001 ")

    def test_five_hundred_dark_regions_are_two_names_and_a_number(self):
        server = self.begin()
        names = [f"r-{n:03}" for n in range(500)]
        server.write("/v1/batches", [
            {"responder_id": f"p-{name}", "region": name} for name in names])
        self.says(server, "All 500 can be reached.")
        self.says(server, "Nobody can be reached in r-000, r-001 and 498 more.", "")


class StreamTests(RollcallTestCase):
    """`GET /v1/events?watch=true`: how the watch stands, told beside events."""

    def follow(self, server, seconds, path="/v1/events?watch=true&kinds=alert"):
        """What comes within some seconds: events as pairs of kind and data."""
        return [(kind, json.loads(data))
                for kind, data in stream(server, path, time.monotonic() + seconds)]

    def test_all_of_it_first_and_then_what_changed(self):
        server = self.serve()
        server.write("/v1/batches", [{"responder_id": "a"}])
        found = self.follow(server, 11)
        kinds = [kind for kind, _ in found if kind.startswith("watch")]
        self.assertEqual(kinds[0], "watch")
        self.assertEqual(set(kinds[1:]), {"watch-change"})
        # A sign comes each five seconds at least.
        self.assertGreaterEqual(len(kinds), 3)
        whole = next(data for kind, data in found if kind == "watch")
        self.assertEqual(set(whole), set(server.get("/v1/status").json()))
        for kind, change in found:
            if kind == "watch-change":
                self.assertIn("as_of", change)
                self.assertLess(len(json.dumps(change)), 400, change)

    def test_changes_make_of_it_what_the_status_is(self):
        server = self.serve("liveness: {on_duty: {expected: 1s, degraded_after: 1s, offline_after: 2s}}")
        server.write("/v1/heartbeat", {"source": "pod", "every_seconds": 3600})
        status = None
        end = time.monotonic() + 14
        told = False
        for kind, data in stream(server, "/v1/events?watch=true&kinds=alert", end):
            if kind == "watch":
                status = json.loads(data)
            elif kind == "watch-change":
                status = merged(status, json.loads(data))
            if not told and status is not None:
                server.write("/v1/batches", [{"responder_id": "a"}, {"responder_id": "b"}])
                server.request("DELETE", "/v1/heartbeat?source=pod")
                told = True
        now = server.get("/v1/status").json()
        for name in ("responders", "gaps", "sentence", "sources", "alerts", "reachable", "blind"):
            self.assertEqual(status.get(name), now[name], name)
        self.assertEqual(status["responders"]["OFFLINE"], 2)

    def test_who_does_not_ask_is_told_events_alone(self):
        server = self.serve()
        self.assertEqual(
            [kind for kind, _ in self.follow(server, 6, "/v1/events?kinds=alert")], ["begin"])

    def test_a_server_that_stands_still_gives_no_sign(self):
        server = self.serve()
        seen = []
        end = time.monotonic() + 9
        for kind, _ in stream(server, "/v1/events?watch=true", end):
            seen.append((kind, time.monotonic()))
            if len(seen) == 2:
                server.pause()
                # What was on its way is read by then, and the next sign would come after five seconds.
                paused = time.monotonic() + 2
        self.assertTrue(all(at <= paused for _, at in seen))
        server.resume()


def stream(server, path, end):
    """Events of a stream until `end` of the monotonic clock, or its own end."""
    with socket.create_connection(("127.0.0.1", server.port), 5) as connection:
        connection.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            "Accept: text/event-stream\r\n\r\n".encode())
        rest = b""
        head = True
        while time.monotonic() < end:
            connection.settimeout(max(0.05, end - time.monotonic()))
            try:
                data = connection.recv(65536)
            except TimeoutError:
                return
            if not data:
                return
            rest += data
            if head and b"\r\n\r\n" in rest:
                rest = rest.split(b"\r\n\r\n", 1)[1]
                head = False
            while not head and b"\n\n" in rest:
                block, rest = rest.split(b"\n\n", 1)
                lines = block.decode().split("\n")
                kind = next((one[7:] for one in lines if one.startswith("event: ")), None)
                data = next((one[6:] for one in lines if one.startswith("data: ")), None)
                if kind is not None:
                    yield kind, data


def merged(target, change):
    """RFC 7396."""
    if not isinstance(change, dict):
        return change
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in change.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


if __name__ == "__main__":
    unittest.main()

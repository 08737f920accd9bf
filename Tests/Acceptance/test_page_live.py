"""The page lives on one stream: what it costs, how soon it shows what happens, and what it does where no
stream gets through.

Source: E3.
"""

import os
import threading
import time
import unittest

from page_fleet import SETTINGS, Told
from rollcall_process import eventually, ndjson, now_ms
from test_page import READY, PageTestCase

IDLE_SECONDS = int(os.environ.get("ROLLCALL_IDLE", "120"))
# What a tab that nobody touches may cost a minute.
IDLE_BYTES = 10_000
CROWD = 100_000
# Alerts that fire at once.
STORM = 20_000
NO_STREAMS = """
    const asked = window.fetch.bind(window);
    const held = (signal) => new Response(new ReadableStream({start: (control) =>
      signal.addEventListener("abort", () => control.error(new Error("given up")))}),
      {headers: {"Content-Type": "text/event-stream"}});
    window.fetch = (address, options) => new URL(address).pathname === "/v1/events"
      ? Promise.resolve(ANSWER) : asked(address, options);
"""


class LiveTests(PageTestCase):
    def test_a_hundred_thousand_people_cost_an_idle_tab_less_than_ten_kilobytes_a_minute(self):
        server = self.serve(
            "liveness: {on_duty: {expected: 10m, degraded_after: 20m, offline_after: 30m}}\n"
            "limits: {items: 10000}\n")
        names = [f"p-{number:06}" for number in range(CROWD)]
        regions = [f"region-{number:03}" for number in range(256)]

        def tell(some):
            items = [{"responder_id": names[n], "region": regions[n % len(regions)]} for n in some]
            for begin in range(0, len(items), 10_000):
                answer = server.request(
                    "POST", "/v1/batches", ndjson(items[begin:begin + 10_000]),
                    {"Content-Type": "application/x-ndjson"}, timeout=60)
                self.assertEqual(answer.status, 200)

        tell(range(CROWD))
        # One in a hundred fell silent, and another does all the time.
        server.write("/v1/transitions", [
            {"responder_id": names[n], "from": "ONLINE", "to": "OFFLINE"}
            for n in range(0, CROWD, 100)])
        over = threading.Event()

        def churn():
            place = 0
            while not over.wait(0.5):
                tell([(place * 100 + 20) % CROWD])
                server.write("/v1/transitions", [{
                    "responder_id": names[(place * 100 + 50) % CROWD], "from": "ONLINE",
                    "to": "OFFLINE"}])
                place += 1

        thread = threading.Thread(target=churn, daemon=True)
        page = self.page()
        self.open(page, server)
        page.until("document.querySelector('.grid')", "the strip")
        thread.start()
        try:
            time.sleep(25)
            # Nobody has touched it for long.
            before = page.received
            began = time.monotonic()
            time.sleep(IDLE_SECONDS)
            cost = (page.received - before) * 60 / (time.monotonic() - began)
            shown = page.text("[data-count=OFFLINE]").replace(",", "")
        finally:
            over.set()
            thread.join(10)
        print(f"    an idle tab at {CROWD} people costs {cost:.0f} bytes a minute", flush=True)
        # It is live, for all that.
        self.assertGreater(int(shown), CROWD // 100 + 20)
        page.until(
            "document.querySelector('[data-count=OFFLINE]').innerText.replace(',', '') === "
            f"'{server.get('/v1/status').json()['responders']['OFFLINE']}'", "the number of now")
        self.assertLess(cost, IDLE_BYTES)
        self.assert_untroubled(page)

    def test_what_happens_is_shown_without_being_asked_for(self):
        server = self.serve(SETTINGS)
        told = Told(server)
        told.tell(told.batch("a", "north"))
        page = self.page()
        self.open(page, server)
        asked = len([one for one in page.asked if one.endswith("/v1/status")])
        told.tell(told.batch("b", "north", "ON_MISSION"))
        page.until("document.querySelector('.worst').innerText === '1 of 2 cannot be reached.'",
                   "the sentence", seconds=12)
        page.until("document.querySelector('[data-responder=b]')", "who it is")
        # The number came by the stream.
        self.assertEqual(len([one for one in page.asked if one.endswith("/v1/status")]), asked)
        self.assertEqual(len([one for one in page.asked if "/v1/events" in one]), 1)

    def test_a_server_that_is_killed_or_stands_still_is_told_within_seven_seconds(self):
        for what in ("killed", "standing still"):
            with self.subTest(what):
                server = self.serve(SETTINGS)
                told = Told(server)
                told.tell(told.batch("a", "north"))
                page = self.page()
                self.open(page, server)
                server.address = f"127.0.0.1:{server.port}"
                page.until("document.querySelector('.sight').innerText === 'Watching'", "it watches")
                server.kill() if what == "killed" else server.pause()
                # Seven seconds, and what it takes to look.
                page.until("document.querySelector('.banner.is-lost')", what, seconds=8.5)
                self.assertTrue(page.run("document.title").startswith("No contact"))
                if what == "killed":
                    server.start()
                else:
                    server.resume()
                page.until("!document.querySelector('.banner.is-lost')", "it is back", seconds=40)
                server.stop()

    def test_where_no_stream_gets_through_it_asks(self):
        server = self.serve(SETTINGS)
        told = Told(server)
        told.tell(told.batch("a", "north"))
        # Too many follow, and a proxy that keeps what it gets until there is more.
        for answer in ("new Response('{}', {status: 503})", "held(options.signal)"):
            page = self.page()
            page.tell("Page.addScriptToEvaluateOnNewDocument",
                      {"source": NO_STREAMS.replace("ANSWER", answer)})
            self.open(page, server)
            name = f"b{len(answer)}"
            told.tell(told.batch(name, "north"))
            count = told.status()["responders"]["ONLINE"]
            page.until(f"document.querySelector('[data-count=reachable]').innerText === '{count}'",
                       "who came", seconds=25)
            self.assertEqual(page.run("!!document.querySelector('.banner.is-lost')"), False)

    def test_a_stream_that_ends_with_its_token_is_the_end_of_what_is_shown(self):
        entry = "web:\n  tokens: [{{name: {}, scopes: [read], token: {}-0123456789abcdef}}]\n"
        server = self.serve(entry.format("eye", "eye"))
        page = self.page(login=("any", "eye-0123456789abcdef"))
        self.open(page, server, "/?login=basic")
        server.configure(entry.format("next", "next"))
        server.process.send_signal(1)
        page.login_with(None, None)
        page.until("document.querySelector('.banner.is-lost')", "the token is not valid any more")
        self.assertIn("does not accept this browser's token", self.words(page, ".banner"))


class StormTests(PageTestCase):
    def test_of_thousands_of_alerts_the_worst_is_shown_and_the_watch_goes_on(self):
        server = self.serve(
            "liveness: {on_duty: {expected: 1s, degraded_after: 2s, offline_after: 4s}}\n"
            "alerts: {NoOnlineResponders: {for: 1s}}\nlimits: {items: 20000}\n"
            "receivers: [{name: chat, log: {}}]\n")
        people = [{"responder_id": f"p-{n:05}", "region": f"r-{n:05}"} for n in range(STORM)]
        answer = server.request(
            "POST", "/v1/batches", ndjson(people), {"Content-Type": "application/x-ndjson"}, timeout=60)
        self.assertEqual(answer.status, 200)

        def firing():
            # On a busy machine a turn of all of them may take longer than a question waits: 503.
            answer = server.request("GET", "/v1/status", timeout=60)
            return answer.json()["alerts"]["firing"] if answer.status == 200 else 0

        eventually(lambda: firing() >= STORM, 120, "all of them fire", every=0.5)
        page = self.page()
        # So may it with the page, and a browser does not ask again.
        eventually(lambda: server.request("GET", "/", timeout=60).status == 200, 120, "the page is there")
        self.open(page, server, seconds=60)
        dark = f"Nobody can be reached in r-00000, r-00001 and {STORM - 2:,} more."
        page.until(f"document.querySelector('.worst').innerText === {dark!r}", "the sentence", seconds=60)
        # They could not be reached before they were OFFLINE: nobody had heard of them.
        page.until(f"document.querySelector('[data-count=OFFLINE]').innerText === '{STORM:,}'",
                   "all are OFFLINE", seconds=60)
        server.drop_client()
        for view in ("/alerts", "/silent"):
            self.open(page, server, view, seconds=60)
        self.assertEqual(server.request("GET", "/metrics", timeout=60).status, 200)
        # Who reports is heard, and whoever looks sees it.
        back = {**people[0], "updates": [{"sequence": 1, "captured_at": now_ms()}]}
        self.assertEqual(server.request("POST", "/v1/batches", [back], timeout=60).status, 200)
        self.assertEqual(server.responder("p-00000")["responder_id"], "p-00000")
        self.assert_untroubled(page)


class KeyTests(PageTestCase):
    def test_all_of_it_by_keys(self):
        server = self.serve(SETTINGS)
        told = Told(server)
        told.tell(told.batch("kim", "north", "ON_MISSION"), told.batch("lee", "south"))
        page = self.page()
        self.open(page, server)
        page.until("document.querySelector('[data-responder=kim]')", "somebody silent", seconds=20)
        eventually(lambda: page.run("document.querySelectorAll('main [data-card]').length >= 1"), 15,
                   "an alert")
        page.press("j")
        self.assertTrue(page.run("document.activeElement.matches('[data-card], [data-stop]')"))
        # Its words have an age, which goes on.
        page.run("window.first = document.activeElement; 0")
        page.press("j")
        self.assertFalse(page.run("document.activeElement === window.first"))
        page.press("k")
        self.assertTrue(page.run("document.activeElement === window.first"))
        page.press("?")
        page.until("document.querySelector('dialog[open]')?.innerText.includes('Keys')", "the keys")
        # They can be switched off (WCAG 2.1.4).
        page.run("document.querySelector('dialog input[type=checkbox]').click()")
        page.press("Escape")
        page.until("!document.querySelector('dialog[open]')", "it is left")
        page.press("/")
        self.assertNotEqual(page.run("document.activeElement.name"), "q")
        page.run("localStorage.clear()")
        page.press("/")
        self.assertEqual(page.run("document.activeElement.name"), "q")
        # A letter in a field is a letter.
        page.type("j")
        self.assertEqual(page.run("document.activeElement.value"), "j")
        page.press("Escape")
        self.assertNotEqual(page.run("document.activeElement.name"), "q")
        self.assert_untroubled(page)

    def test_a_dialog_that_was_left_calls_nobody_back(self):
        server = self.serve(SETTINGS)
        page = self.page()
        self.open(page, server)
        page.press("?")
        page.until("document.querySelector('dialog[open]')", "the keys")
        # The browser tells of a closed dialog after the next key may have been pressed.
        page.run("document.querySelector('dialog').close();"
                 "document.querySelector('.find input').focus()")
        page.until("!document.querySelector('dialog')", "it is gone")
        self.assertEqual(page.run("document.activeElement.name"), "q")

    def test_on_paper_and_on_a_wall_there_is_nothing_to_press(self):
        server = self.serve(SETTINGS)
        told = Told(server)
        told.tell(told.batch("kim", "north"))
        page = self.page(1920, 1080, "dark")
        self.open(page, server, "/?wall=1")
        visible = ("[...document.querySelectorAll('button, nav, form')].filter("
                   "(one) => one.offsetParent !== null).length")
        self.assertEqual(page.run(visible), 0)
        page = self.page()
        self.open(page, server)
        self.assertGreater(page.run(visible), 0)
        page.tell("Emulation.setEmulatedMedia", {"media": "print"})
        self.assertEqual(page.run(visible), 0)


if __name__ == "__main__":
    unittest.main()

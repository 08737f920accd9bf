"""The page for people in a headless Chromium, against a running binary and what its API answers."""

import datetime
import json
import os
import secrets
import unittest
import urllib.parse

import axe_core_python
from browser import CLOCK, DAY, Browser, program
from page_fleet import HOSTILE, SETTINGS, Told
from rollcall_process import STATUSES, RollcallTestCase, eventually

HERE = os.path.dirname(os.path.abspath(__file__))
SHOTS = os.path.join(HERE, "..", "..", ".build", "page-screenshots")
AXE = os.path.join(os.path.dirname(axe_core_python.__file__), "axe.min.js")
SIZES = {"phone": (360, 740), "desktop": (1440, 900)}
WIDTHS = {**SIZES, "narrow": (320, 640), "tablet": (768, 1024)}
VIEWS = ("/", "/silent", "/people?status=OFFLINE&sort=-silent_for", "/silent?state=closed", "/at", "/alerts", "/nudges", "/feeds", "/people",
         "/people/kim?last=15m", "/people/back?last=15m")
READY = "document.querySelector('.view')"


def local(text):
    """The time of the clock of an RFC 3339 time in the browser's zone, which is neither ours nor UTC."""
    at = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return (at + datetime.timedelta(hours=5, minutes=45)).strftime("%H:%M")


def shot(name):
    return os.path.join(SHOTS, f"{name}.png")


class PageTestCase(RollcallTestCase):
    """A test with a browser."""

    @classmethod
    def setUpClass(cls):
        if program() is None:
            raise AssertionError("there is no chromium: Tests/run installs it")
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def page(self, *arguments, **options):
        page = self.browser.page(*arguments, **options)
        self.addCleanup(page.close)
        return page

    def open(self, page, server, path="/", seconds=15):
        """Goes to a view and waits until it shows something."""
        page.open(f"http://127.0.0.1:{server.port}{path}")
        page.until(READY, f"{path} shows something", seconds)

    def assert_untroubled(self, page):
        self.assertEqual(page.troubles, [])

    def words(self, page, selector="main"):
        """What is read, with single spaces."""
        return " ".join(page.text(selector).split())

    def assert_accessible(self, page, what):
        """No serious or critical finding, and nothing wider than the window."""
        with open(AXE, encoding="utf-8") as file:
            page.run(file.read() + ";0")
        found = page.run(
            "axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations.map("
            "(v) => [v.impact, v.id, v.nodes.slice(0, 3).map((n) => n.html + n.failureSummary)]))")
        serious = [one for one in found if one[0] in ("serious", "critical")]
        self.assertEqual(serious, [], what)
        self.assertEqual(
            page.run("document.documentElement.scrollWidth - document.documentElement.clientWidth"),
            0, what)


class FleetTests(PageTestCase):
    """One fleet for all of them: it takes some seconds to fall silent."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.serve_all(SETTINGS)
        cls.told = Told(cls.server)
        cls.silent = cls.told.fleet()

    def test_every_view_looks_right_in_every_size_and_scheme(self):
        for size, (width, height) in WIDTHS.items():
            for scheme in ("light", "dark"):
                page = self.page(width, height, scheme)
                for view in VIEWS:
                    with self.subTest(f"{view} {size} {scheme}"):
                        self.open(page, self.server, view)
                        name = view.strip("/").translate(str.maketrans("/?=", "---")) or "fleet"
                        page.screenshot(shot(f"{name}-{size}-{scheme}"))
                        self.assert_accessible(page, view)
                        self.assert_untroubled(page)
                        page.troubles.clear()

    def test_a_wall_shows_big_numbers(self):
        page = self.page(1920, 1080, "dark")
        self.open(page, self.server, "/?wall=1")
        page.screenshot(shot("fleet-wall-dark"), is_whole=False)
        self.assertGreater(page.run(
            "parseFloat(getComputedStyle(document.querySelector('.number strong')).fontSize)"), 80)
        self.assert_accessible(page, "wall")

    def test_the_fleet_is_what_the_api_says(self):
        page = self.page()
        self.open(page, self.server)
        status = self.told.status()
        shown = page.run("Object.fromEntries([...document.querySelectorAll('[data-count]')]"
                         ".map((one) => [one.dataset.count, Number(one.innerText)]))")
        self.assertEqual(
            shown, {"reachable": status["reachable"]["yes"],
                    **{word: status["responders"][word] for word in STATUSES if word != "ONLINE"},
                    "not_expected": status["not_expected"]["all"]})
        self.assertEqual(shown["OFFLINE"], len(self.silent))
        words = self.words(page)
        for alert in self.told.firing():
            self.assertIn(alert["annotations"]["summary"].replace("_", " "), words)
            for told in alert["told"]:
                self.assertIn(f"told {told['receiver']}", words)
        self.assertIn("is not told: silenced (silence 1)", words)
        sentence = status["sentence"]
        self.assertEqual(self.words(page, "h1"), f"{sentence['headline']} {sentence['rest']}")
        self.assertEqual(page.run("document.title"), f"{sentence['headline']} · Rollcall")
        self.assertIn("verdict: network", words)
        self.assertIn("Watching", self.words(page, ".sight"))
        regions = self.server.get("/v1/regions")
        if regions.status == 200:
            shown = page.run("[...document.querySelectorAll('[data-strip]')]"
                             ".map((one) => one.dataset.strip).sort()")
            self.assertEqual(shown, sorted(one["region"] for one in regions.json()["regions"]))
        for asked in page.asked:
            self.assertTrue(asked.startswith((f"http://127.0.0.1:{self.server.port}/", "data:")))
        self.assert_untroubled(page)

    def test_each_thing_has_one_word_and_no_word_is_an_identifier(self):
        page = self.page()
        for view in ("/", "/silent", "/people?status=OFFLINE", "/alerts", "/nudges", "/feeds", "/at", "/people/kim"):
            self.open(page, self.server, view)
            page.run("for (const one of document.querySelectorAll('details')) one.open = true;")
            words = self.words(page)
            self.assertNotRegex(words, r"[a-z]_[a-z]", view)
            for word in ("OFFLINE since", "OFFLINE for", " ONLINE of", "cannot see", "open gap", "last saw",
                         "paged", "unreachable", "Logged"):
                self.assertNotIn(word, words, view)

    def test_on_a_phone_who_is_silent_stands_before_what_is_different(self):
        page = self.page(390, 844)
        self.open(page, self.server, "/people?status=OFFLINE")
        page.until("document.querySelector('.part-differ')", "what is different")
        top = "document.querySelector('%s').getBoundingClientRect().top"
        self.assertLess(page.run(top % "tr[data-responder]"), 420)
        self.assertLess(page.run(top % "tr[data-responder]"), page.run(top % ".part-differ"))
        page.resize(768, 900, "light")
        # What is cut is seen to be: a line and a shadow where it goes on, and the names stay.
        cut = page.run("(() => { const it = document.querySelector('.scrolls'); return ["
                       "it.scrollWidth > it.clientWidth, getComputedStyle(it).backgroundImage,"
                       "getComputedStyle(it.querySelector('tbody th')).position]; })()")
        self.assertEqual([cut[0], cut[2]], [True, "sticky"])
        self.assertEqual(cut[1].count("linear-gradient"), 3)

    def test_a_place_of_a_picture_leads_to_the_fleet_as_it_was(self):
        page = self.page()
        self.open(page, self.server, "/people/kim?last=15m")
        page.until("document.querySelector('.picture .choices a')", "the times below it")
        for begin in ("(() => { const it = document.querySelector('.lane-status > svg');"
                      "const box = it.getBoundingClientRect(); it.dispatchEvent(new MouseEvent('click', {"
                      "bubbles: true, clientX: box.right - 1, clientY: box.top + 2})); })()",
                      "document.querySelector('.picture .choices a').click()",
                      "document.querySelector('.stamp a').click()"):
            page.run(begin)
            page.until("location.pathname === '/at' && document.querySelector('.past')", begin)
            self.assertNotIn("That minute is not there", self.words(page))
            page.run("history.back()")
            page.until("document.querySelector('.stamp a')", "back")
        self.assert_untroubled(page)

    def test_who_is_silent_since_when_and_why(self):
        page = self.page()
        self.open(page, self.server, "/silent")
        shown = page.run("[...document.querySelectorAll('.gap')].map("
                         "(one) => [one.dataset.responder, one.innerText.replace(/\\s+/g, ' ')])")
        gaps = {one["responder_id"]: one
                for one in self.server.get("/v1/gaps?state=open").json()["gaps"]}
        self.assertEqual({person for person, _ in shown}, self.silent)
        for person, words in shown:
            self.assertRegex(words, r"last seen \d+ (s|min)")
            self.assertIn(f"suspected: {gaps[person]['suspected'].replace('_', ' ')}", words)
            self.assertIn(f"in {gaps[person]['region']}", words)
        times = [gaps[person]["opened_at"] for person, _ in shown]
        self.assertEqual(times, sorted(times), "longest first")
        page.run("document.querySelector('select[name=region]').value = 'harbour';"
                 "document.querySelector('select[name=region]').onchange("
                 "{target: document.querySelector('select[name=region]')})")
        page.until("document.querySelectorAll('.gap').length === 2", "only those of the harbour")
        self.assertIn("region=harbour", page.run("location.search"))

    def test_alerts_say_who_was_told_and_why(self):
        page = self.page()
        self.open(page, self.server, "/alerts")
        words = self.words(page)
        for silence in self.server.get("/v1/silences").json()["silences"]:
            self.assertIn(silence["comment"], words)
        history = self.server.get("/v1/alerts/history?limit=20").json()["incidents"]
        self.assertEqual(
            page.run("document.querySelectorAll('details.incident').length"), len(history))
        rate = next(one for one in history if one["alertname"] == "HighOfflineRate")
        self.open(page, self.server, f"/alerts?incident={rate['incident']}")
        words = self.words(page)
        self.assertIn("threshold 10 %", words)
        self.assertIn("to tell chat: fired", words)
        self.assertIn(rate["annotations"]["description"].replace("_", " "), words)
        for member in rate["members"]:
            self.assertTrue(page.run(
                f"!!document.querySelector('main a[href=\"/people/{member}\"]')"), member)
        self.assert_untroubled(page)

    def test_nudges_tell_why_and_when_the_next_is_possible(self):
        page = self.page()
        self.open(page, self.server, "/nudges")
        ledger = self.server.get("/v1/nudges").json()["nudges"]
        words = self.words(page)
        self.assertIn("nothing is sent", words)
        self.assertIn("Dry run", words)
        self.assertEqual(
            page.run("document.querySelectorAll('.entry:not(.group)').length"), len(ledger))
        page.run("for (const one of document.querySelectorAll('.each')) one.open = true;"
                 "document.querySelector('.entry:not(.group) summary').click()")
        page.until("/possible: in|ot nudged|o be nudged/.test("
                   "document.querySelector('.entry:not(.group) details').innerText)", "an answer")
        self.assert_untroubled(page)

    def test_a_person_has_a_picture_and_a_story(self):
        page = self.page()
        self.open(page, self.server, "/people/back?last=15m")
        words = self.words(page)
        person = self.server.responder("back")
        self.assertIn(person["status"], words)
        self.assertIn("OFFLINE → ONLINE: the phone was heard", words)
        self.assertRegex(words, "It was: network")
        lanes = page.run("[...document.querySelectorAll('.lane > svg[role=img]')]"
                         ".map((one) => one.getAttribute('aria-label'))")
        self.assertEqual([lane.split(":")[0] for lane in lanes],
                         ["Status", "Gaps", "Contacts", "Nudges"])
        self.assertIn("OFFLINE for", lanes[0])
        self.assertEqual(page.run("document.querySelectorAll('.lane-gaps .gap-bar').length"), 2)

        def says_what_the_api_says():
            answer = self.server.get("/v1/responders/back/nudge").json()
            return answer["text"].split(":")[0].lower() in self.words(page).lower()

        eventually(says_what_the_api_says, 15, "the answer of now is shown")
        self.assert_untroubled(page)

    def test_addresses_history_and_the_way_to_a_person(self):
        page = self.page()
        self.open(page, self.server, "/people/nobody-at-all")
        self.assertIn("Nobody has this id", self.words(page))
        page.press("/")
        page.until("document.activeElement.name === 'q'", "the field to search in")
        page.type("mo")
        page.press("Enter")
        page.until("location.search.includes('q=mo') && document.querySelector('[data-responder=mo] a')",
                   "who fits")
        page.run("document.querySelector('[data-responder=mo] a').click()")
        page.until("location.pathname === '/people/mo' && document.title.includes('mo OFFLINE')",
                   "a person's page")
        page.until("document.activeElement.tagName === 'H1'", "the focus on the heading")
        page.run("[...document.querySelectorAll('nav a')].find((a) => a.innerText"
                 ".startsWith('Alerts')).click()")
        page.until("document.querySelector('h1').innerText === 'Alerts' && " + READY, "alerts")
        page.run("history.back()")
        page.until("location.pathname === '/people/mo' && !!document.querySelector('.picture')",
                   "back at the person")
        # What only the browser's own error line says: the person was asked for and is not there.
        page.troubles = [one for one in page.troubles if "404" not in one]
        self.assert_untroubled(page)

    def test_without_javascript_the_counts_are_there(self):
        page = self.page(360, 740)
        page.tell("Emulation.setScriptExecutionDisabled", {"value": True})
        page.open(f"http://127.0.0.1:{self.server.port}/")
        text = self.server.get("/").text
        offline = self.told.status()["responders"]["OFFLINE"]
        self.assertIn(f'<th scope="row">OFFLINE</th><td>{offline}</td>', text)
        self.assertIn("Watching.", text)
        page.screenshot(shot("without-javascript-phone-light"))

    def test_heads_are_strict(self):
        shell = self.server.get("/silent")
        policy = shell.headers["content-security-policy"]
        self.assertIn("default-src 'none'; script-src 'self'; style-src 'self'", policy)
        self.assertNotIn("unsafe", policy)
        self.assertEqual(shell.headers["referrer-policy"], "no-referrer")
        self.assertEqual(shell.headers["cache-control"], "no-store")
        for found in ("style=", "onclick=", "<script>", "<style"):
            self.assertNotIn(found, shell.text)
        asset = self.server.get("/" + shell.text.split('src="')[1].split('"')[0])
        self.assertEqual(asset.headers["content-type"], "text/javascript; charset=utf-8")
        self.assertIn("immutable", asset.headers["cache-control"])
        self.assertEqual(asset.headers["x-content-type-options"], "nosniff")
        self.problem(self.server.get("/assets/0000000000000000/main.js"), 404)


class ChangeTests(PageTestCase):
    def test_it_updates_itself_and_leaves_alone_what_one_does(self):
        server = self.serve(SETTINGS)
        told = Told(server)
        told.tell(told.batch("quiet", "north", "ON_MISSION"), told.batch("calm", "north"))
        eventually(lambda: told.offline() == {"quiet"}, 10, "one is silent")
        eventually(told.firing, 10, "an alert")
        page = self.page(1440, 400)
        self.open(page, server, "/alerts")
        page.until("!!document.querySelector('details.incident')", "an incident")
        page.run("window.mark = document.querySelector('details.incident'); mark.open = true;"
                 "document.querySelector('input[name=q]').focus()")
        page.type("half typed")
        page.run("window.scrollTo(0, 40)")
        told.tell(told.batch("quiet", "north"))
        page.until("mark.innerText.includes('resolved')", "it is over", seconds=12)
        self.assertEqual(
            page.run("[mark.isConnected, mark.open, document.activeElement.value, scrollY]"),
            [True, True, "half typed", 40])
        # The alerts are another list than the history.
        page.until("document.getElementById('said').innerText.includes('Over: ')", "it is said")
        page.run("[...document.querySelectorAll('nav a')][0].click()")
        page.until(
            "document.querySelector('[data-count=reachable]')?.innerText === '2'", "both are back")
        self.assert_untroubled(page)

    def test_it_says_when_the_server_is_gone_and_when_it_is_back(self):
        server = self.serve(SETTINGS)
        told = Told(server)
        told.tell(*(told.batch(f"r-{n}", "north") for n in range(5)))
        page = self.page(360, 740)
        self.open(page, server)
        colour = "getComputedStyle(document.querySelector('.number.is-reachable .shape')).color"
        well = page.run(colour)
        server.address = f"127.0.0.1:{server.port}"
        self.assertEqual(server.stop(), 0)
        page.until("document.querySelector('.banner.is-lost')", "contact is lost")
        words = self.words(page, ".banner")
        self.assertRegex(words, rf"No contact with the server since {CLOCK} \({CLOCK} UTC\)\. "
                         "What stands here is from then")
        self.assertTrue(page.run("document.title").startswith("No contact"))
        first = page.text("footer")
        page.until(f"document.querySelector('footer').innerText !== {json.dumps(first)}", "it ages")
        # Nothing is green any more.
        self.assertNotEqual(page.run(colour), well)
        for name, size in SIZES.items():
            page.resize(*size, "light")
            page.screenshot(shot(f"lost-{name}-light"))
            self.assert_accessible(page, "lost")
        server.start()
        page.until("!document.querySelector('.banner.is-lost')", "contact is found", seconds=40)
        self.assertIn("answers again", page.text("#said"))
        # Nor is it before somebody is heard again: nobody was watching (B4).
        told.tell(*(told.batch(f"r-{n}", "north") for n in range(5)))
        page.until(f"{colour} === {json.dumps(well)}", "they were heard", seconds=20)

    def test_while_blind_it_says_since_when_and_nothing_is_green(self):
        server = self.serve(SETTINGS)
        told = Told(server)
        told.tell(*(told.batch(f"r-{n}", "north") for n in range(5)))
        page = self.page()
        self.open(page, server)
        server.write("/v1/heartbeat", {"source": "pod-0", "every_seconds": 1})
        page.until("document.querySelector('.banner.is-blind')", "blindness is told", seconds=15)
        words = self.words(page, ".banner")
        since = told.status()["not_watching_since"]
        self.assertRegex(words, f"Not watching since {DAY}{local(since)}")
        self.assertIn("Statuses are the last known ones", words)
        self.assertTrue(page.run("document.title").startswith("Rollcall is not watching"))
        self.assertIn(f"Not watching since {told.status()['not_watching_since']}",
                      server.get("/").text)
        page.screenshot(shot("blind-desktop-light"))
        page.resize(360, 740, "dark")
        page.screenshot(shot("blind-phone-dark"))
        self.assert_accessible(page, "blind")
        self.open(page, server, "/people/r-1?last=15m")
        self.assertIn("not confirmed, reachable: unknown", self.words(page))
        # Of somebody whom nobody sees there are no ages and no next time.
        nudge = self.words(page, ".part-nudge")
        self.assertIn("Rollcall is not watching: it does not know where anybody is", nudge)
        self.assertNotIn("Next possible", nudge)
        # What happened before is told with its age.
        self.assertNotRegex(nudge.split(" Last ")[0], r"\d")
        page.screenshot(shot("blind-person-phone-dark"))
        server.request("DELETE", "/v1/heartbeat?source=pod-0")
        page.until("!document.querySelector('.banner.is-blind')", "it sees again", seconds=15)

    def test_a_hidden_page_asks_nothing(self):
        server = self.serve()
        page = self.page()
        self.open(page, server)
        hide = ("Object.defineProperty(document, 'hidden', {{configurable: true, value: {}}});"
                "document.dispatchEvent(new Event('visibilitychange'))")
        page.run(hide.format("true"))
        # What it was about to ask has been asked by then.
        page.run("new Promise((done) => setTimeout(done, 3000))")
        asked = len(page.asked)
        page.run("new Promise((done) => setTimeout(done, 7000))")
        self.assertEqual(len(page.asked), asked)
        page.run(hide.format("false"))
        eventually(lambda: len(page.asked) > asked, 5, "it asks again")

    def test_an_empty_server_says_what_to_do(self):
        server = self.serve()
        for name, (width, height) in SIZES.items():
            page = self.page(width, height, "light")
            for view in ("/", "/silent", "/alerts", "/nudges", "/feeds", "/people"):
                self.open(page, server, view)
                self.assert_accessible(page, view)
                if view in ("/", "/feeds"):
                    page.screenshot(shot(f"empty{view.replace('/', '-')}-{name}"))
                # That all is well is not said before anybody was heard.
                self.assertEqual(page.text(".sight"), "Nothing heard yet")
                self.assertEqual(page.run("document.querySelectorAll('.is-watching, .flag.is-good')"
                                          ".length") if view == "/" else 0, 0)
            self.assert_untroubled(page)

    def test_five_thousand_silent_are_readable(self):
        server = self.serve(SETTINGS + "limits: {items: 10000}\n")
        told = Told(server)
        for begin in range(0, 5000, 1000):
            told.tell(*(told.batch(f"p-{n:05}", f"region-{n % 40:02}", "ON_MISSION")
                        for n in range(begin, begin + 1000)))
        eventually(lambda: told.status()["responders"]["OFFLINE"] == 5000, 30, "all are silent")
        page = self.page()
        self.open(page, server)
        self.assertIn("5,000 silent", self.words(page))
        page.screenshot(shot("many-fleet-desktop-light"), is_whole=False)
        self.open(page, server, "/silent")
        page.until("document.querySelectorAll('.gap').length === 50", "the first of them")
        page.run("document.querySelector('.more button').click()")
        page.until("document.querySelectorAll('.gap').length > 50", "more of them")
        self.assertIn("of 5,000 shown", page.text(".more"))
        page.screenshot(shot("many-silent-desktop-light"), is_whole=False)
        self.assert_untroubled(page)


class SilentNumberTests(PageTestCase):
    """D7: how many are silent is one number, whatever we saw of it."""

    def test_gaps_beside_blindness_are_counted_as_silent_everywhere(self):
        server = self.serve(SETTINGS + "limits: {items: 1000}\n")
        told = Told(server)
        # Blind from before they are late until they are: all their gaps overlap it.
        told.tell(*(told.batch(f"p-{n:03}", "north", "ON_MISSION", captured=[]) for n in range(250)))
        told.blind_for_a_while()
        eventually(lambda: told.status()["responders"]["OFFLINE"] == 250, 30, "all are silent")
        by_cause = server.get("/v1/gaps?state=open&by=cause").json()
        self.assertLess(by_cause["gaps"], 250, "blindness leaves some out of the table")
        gaps = told.status()["gaps"]
        self.assertEqual((gaps["open"], sum(gaps["suspected"].values())), (250, 250))
        page = self.page()
        for view in ("/", "/silent"):
            self.open(page, server, view)
            words = self.words(page)
            self.assertIn("250 silent", words)
            self.assertNotIn("Nobody is", words)
            suspected = words.split("Suspected: ")[1].split(".")[0]
            self.assertEqual(sum(int(one.split()[0]) for one in suspected.split(", ")), 250)
            self.assertEqual(page.text("nav .badge").strip(), "250")
            page.screenshot(shot(f"silent-after-blindness{view.replace('/', '-')}"), is_whole=False)
        self.assert_untroubled(page)


class SafetyTests(PageTestCase):
    def test_hostile_names_are_text(self):
        server = self.serve(SETTINGS)
        told = Told(server)
        for name in HOSTILE:
            told.tell(told.batch(name, name, "ON_MISSION", circles=[name]))
        server.write("/v1/heartbeat", {"source": HOSTILE[0], "every_seconds": 3600})
        server.write("/v1/silences", {"matchers": [f"region={HOSTILE[1]}"], "author": HOSTILE[0],
                                      "comment": HOSTILE[2], "duration": "1h"})
        eventually(lambda: told.offline() == set(HOSTILE), 20, "all of them are OFFLINE")
        eventually(told.firing, 10, "alerts fire")
        page = self.page()
        people = [f"/people/{urllib.parse.quote(name, safe='')}?last=15m" for name in HOSTILE]
        for view in (*VIEWS[:7], *people):
            with self.subTest(view):
                self.open(page, server, view)
                self.assertEqual(page.run("typeof window.ran"), "undefined")
                self.assertIn("Rollcall", page.run("document.title"))
                self.assertEqual(
                    page.run("document.querySelectorAll('main img, main script').length"), 0)
        self.open(page, server, people[0])
        self.assertEqual(page.run("document.querySelector('h1').innerText"), HOSTILE[0])
        self.open(page, server, "/silent")
        shown = page.run("[...document.querySelectorAll('.person')].map((one) => one.innerText)")
        self.assertEqual(
            set(shown), {name.replace("\u202e", "⟨U+202E⟩") for name in HOSTILE})
        page.screenshot(shot("hostile-silent-desktop-light"))
        page.resize(360, 740, "light")
        self.assert_accessible(page, "hostile")
        page.screenshot(shot("hostile-silent-phone-light"))
        self.assert_untroubled(page)

    def test_a_browser_logs_in(self):
        tokens = {scope: secrets.token_hex(16) for scope in ("read", "ingest", "next")}
        for name, token in tokens.items():
            path = os.path.join(self.directory, name)
            with open(path, "w", encoding="ascii",
                      opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
                file.write(token)
        entry = "    - {{name: {0}, scopes: [{1}], token_file: {0}}}\n"
        begin = "web:\n  tokens:\n" + entry.format("ingest", "ingest")
        server = self.serve(begin + entry.format("read", "read"))
        stranger = self.page(360, 740, login=(None, None))
        stranger.login_with(None, None)
        stranger.tell("Fetch.enable", {"handleAuthRequests": True})
        stranger.open(f"http://127.0.0.1:{server.port}/")
        self.assertIn("is shown to those who sign in", stranger.text())
        # It signs in there (test_acting); a password is asked for only where that is wanted.
        self.assertEqual(stranger.challenges, 0)
        stranger.screenshot(shot("no-token-phone-light"))
        backend = self.page(login=("any", tokens["ingest"]))
        backend.open(f"http://127.0.0.1:{server.port}/alerts?login=basic")
        self.assertIn("You may not look at this page", backend.text())
        # What whoever gives tokens out needs stands behind it.
        self.assertIn("does not have the scope read",
                      backend.run("document.querySelector('details').textContent.replace(/\\s+/g, ' ')"))
        backend.screenshot(shot("wrong-scope-desktop-light"))
        page = self.page(login=("any", tokens["read"]))
        self.open(page, server, "/people?login=basic")
        self.assertEqual(page.challenges, 1)
        self.assert_untroubled(page)
        # The token is taken away while the page is open.
        server.configure(begin + entry.format("next", "read"))
        server.process.send_signal(1)
        page.login_with(None, None)
        page.until("document.querySelector('.banner.is-lost')", "the token is not valid any more")
        self.assertIn("does not accept this browser's token", self.words(page, ".banner"))
        page.screenshot(shot("token-gone-desktop-light"))
        asked = page.challenges
        page.run("new Promise((done) => setTimeout(done, 6000))")
        self.assertEqual(page.challenges, asked, "it does not ask again and again")
        page.run("document.querySelector('.banner button').click()")
        page.until("document.querySelector('dialog[open]')", "the way in")
        page.type(tokens["next"])
        page.press("Enter")
        page.until(READY + " && !document.querySelector('.banner')", "signed in")


if __name__ == "__main__":
    unittest.main()

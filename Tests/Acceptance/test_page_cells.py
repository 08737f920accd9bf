"""The page at a gateway, in a headless Chromium: one fleet over eight cells, while one of them is killed and
comes back.

Source: K5.
"""

import time
import unittest

from cluster_process import free_ports
from gateway_process import Gateway
from loopback_receivers import Fleet
from rollcall_process import Rollcall, eventually
from test_cells import slot
from test_page import SIZES, PageTestCase, shot

CELLS = 8
LIVENESS = "liveness: {on_duty: {expected: 1s, degraded_after: 2s, offline_after: 4s}}\n"
ALERTS = "alerts: {ResponderOffline: {enabled: true, for: 1s, duty_states: [ON_DUTY]}}\n"
SOON = 40


def owner(responder_id):
    """The number of the cell that has somebody."""
    return slot(responder_id) * CELLS // 4096


class CellPageTests(PageTestCase):
    def setUp(self):
        super().setUp()
        self.ports = free_ports(CELLS + 1)
        self.cells = [self.begin(f"c{number}") for number in range(CELLS)]
        places = "".join(
            f"    c{number}: {{url: \"http://127.0.0.1:{port}\"}}\n" for number, port in enumerate(self.ports[1:]))
        self.fleet_config = f"cluster:\n  cells:\n{places}" + LIVENESS
        self.fleet_cell = self.start("fleet", self.fleet_config, self.ports[0])
        self.gateway = Gateway(self, f"http://127.0.0.1:{self.ports[0]}").start()
        eventually(self.gateway.is_ready, SOON, "the gateway has the map")
        for cell in self.cells:
            eventually(lambda cell=cell: cell.get("/-/ready").status == 200, SOON, "it has the map")
        self.ids = [f"p-{number:02}" for number in range(64)]
        self.app = Fleet(self, self.gateway, [
            {"responder_id": one, "region": f"region-{place % 4}", "duty_state": "ON_DUTY"}
            for place, one in enumerate(self.ids)]).start()
        eventually(lambda: self.counted("ONLINE") == 64, SOON, "all are ONLINE")

    def start(self, name, config, port):
        server = Rollcall(self.directory, config, name=name, address=f"127.0.0.1:{port}")
        self.addCleanup(server.close)
        return server.start()

    def begin(self, name):
        number = int(name[1:])
        return self.start(name, f"cluster: {{cell: {name}}}\n" + LIVENESS + ALERTS, self.ports[1 + number])

    def counted(self, status):
        return self.gateway.get("/v1/status").json()["responders"][status]

    def shown(self, page):
        """The ids in the list of people."""
        return set(page.run("[...document.querySelectorAll('tr[data-responder]')].map("
                            "(one) => one.dataset.responder)"))

    def shots(self, page, name):
        for size, (width, height) in SIZES.items():
            for scheme in ("light", "dark"):
                page.resize(width, height, scheme)
                page.screenshot(shot(f"cells-{name}-{size}-{scheme}"))
                self.assert_accessible(page, f"{name} {size} {scheme}")
        page.resize(1440, 900, "light")

    def test_one_fleet_is_shown_while_a_cell_is_killed_and_comes_back(self):
        away = [one for one in self.ids if owner(one) == 3]
        self.assertTrue(2 <= len(away) <= 20, away)
        page = self.page()
        self.open(page, self.gateway, "/people")
        page.until("document.querySelectorAll('tr[data-responder]').length === 64", "everybody", SOON)
        self.assertEqual(self.shown(page), set(self.ids))
        page.until("document.querySelector('.banners') === null", "all cells answer", SOON)
        now = self.page()
        self.open(now, self.gateway)
        now.until("document.querySelector('[data-count=reachable]').innerText === '64'", "64 can be reached")
        self.shots(now, "all")
        # Of the cell that has two of a region and more elsewhere, nothing is known any more.
        self.cells[3].kill()
        page.until("document.querySelector('.banner.is-blind')?.innerText.includes('Cell c3')",
                   "it is said who does not answer", SOON)
        page.until(f"document.querySelectorAll('tr[data-responder]').length === {64 - len(away)}", "the others")
        self.assertEqual(self.shown(page), set(self.ids) - set(away))
        words = self.words(page, ".banner.is-blind")
        self.assertIn("Its people are missing in lists", words)
        self.shots(page, "away")
        one = self.page()
        one.open(f"http://127.0.0.1:{self.gateway.port}/people/{away[0]}")
        one.until("document.querySelector('.warned')?.innerText.includes("
                  f"'What is known of {away[0]} is in cell c3, which does not answer.')",
                  "why a person of it cannot be shown")
        self.assertNotIn("http", self.words(one))
        self.assertIn("Copy id", self.words(one, ".acts"))
        self.assert_lacking(now, page, away)
        now.until("document.querySelector('main').innerText.includes('c3')", "the fleet cell tells of it", SOON)
        self.shots(now, "dark")
        self.assertEqual(self.gateway.get("/v1/status").json()["responders"]["active"], 64)
        # Who can be reached, nobody can say of all.
        known = 64 - len(away)
        eventually(
            lambda: self.gateway.get("/v1/status").json().get("reachable")
            == {"yes": known, "of": 64, "at_most": False}, SOON, f"{known} can be reached")
        words = f"{known} of 64 can be reached; of {len(away)} nothing is known."
        eventually(lambda: words in self.words(now, "h1"), SOON, words, every=0.2)
        self.assertEqual(self.words(now, "[data-count=unlit]"), str(len(away)))
        self.assertEqual(self.words(now, ".number.is-reachable"), f"{known} can be reached")
        self.assert_regions_are_not_known(now)
        also = [one for one in self.ids if owner(one) == 6]
        self.cells[6].kill()
        now.until("document.querySelector('.banner.is-blind').innerText.includes('Cells c3 and c6 do not answer.')",
                  "both are named", SOON)
        self.assertIn("until they are back", self.words(now, ".banner.is-blind"))
        self.assert_one_cell_can_be_silenced(now)
        now.until("document.querySelector('h1').innerText.includes('Nothing is heard of cells c3 and c6.')",
                  "both are in the headline", SOON)
        self.assertEqual(self.words(now, "[data-count=unlit]"), str(len(away) + len(also)))
        self.cells[6] = self.begin("c6")
        self.cells[3] = self.begin("c3")
        page.until("document.querySelector('.banner.is-blind') === null", "all answer again", SOON)
        page.until("document.querySelectorAll('tr[data-responder]').length === 64", "everybody again", SOON)
        eventually(lambda: self.counted("ONLINE") == 64, SOON, "all are ONLINE again")
        for view in ("/silent", "/alerts", "/nudges", "/feeds", "/at", f"/people/{away[0]}",
                     "/people?status=OFFLINE"):
            self.open(page, self.gateway, view)
            self.assertNotIn("cannot be read", self.words(page), view)
        self.assert_untroubled(now)

    def assert_lacking(self, now, page, away):
        """What stands there while a cell does not answer, also before the fleet cell finds it dark."""
        known = 64 - len(away)
        now.until("document.querySelector('.banner.is-blind')?.innerText.includes('Cell c3')", "the banner", SOON)
        for _ in range(80):
            self.assertNotIn("All 64 can be reached", self.words(now, "h1"))
            self.assertNotIn("All 64 can be reached", now.run("document.title"))
            if "Nothing is heard of cell c3." in self.words(now, "h1"):
                break
            time.sleep(0.25)
        else:
            self.fail(self.words(now, "h1"))
        self.assertEqual(self.words(now, ".sight"), "Watching, without cell c3")
        self.assertEqual(self.words(page, ".part-people h2"), f"{known} people, without cell c3's")
        self.assertIn("Rollcall is watching, but of cell c3 nothing is known.", self.view("/feeds"))
        words = self.view("/alerts")
        self.assertIn("What fires in cell c3 is not known.", words)
        self.assertNotIn("No alert fires now", words)

    def assert_one_cell_can_be_silenced(self, now):
        """The alert about a cell can be silenced for that cell alone."""
        now.run("[...document.querySelectorAll('.alert button')].find((one) =>"
                "one.innerText.startsWith('Silence')).click()")
        now.until("document.querySelector('dialog')", "the dialog")
        self.assertEqual(now.run("[...document.querySelectorAll('dialog [name=scope] option')].map("
                                 "(one) => one.innerText)"), ["CellDark of cell c3", "CellDark, wherever"])
        self.assertIn("The fleet cell holds it", self.words(now, "dialog"))
        now.press("Escape")
        now.until("document.querySelector('dialog') === null", "it is left")

    def view(self, path, server=None):
        """What is read in a view, opened anew."""
        page = self.page()
        self.open(page, server or self.gateway, path)
        return self.words(page)

    def assert_regions_are_not_known(self, now):
        """Those of whom nothing is known are not ONLINE in the rows of regions."""
        told = {one["region"]: one for one in self.gateway.get("/v1/regions").json()["regions"]
                if one.get("unknown")}
        for region, one in told.items():
            heard = one["known_online"]
            row = f"document.querySelector('[data-strip=\"{region}\"] .strip-end').innerText"
            now.until(f"{row} === '{heard} ONLINE, {one['unknown']} not known'", region, SOON)

    def test_alerts_of_a_cell_come_to_an_open_page(self):
        page = self.page()
        self.open(page, self.gateway)
        silent = self.ids[0]
        place = f"cell c{owner(silent)}"
        self.app.cut(silent)
        page.until("document.querySelector('.alert.is-firing')", "the alert of its cell", SOON)
        self.assertIn(silent, self.words(page, ".alert.is-firing"))
        self.assertEqual(self.words(page, "nav a[href$=alerts] .badge"), "1")
        self.assertIn("Alert fires: ", page.text("#said"))
        self.assertIn(place, self.words(page, ".alert.is-firing"))
        page.run("[...document.querySelectorAll('.alert button')].find((one) =>"
                 "one.innerText.startsWith('Silence')).click()")
        page.until("document.querySelector('dialog')", "the dialog")
        self.assertIn(f"C{place[1:]} holds it", self.words(page, "dialog"))
        self.assert_untroubled(page)

    def test_without_the_fleet_cell_people_are_shown_as_they_are(self):
        now, page, one = self.page(), self.page(), self.page()
        self.open(now, self.gateway)
        self.open(page, self.gateway, "/people")
        self.open(one, self.gateway, f"/people/{self.ids[0]}")
        page.until("document.querySelectorAll('tr[data-responder]').length === 64", "everybody", SOON)
        self.fleet_cell.kill()
        for shown in (now, page, one):
            shown.until("document.querySelector('.banner.is-lost')", "it is said", SOON)
            self.assertIn("The fleet cell does not answer: nobody decides about many, and no totals are known.",
                          self.words(shown, ".banner.is-lost"))
            self.assertNotIn("No contact", self.words(shown, "body"))
        self.assertEqual(self.words(now, "h1"), "The fleet cell does not answer. Nobody decides about many, and no "
                         "totals are known.")
        self.assertEqual(now.run("document.querySelectorAll('[data-count]').length"), 0)
        self.app.cut(self.ids[0])
        one.until("document.querySelector('.status').innerText === 'OFFLINE'", "what its cell knows", SOON)
        page.until(f"document.querySelector('tr[data-responder=\"{self.ids[0]}\"] .status').innerText === 'OFFLINE'",
                   "what its cell knows", SOON)
        self.shots(now, "fleet-away")
        self.fleet_cell = self.start("fleet", self.fleet_config, self.ports[0])
        now.until("document.querySelector('.banner.is-lost') === null", "it answers again", 90)
        self.assertNotIn("Over:", page.text("#said"))

    def test_the_page_of_the_fleet_cell_and_of_a_cell_say_what_they_are(self):
        words = ("This is the fleet cell: it knows numbers and no people. People are at the cells, or through a "
                 "gateway.")
        person = f"/people/{self.ids[0]}"
        for path in ("/", "/people", "/silent", "/nudges", "/at", person):
            shown = self.view(path, self.fleet_cell)
            self.assertIn(words, shown, path)
            for wrong in ("curl", "Nobody fits", "No gap is open", "Nobody is silent", "not expected"):
                self.assertNotIn(wrong, shown, path)
        cell = self.cells[2]
        page = self.page()
        self.open(page, cell)
        count = sum(owner(one) == 2 for one in self.ids)
        words = f"All {count} of cell c2 can be reached."
        self.assertEqual(self.words(page, "h1"), words)
        self.assertEqual(page.run("document.title"), f"{words} · Rollcall")
        other = next(one for one in self.ids if owner(one) == 5)
        self.open(page, cell, f"/people/{other}")
        asked = len([one for one in page.asked if "/v1/responders/" in one])
        self.assertIn(f"What is known of {other} is in cell c5.", self.words(page))
        time.sleep(8)
        self.assertEqual(len([one for one in page.asked if "/v1/responders/" in one]), asked)

    def test_who_can_go_instead_are_people_of_the_same_cell(self):
        page = self.page()
        self.open(page, self.gateway, f"/people/{self.ids[0]}")
        page.run("[...document.querySelectorAll('.acts button')].find((one) =>"
                 "one.innerText.startsWith('Who can go')).click()")
        page.until("document.querySelector('dialog .instead li')", "some are offered", SOON)
        self.assertIn("Only people of the same cell stand here", self.words(page, "dialog"))
        offered = page.run("[...document.querySelectorAll('dialog .person')].map((one) => one.innerText)")
        self.assertEqual({owner(one) for one in offered}, {owner(self.ids[0])})

    def test_the_fleet_cell_says_nothing_of_nudges(self):
        # It nudges nobody; how each cell does is said with its people.
        self.assertNotIn("dry run", self.view("/").lower())
        self.assertNotIn("dry run", self.view("/feeds").lower())

    def test_names_that_are_read_from_the_right_turn_nothing_around_them(self):
        # The server cuts long names in its texts.
        region, silent = "בת ים והסביבה ועוד שכונות רבות אחרות בצפון ובדרום", "מגיש-1"
        self.gateway.write("/v1/batches", [
            {"responder_id": silent, "region": region, "duty_state": "ON_DUTY"}])
        page = self.page()
        self.open(page, self.gateway, "/alerts")
        card = f"[...document.querySelectorAll('.alert .summary')].find((one) => one.innerText.includes('{silent}'))"
        page.until(card, "the alert of their cell", SOON)
        place, person = page.run(f"[...{card}.querySelectorAll('bdi')].map((one) => one.innerText)")
        self.assertTrue(place.endswith("…") and region.startswith(place[:-1]), place)
        self.assertEqual(person, silent)

    def test_all_that_is_pressed_is_high_enough_for_a_finger(self):
        page = self.page(390, 844)
        page.tell("Emulation.setTouchEmulationEnabled", {"enabled": True})
        for path in ("/", "/people", "/silent", "/alerts", "/nudges", "/feeds", "/at", f"/people/{self.ids[0]}"):
            self.open(page, self.gateway, path)
            self.assertTrue(page.run("matchMedia('(pointer: coarse)').matches"))
            self.assertEqual(page.run(
                "[...document.querySelectorAll('#page a, #page button, #page input, #page select, #page summary')]"
                ".filter((one) => !one.closest('.grid') && one.offsetHeight > 0 && one.offsetHeight < 40)"
                ".map((one) => one.outerHTML)"), [], path)

    def test_a_long_name_of_a_region_ends_in_an_ellipsis_and_is_whole_behind_it(self):
        region = "Nordrhein-Westfalen-Märkischer-Kreis-Lüdenscheid"
        self.gateway.write("/v1/batches", [{"responder_id": "far", "region": region, "duty_state": "ON_DUTY"}])
        eventually(lambda: region in {one["region"] for one in self.gateway.get("/v1/regions/history").json()["regions"]},
                   SOON, "it is among the regions")
        page = self.page()
        self.open(page, self.gateway)
        place = f"[data-strip=\"{region}\"] .strip-name a"
        page.until(f"document.querySelector('{place}')", "its row", SOON)
        self.assertEqual(page.run(f"(() => {{ const one = document.querySelector('{place}'); return [one.title,"
                                  "one.scrollWidth > one.clientWidth, getComputedStyle(one).textOverflow]; })()"),
                         [region, True, "ellipsis"])

    def test_times_are_told_in_words_that_are_true(self):
        page = self.page()
        self.open(page, self.gateway)
        asset = "document.querySelector('script[type=module]').src.replace('main.js', '%s')"
        self.assertEqual(page.run(
            f"import({asset % 'words.js'}).then(({{ ago, fromNow }}) => [ago, fromNow].flatMap((told) => [-800, 800, 90000]"
            ".map((ahead) => told(new Date(1e12 + ahead).toISOString(), 1e12).children[0].text)))"),
            ["0 s ago", "just now", "in 1 min 30 s", "0 s ago", "in 0 s", "in 1 min 30 s"])
        contact = "({ kind: 'contact', at: new Date(1e12 + 250 * n).toISOString() })"
        words = page.run(
            f"import({asset % 'story.js'}).then(({{ line, story }}) => line(story([0, 1, 2].map((n) => {contact}),"
            "[])[0], 0, 1e12, String).children.at(-1).children[0].text)")
        entry = ("{ id: 1, responder_id: 'p', decision: 'send', at: '2026-01-01T00:00:00Z', stale_seconds: 1,"
                 "text: 'nudged; nothing came in the 1m 30s until the next nudge' }")
        ledger = f"{{ mode: 'live', sink: 'log', next: null, watching: true, nudges: [{entry}] }}"
        told = page.run(
            f"import({asset % 'nudges.js'}).then(({{ nudgesView }}) => JSON.stringify(nudgesView.render({{"
            f"memory: {{ ledger: {ledger}, unfolded: new Map(), shown: 50 }}, status: {{ watching: true }},"
            "route: { query: new URLSearchParams() }, link: String, now: () => 1e12, refresh() {} })))")
        self.assertIn("nothing came in the 1 min 30 s until the next nudge", told)
        self.assertRegex(words, r"^3 contacts since [\d:A-Za-z ]+, several a second\.$")

    def rows(self, page):
        """Of each row of silent people whose it is, and who stands in it."""
        return page.run("[...document.querySelectorAll('li.gap')].map((one) => [one.dataset.responder,"
                        "[...one.querySelectorAll('.person')].map((it) => it.innerText).join()])")

    def test_each_row_is_one_person(self):
        # Every cell counts its gaps for itself: eight people have the first one.
        silent = self.ids[:40]
        page = self.page()
        self.open(page, self.gateway, "/silent")
        self.app.cut(*silent)
        page.until("document.querySelectorAll('li.gap').length === 40", "each stands there", SOON)
        time.sleep(3)
        self.assertEqual(sorted(self.rows(page)), [[one, one] for one in silent])
        self.app.restore(*silent)
        self.open(page, self.gateway, "/silent?state=closed")
        page.until("document.querySelectorAll('li.gap').length === 40", "each is back", SOON)
        time.sleep(3)
        self.assertEqual(sorted(self.rows(page)), [[one, one] for one in silent])
        self.assertEqual(page.run("[...document.querySelectorAll('li.gap .why')].filter((one) =>"
                                  "one.innerText.split('verdict').length > 2).length"), 0)
        self.assert_untroubled(page)


if __name__ == "__main__":
    unittest.main()

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
        self.fleet_cell = self.start("fleet", f"cluster:\n  cells:\n{places}" + LIVENESS, self.ports[0])
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
        return self.start(name, f"cluster: {{cell: {name}}}\n" + LIVENESS, self.ports[1 + number])

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
        one.until("document.querySelector('.warned')?.innerText.includes('cell c3 does not answer')",
                  "why a person of it cannot be shown")
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
        self.cells[3] = self.begin("c3")
        page.until("document.querySelector('.banner.is-blind') === null", "all answer again", SOON)
        page.until("document.querySelectorAll('tr[data-responder]').length === 64", "everybody again", SOON)
        eventually(lambda: self.counted("ONLINE") == 64, SOON, "all are ONLINE again")
        for view in ("/silent", "/alerts", "/nudges", "/feeds", "/at", f"/people/{away[0]}",
                     "/people?status=OFFLINE"):
            self.open(page, self.gateway, view)
            self.assertNotIn("cannot be read", self.words(page), view)
        self.assert_untroubled(now)

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

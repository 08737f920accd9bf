"""The page's list of people in a headless Chromium: its orders, the field of filters, what is different.

Source: V4, V12, V13.
"""

import json
import random
import unittest
import urllib.parse

from page_fleet import HOSTILE, SETTINGS, Told
from rollcall_process import eventually
from test_page import PageTestCase, shot

COUNT = 260
SIZES = {"desktop": (1440, 900), "tablet": (768, 1000), "phone": (390, 844), "narrow": (320, 700)}
ROWS = "[...document.querySelectorAll('tr[data-responder]')].map((one) => one.dataset.responder)"


class PeopleTests(PageTestCase):
    """One fleet for all of them."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.serve_all(SETTINGS + "limits: {items: 1000}\n")
        cls.told = Told(cls.server)
        dice = random.Random(8)
        batches = []
        for number in range(COUNT):
            is_silent = number % 10 == 0
            make, model = ("Huawei", "Mate") if is_silent and dice.random() < 0.9 else (
                "Samsung", "Galaxy Note")
            batches.append(cls.told.batch(
                f"r-{number:03}", dice.choice(["harbour", "old town", "a,b"]),
                "ON_MISSION" if is_silent else "ON_DUTY",
                {"power_mode": "low_power"} if is_silent else None, manufacturer=make, model=model,
                battery_level=dice.randrange(1, 100) / 100, app_version=dice.choice(["4.1", "4.2"])))
        cls.told.tell(*batches)
        eventually(lambda: len(cls.told.offline()) == COUNT // 10, 20, "a tenth is silent")

    def api(self, **query):
        return self.server.get("/v1/responders?" + urllib.parse.urlencode(
            {"limit": 100, **query})).json()

    def names(self, answer):
        return [one["responder_id"] for one in answer["responders"]]

    def rows(self, page, wanted, what):
        page.until(f"{ROWS}.join(' ') === {' '.join(wanted)!r}", what)

    def typed(self, page, text):
        """Types into the field in place of what stands there."""
        page.run("(() => { const field = document.querySelector('input[name=filter]');"
                 "field.focus(); field.select(); })()")
        page.type(text)

    def test_every_size_and_scheme_is_accessible(self):
        for size, (width, height) in SIZES.items():
            for scheme in ("light", "dark"):
                page = self.page(width, height, scheme)
                for view in ("/people", "/people?status=OFFLINE", "/people?q=nobody"):
                    with self.subTest(f"{view} {size} {scheme}"):
                        self.open(page, self.server, view)
                        name = view.strip("/").translate(str.maketrans("/?=", "---"))
                        page.screenshot(shot(f"list-{name}-{size}-{scheme}"), is_whole=False)
                        self.assert_accessible(page, view)
                        self.assert_untroubled(page)
                        small = page.run(
                            "[...document.querySelectorAll('main button, main a, main input')]"
                            ".filter((one) => one.offsetParent)"
                            ".map((one) => [one.innerText, one.getBoundingClientRect().height])"
                            ".filter(([, height]) => height < 23.9)")
                        self.assertEqual(small, [], view)

    def test_each_heading_sorts_on_the_server_both_ways(self):
        page = self.page()
        self.open(page, self.server, "/people")
        self.rows(page, self.names(self.api(sort="-status")), "the worst first")
        self.assertIn(f"{COUNT} people", self.words(page))
        for heading, first, then in (
                ("Battery", "battery", "-battery"), ("Person", "id", "-id"),
                ("Silent for", "-silent_for", "silent_for"), ("Phone", "model", "-model"),
                ("Suspected", "cause", "-cause"), ("Region", "region", "-region")):
            for sort in (first, then):
                page.run(f"[...document.querySelectorAll('thead button')].find("
                         f"(one) => one.innerText.trim() === {heading!r}).click()")
                page.until(f"new URLSearchParams(location.search).get('sort') === {sort!r}", sort)
                self.rows(page, self.names(self.api(sort=sort)), sort)
                shown = [[heading, "descending" if sort.startswith("-") else "ascending"]]
                # Of people who are alike the rows may be the same both ways: the heading is drawn later.
                page.until("JSON.stringify([...document.querySelectorAll('[aria-sort]')].map((one) => "
                           "[one.innerText.trim(), one.getAttribute('aria-sort')])) === "
                           f"{json.dumps(json.dumps(shown, separators=(',', ':')))}", f"{shown}")
        # A link shows the same, and the way back leads through all of it.
        address = page.run("location.pathname + location.search")
        other = self.page()
        self.open(other, self.server, address)
        self.rows(other, self.names(self.api(sort="-region")), "the same by the address")
        page.run("history.back()")
        self.rows(page, self.names(self.api(sort="region")), "back")
        self.assert_untroubled(page)

    def test_what_is_typed_is_what_the_api_is_asked(self):
        page = self.page()
        self.open(page, self.server, "/people")
        for text, query in (
                ("status:offline region:harbour", {"status": "OFFLINE", "region": "harbour"}),
                ('region:"old town" make:Samsung', {"region": "old town", "manufacturer": "Samsung"}),
                ("region:a,b battery:50-100", {"region": "a,b", "battery": "50-100"}),
                ("model:gal* app:4.1 app:4.2", {"model": "gal*", "app_version": "4.1,4.2"}),
                ("power:low_power R-01", {"power_mode": "low_power", "q": "R-01"})):
            self.typed(page, text)
            page.press("Enter")
            for key, value in query.items():
                page.until(f"new URLSearchParams(location.search).get({key!r}) === {value!r}", text)
            sort = {} if "q" in query else {
                "sort": "-silent_for" if "status" in query else "-status"}
            answer = self.api(**query, **sort)
            self.assertGreater(answer["total"], 0, text)
            self.rows(page, self.names(answer), text)
            # The field says what the address says.
            shown = page.run("document.querySelector('input[name=filter]').value")
            for key, value in query.items():
                self.assertIn(value if key == "q" else f"{key}:", shown)
        self.assert_untroubled(page)

    def test_a_wrong_key_or_word_is_named_and_nothing_is_asked(self):
        page = self.page()
        self.open(page, self.server, "/people")
        self.typed(page, "modle:Mate")
        page.press("Enter")
        page.until("document.querySelector('#typed-fault')", "a fault")
        self.assertIn("There is no filter “modle”. Did you mean model?", self.words(page))
        self.assertEqual(page.run("location.search"), "")
        self.open(page, self.server, "/people?cause=tired")
        page.until("document.querySelector('main').innerText.includes('cause: one of')", "it is named")
        page.troubles = [one for one in page.troubles if "400" not in one]
        self.assert_untroubled(page)

    def test_keys_and_values_are_suggested(self):
        page = self.page()
        self.open(page, self.server, "/people")
        options = "[...document.querySelectorAll('[role=option]')].map((one) => one.innerText)"
        self.typed(page, "ca")
        page.until(f"{options}.join() === 'cause:'", "the key")
        page.press("ArrowDown")
        self.assertEqual(page.run("document.querySelector('[aria-selected=true]').innerText"), "cause:")
        page.press("Enter")
        page.until("document.querySelector('input[name=filter]').value === 'cause:'", "taken")
        page.type("low")
        page.until(f"{options}.join() === 'cause:low_power'", "the value")
        page.press("ArrowDown")
        page.press("Enter")
        page.type("region:o")
        page.until(f"{options}.join() === 'region:\"old town\"'", "a region that was seen")
        page.press("Escape")
        page.until(f"{options}.length === 0", "closed")
        self.assert_untroubled(page)

    def test_what_is_different_leads_on(self):
        page = self.page()
        self.open(page, self.server, "/people?status=OFFLINE")
        page.until("document.querySelector('.differ li')", "the panel")
        answer = self.server.get("/v1/differences?status=OFFLINE").json()
        words = self.words(page, ".part-differ")
        for one in answer["differences"]:
            self.assertIn(f"{one['in']} of {one['of']} (", words)
            self.assertIn(f"of all others {one['rest']} of {one['rest_of']} (", words)
        self.assertIn("model", [one["fact"] for one in answer["differences"]])
        page.run("[...document.querySelectorAll('.differ a')].find("
                 "(one) => one.innerText.includes('Mate')).click()")
        page.until("new URLSearchParams(location.search).get('model') === 'Mate'", "the filter is added")
        self.rows(page, self.names(self.api(status="OFFLINE", model="Mate", sort="-silent_for")),
                  "those alone")
        self.open(page, self.server, "/people?q=r-00")
        page.until("document.querySelector('.part-differ')", "the panel")
        if not self.server.get("/v1/differences?q=r-00").json()["differences"]:
            self.assertIn("Nothing that is known of them", self.words(page, ".part-differ"))
        self.open(page, self.server, "/people")
        self.assertFalse(page.run("!!document.querySelector('.part-differ')"))
        self.assert_untroubled(page)

    def test_old_addresses_more_and_the_way_to_a_person(self):
        page = self.page()
        self.open(page, self.server, "/people?status=ONLINE&region=harbour")
        answer = self.api(status="ONLINE", region="harbour", sort="-silent_for")
        self.rows(page, self.names(answer), "as before")
        self.open(page, self.server, "/people?sort=id")
        self.assertIn(f"100 of {COUNT} shown", self.words(page))
        page.run("document.querySelector('.more button').click()")
        page.until(f"{ROWS}.length === 200", "more of them")
        page.run("document.querySelector('tr[data-responder=\"r-017\"] a').click()")
        page.until("location.pathname === '/people/r-017' && !!document.querySelector('.picture')",
                   "a person")
        page.run("history.back()")
        page.until("location.search === '?sort=id' && " + ROWS + ".length >= 100", "the list again")
        self.assert_untroubled(page)

    def test_on_a_phone_rows_are_cards_that_say_what_each_value_is(self):
        page = self.page(390, 844)
        self.open(page, self.server, "/people?status=OFFLINE")
        self.assertEqual(page.run(
            "getComputedStyle(document.querySelector('tbody tr')).display"), "grid")
        self.assertEqual(page.run(
            "getComputedStyle(document.querySelector('.cell-battery'), '::before').content"),
            '"Battery"')
        self.assertEqual(page.run("document.querySelector('table').getAttribute('role')"), "table")


class HostileTests(PageTestCase):
    def test_hostile_names_are_text_in_the_list_and_can_be_chosen(self):
        server = self.serve(SETTINGS)
        told = Told(server)
        for name in HOSTILE:
            told.tell(told.batch(name, name, "ON_MISSION", circles=[name], model=name[:64]))
        told.tell(*(told.batch(f"calm-{n}", "north") for n in range(20)))
        eventually(lambda: told.offline() == set(HOSTILE), 20, "all of them are OFFLINE")
        page = self.page()
        for name in HOSTILE:
            with self.subTest(name):
                query = urllib.parse.urlencode({"region": name})
                self.open(page, server, f"/people?{query}")
                page.until(f"{ROWS}.length === 1", "the one of the region")
                # What the field says means the same again.
                page.run("document.querySelector('form.typed').requestSubmit()")
                page.until(f"{ROWS}.length === 1", "again")
                self.assertEqual(
                    page.run("new URLSearchParams(location.search).get('region')"), name)
        self.open(page, server, "/people?status=OFFLINE")
        self.assertIsNone(page.run("window.ran ?? null"))
        self.assertEqual(page.run("document.querySelectorAll('main img, main script').length"), 0)
        self.assert_untroubled(page)


class NudgeOfOneTests(PageTestCase):
    """A nudge is decided by the clock alone, and no stream tells the page of it."""

    def test_a_nudge_that_comes_while_one_looks_is_seen(self):
        server = self.serve(SETTINGS.replace("stale_after: 3s", "stale_after: 20s"))
        told = Told(server)
        told.tell(told.batch("near", "north"), told.batch("far", "north"))
        page = self.page()
        self.open(page, server, "/people/near?last=15m")
        self.assertIn("and is too old from 20s on", self.words(page))
        page.until("document.querySelector('main').innerText.includes("
                   "'they would have been nudged')", "the nudge of now", seconds=40)
        self.assert_untroubled(page)


if __name__ == "__main__":
    unittest.main()

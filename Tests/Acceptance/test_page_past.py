"""Regions by time on the page, and the fleet as it was, in a headless Chromium."""

import json
import unittest

from browser import CLOCK
from page_fleet import SETTINGS, Told
from rollcall_process import eventually, milliseconds, rfc3339
from test_page import SIZES, PageTestCase, shot
from test_page_states import PATCHING, PatchedTestCase

NARROW = {**SIZES, "tablet": (768, 1024), "smallest": (320, 640)}
READY = "document.querySelector('.strip .cell')"
CELLS = "[...document.querySelectorAll('[data-strip]')].map((row) => [row.dataset.strip, " \
        "[...row.querySelectorAll('.cell')].map((one) => one.className.replace('cell is-', ''))])"
# Six hours of every kind of cell.
HISTORY = """(all) => {
  const steps = 72;
  const first = Math.floor(loaded / 300000) * 300000 - (steps - 1) * 300000;
  const at = (step, seconds = 0) => new Date(first + step * 300000 + seconds * 1000).toISOString();
  const list = (value) => Array.from({length: steps}, (_, step) =>
    (step === 30 || step === 31 ? null : value(step)));
  const region = (name, online, offline, more = {}) => ({
    region: name, must_be_staffed: false, alerts: [],
    now: {responders: {ONLINE: online(71), DEGRADED: 0, UNKNOWN: 0, OFFLINE: offline(71)},
          active: online(71) + offline(71), not_expected: 0},
    responders: {ONLINE: list(online), OFFLINE: list(offline)}, ...more});
  const dark = (step) => step >= 68;
  return {...all, since: at(0), until: new Date(loaded).toISOString(), as_of: all.as_of,
    first_step_at: at(0), step_seconds: 300, next: '24', truncated: false,
    samples: list(() => 5).map((one) => one ?? 0),
    blind: [{reason: 'stopped', since: at(30), until: at(32)}], alerts: [],
    regions: [
      region('harbour', (step) => dark(step) ? 0 : 98, (step) => dark(step) ? 98 : 0,
        {minute: list(() => 3).map((one) => one ?? 0), alerts: [{
          incident: 41, alertname: 'NoOnlineResponders', severity: 'critical', starts_at: at(68, 30),
          ended_at: null, paged_at: at(69, 10), takes: []}]}),
      {region: 'lighthouse', must_be_staffed: true, alerts: [], responders: {},
       now: {responders: {ONLINE: 0, DEGRADED: 0, UNKNOWN: 0, OFFLINE: 0}, active: 0, not_expected: 0},
       unstaffed: list((step) => step >= 60 ? 1 : 0)},
      region('east', (step) => 78, (step) => 3),
      region('north', (step) => step === 40 ? 30 : 86, (step) => step === 40 ? 60 : 6),
      region('airport', (step) => step === 41 ? 60 : 85, (step) => step === 41 ? 27 : 2),
      region('<b>old</b>\\u202etown', (step) => step === 42 ? 60 : 73, (step) => step === 42 ? 14 : 1),
    ]};
}"""


class StripTests(PatchedTestCase):
    """The strip of a made-up night."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.serve_all(SETTINGS)
        Told(cls.server).tell(Told(cls.server).batch("kim", "north"))

    def strip(self, *size):
        page = self.patched(self.server, "/", {"/v1/regions/history": HISTORY}, *size)
        page.until(READY, "the strip")
        return page

    def test_every_kind_of_cell_is_drawn_in_every_size_and_scheme(self):
        for size, (width, height) in NARROW.items():
            for scheme in ("light", "dark"):
                page = self.strip(width, height, scheme)
                page.screenshot(shot(f"strip-{size}-{scheme}"))
                self.assert_accessible(page, f"{size} {scheme}")
                self.assert_untroubled(page)
        for width, columns in ((1440, (72,)), (768, (36, 37)), (320, (18, 19))):
            page = self.strip(width, 800)
            rows = dict(page.run(CELLS))
            self.assertIn(len(rows["harbour"]), columns)
            self.assertEqual({len(cells) for cells in rows.values()}, {len(rows["harbour"])})
            self.assertEqual(rows["harbour"][-1], "dark")
            self.assertEqual(rows["lighthouse"][-1], "unstaffed")

    def test_a_cell_says_what_the_answer_says(self):
        page = self.strip()
        rows = dict(page.run(CELLS))
        harbour, lighthouse = rows["harbour"], rows["lighthouse"]
        self.assertEqual(harbour, ["well"] * 30 + ["blind"] * 2 + ["well"] * 36 + ["dark"] * 4)
        self.assertEqual(
            lighthouse, ["empty"] * 30 + ["blind"] * 2 + ["empty"] * 28 + ["unstaffed"] * 12)
        self.assertEqual([rows["north"][40], rows["airport"][41]], ["many", "some"])
        self.assertEqual(rows["<b>old</b>\u202etown"][42], "few")
        ends = page.run("[...document.querySelectorAll('.strip-end')].map((one) => one.innerText)")
        self.assertEqual(ends[0], "98 of 98 silent")
        self.assertRegex(ends[1], f"unstaffed since {CLOCK}")
        self.assertEqual(ends[2], "78 of 81 ONLINE")
        label = "document.querySelectorAll('[data-strip=harbour] .cell')[%d].ariaLabel"
        self.assertRegex(
            page.run(label % 68), f"harbour, {CLOCK} to {CLOCK}: nobody of 98 can be reached; "
            "NoOnlineResponders fired, incident 41")
        self.assertIn("told of incident 41", page.run(label % 69))
        self.assertIn("98 of 98 ONLINE", page.run(label % 0))
        self.assertIn("not watching", page.run(label % 30))
        # Names are text, and what would turn them is shown.
        self.assertIn("<b>old</b>⟨U+202E⟩town", self.words(page, ".strip"))
        # As text, for whoever does not see it.
        page.run("document.querySelector('.strip details').open = true")
        words = self.words(page, ".strip details")
        self.assertRegex(words, rf"harbour: 98 of 98 silent\. nobody can be reached {CLOCK} to")
        self.assertIn("Rollcall was stopped", words)
        self.assertIn("Show more regions", self.words(page, ".strip"))

    def test_kinds_of_cells_differ_without_any_hue(self):
        """Each pair of kinds differs by at least 3 : 1 somewhere in its cells, in greys."""
        for scheme in ("light", "dark"):
            page = self.strip(1440, 900, scheme)
            look = """(() => {
              const lum = (text) => {
                const parts = text.match(/[\\d.]+/g).map(Number);
                const [r, g, b] = parts.map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92
                  : ((c / 255 + 0.055) / 1.055) ** 2.4));
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
              };
              const style = getComputedStyle(document.documentElement);
              const probe = document.createElement('i');
              document.body.append(probe);
              const found = {};
              for (const name of ['well', 'well-line', 'late-bar', 'dark-fill', 'cell-line', 'hatch',
                'hatch-ground', 'paper', 'card', 'ink']) {
                probe.style.color = style.getPropertyValue('--' + name);
                found[name] = lum(getComputedStyle(probe).color);
              }
              probe.remove();
              return found;
            })()"""
            light = page.run(look)
            page.troubles.clear()

            def contrast(a, b):
                high, low = sorted((light[a], light[b]), reverse=True)
                return (high + 0.05) / (low + 0.05)

            for a, b in (("late-bar", "well"), ("dark-fill", "well"), ("dark-fill", "paper"),
                         ("well-line", "paper"), ("hatch", "hatch-ground"), ("hatch", "well"),
                         ("cell-line", "paper"), ("dark-fill", "card"), ("ink", "card"),
                         ("well-line", "well")):
                self.assertGreaterEqual(contrast(a, b), 3, f"{a} {b} {scheme}")

    def test_one_tab_stop_arrows_and_enter(self):
        page = self.strip()
        stops = "document.querySelectorAll('.strip .grid [tabindex=\"0\"]').length"
        self.assertEqual(page.run(stops), 1)
        self.assertEqual(page.run(
            "[...document.querySelectorAll('.strip .grid a, .strip .grid [data-place]')]"
            ".filter((one) => one.tabIndex === 0).length"), 1)
        page.run("document.querySelector('.strip .grid [tabindex=\"0\"]').focus()")
        at = "[document.activeElement.closest('[data-strip]')?.dataset.strip, " \
             "document.activeElement.dataset.place === 'name' ? 'name' : " \
             "[...document.activeElement.parentNode.children].indexOf(document.activeElement)]"
        self.assertEqual(page.run(at), ["harbour", 71])
        for key, where in (("ArrowLeft", ["harbour", 70]), ("ArrowDown", ["lighthouse", 70]),
                           ("ArrowRight", ["lighthouse", 71]), ("ArrowRight", ["lighthouse", 71]),
                           ("Home", ["lighthouse", "name"]), ("ArrowRight", ["lighthouse", 0]),
                           ("End", ["lighthouse", 71]), ("PageUp", ["harbour", 71]),
                           ("ArrowUp", ["harbour", 71]), ("ArrowLeft", ["harbour", 70])):
            page.press(key)
            self.assertEqual(page.run(at), where, key)
            self.assertEqual(page.run(stops), 1)
        minute = page.run("Number(document.activeElement.dataset.at)")
        page.press("Enter")
        page.until("location.pathname === '/at'", "the minute")
        page.until("document.querySelector('.past')", "the past")
        query = page.run("Object.fromEntries(new URLSearchParams(location.search))")
        self.assertEqual(query["region"], "harbour")
        self.assertEqual(milliseconds(query["t"]), minute // 60_000 * 60_000)
        self.assert_untroubled(page)

    def test_the_focus_stays_where_it_is_when_the_strip_is_drawn_again(self):
        page = self.strip()
        # Of two neighbours one begins no column any more.
        for place in (50, 51):
            page.resize(1440, 900, "light")
            page.until("document.querySelectorAll('[data-strip=east] .cell').length > 40", "more", 5)
            page.run(f"document.querySelectorAll('[data-strip=east] .cell')[{place}].focus()")
            begin = page.run("Number(document.activeElement.dataset.place)")
            page.resize(768, 900, "light")
            page.until("document.querySelectorAll('[data-strip=east] .cell').length < 40", "fewer", 5)
            self.assertEqual(page.run("document.activeElement.closest('[data-strip]').dataset.strip"), "east")
            self.assertIn(begin - page.run("Number(document.activeElement.dataset.place)"), (0, 300_000))
            self.assertEqual(
                page.run("document.querySelectorAll('.strip .grid [tabindex=\"0\"]').length"), 1)
            self.assertEqual(page.run("document.activeElement.tabIndex"), 0)
        self.assert_untroubled(page)

    def test_marks_stand_in_their_cells_and_a_phone_explains_what_it_shows(self):
        for width, height in NARROW.values():
            page = self.strip(width, height)
            outside = page.run(
                "[...document.querySelectorAll('.grid .cell > i')].map((one) => ["
                "one.getBoundingClientRect(), one.parentNode.getBoundingClientRect()]).filter("
                "([mark, cell]) => mark.top < cell.top || mark.bottom > cell.bottom"
                " || mark.left < cell.left - 1 || mark.right > cell.right + 1).length")
            self.assertEqual(outside, 0, width)
            shown = page.run("[...document.querySelectorAll('.strip figcaption > span')]"
                             ".filter((one) => one.offsetParent).map((one) => one.innerText.trim())")
            self.assertEqual("a quarter or more" in shown, True)
            drawn = page.run("!!document.querySelector('.grid .is-none')")
            self.assertEqual("not counted" in shown, drawn or width > 672)


class MomentTests(PageTestCase):
    """The fleet as it was, of a fleet that has a past."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.serve_all(SETTINGS)
        cls.told = Told(cls.server)
        cls.silent = cls.told.fleet()
        incident = next(one["incident"] for one in cls.told.firing()
                        if one["labels"].get("region") == "harbour")
        cls.server.write(f"/v1/incidents/{incident}/take", {"by": "kim", "duration": "30m"})
        # The minute is counted again after a start, with all that is going on.
        cls.server.kill()
        cls.server.start()
        cls.server.drop_client()
        # The next minute may begin at any time: the one that was counted is kept.
        cls.then = eventually(cls.newest, 10, "a count")

    @classmethod
    def newest(cls):
        """The last minute, once it was counted."""
        found = cls.server.get("/v1/regions/history?step=1m").json()
        return found if found["samples"][-1] > 0 else None

    def moment(self, *size):
        page = self.page(*size)
        at = self.then["sampled_at"][:16] + "Z"
        self.open(page, self.server, f"/at?t={at}")
        page.until("document.querySelector('.part-then-regions')", "the past")
        return page

    def test_a_minute_of_the_past_says_what_the_api_says(self):
        page = self.moment()
        at = self.then["sampled_at"]
        gaps = self.server.get(f"/v1/gaps?at={at}").json()["gaps"]
        shown = page.run("[...document.querySelectorAll('.part-then-silent .gap')]"
                         ".map((one) => one.dataset.responder)")
        self.assertEqual(sorted(shown), sorted(one["responder_id"] for one in gaps))
        self.assertEqual(set(shown), self.silent)
        regions = page.run(
            "Object.fromEntries([...document.querySelectorAll('[data-then]')].map((row) => "
            "[row.dataset.then, [...row.querySelectorAll('td')].map((one) => Number(one.innerText))]))")
        for one in self.then["regions"]:
            counts = [one["responders"].get(word, [0])[-1] for word in (
                "ONLINE", "DEGRADED", "UNKNOWN", "OFFLINE")]
            if any(counts):
                self.assertEqual(regions[one["region"]], counts)
        words = self.words(page)
        # A number is not far from the name that it belongs to.
        page.resize(768, 1024, "light")
        far = page.run("Math.max(...[...document.querySelectorAll('[data-then]')].map((row) => "
                       "row.lastElementChild.getBoundingClientRect().right - row.getBoundingClientRect().left))")
        self.assertLess(far, 480)
        self.assertIn("This is the past.", words)
        self.assertIn("taken by kim", words)
        self.assertIn("suspected: permission denied", words)
        fired = page.run("[...document.querySelectorAll('[data-incident]')].map("
                         "(one) => Number(one.dataset.incident))")
        self.assertLessEqual({one["incident"] for one in self.told.firing()}, set(fired))
        self.assert_untroubled(page)

    def test_it_looks_right_and_is_accessible_in_every_size_and_scheme(self):
        for size, (width, height) in NARROW.items():
            for scheme in ("light", "dark"):
                page = self.moment(width, height, scheme)
                page.screenshot(shot(f"moment-{size}-{scheme}"))
                self.assert_accessible(page, f"{size} {scheme}")
                self.assert_untroubled(page)

    def test_the_slider_moves_by_keys_and_the_address_follows(self):
        page = self.moment()
        before = page.run("new URLSearchParams(location.search).get('t')")
        page.run("document.querySelector('.past input').focus()")
        page.press("ArrowLeft", "ArrowLeft")
        page.until(f"new URLSearchParams(location.search).get('t') !== {json.dumps(before)}",
                   "another minute")
        after = page.run("new URLSearchParams(location.search).get('t')")
        self.assertEqual(milliseconds(before) - milliseconds(after), 60_000)
        self.assertEqual(page.run("document.activeElement.type"), "range")
        self.assertIn("UTC", page.run("document.activeElement.getAttribute('aria-valuetext')"))
        page.until("!document.querySelector('.past').innerText.includes('Asking')", "it is read")
        page.run("[...document.querySelectorAll('.past a')].find("
                 "(one) => one.innerText === '1 min later').click()")
        page.until(f"new URLSearchParams(location.search).get('t') === {json.dumps(before)}", "back")
        page.run("[...document.querySelectorAll('.past a')].find("
                 "(one) => one.innerText === 'Back to now').click()")
        page.until("location.pathname === '/'", "now")
        page.until("document.querySelector('.numbers')", "the fleet of now")
        self.assert_untroubled(page)

    def test_a_minute_that_is_not_there_says_which_is_shown_instead(self):
        page = self.page()
        for asked, words in (("tomorrow", "“tomorrow” is no time"), ("2026-02-30T10:00Z", "is no time"),
                             ("2999-01-01T00:00Z", "is still to come")):
            self.open(page, self.server, f"/at?t={asked}")
            page.until("document.querySelector('.part-then-regions')", "another minute")
            notice = self.words(page, ".past .other")
            self.assertIn("That minute is not there: ", notice)
            self.assertIn(words, notice)
            shown = self.words(page, "h1").removeprefix("The fleet as it was at ")
            self.assertIn(f"Shown is {shown}.", notice)
        self.moment_of_nobody()

    def moment_of_nobody(self):
        page = self.page()
        page.tell("Page.addScriptToEvaluateOnNewDocument", {"source": PATCHING + (
            "window.patches['/v1/regions/history'] = (all) => ({...all, samples: [1], blind: [], alerts: [],"
            "regions: [{region: 'north', responders: {}, alerts: [], must_be_staffed: false, now: null}]});"
            "window.patches['/v1/gaps'] = (all) => ({...all, gaps: [], next: null});")})
        self.open(page, self.server, f"/at?t={self.then['sampled_at'][:16]}Z")
        page.until("document.querySelector('.part-then-regions')", "the past")
        self.assertEqual(page.run("document.querySelectorAll('.then').length"), 0)
        self.assertIn("Nobody was expected in any region then.", self.words(page))
        self.assertIn("Nobody was expected then.", self.words(page, ".part-then-silent"))
        self.assert_untroubled(page)

    def test_a_minute_that_nobody_counted_says_so(self):
        page = self.page()
        past = rfc3339(milliseconds(self.then["sampled_at"]) - 86_400_000)
        self.open(page, self.server, f"/at?t={past}")
        page.until("document.querySelector('.part-then-regions')", "the past")
        words = self.words(page)
        self.assertIn("Nobody was counted in this minute.", words)
        self.assertIn("Nothing fired then", words)
        self.assert_untroubled(page)


if __name__ == "__main__":
    unittest.main()

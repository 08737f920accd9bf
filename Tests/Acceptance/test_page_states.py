"""What the page says in rare hours: nobody was reached, an incident is over, much was unseen."""

import json
import unittest
import urllib.parse

from browser import CLOCK
from page_fleet import SETTINGS, Told
from rollcall_process import eventually
from test_page import SIZES, PageTestCase, shot

# Answers that a test makes other than the server gives them: `patches` has a function by path.
PATCHING = """
    window.patches = {};
    const asked = window.fetch.bind(window);
    // A status that a test makes comes by asking: of a stream nothing is changed.
    window.streams = new AbortController();
    window.fetch = async (address, options) => {
      const path = new URL(address).pathname;
      if (path === "/v1/events") {
        if (window.patches["/v1/status"]) return new Response("{}", {status: 503});
        const signal = AbortSignal.any([options.signal, window.streams.signal]);
        return await asked(address, {...options, signal});
      }
      const answer = await asked(address, options);
      const patch = window.patches[path];
      if (!patch || !answer.ok) return answer;
      return new Response(JSON.stringify(patch(await answer.json())), {
        status: answer.status, headers: answer.headers});
    };
    // Of one instant: two answers, or two times in one, are as far apart as they say.
    const loaded = Date.now();
    const ago = (seconds) => new Date(loaded - seconds * 1000).toISOString();
"""


class PatchedTestCase(PageTestCase):
    """A page that is answered what is rare to see."""

    def patched(self, server, path, patches, *size):
        """A page at a view; `patches` are JavaScript functions by the path whose answer they
        change."""
        page = self.page(*size)
        functions = "".join(f"window.patches[{json.dumps(one)}] = {code};"
                            for one, code in patches.items())
        page.tell("Page.addScriptToEvaluateOnNewDocument", {
            "source": f"{PATCHING}{functions}"})
        self.open(page, server, path)
        return page

    def shots(self, page, name):
        """The page in both sizes and schemes, each of them accessible."""
        for size, (width, height) in SIZES.items():
            for scheme in ("light", "dark"):
                page.resize(width, height, scheme)
                page.screenshot(shot(f"{name}-{size}-{scheme}"))
                self.assert_accessible(page, f"{name} {size} {scheme}")


class HeldTests(PatchedTestCase):
    """Many who are held for one reason are one entry, and the reason is one."""

    LEDGER = """(all) => {
      const entry = (id, at, more) => ({id, at: ago(at), responder_id: `r-${id % 40}`, decision: 'hold',
        reason: 'throttled', until: ago(-7200), dry_run: false, asked: false, cause: 'app_suspended',
        stale_seconds: 900, text: 'not nudged: for one of two reasons', ...more});
      const held = (from, count, at, more) => Array.from({length: count}, (_, n) =>
        entry(from + n, at + n, more));
      return {...all, mode: 'live', frozen_until: FROZEN, next: null, nudges: [
        ...held(100, 50, 10), ...held(200, 4, 70, {reason: 'solo', until: null}),
        ...held(230, 2, 74, {reason: 'no_token', until: null}),
        entry(300, 90, {decision: 'send', reason: null, until: null, text: 'nudged'}),
        ...held(400, 3, 95, {reason: 'solo', until: null})]};
    }"""

    def test_many_who_are_held_alike_are_one_entry_that_shows_each(self):
        server = self.serve(SETTINGS)
        page = self.patched(server, "/nudges", {"/v1/nudges": self.LEDGER.replace("FROZEN", "null")})
        groups = page.run("[...document.querySelectorAll('.group > .what')].map((one) => one.innerText"
                          ".replace(/\\s+/g, ' '))")
        self.assertEqual(len(groups), 3)
        self.assertRegex(groups[0], r"^held, 50 times They were nudged not long before\. between ")
        self.assertRegex(groups[1], r"^held, 4 times Nobody else of their circles is active\. between ")
        # A nudge in between begins anew.
        self.assertRegex(groups[2], r"^held, 3 times Nobody else of their circles is active\. between ")
        self.assertRegex(self.words(page, ".group .who"), r"^40 people r-\d+, r-\d+, r-\d+ and 37 more$")
        self.assertEqual(page.run("[...document.querySelectorAll('.ledger > .entry')].length"), 6)
        self.assertEqual(page.run("document.querySelectorAll('.group .entry').length"), 57)
        self.assertFalse(page.run("document.querySelector('.group .entry').checkVisibility()"))
        page.run("document.querySelector('.group summary').click()")
        self.assertTrue(page.run("document.querySelector('.group .entry').checkVisibility()"))
        self.shots(page, "held")
        self.assert_untroubled(page)

    def test_a_freeze_is_named_where_it_is_the_reason(self):
        server = self.serve(SETTINGS)
        page = self.patched(
            server, "/nudges", {"/v1/nudges": self.LEDGER.replace("FROZEN", "ago(-7200)")})
        words = self.words(page, ".group .what")
        self.assertIn("Nudges are frozen, because the clock stepped or the store is an older one.", words)
        self.assertNotIn(" or nudges", words)
        self.assert_untroubled(page)


class TellingTests(PatchedTestCase):
    """D1: told is only who took it, and that nobody was reached comes first."""

    RECEIVERS = """(all) => ({...all, alerts: [{
        alertname: 'NoOnlineResponders', state: 'firing', severity: 'critical', incident: 1,
        labels: {region: 'north'}, annotations: {summary: 'Nobody can be reached in north'},
        active_at: ago(200), starts_at: ago(140), count: 3, total: 3,
        told: [{receiver: 'pager', at: ago(140)}], muted: [], receivers: [
          {receiver: 'chat', state: 'taken', decided_at: ago(140), attempts: 1, taken_at: ago(139)},
          {receiver: 'pager', target: 1, state: 'trying', decided_at: ago(140), attempts: 4,
           last_error: 'connection refused', next_attempt_at: ago(-9.5)},
          {receiver: 'late', state: 'waiting', decided_at: ago(140), attempts: 0},
          {receiver: 'shut', state: 'refused', decided_at: ago(140), attempts: 1,
           last_error: '403 \u202ewrong key'},
          {receiver: 'gone', state: 'expired', decided_at: ago(140), attempts: 90,
           last_error: 'timed out'},
          {receiver: 'brief', state: 'dropped', decided_at: ago(140), attempts: 0}]}]})"""

    def test_each_receiver_stands_with_what_became_of_it(self):
        server = self.serve(SETTINGS)
        page = self.patched(server, "/", {"/v1/alerts": self.RECEIVERS})
        for view in ("/", "/alerts"):
            self.open(page, server, view)
            words = self.words(page)
            self.assertRegex(words, r"told chat 2 min [1-5]\d s ago")
            self.assertRegex(words, r"pager \(address 2\) has not taken it: 4 attempts, the last "
                                    r"error: connection refused; the next try is (in \d s|due)")
            self.assertRegex(
                words, r"late is not told yet: it was decided 2 min [1-5]\d s ago and waits")
            self.assertIn("shut refuses it, the last error: 403 ⟨U+202E⟩wrong key", words)
            self.assertIn(
                "gone never took it; given up after 90 attempts, the last error: timed out", words)
            self.assertIn("brief was not told: it was given up before it was sent", words)
            for receiver in ("pager", "late", "shut", "gone", "brief"):
                self.assertNotIn(f"told {receiver}", words)
        self.shots(page, "receivers")
        self.assert_untroubled(page)

    def test_who_sees_to_an_alert_stands_first_and_who_is_told_later_last(self):
        server = self.serve(SETTINGS)
        page = self.patched(server, "/alerts", {"/v1/alerts": """(all) => ({...all, alerts: [{
            alertname: 'NoOnlineResponders', state: 'firing', severity: 'critical', incident: 1,
            labels: {region: 'north'}, annotations: {summary: 'Nobody can be reached in north'},
            active_at: ago(200), starts_at: ago(140), count: 3, total: 3, told: [], muted: [],
            taken: {by: 'kim \\u202e<b>', token: 'desk', note: 'calling <i>harbour</i>',
              at: ago(60), until: ago(-1800), incident: 1},
            escalations: [{receiver: 'boss', at: ago(-1800)}], receivers: []}]})"""})
        words = self.words(page, ".telling")
        self.assertRegex(
            words, rf"^kim ⟨U\+202E⟩<b> sees to it until {CLOCK}: calling <i>harbour</i> boss is told "
                   rf"at {CLOCK} unless somebody takes it$")
        self.assertNotIn("no receiver is set", words)
        self.shots(page, "taken")
        self.assert_untroubled(page)

    def test_alerting_is_not_well_while_somebody_does_not_take_it(self):
        server = self.serve(SETTINGS)
        receivers = "receivers: [{receiver: 'pager', state: 'refused', attempts: 1}]"
        alert = """(all) => ({...all, alerts: [{alertname: 'NoOnlineResponders', state: 'firing',
            severity: 'critical', incident: 1, labels: {region: 'north'},
            annotations: {summary: 'Nobody can be reached in north'},
            active_at: ago(20), starts_at: ago(20), count: 3, total: 3, told: [], muted: [],
            WAYS}]})"""
        pending = "(all) => ({...all, receivers: [{name: 'pager', kind: 'webhook', pending: 2}]})"
        quiet = ("(all) => ({...all, last_batch_at: ago(1), "
                 "receivers: [{name: 'pager', kind: 'webhook', pending: 0}]})")
        nothing = "(all) => ({...all, alerts: []})"
        for kind, words, status, alerts in (
                ("bad", "pager does not take alerts", pending, alert.replace("WAYS", receivers)),
                ("bad", "no receiver is set for 1 alert that fires", quiet,
                 alert.replace("WAYS", "receivers: []")),
                ("late", "messages wait for pager", pending, nothing),
                ("good", "nothing waits", quiet, nothing)):
            page = self.patched(server, "/", {"/v1/status": status, "/v1/alerts": alerts})
            self.assertEqual(self.words(page, f".part-health .flag.is-{kind}"), words)
            if words.startswith("no receiver"):
                # It looks as bad as a retry does.
                self.assertIn("nobody is told", self.words(page, ".way.is-none"))
                self.shots(page, "no-receiver")
            self.assert_untroubled(page)

    def test_it_is_said_why_nobody_is_waited_for_any_more(self):
        """Only who took it was reached: a silence and an end reach nobody."""
        server = self.serve(SETTINGS)
        unreached = ("(all) => ({...all, nobody_reached: {alerts: 1, since: ago(360), "
                     "incidents: [1], reason: 'not_taken'}, alerts: {...all.alerts, silences: 0}})")
        waits = self.RECEIVERS.replace("state: 'taken'", "state: 'waiting'")
        silences = """(all) => ({...all, silences: [{id: 7, state: 'active', author: 'kim',
            comment: 'the mast', matchers: ['region=north'], ends_at: ago(-3600),
            muting: ['NoOnlineResponders{region="north"}']}]})"""
        over = "(all) => ({...all, nobody_reached: null})"
        for words, status, alerts in (
                ("Somebody has been reached", over, self.RECEIVERS),
                ("Silenced; nobody was told", over.replace("null", "null, alerts: {silences: 1}"),
                 waits),
                ("The critical alert that nobody took is over", over,
                 "(all) => ({...all, alerts: []})"),
                ("Muted; nobody was told", over,
                 waits.replace("muted: []", "muted: [{receiver: 'chat', reason: 'blind'}]"))):
            page = self.patched(server, "/", {
                "/v1/status": unreached, "/v1/alerts": waits, "/v1/silences": silences})
            self.assertIn("Nobody has been reached", self.words(page, ".banner"))
            page.run(f"window.patches['/v1/status'] = {status};"
                     f"window.patches['/v1/alerts'] = {alerts}; 0")
            page.until("!document.querySelector('.banner')", words)
            page.until(f"document.getElementById('said').innerText.split('.')[0] === {json.dumps(words)}",
                       words)
            self.assertEqual(
                "firing, silenced until" in self.words(page), words.startswith("Silenced"))
            self.assert_untroubled(page)

    def test_that_nobody_was_reached_is_said_first(self):
        server = self.serve(SETTINGS)
        reached = "(all) => ({...all, nobody_reached: {alerts: 2, since: ago(360), "
        page = self.patched(server, "/", {
            "/v1/status": reached + "incidents: [1, 2], reason: 'not_taken'}})",
            "/v1/alerts": self.RECEIVERS})
        banner = self.words(page, ".banners > :first-child")
        self.assertRegex(banner, r"^Nobody has been reached: no receiver has taken 2 critical alerts, "
                                 r"firing since .*, for 6 min\. Call whoever is on duty yourself\.")
        self.assertTrue(page.run("document.title").startswith("Nobody reached · "))
        self.assertEqual(self.words(page, ".sight"), "Nobody reached")
        self.assertIn("no receiver has taken 2 critical alerts", self.words(page, ".part-health"))
        self.shots(page, "nobody-reached")
        self.open(page, server, "/feeds")
        self.assertIn("Nobody has been reached: no receiver has taken 2 critical alerts.",
                      self.words(page, ".part-receivers"))
        self.shots(page, "nobody-reached-health")
        page = self.patched(server, "/", {
            "/v1/status": reached + "incidents: [1, 2], reason: 'no_receiver'}})"})
        self.assertIn("Nobody has been reached: no receiver is set for 2 critical alerts",
                      self.words(page, ".banner"))
        page = self.patched(
            server, "/", {"/v1/status": "(all) => ({...all, nobody_reached: null})"})
        self.assertNotIn("been reached", self.words(page))
        self.assert_untroubled(page)


class ForeignAnswerTests(PatchedTestCase):
    """B4: what is not Rollcall's answer is no contact, and no part stops another."""

    def test_an_answer_of_another_shape_is_no_contact_and_the_age_goes_on(self):
        server = self.serve(SETTINGS)
        told = Told(server)
        told.tell(told.batch("kim", "north"))
        for path in ("/v1/status", "/v1/alerts", "/v1/gaps"):
            page = self.patched(server, "/", {})
            self.assertEqual(self.words(page, ".sight"), "Watching")
            page.run(f"window.patches['{path}'] = () => ({{status: 'maintenance'}});"
                     "window.streams.abort(); window.streams = new AbortController();"
                     "document.querySelector('nav a').click(); 0")
            page.until("document.querySelector('.banner.is-lost')", f"no contact: {path}")
            self.assertIn("What answers is not Rollcall.", self.words(page, ".banner"))
            self.assertIn("1", page.text("[data-count=reachable]"))
            first = page.text("footer")
            page.until(
                f"document.querySelector('footer').innerText !== {json.dumps(first)}", "it ages")
            self.assertIn("No contact for", self.words(page, ".sight"))
            page.run(f"delete window.patches['{path}']; "
                     "document.querySelector('.banner button').click()")
            page.until("!document.querySelector('.banner')", "it is heard again")
            self.assert_untroubled(page)

    def test_a_part_that_cannot_be_drawn_stops_no_other(self):
        server = self.serve(SETTINGS)
        told = Told(server)
        told.tell(told.batch("kim", "north"))
        page = self.patched(server, "/", {
            "/v1/regions/history": "(all) => ({...all, regions: [{region: 'north'}]})"})
        self.assertIn("This part cannot be drawn.", self.words(page))
        self.assertEqual(page.text("[data-count=reachable]"), "1")
        self.assertIn("Running for", self.words(page, ".part-health"))
        first = page.text("footer")
        page.until(
            f"document.querySelector('footer').innerText !== {json.dumps(first)}", "it ages")
        self.assertTrue(page.troubles, "what went wrong is on the console")


class TrueWordsTests(PatchedTestCase):
    """D7: what stands beside something true is true as well."""

    def test_a_young_server_did_not_watch_for_an_hour(self):
        page = self.page()
        self.open(page, self.serve(), "/feeds")
        self.assertRegex(self.words(page, ".part-sight"), r"It watched throughout the last \d+ s\.")

    def test_a_clock_that_is_off_is_named_with_its_source(self):
        """D10: in the server's own sentence."""
        page = self.patched(self.serve(), "/feeds", {
            "/v1/status": """(all) => ({...all, clocks: [{
                source: 'pod-1', state: 'corrected', skew_seconds: 31.2, correction_seconds: 31,
                text: 'source pod-1\u202e: its clock is 31 s behind ours; its times are corrected'
            }]})"""})
        words = self.words(page, ".part-sources")
        self.assertIn("source pod-1⟨U+202E⟩: its clock is 31 s behind ours; its times are corrected.",
                      words)
        self.assertEqual(self.words(page, "nav .badge"), "1")
        self.shots(page, "clocks")
        self.assert_untroubled(page)

    def test_who_was_not_heard_since_nobody_watched_is_not_well(self):
        """B4: they are counted and drawn hollow, and nobody says that all were heard."""
        server = self.serve(SETTINGS)
        told = Told(server)
        told.tell(told.batch("kim", "north"), told.batch("lee", "north"))
        all_well = "Everybody who is expected was heard within their threshold"
        page = self.page()
        self.open(page, server)
        self.assertIn(all_well, self.words(page))
        self.assertIn("All 2 can be reached.", self.words(page))
        told.blind_for_a_while()
        told.tell(told.batch("lee", "north"))
        found = server.get("/v1/responders?status=ONLINE&reachable=unknown").json()["responders"]
        self.assertEqual([one["responder_id"] for one in found], ["kim"])
        self.open(page, server)
        words = self.words(page)
        self.assertIn("1 of 2 can be reached; 1 has not been heard again yet.", words)
        self.assertIn("Nobody is known to be silent", words)
        self.assertNotIn(all_well, words)
        self.shots(page, "not-confirmed")
        self.assert_untroubled(page)

    def test_numbers_and_tabs_stay_whole_where_there_is_little_room(self):
        server = self.serve(SETTINGS)
        page = self.patched(server, "/", {
            "/v1/status": """(all) => ({...all, responders: {active: 9941, ONLINE: 4970,
                DEGRADED: 4970, UNKNOWN: 1, OFFLINE: 4970}, gaps: {open: 0, suspected: {}},
                reachable: {yes: 4970, of: 9941, at_most: true}})"""},
            320, 640)
        self.assertEqual(page.run(
            "[...document.querySelectorAll('.number strong')].filter((one) => "
            "one.getClientRects().length !== 1 || one.scrollWidth > one.clientWidth || "
            "one.clientHeight > 2 * parseFloat(getComputedStyle(one).fontSize)).length"), 0)
        self.assertEqual(page.run(
            "[...document.querySelectorAll('nav a, .number .word')].filter("
            "(one) => one.getBoundingClientRect().right > innerWidth).length"), 0)
        page.screenshot(shot("narrow-light"))
        self.assert_accessible(page, "narrow")
        # No label lies on its neighbour.
        self.assertEqual(page.run(
            "(() => { const all = [...document.querySelectorAll('.number .word')].map((one) => "
            "one.getBoundingClientRect()); return all.filter((a, n) => all.some((b, m) => m > n && "
            "a.top < b.bottom && b.top < a.bottom && a.left < b.right && b.left < a.right)).length"
            "; })()"), 0)
        self.assert_untroubled(page)

    def test_an_incident_lasted_until_its_end_and_not_until_now(self):
        page = self.patched(self.serve(SETTINGS), "/alerts?incident=1", {
            "/v1/alerts/history": """(all) => ({...all, incidents: [{
                incident: 1, alertname: 'HighOfflineRate', severity: 'warning', state: 'resolved',
                labels: {}, annotations: {summary: '58 of 300 offline: 58 mass_gap'},
                starts_at: ago(1920), ended_at: ago(1140), count: 58, total: 300, value: 0.1933,
                threshold: 0.1, for_ms: 60000, causes: [], members: [], changes: [], muted: [],
                notices: []}]})"""})
        words = self.words(page)
        self.assertRegex(words, r"resolved \S+( \w+ \S+)?; it fired .*, for 13 min")
        self.assertNotIn("19 min", words)

    def test_a_story_says_what_was_waited_for_and_what_was_watched(self):
        server = self.serve(SETTINGS)
        Told(server).tell(Told(server).batch("kim", "north"))
        page = self.patched(server, "/people/kim", {
            "/v1/responders/kim/timeline": """(all) => ({...all, next: null, events: [
                {kind: 'nudge', at: ago(60), followed: 'silent'},
                {kind: 'gap', at: ago(240), state: 'closed', suspected: 'no_network',
                 evidence: {opened_at: ago(1380), length_ms: 780000}},
                {kind: 'gap', at: ago(340), state: 'open', suspected: 'mass_gap',
                 evidence: {group: {id: 1, of: 'region', members: 5, active: 12}}},
                {kind: 'nudge', at: ago(360), decision: 'send', stale_seconds: 600}]})"""})
        words = self.words(page, ".part-story")
        self.assertIn("After the nudge: nothing came in the 5 min until the next nudge.", words)
        # Each member would know another number of their group.
        self.assertIn("mass gap (many fell silent within a minute).", words)
        self.assertIn("the gap lasted 13 min that was watched (19 min by the clock).", words)
        self.assert_untroubled(page)

    def test_a_story_tells_once_what_was_held_again_and_again(self):
        server = self.serve(SETTINGS)
        Told(server).tell(Told(server).batch("kim", "north"))
        page = self.patched(server, "/people/kim", {
            "/v1/responders/kim/timeline": """(all) => ({...all, next: null, events: [
                ...Array.from({length: 40}, (_, n) => [
                  {kind: 'nudge', at: ago(60 + 20 * n), decision: 'hold', reason: 'solo', stale_seconds: 900},
                  {kind: 'contact', at: ago(65 + 20 * n), received_at: ago(65 + 20 * n), facts: {}}]).flat(),
                {kind: 'nudge', at: ago(1000), decision: 'hold', reason: 'no_token', stale_seconds: 900}]})"""})
        lines = page.run("[...document.querySelectorAll('.part-story li')].map((one) => one.innerText"
                         ".replace(/\\s+/g, ' '))")
        self.assertEqual(len(lines), 3, lines)
        self.assertRegex(lines[0], r"Not nudged, 40 times since .*: nobody else of their circles is active\.$")
        self.assertRegex(lines[1], r"40 contacts since ")
        self.assertRegex(lines[2], r"Not nudged: nobody told where a push would reach them; the location was 15 min old\.$")
        self.assert_untroubled(page)


class PhonesTests(PatchedTestCase):
    """P6: which phones does the system kill?"""

    TABLE = """(all) => !all.rows ? all : ({...all, gaps: 5, truncated: false, rows: [
        {manufacturer: 'Xiaomi', gaps: 4, open: 1, blind: 0, people: 3, share: 0.8,
         seconds: {median: 420, longest: 3600, total: 7260},
         verdicts: {network: 1, app_stopped: 3}},
        {manufacturer: null, gaps: 1, open: 0, blind: 0, people: 1, share: 0.2,
         seconds: {median: 60, longest: 60, total: 60}, verdicts: {}}]})"""

    def test_a_table_says_at_a_glance_what_the_gaps_of_a_maker_were(self):
        server = self.serve(SETTINGS)
        Told(server).tell(Told(server).batch("kim", "north"))
        page = self.patched(server, "/silent", {"/v1/gaps": self.TABLE})
        words = self.words(page, ".part-phones")
        for text in ("Xiaomi", "4 gaps of 3 people", "2 h 1 min out of contact",
                     "half were over after 7 min", "app stopped: 75 %", "3 app stopped, 1 network",
                     "not told", "1 gap of 1 person", "no verdict yet"):
            self.assertIn(text, words)
        self.shots(page, "phones")
        self.assert_untroubled(page)

    def test_the_address_chooses_by_what_and_a_table_of_nobody_s_make_is_not_shown(self):
        server = self.serve(SETTINGS)
        Told(server).tell(Told(server).batch("kim", "north"))
        page = self.page()
        self.open(page, server, "/silent")
        self.assertNotIn("Which phones", self.words(page))
        self.open(page, server, "/silent?by=model")
        self.assertEqual(
            page.run("document.querySelector('.part-phones [aria-current]').textContent"), "model")
        self.assert_untroubled(page)


class IncidentTests(PageTestCase):
    """D8: what messages link to is a page for people, also once it is over."""

    RUNBOOK = "https://wiki.example.org/nobody"

    def test_an_incident_has_a_page_with_its_runbook_while_it_fires_and_after(self):
        server = self.serve(SETTINGS.replace(
            "keep_firing_for: 0s}", "keep_firing_for: 0s, runbook_url: "
            f"'{self.RUNBOOK}'}}"))
        told = Told(server)
        told.tell(told.batch("kim", "north", "ON_MISSION"), told.batch("calm", "south"))
        eventually(told.firing, 15, "an alert")
        alert = next(one for one in told.firing() if one["alertname"] == "NoOnlineResponders")
        page = self.page()
        for key in (alert["incident"], f"rollcall-0123456789abcdef-{alert['incident']}"):
            self.open(page, server, f"/alerts?incident={key}")
            page.until("document.querySelector('.part-firing')", "it fires")
            words = self.words(page)
            self.assertIn("NoOnlineResponders north", words)
            self.assertIn("It fires now", words)
            self.assertIn(alert["annotations"]["summary"].replace("_", " "), words)
            self.assertIn("How it went", words)
            self.assertEqual(page.run("[...document.querySelectorAll('main a')].filter("
                                      f"(a) => a.href === '{self.RUNBOOK}').length"), 1)
            self.assertIn("NoOnlineResponders north", page.run("document.title"))
        page.screenshot(shot("incident-firing-desktop-light"))
        told.tell(told.batch("kim", "north"))
        page.until("!document.querySelector('.part-firing')", "it is over", seconds=15)
        self.assertIn("It is over", self.words(page))
        self.assertEqual(page.run("[...document.querySelectorAll('main a')].filter("
                                  f"(a) => a.href === '{self.RUNBOOK}').length"), 1)
        page.resize(360, 740, "dark")
        page.screenshot(shot("incident-over-phone-dark"))
        self.assert_accessible(page, "incident")
        for key, words in ((9999, "There is no such incident in the store"),
                           ("x'<", "no such incident"),
                           ("rollcall-0123456789abcdef--3", "This was a drill"),
                           ("rollcall-0123456789abcdef-store", "RollcallStoreFailing does not fire")):
            self.open(page, server, f"/alerts?incident={urllib.parse.quote(str(key))}")
            self.assertIn(words, self.words(page))
        self.assert_untroubled(page)


class MemberTests(PatchedTestCase):
    """Several machines: who leads, who is away, and that nobody leads (S15)."""

    CLUSTER = """(all) => ({...all, cluster: {member: 'b', role: 'ROLE', leader: LEADER,
        confirmed: CONFIRMED, reign: 3, position: 90210, lag: LAG, loss: LOSS, members: [
          {member: 'a', position: 90212, noted_at: ago(1)},
          {member: 'b', position: 90210, noted_at: ago(900)},
          {member: '\\u202ec', position: 89000, noted_at: ago(240)}]}})"""

    def members(self, server, role, leader="'a'", confirmed="true", lag=0, loss="null"):
        patch = self.CLUSTER
        for word, value in (("ROLE", role), ("LEADER", leader), ("CONFIRMED", confirmed),
                            ("LAG", str(lag)), ("LOSS", loss)):
            patch = patch.replace(word, value)
        page = self.patched(server, "/feeds", {"/v1/status": patch})
        self.addCleanup(self.assert_untroubled, page)
        return page, self.words(page, ".part-members")

    def test_alone_there_is_nothing_of_it(self):
        server = self.serve(SETTINGS)
        page = self.page()
        self.open(page, server, "/feeds")
        self.assertFalse(page.run("!!document.querySelector('.part-members')"))
        self.assertNotIn("cluster", server.get("/v1/status").json())

    def test_who_leads_and_who_is_away(self):
        server = self.serve(SETTINGS)
        page, words = self.members(server, "following", lag=2)
        self.assertIn("This member, b, follows a; reign 3; 2 entries to go.", words)
        self.assertRegex(words, r"leads\s*a\s*holds entry 90212 of 90212, said so")
        self.assertRegex(words, r"follows\s*b \(this one\)\s*holds entry 90210 of 90212, 2 behind")
        self.assertRegex(
            words, r"away\s*⟨U\+202E⟩c\s*holds entry 89000 of 90212, 1212 behind, said so 4 min")
        self.shots(page, "members")
        _, words = self.members(server, "leading", leader="'b'")
        self.assertIn("This member, b, leads; reign 3.", words)

    def test_nobody_leads(self):
        server = self.serve(SETTINGS)
        _, words = self.members(server, "standing", leader="null", confirmed="false")
        self.assertIn("Nobody leads at present.", words)
        self.assertIn("It does not hold all of the log, or does not reach it.", words)
        page, words = self.members(
            server, "lost", loss="'the log was restored from an older copy'")
        self.assertIn("Nobody leads: the log was restored from an older copy.", words)
        self.assertIn("This member, b, has lost the log; reign 3.", words)
        self.shots(page, "members-lost")


if __name__ == "__main__":
    unittest.main()

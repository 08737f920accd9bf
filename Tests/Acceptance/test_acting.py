"""What one does from the page, in a headless Chromium: signing in and out, taking, silencing, asking.

Source: R7; Contract/Events, R2, R3, R5.
"""

import json
import unittest

from browser import CLOCK
from page_fleet import SETTINGS, Told
from rollcall_process import eventually
from test_page import READY, SIZES, PageTestCase, shot
from test_page_states import PATCHING

KEYS = {name: f"{name}-0123456789abcdef" for name in ("ops", "eye", "all")}
TOKENS = """
web:
  person_url: "https://people.example/p?who={id}"
  tokens:
    - {name: ops, scopes: [act, read], token: OPS}
    - {name: eye, scopes: [read], token: eye-0123456789abcdef}
    - {name: all, scopes: [ingest, read, admin], token: all-0123456789abcdef}
"""
ENTRANCE = "document.querySelector('#enter input')"
DIALOG = "document.querySelector('dialog[open]:last-of-type')"
HOSTILE = "a/b?c=d#e&f=%2e%2E"
# What the page asks for that changes something, with the names of the requests.
WATCHING = """
    window.sent = [];
    window.held = null;
    const asked = window.fetch.bind(window);
    window.fetch = async (address, options) => {
      if (options?.method && options.method !== "GET") {
        window.sent.push([options.method, new URL(address).pathname, options.body ?? null,
          options.headers["Idempotency-Key"] ?? null]);
        if (window.held) await window.held;
        if (window.lost) {
          window.lost = false;
          await asked(address, options);
          throw new TypeError("gone");
        }
      }
      return asked(address, options);
    };
"""


def settings(key=KEYS["ops"]):
    """The settings of a fleet, of which `ops` may act."""
    return TOKENS.replace("OPS", key) + SETTINGS


class ActingTestCase(PageTestCase):
    """One fleet for all of them: it takes some seconds to fall silent."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.serve_all(SETTINGS)
        told = Told(cls.server)
        told.fleet()
        told.tell(told.batch(HOSTILE, "north"))
        cls.reload(settings())

    @classmethod
    def reload(cls, text):
        cls.server.configure(text)
        answer = cls.server.request("POST", "/-/reload", headers={
            "Authorization": f"Bearer {KEYS['all']}"})
        assert answer.status == 200, answer

    def api(self, path):
        """What the API answers."""
        return self.server.get(path, {"Authorization": f"Bearer {KEYS['all']}"}).json()

    def alert(self, region):
        """What fires of a region."""
        return next(one for one in self.api("/v1/alerts")["alerts"]
                    if one["labels"].get("region") == region and one["state"] == "firing")

    def enter(self, name, path="/alerts", *size):
        """A page whose user has signed in."""
        page = self.page(*size)
        page.tell("Page.addScriptToEvaluateOnNewDocument", {"source": WATCHING})
        page.open(f"http://127.0.0.1:{self.server.port}{path}")
        page.until(ENTRANCE, "the entrance")
        # That nobody was signed in is told by 401 and nothing else.
        self.assertTrue(all("401" in one for one in page.troubles), page.troubles)
        page.type(KEYS[name])
        page.press("Enter")
        page.until(READY, f"{path} shows something")
        page.troubles.clear()
        return page

    def card(self, region):
        """The card of what fires of a region, as JavaScript."""
        return f"document.querySelector('[data-card=\"{self.alert(region)['incident']}\"]')"

    def click(self, page, within, words):
        """Presses a button by its words, once it is there."""
        found = (f"[...({within})?.querySelectorAll('button') ?? []]"
                 f".find((one) => one.innerText.trim().startsWith({json.dumps(words)}))")
        page.until(found, words)
        page.run(f"{{ const it = {found}; it.focus(); it.click(); }}")

    def fill(self, page, name, text):
        page.run(f"{DIALOG}.querySelector('[name={name}]').value = {json.dumps(text)}")

    def outcome(self, page, within, words):
        page.until(f"{within}.querySelector('.outcome')?.innerText.includes({json.dumps(words)})", words)

    def sent(self, page):
        """What was asked for that changes something, and forgets it."""
        return page.run("window.sent.splice(0)")


class SigningTests(ActingTestCase):
    def test_a_browser_signs_in_where_it_wanted_to_go_and_out_again(self):
        for size, (width, height) in SIZES.items():
            page = self.page(width, height, "dark" if size == "phone" else "light")
            page.open(f"http://127.0.0.1:{self.server.port}/people/kim?last=15m")
            page.until(ENTRANCE, "the entrance")
            self.assertIn("is shown to those who sign in", page.text())
            # What only those who give tokens out understand stands behind it.
            self.assertNotIn("scope", page.text())
            self.assertIn("web.tokens", page.run("document.querySelector('details').textContent"))
            page.screenshot(shot(f"entrance-{size}"))
            self.assert_accessible(page, "the entrance")
            self.assertEqual(page.run("document.activeElement.name"), "token")
            page.type("wrong-0123456789abcdef")
            page.press("Enter")
            page.until("document.querySelector('.failed')", "it is refused")
            self.assertIn("not known", page.text(".failed"))
            self.assertEqual(page.run("document.activeElement.name"), "token")
            page.type(KEYS["ops"])
            page.press("Enter")
            page.until(READY, "it is in")
            self.assertIn("/people/kim?last=15m", page.run("location.href"))
            page.until("document.querySelector('.who-is')", "who is signed in")
            self.assertEqual(page.run("document.cookie"), "")
            page.troubles.clear()
            self.assert_accessible(page, "a person")
            self.click(page, "document.querySelector('.who-is')", "Sign out")
            page.until(ENTRANCE, "out again")
            self.assertNotIn("kim", page.text("h1"))

    def test_who_follows_a_link_from_elsewhere_is_signed_in_still(self):
        page = self.enter("ops")
        # A page of another site: its links bring no strict cookie along.
        page.open("data:text/html,<a href='http://127.0.0.1:%d/people/kim'>go</a>" % self.server.port)
        page.run("document.querySelector('a').click()")
        page.until(READY + " && document.querySelector('h1').innerText === 'kim'", "kim's page")

    def test_nothing_asks_for_a_password_unless_it_is_wanted(self):
        page = self.page(login=(None, None))
        page.login_with(None, None)
        page.tell("Fetch.enable", {"handleAuthRequests": True})
        page.open(f"http://127.0.0.1:{self.server.port}/alerts")
        page.until(ENTRANCE, "the entrance")
        page.run("fetch('/v1/status', {headers: {Accept: 'application/json'}}).then((it) => it.status)")
        page.run("new Promise((done) => { const it = new EventSource('/v1/events');"
                 "it.onerror = () => { it.close(); done(); }; })")
        self.assertEqual(page.challenges, 0)
        page.login_with("any", KEYS["eye"])
        page.open(f"http://127.0.0.1:{self.server.port}/alerts?login=basic")
        page.until(READY, "it reads by a password")
        self.assertEqual(page.challenges, 1)
        page.until("document.querySelector('.who-is')", "who it is")
        self.assertIn("eye, reads only", self.words(page, ".who-is"))
        # To act leads to signing in, which goes on with what was wanted.
        self.click(page, self.card("harbour"), "Take it")
        page.until(DIALOG, "the way in")
        self.assertIn("as a password only reads", page.text("dialog"))
        page.type(KEYS["ops"])
        page.press("Enter")
        page.until("document.querySelector('dialog select[name=duration]')", "what was wanted")
        page.press("Escape")

    def test_a_session_that_ends_in_between_loses_nothing_of_what_was_written(self):
        page = self.enter("ops")
        card = self.card("quay")
        self.click(page, card, "Take it")
        page.until(DIALOG, "a dialog")
        self.fill(page, "note", "I was writing this")
        try:
            self.reload(settings("ops-fedcba9876543210"))
            self.click(page, DIALOG, "Take it")
            page.until("document.querySelector('dialog .failed')", "it is refused")
            page.screenshot(shot("acting-signed-out-desktop-light"), is_whole=False)
            self.click(page, "document.querySelector('dialog .failed')", "Sign in")
            page.until("document.querySelectorAll('dialog[open]').length === 2", "the way in")
            page.type("ops-fedcba9876543210")
            page.press("Enter")
            page.until("document.querySelectorAll('dialog[open]').length === 1", "back")
            self.assertFalse(page.run("!!document.querySelector('dialog .failed')"))
            self.click(page, DIALOG, "Take it")
            self.outcome(page, card, "sees to it until")
            self.assertEqual(self.alert("quay")["taken"]["note"], "I was writing this")
            page.until("!document.querySelector('.banner.is-lost')", "in contact")
            self.click(page, card, "Give back")
            self.outcome(page, card, "Nobody sees to it")
        finally:
            self.reload(settings())
        page.until("document.querySelector('.banner.is-lost')", "what it shows is older")
        self.click(page, "document.querySelector('.banner.is-lost')", "Sign in")
        page.until(DIALOG, "the way in")
        page.type(KEYS["ops"])
        page.press("Enter")
        page.until("!document.querySelector('.banner.is-lost')", "in contact")


class DoingTests(ActingTestCase):
    def test_an_incident_is_taken_once_however_often_it_is_pressed_and_given_back(self):
        page = self.enter("ops")
        card = self.card("harbour")
        self.assertIn("nobody sees to it yet", self.words(page, ".telling"))
        self.click(page, card, "Take it")
        page.until(DIALOG, "a dialog")
        page.screenshot(shot("acting-take-desktop-light"), is_whole=False)
        self.assert_accessible(page, "the dialog")
        self.fill(page, "by", "kim <b>")
        self.fill(page, "note", "calling")
        self.fill(page, "duration", "2h")
        # While it is under way it says so, and does not begin again.
        page.run("window.held = new Promise((done) => { window.go = done; }); 0")
        page.run("const it = document.querySelector('dialog button.main'); it.click(); it.click();"
                 "it.click()")
        page.until("document.querySelector('dialog button.main').innerText === 'Taking it…'", "busy")
        self.assertTrue(page.run("document.querySelector('dialog form').hasAttribute('aria-busy')"))
        page.run("window.held = null; window.go()")
        self.outcome(page, card, "kim <b> sees to it until")
        (method, path, body, key), = self.sent(page)
        self.assertEqual((method, path), (
            "POST", f"/v1/incidents/{self.alert('harbour')['key']}/take"))
        self.assertEqual(json.loads(body), {"by": "kim <b>", "note": "calling", "duration": "2h"})
        self.assertRegex(key, "^[0-9a-f]{32}$")
        taken = self.alert("harbour")["taken"]
        self.assertEqual((taken["by"], taken["token"], taken["note"]), ("kim <b>", "ops", "calling"))
        page.until(f"{card}.innerText.includes('kim <b> sees to it until')", "it stands there")
        # The focus is on the button that it was opened by, which is called otherwise by now.
        page.until("document.activeElement.textContent.startsWith('Take over')", "the focus is there")
        # The next one is written by the same person.
        self.click(page, card, "Take over")
        page.until(DIALOG, "a dialog")
        self.assertEqual(page.run(f"{DIALOG}.querySelector('[name=by]').value"), "kim <b>")
        self.assertIn("you take it over", page.text("dialog"))
        page.press("Escape")
        page.until(f"!{DIALOG}", "it is left")
        self.assertEqual(self.sent(page), [])
        self.click(page, card, "Give back")
        self.outcome(page, card, "Nobody sees to it")
        self.assertIsNone(self.alert("harbour")["taken"])
        self.assertEqual([one[0] for one in self.sent(page)], ["DELETE"])
        self.assert_untroubled(page)

    def test_what_is_sent_again_since_nobody_knows_is_done_once(self):
        page = self.enter("ops")
        card = self.card("harbour")
        self.click(page, card, "Silence")
        page.until(DIALOG, "a dialog")
        self.fill(page, "comment", "twice")
        page.run("window.lost = true")
        self.click(page, DIALOG, "Silence")
        page.until("document.querySelector('dialog .failed')", "nobody knows")
        self.assertIn("done once", page.text("dialog .failed"))
        self.click(page, DIALOG, "Silence")
        self.outcome(page, card, "holds until")
        first, again = self.sent(page)
        self.assertEqual(first, again)
        meant = [one for one in self.api("/v1/silences")["silences"] if one["comment"] == "twice"]
        self.assertEqual(len(meant), 1)
        page.until("document.querySelector('.silences')", "it is listed")
        self.click(page, "[...document.querySelectorAll('.silences li')].find("
                   "(one) => one.innerText.includes('twice'))", "End it")
        eventually(lambda: all(one["state"] == "over" for one in self.api("/v1/silences")["silences"]
                               if one["comment"] == "twice"), 10, "it is over")

    def test_a_silence_says_what_it_mutes_before_it_does(self):
        page = self.enter("ops", "/alerts", 390, 844)
        card = self.card("quay")
        self.click(page, card, "Silence")
        page.until(DIALOG, "a dialog")
        page.screenshot(shot("acting-silence-phone-light"), is_whole=False)
        self.assert_accessible(page, "the dialog")
        self.assertIn("Now it mutes 1 alert that fires", page.text(".mutes"))
        choose = ("const it = document.querySelector('dialog [name=%s]'); it.value = '%s';"
                  "it.dispatchEvent(new Event('change', {bubbles: true}))")
        page.run("{" + choose % ("scope", "name") + "}")
        page.until("document.querySelector('.mutes').innerText.includes('mutes 2 alerts')", "both")
        page.run("{" + choose % ("scope", "region") + "}")
        page.run("{" + choose % ("length", "until") + "}")
        page.until("document.querySelector('dialog [name=end]')", "until when")
        self.fill(page, "end", "2001-01-01T00:00")
        self.fill(page, "comment", "the mast is moved")
        self.click(page, DIALOG, "Silence")
        page.until("document.querySelector('dialog .failed')", "it is refused")
        self.assertIn("has passed already", page.text("dialog .failed"))
        page.run("{" + choose % ("length", "1h") + "}")
        self.click(page, DIALOG, "Silence")
        self.outcome(page, card, "holds until")
        # By both clocks: the browser's is not UTC.
        self.assertRegex(page.text(".outcome"), rf"until {CLOCK} \({CLOCK} UTC\)")
        silence = next(one for one in self.api("/v1/silences")["silences"]
                       if one["comment"] == "the mast is moved")
        self.assertEqual((silence["matchers"], silence["author"]), (["region=quay"], "ops"))

    def test_somebody_is_asked_and_the_decision_is_told_with_its_reason(self):
        page = self.enter("ops", "/people/kim")
        card = "document.querySelector('[data-card=kim]')"
        page.until(card, "their card")
        page.run("const it = document.querySelector('[data-key=n]'); it.click(); it.click()")
        # It says what was decided, and why.
        page.until(f"/(Asked|Not asked|Dry run)\\b.*[a-z]/.test({card}.querySelector('.outcome').innerText)",
                   "the decision")
        self.assertEqual(len(self.sent(page)), 1)
        own = page.run("[...document.querySelectorAll('a.button')].map((one) => [one.href, one.rel])")
        self.assertEqual(own, [["https://people.example/p?who=kim", "noreferrer"]])
        self.assert_accessible(page, "a person")
        # An id of anybody's is one part of it and nothing else.
        page.open(f"http://127.0.0.1:{self.server.port}/people/a%2Fb%3Fc%3Dd%23e%26f%3D%252e%252E")
        page.until("document.querySelector('a.button')", "their page")
        self.assertEqual(
            page.run("document.querySelector('a.button').href"),
            "https://people.example/p?who=a%2Fb%3Fc%3Dd%23e%26f%3D%252e%252E")

    def test_who_can_go_instead_is_asked_in_the_list_and_the_focus_comes_and_goes(self):
        for width, height in ((1440, 900), (320, 640)):
            page = self.enter("ops", "/alerts", width, height)
            card = self.card("harbour")
            self.click(page, card, "Who can go instead")
            page.until("document.querySelector('.instead a')", "somebody can")
            first = page.text(".instead a")
            page.until("document.activeElement === document.querySelector('.instead a')",
                       "the focus is on the first")
            self.assertIn("Dry run: nobody is asked", self.words(page, "dialog"))
            row = "document.querySelector('.instead li')"
            self.click(page, row, "Ask")
            page.until(f"/(Asked|Not asked|Dry run)\\b.*[a-z]/.test({row}.innerText)", "the decision")
            (method, path, body, _), = self.sent(page)
            self.assertEqual((method, path), ("POST", "/v1/nudges"))
            self.assertEqual(json.loads(body)["responder_id"], first)
            self.assert_accessible(page, f"who can go {width}")
            page.press("Escape")
            page.until(f"!{DIALOG}", "it is left")
            page.until("document.activeElement.innerText.startsWith('Who can go')", "the focus is back")
            self.assertTrue(page.run(f"{card}.contains(document.activeElement)"))
            # A browser that gives no focus to what is pressed: it comes there all the same.
            page.run("document.activeElement.blur(); [...document.querySelectorAll('[data-card] button')]"
                     ".find((one) => one.innerText.startsWith('Who can go')).click()")
            page.until("document.querySelector('.instead a')", "again")
            page.press("Escape")
            page.until("document.activeElement.innerText.startsWith('Who can go')", "the focus is back")
            self.assert_untroubled(page)

    def test_to_ask_is_what_is_done_first_where_it_helps_and_only_there(self):
        main = "document.querySelector('[data-key=n]').classList.contains('main')"
        for mode, person, is_main, words in (
                ("live", "kim", True, None), ("live", "on-00", False, None),
                ("live", "off", False, "Who is not expected is not asked."),
                ("dry_run", "kim", False, "Dry run: nobody is asked"),
                ("disabled", "kim", False, "Nudges are disabled: nobody is asked")):
            page = self.enter("ops", "/feeds")
            page.tell("Page.addScriptToEvaluateOnNewDocument", {"source": "{ %s %s }" % (
                PATCHING, "window.patches['/v1/status'] = (all) => ({...all, nudges: {...all.nudges, mode: "
                f"{json.dumps(mode)}}}}});")})
            self.open(page, self.server, f"/people/{person}")
            page.until("document.querySelector('[data-key=n]')", "their card")
            self.assertEqual(page.run(main), is_main, f"{mode} {person}")
            if words:
                self.assertIn(words, self.words(page))

    def test_who_can_go_instead_and_what_goes_to_a_chat(self):
        page = self.enter("ops")
        card = self.card("harbour")
        self.click(page, card, "Who can go instead")
        page.until("document.querySelector('dialog ol')", "somebody can")
        self.assertIn("Who can go to harbour", page.text("dialog h2"))
        first = self.api("/v1/responders?instead_of=h-1&limit=20")["responders"][0]["responder_id"]
        self.assertEqual(page.text("dialog ol li a"), first)
        self.assert_accessible(page, "who can go")
        page.run("document.querySelector('dialog ol li a').click()")
        page.until(f"document.querySelector('h1').innerText === {json.dumps(first)}", "their page")
        self.assertFalse(page.run("!!document.querySelector('dialog')"))
        page.run("history.back()")
        page.until(card, "back")
        page.run("Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (text) => {"
                 "window.copied = text; }}}); 0")
        self.click(page, card, "Copy for chat")
        self.outcome(page, card, "Copied: ")
        line = page.run("window.copied")
        self.assertNotIn("\n", line)
        self.assertRegex(line, r"^CRITICAL NoOnlineResponders harbour · Nobody can be reached in harbour.*"
                               rf" · since {CLOCK} UTC \(.*\) · nobody has taken it · "
                               rf"http://127.0.0.1:{self.server.port}/alerts\?incident=\d+$")
        # Without a clipboard it stands there to be copied.
        page.run("navigator.clipboard.writeText = async () => { throw new Error('no'); }; 0")
        self.click(page, card, "Copy for chat")
        page.until("document.querySelector('dialog textarea')", "to be copied")
        self.assertEqual(
            page.run("document.querySelector('dialog textarea').value").split(" · ")[0],
            line.split(" · ")[0])
        self.assertEqual(page.run("document.activeElement.tagName"), "TEXTAREA")

    def test_without_act_the_buttons_say_what_is_missing(self):
        page = self.enter("eye")
        page.until("document.querySelector('.who-is')", "who it is")
        self.assertIn("eye, reads only", self.words(page, ".who-is"))
        self.click(page, self.card("harbour"), "Take it")
        page.until(DIALOG, "the way in")
        self.assertIn("you may look, and not act", page.text("dialog"))
        self.assertIn("the scope act, which the token eye lacks", page.text("dialog"))
        self.assert_accessible(page, "the way in")
        page.type(KEYS["eye"])
        page.press("Enter")
        page.until("document.querySelectorAll('dialog[open]').length === 1 && "
                   "document.querySelector('dialog input').value === ''", "it is asked for again")
        page.press("Escape")
        page.until(f"!{DIALOG}", "it is left")
        self.assertEqual([one[1] for one in self.sent(page)], ["/v1/session"])

    def test_a_keyboard_is_enough(self):
        page = self.enter("ops")
        card = self.card("harbour")
        page.run(f"{card}.focus()")
        self.assertTrue(page.run(
            "import(document.querySelector('script[src$=\"main.js\"]').src.replace('main.js', 'act.js'))"
            f".then((it) => it.pressOn(document.activeElement, 'a'))"))
        page.until(DIALOG, "a dialog")
        self.assertEqual(page.run("document.activeElement.name"), "duration")
        seen = []
        for _ in range(8):
            page.press("Tab")
            seen.append(page.run("document.activeElement.name || document.activeElement.innerText"))
            self.assertTrue(page.run(
                "document.activeElement === document.body || "
                f"{DIALOG}.contains(document.activeElement)"), "the focus stays in it")
        self.assertEqual(seen[:4], ["by", "note", "Take it", "Cancel"])
        page.press("Escape")
        page.until(f"!{DIALOG}", "it is left")
        self.assertTrue(page.run(f"document.activeElement === {card}"), "the focus is where it was")
        self.assertFalse(page.run(
            "import(document.querySelector('script[src$=\"main.js\"]').src.replace('main.js', 'act.js'))"
            ".then((it) => it.pressOn(document.activeElement, 'n'))"))
        # From card to button to field to outcome.
        page.run(f"{card}.querySelector('button[data-key=a]').focus()")
        page.press("Enter")
        page.until(DIALOG, "a dialog")
        page.press("Tab")
        page.press("Enter")
        self.outcome(page, card, "sees to it until")
        self.assertEqual(
            page.run("document.getElementById('said').innerText.includes('sees to it until')"), True)
        page.until(f"{card}.querySelector('button').innerText.startsWith('Give back')", "it stands there")
        page.run(f"{card}.querySelector('button').focus()")
        page.press("Enter")
        self.outcome(page, card, "Nobody sees to it")


class OpenTests(PageTestCase):
    def test_where_nobody_needs_a_token_one_acts_by_a_name(self):
        server = self.serve(SETTINGS)
        told = Told(server)
        told.fleet()
        page = self.page()
        self.open(page, server, "/alerts")
        page.until("document.querySelector('[data-key=a]')", "a card")
        self.assertFalse(page.run("!!document.querySelector('.who-is')"))
        page.run("document.querySelector('[data-key=a]').click()")
        page.until(DIALOG, "a dialog")
        page.run("document.querySelector('dialog button.main').click()")
        # The browser itself says that a name is missing.
        self.assertTrue(page.run("!!document.querySelector('dialog [name=by]:invalid')"))
        page.run("document.querySelector('dialog [name=by]').value = 'kim'")
        page.run("document.querySelector('dialog button.main').click()")
        page.until("document.querySelector('.outcome')?.innerText.includes('kim sees to it')", "taken")
        self.assert_untroubled(page)


if __name__ == "__main__":
    unittest.main()

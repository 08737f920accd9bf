"""What is read first in ten seconds, in eight states: the words, the numbers, and a picture of each.

Each state was made by a server and recorded, answers and instant; here the page is given the same answers
at the same instant, so that it looks the same, and is compared with its picture. Who changes what it looks
like looks at both, and records anew: `ROLLCALL_RECORD=pictures`; with `ROLLCALL_RECORD=1` the states are
made again, too (three minutes).
"""

import io
import json
import os
import shutil
import tempfile
import time
import unittest

from PIL import Image, ImageChops, ImageFilter, ImageStat

from loopback_receivers import Fleet, people
from page_fleet import SETTINGS, Told
from rollcall_process import eventually, ndjson
from test_page import READY, PageTestCase

HERE = os.path.dirname(os.path.abspath(__file__))
STATES = os.path.join(HERE, "page_states")
SEEN = os.path.join(HERE, "..", "..", ".build", "page-screenshots")
IS_RECORDING = "ROLLCALL_RECORD" in os.environ
ARE_STATES_MADE = IS_RECORDING and os.environ["ROLLCALL_RECORD"] != "pictures"
SHAPES = {"desk": (1440, 900, "light"), "phone": (390, 844, "dark")}
# Of 255, on the average of a picture, and of its worst part: a moved line is more, a font's edge less.
WHOLE_MAX, PART_MAX, PARTS = 2.0, 24.0, 12

# Each answer by its address, without the times in it. Nothing comes by a stream.
KEYS = """
    const keyOf = (address) => {
      const url = new URL(address);
      for (const name of ["since", "until"]) url.searchParams.delete(name);
      return url.pathname + url.search;
    };
    const noStream = (address) => new URL(address).pathname === "/v1/events"
      ? new Response("{}", {status: 503}) : null;
"""
RECORD = KEYS + """
    window.recorded = {now: Date.now(), answers: {}};
    const asked = window.fetch.bind(window);
    window.fetch = async (address, options) => {
      if (noStream(address)) return noStream(address);
      const answer = await asked(address, options);
      const text = await answer.text();
      window.recorded.answers[keyOf(address)] = [answer.status, text];
      if (keyOf(address) === "/v1/status") window.recorded.now = Date.now();
      return new Response(text, {status: answer.status, headers: answer.headers});
    };
"""
PLAY = KEYS + """
    const state = STATE;
    const Clock = Date;
    window.Date = class extends Clock {
      constructor(...given) { super(...(given.length ? given : [state.now])); }
      static now() { return state.now; }
    };
    performance.now = () => 60_000;
    window.fetch = async (address) => {
      if (noStream(address)) return noStream(address);
      const [status, text] = state.answers[keyOf(address)] ?? [404, "{}"];
      return new Response(text, {status, headers: {"Content-Type": "application/json"}});
    };
"""
FAST = """
liveness: {on_duty: {expected: 1s, degraded_after: 2s, offline_after: 4s}}
alerts: {NoOnlineResponders: {for: 1s}, HighOfflineRate: {enabled: false}}
limits: {items: 20000}
"""


class PictureTests(PageTestCase):
    # What somebody who looks for ten seconds must have read: the sentence, and what stands above all.
    WORDS = {
        "empty": ("Nothing has come yet.", "curl"),
        "calm": ("All 13 can be reached.", "Nobody is silent"),
        "dark": ("Nobody can be reached in harbour and quay. Elsewhere 13 of 19 can be reached.",
                 "nobody sees to it yet"),
        "mass": ("6 of 12 cannot be reached. 6 can.", "6 people fell silent together"),
        "unreached": ("Nobody can be reached in north. Elsewhere 2 of 2 can be reached.", "Nobody has been reached"),
        "blind": ("Rollcall is not watching: who can be reached is not known. "
                  "Last, 13 of 13 could be reached.", "Not watching since"),
        "restored": ("1 of 5 can be reached; 4 have not been heard again yet.", "Nobody is known to be silent"),
        "storm": ("Nobody can be reached in r-000, r-001 and 298 more.", "300 alerts fire"),
        "crowd": ("1,000 of 100,000 cannot be reached. 99,000 can.", "99,000"),
    }

    def empty(self):
        return self.serve()

    def calm(self):
        server = self.serve(SETTINGS)
        told = Told(server)
        told.tell(*(told.batch(f"on-{n:02}", region) for n, region in enumerate(
            ["north"] * 6 + ["south"] * 4 + ["east"] * 3)))
        return server

    def dark(self):
        server = self.serve(SETTINGS)
        Told(server).fleet()
        return server

    def mass(self):
        server = self.serve(FAST + "receivers: [{name: chat, log: {}}]\n")
        fleet = Fleet(self, server, people("north", 8) + people("south", 4)).start()
        self.counted(server, "ONLINE", 12)
        fleet.cut(*fleet.of("north")[:6])
        self.counted(server, "OFFLINE", 6)
        time.sleep(1)
        return server

    def unreached(self):
        server = self.serve(
            FAST + "receivers: [{name: pager, webhook: {url: 'http://127.0.0.1:9/page'}}]\n")
        fleet = Fleet(self, server, people("north", 3) + people("south", 2)).start()
        self.counted(server, "ONLINE", 5)
        fleet.cut(*fleet.of("north"))
        eventually(lambda: server.get("/v1/status").json()["nobody_reached"], 90, "nobody is reached")
        return server

    def blind(self):
        server = self.calm()
        server.write("/v1/heartbeat", {"source": "pod-0", "every_seconds": 1})
        eventually(lambda: not server.get("/v1/status").json()["watching"], 15, "blind")
        return server

    def restored(self):
        server = self.serve(
            "liveness: {on_duty: {expected: 60s, degraded_after: 90s, offline_after: 180s}}")
        server.write("/v1/batches", [{"responder_id": f"p-{n}", "region": "north"} for n in range(5)])
        server.kill()
        time.sleep(1.2)
        server.start()
        server.write("/v1/batches", [{"responder_id": "p-1"}])
        return server

    def storm(self):
        server = self.serve(FAST + "receivers: [{name: chat, log: {}}]\n")
        server.write("/v1/batches", [
            {"responder_id": f"p-{n:03}", "region": f"r-{n:03}"} for n in range(300)])
        eventually(lambda: server.get("/v1/status").json()["alerts"]["firing"] == 300, 30, "it storms")
        return server

    def crowd(self):
        server = self.serve("limits: {items: 20000}\nalerts: {HighOfflineRate: {enabled: false}}\n")
        for begin in range(0, 100_000, 10_000):
            server.request("POST", "/v1/batches", ndjson([
                {"responder_id": f"p-{n:06}", "region": f"region-{n % 256:03}"}
                for n in range(begin, begin + 10_000)]),
                {"Content-Type": "application/x-ndjson"}, timeout=60)
        server.write("/v1/transitions", [
            {"responder_id": f"p-{n:06}", "from": "ONLINE", "to": "OFFLINE"}
            for n in range(0, 100_000, 100)])
        return server

    def counted(self, server, status, count):
        eventually(lambda: server.get("/v1/status").json()["responders"][status] == count, 20,
                   f"{count} {status}")

    def record(self, name):
        # A store of its own.
        self.directory = tempfile.mkdtemp(prefix="rollcall-")
        self.addCleanup(shutil.rmtree, self.directory, True)
        server = getattr(self, name)()
        page = self.page(*SHAPES["desk"])
        page.tell("Page.addScriptToEvaluateOnNewDocument", {"source": RECORD})
        self.open(page, server)
        time.sleep(1.5)
        with open(os.path.join(STATES, f"{name}.json"), "w", encoding="utf-8") as file:
            json.dump(page.run("window.recorded"), file, indent=1)
            file.write("\n")
        server.stop()

    def test_each_state_is_read_in_ten_seconds_and_looks_as_it_did(self):
        if ARE_STATES_MADE:
            for name in self.WORDS:
                self.record(name)
            self.directory = tempfile.mkdtemp(prefix="rollcall-")
            self.addCleanup(shutil.rmtree, self.directory, True)
        server = self.serve()
        for name, words in self.WORDS.items():
            with self.subTest(name):
                with open(os.path.join(STATES, f"{name}.json"), encoding="utf-8") as file:
                    state = json.load(file)
                for shape, size in SHAPES.items():
                    self.look(server, name, words, state, shape, size)

    def look(self, server, name, words, state, shape, size):
        page = self.page(*size)
        page.tell("Page.addScriptToEvaluateOnNewDocument", {
            "source": PLAY.replace("STATE", json.dumps(state))})
        self.open(page, server)
        page.until(f"document.querySelector('.lead') && {READY}", name)
        time.sleep(0.4)
        first, also = words
        self.assertEqual(self.words(page, "h1"), first)
        self.assertIn(also, self.words(page))
        # Without a turn of the wheel.
        self.assertLess(page.run("document.querySelector('.numbers').getBoundingClientRect().bottom"),
                        size[1])
        self.assert_numbers(page, json.loads(state["answers"]["/v1/status"][1]))
        picture = os.path.join(SEEN, f"state-{name}-{shape}.png")
        page.screenshot(picture, is_whole=False)
        seen = Image.open(picture).convert("RGB").reduce(2)
        reference = os.path.join(STATES, f"{name}-{shape}.png")
        if IS_RECORDING:
            seen.quantize(64).save(reference, optimize=True)
        self.assert_alike(seen, Image.open(reference).convert("RGB"), f"{name} {shape}: {picture}")

    def assert_numbers(self, page, status):
        """What is shown is what the engine counted at that instant."""
        shown = page.run("Object.fromEntries([...document.querySelectorAll('[data-count]')]"
                         ".map((one) => [one.dataset.count, one.innerText.replaceAll(',', '')]))")
        people = status["responders"]
        self.assertEqual(shown["OFFLINE"], str(people["OFFLINE"]))
        self.assertEqual(shown["DEGRADED"], str(people["DEGRADED"]))
        self.assertEqual(
            shown["reachable"], str(status["reachable"]["yes"]) if status["watching"] else "?")

    def assert_alike(self, seen, wanted, what):
        self.assertEqual(seen.size, wanted.size, what)
        # Edges of letters may fall on another pixel.
        blur = ImageFilter.BoxBlur(2)
        difference = ImageChops.difference(seen.filter(blur), wanted.filter(blur)).convert("L")
        whole = ImageStat.Stat(difference).mean[0]
        worst = max(
            ImageStat.Stat(difference.crop((
                column * seen.width // PARTS, row * seen.height // PARTS,
                (column + 1) * seen.width // PARTS, (row + 1) * seen.height // PARTS))).mean[0]
            for row in range(PARTS) for column in range(PARTS))
        self.assertLess(whole, WHOLE_MAX, what)
        self.assertLess(worst, PART_MAX, what)

    def test_what_moved_is_seen(self):
        """The comparison itself: a line that is gone and a colour that is another are differences."""
        with open(os.path.join(STATES, "dark-desk.png"), "rb") as file:
            wanted = Image.open(io.BytesIO(file.read())).convert("RGB")
        self.assert_alike(wanted, wanted, "the same")
        gone = wanted.copy()
        gone.paste((244, 245, 242), (0, 25, 330, 70))
        turned = wanted.copy()
        turned.paste((29, 122, 76), (0, 25, 330, 70))
        for other in (gone, turned):
            with self.assertRaises(AssertionError):
                self.assert_alike(other, wanted, "another")


if __name__ == "__main__":
    unittest.main()

"""A real fleet cell among cells that answer as a test wants them to: which map it takes of those that they hold, and
when it hands them what is new.

Source: K1, K2.
"""

import http.client
import json
import threading
import time
import unittest

from fake_cells import FakeWatch, Said
from loopback_receivers import Fleet
from rollcall_process import eventually, ndjson
from test_cells import CellTestCase, people

# A cell that is away is asked more and more seldom.
SOON = 90
LIVENESS = "liveness: {on_duty: {expected: 1s, degraded_after: 3s, offline_after: 4s}}\n"


class FakeCell:
    """A cell that holds the map that it was handed last, and takes everything."""

    def __init__(self, case, name):
        self.name = name
        self.held = None
        # Those in force, by what they were called when they were asked for.
        self.silences = []
        # Without it nobody answers.
        self.is_there = True
        # By method and path, what is asked first; what it says counts unless it is None.
        self.instead = {}
        self.watch = FakeWatch(case, self._answer)
        self.url = self.watch.url

    def asked(self, method, path="/v1/cells"):
        """The requests of a kind that were made of it, in their order."""
        return self.watch.asked_for(path, method)

    def handed(self):
        """The versions of the maps that it was handed."""
        return [json.loads(one.body)["version"] for one in self.asked("PUT")]

    def _answer(self, request):
        if not self.is_there:
            raise ConnectionError("nobody is there")
        said = self.instead.get((request.method, request.path), lambda _: None)(request)
        return said or self._standard(request)

    def _standard(self, request):
        if request.path == "/v1/cells":
            if request.method == "PUT":
                self.held = json.loads(request.body)
                return Said({"version": self.held["version"]})
            held = self.held or {"version": 0, "slots": 4096, "cells": []}
            return Said({"role": "cell", "cell": self.name, **held})
        if request.path == "/v1/silences":
            if request.method == "POST":
                self.silences.append(json.loads(request.body)["id"])
            return Said({"silences": [
                {"id": number, "request_id": one, "state": "active"}
                for number, one in enumerate(self.silences, 1)]})
        return Said({}, 503 if request.path == "/v1/cells/summary" else 200)


class Relay(FakeCell):
    """The way to a real cell, which is at another address than it is thought to be."""

    def __init__(self, case, name, port):
        super().__init__(case, name)
        self.port = port

    def _standard(self, request):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request(request.method, request.target, request.body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return Said(body=answer.read(), status=answer.status, kind=answer.headers["Content-Type"])
        except http.client.HTTPException as error:
            raise ConnectionError("it ended meanwhile") from error
        finally:
            connection.close()


class CallTestCase(CellTestCase):
    """A test with a fleet cell and three cells that are the test's own."""

    NAMES = "abc"

    def setUp(self):
        super().setUp()
        self.cells = {name: FakeCell(self, name) for name in self.NAMES}

    def url(self, name):
        return self.cells[name].url if name in self.cells else super().url(name)

    def fleet_config(self):
        cells = "".join(f"    {name}: {{url: \"{self.url(name)}\"}}\n" for name in self.cells)
        return f"cluster:\n  cells:\n{cells}"

    def begin_fleet(self):
        return self.begin("f", self.fleet_config())

    def given(self, version, **slots):
        """A map of these cells; one that is not the test's has an address where nobody is."""
        return {"version": version, "slots": 4096, "cells": [
            {"name": name, "urls": [self.cells[name].url if name in self.cells else "http://127.0.0.1:9"],
             "slots": [slots[name]]} for name in sorted(slots)]}

    def hold(self, **maps):
        """Has cells hold these maps, as if they were handed them by a fleet cell that lost its store."""
        for name, held in maps.items():
            self.cells[name].held = held

    def version(self):
        """The version of the fleet cell's map; 0 before there is one."""
        return self.servers["f"].get("/v1/cells").json()["version"]

    def wait_for_version(self, version):
        eventually(lambda: self.version() == version, SOON, f"the fleet cell has version {version}")

    def slots(self):
        """Whose slots are whose, as the fleet cell says it."""
        return {one["name"]: one["slots"][0] for one in self.servers["f"].get("/v1/cells").json()["cells"]}

    def wait_for_asks(self, count, *names):
        """Until each of these was asked so many times more for its map."""
        before = {name: len(self.cells[name].asked("GET")) for name in names}
        eventually(
            lambda: all(len(self.cells[name].asked("GET")) >= before[name] + count for name in names), SOON,
            f"each of {names} is asked {count} times")


THIRDS = ({"a": "0-99", "b": "100-199", "c": "200-4095"}, {"a": "0-299", "b": "300-399", "c": "400-4095"},
          {"a": "0-499", "b": "500-599", "c": "600-4095"})


class BeginningTests(CallTestCase):
    """A fleet cell that begins without a store among cells that hold maps."""

    def taken(self, **maps):
        """The version that it begins with, and whose slots are whose."""
        self.hold(**maps)
        self.begin_fleet()
        eventually(self.version, SOON, "it has a map")
        return self.version(), self.slots()

    def test_the_newest_of_several_is_the_fleet_s(self):
        maps = {name: self.given(version, **slots) for name, version, slots in zip("abc", (3, 5, 4), THIRDS)}
        self.assertEqual(self.taken(**maps), (5, THIRDS[1]))
        for name in "ac":
            eventually(lambda name=name: self.cells[name].handed() == [5], SOON, f"{name} is handed it")
        self.assertEqual(self.cells["b"].handed(), [])

    def test_a_map_of_others_is_another_fleet_s(self):
        strangers = self.given(9, a="0-2047", x="2048-4095")
        ours = self.given(4, **THIRDS[0])
        self.assertEqual(self.taken(a=strangers, b=ours), (4, THIRDS[0]))
        self.wait_for_problem("a", "not this fleet cell's")
        eventually(lambda: self.cells["c"].handed() == [4], SOON, "c is handed it")
        self.assertEqual(self.cells["a"].handed(), [])

    def test_a_map_of_others_is_none_where_nobody_holds_another(self):
        self.assertEqual(self.taken(a=self.given(9, a="0-2047", x="2048-4095"))[0], 1)
        self.assertEqual(sorted(self.slots()), list("abc"))

    def test_a_map_without_the_cell_that_holds_it_is_another_fleet_s(self):
        self.assertEqual(self.taken(a=self.given(9, b="0-2047", c="2048-4095"))[0], 1)

    def test_a_map_with_a_cell_that_is_not_named_any_more_is_the_fleet_s(self):
        slots = {"a": "0-9", "b": "10-19", "c": "20-29", "x": "30-4095"}
        self.assertEqual(self.taken(a=self.given(9, **slots)), (9, slots))

    def test_a_map_without_a_cell_that_was_named_since_is_the_fleet_s(self):
        slots = {"a": "0-9", "b": "10-4095"}
        self.assertEqual(self.taken(a=self.given(9, **slots)), (9, slots))
        self.assertEqual(self.cells["c"].handed(), [])


class LaterTests(CallTestCase):
    """A fleet cell that began without a store before its cells could tell what they hold."""

    def begin_alone(self):
        """Begins it while nobody answers."""
        for cell in self.cells.values():
            cell.is_there = False
        self.begin_fleet()
        self.wait_for_version(1)

    def come(self, *names):
        for name in names:
            self.cells[name].is_there = True

    def test_a_map_is_taken_once_all_have_answered(self):
        given = self.given(5, **THIRDS[0])
        self.hold(a=given, b=given, c=given)
        self.begin_alone()
        self.come("a", "b")
        for name in "ab":
            self.wait_for_problem(name, "not this fleet cell's")
        self.wait_for_asks(2, "a", "b")
        self.assertEqual(self.version(), 1)
        self.come("c")
        self.wait_for_version(5)
        self.assertEqual(self.slots(), THIRDS[0])
        for cell in self.cells.values():
            self.assertEqual(cell.handed(), [])

    def test_a_cell_that_answers_and_does_not_tell_may_hold_anything(self):
        given = self.given(5, **THIRDS[0])
        self.hold(a=given, b=given, c=given)
        self.begin_alone()
        self.cells["c"].instead["GET", "/v1/cells"] = lambda _: Said({"status": 503}, 503)
        self.come("a", "b", "c")
        self.wait_for_problem("c", "503")
        self.wait_for_asks(3, "a", "b")
        self.assertEqual(self.version(), 1)
        del self.cells["c"].instead["GET", "/v1/cells"]
        self.wait_for_version(5)

    def test_a_cell_without_a_map_is_handed_theirs(self):
        given = self.given(5, **THIRDS[0])
        self.hold(a=given, b=given)
        self.begin_alone()
        self.come("a", "b")
        for name in "ab":
            self.wait_for_problem(name, "not this fleet cell's")
        self.come("c")
        self.wait_for_version(5)
        eventually(self.cells["c"].handed, SOON, "c is handed a map")
        self.assertEqual(self.cells["c"].handed(), [5])

    def test_the_newest_of_what_they_hold_is_taken(self):
        self.hold(**{name: self.given(version, **slots) for name, version, slots in zip("abc", (5, 7, 4), THIRDS)})
        self.begin_alone()
        # It says once that it holds the newest, and then is slow to say so again: nobody else's is taken meanwhile.
        goes_on = threading.Event()
        self.addCleanup(goes_on.set)
        newest = self.cells["b"]
        heard = []

        def slow(_):
            if heard:
                goes_on.wait(4)
            heard.append(True)
        newest.instead["GET", "/v1/cells"] = slow
        self.come("a", "b", "c")
        eventually(lambda: heard, SOON, "b has said what it holds")
        self.wait_for_asks(2, "a", "c")
        self.assertIn(self.version(), (1, 7))
        goes_on.set()
        self.wait_for_version(7)
        self.assertEqual(self.slots(), THIRDS[1])
        for name in "ac":
            eventually(lambda name=name: self.cells[name].handed() == [7], SOON, f"{name} is handed it")
        self.assertEqual(newest.handed(), [])

    def test_a_map_of_others_is_not_taken_though_all_hold_it(self):
        self.hold(**{name: self.given(9, a="0-2047", x="2048-4095") for name in self.NAMES})
        self.begin_alone()
        self.come(*self.NAMES)
        for name in self.NAMES:
            self.wait_for_problem(name, "not this fleet cell's")
        self.wait_for_asks(2, *self.NAMES)
        self.assertEqual(self.version(), 1)

    def test_slots_that_are_not_as_they_were_given_are_not_taken_behind_the_first_map(self):
        self.hold(a=self.given(3, **THIRDS[0]))
        server = self.begin_fleet()
        for name in "bc":
            eventually(lambda name=name: self.cells[name].handed() == [3], SOON, f"{name} is handed it")
        server.stop()
        self.hold(**{name: self.given(6, **THIRDS[1]) for name in self.NAMES})
        server.start()
        for name in self.NAMES:
            self.wait_for_problem(name, "not this fleet cell's")
        self.wait_for_asks(2, *self.NAMES)
        self.assertEqual((self.version(), self.slots()), (3, THIRDS[0]))


class HandingTests(CallTestCase):
    def test_one_member_without_a_map_hides_no_other_one(self):
        # It looks on in another cell's log still, and is named first.
        late, whole = FakeCell(self, "a"), self.cells["a"]
        late.instead["PUT", "/v1/cells"] = lambda _: Said({"status": 503}, 503)
        named = self.fleet_config().replace(f'a: {{url: "{whole.url}"}}', f'a: {{urls: ["{late.url}", "{whole.url}"]}}')
        self.hold(a=self.given(1, **THIRDS[0]), b=self.given(1, **THIRDS[0]), c=self.given(1, **THIRDS[0]))
        self.begin("f", named)
        # The address that it lacked makes a newer one.
        self.wait_for_version(2)
        eventually(lambda: self.standing("a")["version"] == 2, SOON, "a has the map")
        self.assertIsNone(self.standing("a")["problem"])
        self.assertEqual((whole.handed(), late.handed()), ([2], []))

    def test_a_new_map_is_handed_over_at_once(self):
        late = self.cells["c"]
        late.is_there = False
        self.begin_fleet()
        for name in "ab":
            eventually(lambda name=name: self.cells[name].handed() == [1], SOON, f"{name} has the first map")
        # One that was away holds the same under a later version: the store was lost that knew of it.
        late.held = {**self.cells["a"].held, "version": 2}
        late.is_there = True
        self.wait_for_version(2)
        began = time.monotonic()
        for name in "ab":
            eventually(lambda name=name: self.cells[name].handed() == [1, 2], SOON, f"{name} has the second map")
        # Who has a map is asked whether that is so still every 15 s.
        self.assertLess(time.monotonic() - began, 6)
        self.assertEqual(late.handed(), [])


class SettledTests(CallTestCase):
    """Real cells, each reached by a way on which what is said of it is kept."""

    NAMES = "ab"

    def words(self, name):
        """What was said of the map with each question for what a cell has to say."""
        asked = self.cells[name].asked("GET", "/v1/cells/summary")
        return [one.target.partition("&settled=")[2] for one in asked]

    def test_it_says_by_which_map_all_cells_have_their_people(self):
        self.cells = {name: Relay(self, name, self.ports[name]) for name in self.NAMES}
        self.begin("a")
        self.begin_fleet()
        eventually(lambda: len(self.words("a")) > 3, SOON, "a is asked")
        self.assertEqual(set(self.words("a")), {""})
        self.begin("b")
        for name in self.NAMES:
            eventually(lambda name=name: self.words(name)[-1:] == ["1"], SOON, f"{name} is told")
        # A fleet cell that begins anew knows whom it has heard, though one is away.
        self.servers["b"].kill()
        self.assertEqual(self.servers["f"].stop(), 0)
        before = len(self.words("a"))
        self.servers["f"].start()
        eventually(lambda: len(self.words("a")) > before + 3, SOON, "a is asked")
        self.assertEqual(set(self.words("a")[before:]), {"1"})


class SilenceTests(CallTestCase):
    """A cell that does not take the fleet cell's silences at once has them in the end."""

    NAMES = "a"

    def setUp(self):
        super().setUp()
        self.cell = self.cells["a"]
        self.begin_fleet()
        eventually(lambda: self.cell.handed() == [1], SOON, "it has the map")
        eventually(self.looks, SOON, "it is asked for its silences")

    def looks(self):
        return self.cell.asked("GET", "/v1/silences")

    def begins(self, number):
        """The number of times that the cell was to begin the fleet cell's silence of that number."""
        ids = [json.loads(one.body)["id"] for one in self.cell.asked("POST", "/v1/silences")]
        return sum(one.startswith("fleet-cell/") and one.endswith(f"/{number}") for one in ids)

    def fails_once(self, method):
        """Has the cell fail at the next question of a kind; since when it has, as a list."""
        failed = []

        def answer(_):
            if failed:
                return None
            failed.append(time.monotonic())
            return Said({"status": 503}, 503)
        self.cell.instead[method, "/v1/silences"] = answer
        return failed

    def silence(self):
        answer = self.servers["f"].post("/v1/silences", {
            "matchers": ["region=harbour"], "duration": "1h", "author": "kim", "comment": "drill"})
        self.assertEqual(answer.status, 200, answer)
        return answer.json()["silence"]["id"]

    def test_what_it_could_not_take_is_begun_there_soon(self):
        for method, times in (("POST", 2), ("GET", 1)):
            failed = self.fails_once(method)
            number = self.silence()
            eventually(
                lambda times=times, number=number: self.begins(number) == times, SOON,
                f"it is begun after a {method} that failed")
            # Where nothing failed the cell is looked at once a minute.
            self.assertLess(time.monotonic() - failed[0], 20)

    def test_many_are_begun_some_at_a_time_and_each_once(self):
        self.cell.is_there = False
        numbers = [self.silence() for _ in range(20)]
        self.cell.is_there = True
        # One look begins a few of them; by the looks of once a minute alone this would take two.
        eventually(lambda: len(self.cell.silences) >= len(numbers), 2 * SOON, "all are begun")
        self.assertEqual([self.begins(number) for number in numbers], [1] * len(numbers))


class MassTests(CallTestCase):
    """Masses as a cell is told of them: the cells are real, and one is reached by a way on which the words are kept."""

    NAMES = "ab"
    # Of the twenty of a cell these are a mass, and then some more.
    FIRST, MORE = 12, 3
    # Masses of which one word tells at most.
    WORD = 1000

    def setUp(self):
        super().setUp()
        self.cells = {name: Relay(self, name, self.ports[name]) for name in self.NAMES}
        for name in self.NAMES:
            self.begin(name, self.config(name, LIVENESS))
        self.begin_fleet()
        for name in self.NAMES:
            self.wait_for_map(name)
            eventually(lambda name=name: self.standing(name)["heard_through"], SOON, f"{name} is heard")

    def told(self, name):
        """The masses of each word about them, in their order."""
        return [json.loads(one.body)["masses"] for one in self.cells[name].asked("PUT", "/v1/cells/masses")]

    def counts(self, name):
        """The people of the one mass, as each word said."""
        return [mass["people"] for masses in self.told(name) for mass in masses]

    def regions(self, name):
        """The regions of which it was told."""
        return {mass["region"] for masses in self.told(name) for mass in masses}

    def test_a_mass_is_told_until_it_is_heard_and_when_it_grows(self):
        refused = []

        def once(request):
            if refused:
                return None
            refused.append(json.loads(request.body)["masses"][0]["people"])
            return Said({"status": 503}, 503)
        self.cells["b"].instead["PUT", "/v1/cells/masses"] = once
        app = Fleet(self, self.servers["a"], [
            {"responder_id": one, "region": "harbour", "duty_state": "ON_DUTY"} for one in people("a", 20)]).start()
        eventually(
            lambda: self.servers["f"].get("/v1/status").json()["responders"]["ONLINE"] == 20, SOON, "all are known")
        ids = list(app.people)
        app.cut(*ids[:self.FIRST])
        eventually(lambda: refused, SOON, "b is told of the mass, and does not take it")
        eventually(lambda: max(self.counts("b")[1:], default=0) >= self.FIRST, SOON, "it is told again")
        self.assertEqual(self.regions("b"), {"harbour"})
        app.cut(*ids[:self.FIRST + self.MORE])
        for name in "ab":
            eventually(
                lambda name=name: max(self.counts(name)) >= self.FIRST + self.MORE, SOON,
                f"{name} is told that it grew")
            self.assertEqual(self.counts(name), sorted(self.counts(name)))
            self.assertEqual(len({mass["number"] for masses in self.told(name) for mass in masses}), 1)

    def test_more_masses_than_one_word_has_are_told_in_several(self):
        ids = people("a", 5 * (self.WORD + 1))
        facts = [{"responder_id": one, "region": f"region-{place // 5}", "duty_state": "ON_DUTY"}
                 for place, one in enumerate(ids)]
        # They report once, all at one instant, and so fall silent at one.
        answer = self.servers["a"].request(
            "POST", "/v1/batches", ndjson(facts), {"Content-Type": "application/x-ndjson"})
        self.assertEqual((answer.status, answer.json()["accepted"]), (200, len(ids)))
        eventually(lambda: len(self.regions("b")) == self.WORD + 1, SOON, "b is told of all")
        self.assertLessEqual(max(len(masses) for masses in self.told("b")), self.WORD)


if __name__ == "__main__":
    unittest.main()

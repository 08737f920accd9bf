"""A fleet of two cells and a fleet cell, as real processes: the map, and whose people are whose.

Source: K1, K7.
"""

import json
import os
import re
import secrets
import subprocess

from cluster_process import Etcd, Members, free_ports
from journal_rows import journal_rows
from mosquitto_process import Mosquitto, Publisher
from rollcall_process import (
    BINARY, HERE, Rollcall, RollcallTestCase, eventually, ndjson, now_ms, plain_environment)

SOON = 60
CONTRACT = os.path.join(HERE, "../../Sources/RollcallCore/RollcallCore.docc/Contract/Cells.md")
MAP_FIELD = "rollcall-cell-map"
INPUTS = "inputs: [{name: phones, preset: owntracks}]\n"
# The journal's code of a map.
CELLS = 42


def slot(responder_id):
    """The slot of a person, as the contract says it: FNV-1a of 64 bits, folded by all of its bits."""
    value = 0xCBF29CE484222325
    for byte in responder_id.encode():
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    value = value or 1
    return (value ^ value >> 12 ^ value >> 24 ^ value >> 36 ^ value >> 48 ^ value >> 60) & 4095


def owner(responder_id):
    """The cell of a person among two."""
    return "a" if slot(responder_id) < 2048 else "b"


def people(cell, count):
    """So many ids of a cell."""
    found = (f"r-{number}" for number in range(100_000))
    return [one for one, _ in zip((one for one in found if owner(one) == cell), range(count))]


class CellTestCase(RollcallTestCase):
    """A test with a fleet cell and two cells, each at a port of its own."""

    def setUp(self):
        super().setUp()
        self.ports = dict(zip("fab", free_ports(3)))
        self.servers = {}

    def config(self, name, more=""):
        """The settings of a watch."""
        if name != "f":
            return f"cluster: {{cell: {name}}}\n" + more
        cells = "".join(f"    {cell}: {{url: \"{self.url(cell)}\"}}\n" for cell in "ab")
        return f"cluster:\n  cells:\n{cells}" + more

    def url(self, name):
        return f"http://127.0.0.1:{self.ports[name]}"

    def begin(self, name, config=None, **more):
        """Starts a watch."""
        server = Rollcall(
            self.directory, config or self.config(name), name=name,
            address=f"127.0.0.1:{self.ports[name]}", **more)
        self.addCleanup(server.close)
        self.servers[name] = server
        return server.start()

    def fleet(self):
        """Starts all three, and waits until both cells have the map."""
        for name in "abf":
            self.begin(name, self.config(name, INPUTS if name != "f" else ""))
        for name in "ab":
            self.wait_for_map(name)
        return self.servers

    def wait_for_map(self, name, version=1):
        server = self.servers[name]
        eventually(
            lambda: server.get("/v1/cells").json()["version"] == version, SOON,
            f"{name} has version {version}")

    def put(self, server, body):
        return server.request("PUT", "/v1/cells", body)

    def map(self, version, first="a", second="b"):
        """A map of two cells."""
        return {"version": version, "slots": 4096, "cells": [
            {"name": name, "urls": [f"http://127.0.0.1/{name}"], "slots": [slots]}
            for name, slots in ((first, "0-2047"), (second, "2048-4095"))]}

    def wait_for_problem(self, name, words):
        """Waits until the fleet cell says of a cell what is wrong with it."""
        eventually(lambda: words in (self.standing(name)["problem"] or ""), SOON, f"{name}: {words}")

    def standing(self, name):
        """How the fleet cell says that a cell stands."""
        answer = self.servers["f"].get("/v1/cells").json()
        return next(one for one in answer["standing"] if one["cell"] == name)

    def rows(self, name):
        """What the journal of a watch holds but its sign of life, which comes by itself."""
        return [kind & 0x7F for kind, _ in journal_rows(self.servers[name].store)
                if kind & 0x7F in (1, 2, 3, 4, 17, 18, 19, CELLS)]

    def check_elsewhere(self, answer, cell, index=0, version=1):
        """A refusal that tells where the people are."""
        problem = self.problem(answer, 421)
        self.assertEqual(
            (problem["map_version"], problem["index"], problem["cell"], problem["title"]),
            (version, index, cell, "Misdirected Request"), problem)
        self.assertIn(f"cell {cell}", problem["detail"])
        self.assertEqual(answer.headers[MAP_FIELD], str(version))

    def ask(self, *arguments):
        """What a command prints, and its exit status."""
        done = subprocess.run(
            [BINARY, *arguments], capture_output=True, text=True, timeout=30, check=False,
            cwd=self.directory, env=plain_environment())
        return done.returncode, done.stdout + done.stderr


class SlotTests(RollcallTestCase):
    def test_the_examples_of_the_contract_are_so(self):
        with open(CONTRACT, encoding="utf-8") as file:
            examples = re.findall(r"^ *\| `([^`]+)` \| `([0-9a-f]{16})` \| (\d+) \|$", file.read(), re.M)
        self.assertGreaterEqual(len(examples), 3)
        for responder_id, value, number in examples:
            self.assertEqual(slot(responder_id), int(number), responder_id)
            self.assertEqual(f"{fnv(responder_id):016x}", value, responder_id)


def fnv(text):
    """FNV-1a, 64 bits."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


class FleetTests(CellTestCase):
    def test_the_map_arrives_and_divides_the_people(self):
        servers = self.fleet()
        answer = servers["f"].get("/v1/cells").json()
        self.assertEqual((answer["role"], answer["cell"], answer["version"]), ("fleet", None, 1))
        self.assertEqual(
            answer["cells"],
            [{"name": "a", "urls": [self.url("a")], "slots": ["0-2047"], "share": 0.5},
             {"name": "b", "urls": [self.url("b")], "slots": ["2048-4095"], "share": 0.5}])
        for name in "ab":
            held = servers[name].get("/v1/cells").json()
            self.assertEqual((held["role"], held["cell"]), ("cell", name))
            self.assertEqual(held["cells"], answer["cells"])
            self.assertNotIn("standing", held)
            wanted = {
                "cell": name, "has_slots": True, "version": 1, "unreached_since": None,
                "problem": None, "dark": False, "blind": False, "active": 0}
            eventually(
                lambda name=name, wanted=wanted: wanted.items() <= self.standing(name).items(), SOON,
                "it is known to have the map")
            eventually(
                lambda name=name: self.standing(name)["heard_through"], SOON, "it is heard")
        # All of a hundred are taken by the cell that this page computes, and by no other.
        everybody = [f"r-{number}" for number in range(100)]
        self.assertEqual({owner(one) for one in everybody}, {"a", "b"})
        for one in everybody:
            own, other = owner(one), "ab".replace(owner(one), "")
            taken = servers[own].post("/v1/batches", {"responder_id": one})
            self.assertEqual((taken.status, taken.json()["accepted"]), (200, 1), taken)
            self.check_elsewhere(servers[other].post("/v1/batches", {"responder_id": one}), own)
            self.check_elsewhere(servers["f"].post("/v1/batches", {"responder_id": one}), own)
        for name in "ab":
            count = sum(owner(one) == name for one in everybody)
            self.assertEqual(self.rows(name).count(1), count)
            page = servers[name].scrape()
            self.assertEqual(page("rollcall_cell_misdirected_total"), 100 - count)
            self.assertEqual(page("rollcall_cell_map_version"), 1)
        self.assertEqual(self.rows("f"), [CELLS])
        # An id that is a number is its digits.
        self.assertEqual(
            servers[owner("4711")].post("/v1/batches", {"responder_id": 4711}).status, 200)

    def test_a_request_with_somebody_elses_is_refused_whole(self):
        servers = self.fleet()
        server, own, other = servers["a"], people("a", 3), people("b", 2)
        known = server.post("/v1/responders", [{"responder_id": one} for one in own])
        self.assertEqual(known.status, 200)
        before = self.rows("a")
        mixed = [{"responder_id": one} for one in (own[0], own[1], other[0], own[2], other[1])]
        self.check_elsewhere(server.post("/v1/batches", mixed), "b", index=2)
        lines = ndjson([{"responder_id": own[0]}, {"responder_id": other[0]}])
        self.check_elsewhere(
            server.request("POST", "/v1/batches", lines, {"Content-Type": "application/x-ndjson"}),
            "b", index=1)
        # An item that cannot be read counts in the index all the same.
        self.check_elsewhere(
            server.post("/v1/batches", [{"responder_id": ""}, {"responder_id": other[0]}]), "b", index=1)
        moved = [{"responder_id": one, "from": "ONLINE", "to": "OFFLINE", "at": now_ms()}
                 for one in (own[0], other[0])]
        self.check_elsewhere(server.post("/v1/transitions", moved), "b", index=1)
        facts = [{"responder_id": one, "duty_state": "ON_DUTY"} for one in (other[0], own[0])]
        self.check_elsewhere(server.post("/v1/responders", facts), "b")
        self.check_elsewhere(
            server.request("PUT", "/v1/responders?shrink=allow", facts[::-1]), "b", index=1)
        for target in (f"/v1/responders/{other[0]}", f"/v1/responders/{other[0]}/timeline",
                       f"/v1/responders/{other[0]}/nudge", f"/v1/gaps?responder={other[0]}",
                       f"/v1/dark?responder={other[0]}", f"/v1/events?responder={other[0]}",
                       f"/v1/nudges?responder_id={other[0]}"):
            self.check_elsewhere(server.get(target), "b")
        self.check_elsewhere(server.request("DELETE", f"/v1/responders/{other[0]}"), "b")
        self.check_elsewhere(
            server.post("/v1/nudges", {"responder_id": other[0], "by": own[0]}), "b")
        self.assertEqual(self.rows("a"), before, "nothing of all that is stored")
        # What names no person, or is about many, is as ever.
        for target in ("/v1/responders", "/v1/gaps", "/v1/status", "/v1/nudges", "/v1/events"):
            self.assertEqual(server.get(target).status, 200, target)
        self.assertEqual(server.post("/v1/heartbeat", {"every_seconds": 60}).status, 200)
        self.assertEqual(server.post("/v1/wakes", {"circle": "c", "viewer": other[0]}).status, 200)
        # And own people are.
        self.assertEqual(server.responder(own[0])["responder_id"], own[0])
        roster = server.request(
            "PUT", "/v1/responders?shrink=allow", [{"responder_id": one} for one in own[:2]])
        self.assertEqual(roster.status, 200, roster)
        self.assertEqual(server.request("DELETE", f"/v1/responders/{own[0]}").status, 202)

    def test_an_input_refuses_too(self):
        servers = self.fleet()
        own, other = people("a", 1)[0], people("b", 1)[0]

        def send(who):
            return servers["a"].request(
                "POST", "/v1/in/phones",
                {"_type": "location", "lat": 1, "lon": 2, "tst": now_ms() // 1000, "tid": "x"},
                {"X-Limit-U": who, "X-Limit-D": "phone"})

        self.check_elsewhere(send(other), "b")
        self.assertEqual(self.rows("a"), [CELLS])
        self.assertEqual(send(own).status, 200)
        counts = servers["a"].get("/v1/inputs").json()["inputs"][0]
        self.assertEqual((counts["requests"], counts["items"]["accepted"]), (2, 1), counts)

    def test_before_the_map_nobody_is_taken(self):
        server = self.begin("a")
        own = people("a", 1)[0]
        for answer in (
                server.post("/v1/batches", {"responder_id": own}),
                server.post("/v1/responders", {"responder_id": own}),
                server.request("DELETE", f"/v1/responders/{own}"),
                server.get(f"/v1/responders/{own}")):
            problem = self.problem(answer, 503)
            self.assertIn("nobody has told this cell yet", problem["detail"])
            self.assertEqual(answer.headers["retry-after"], "1")
        problem = self.problem(server.get("/-/ready"), 503)
        self.assertIn("has not handed this cell the map", problem["detail"])
        self.assertEqual(server.get("/-/healthy").status, 200)
        self.assertEqual(server.get("/v1/cells").json()["version"], 0)
        self.assertEqual(server.scrape()("rollcall_cell_map_version"), 0)
        self.assertEqual(self.rows("a"), [])
        # The other one is away, and holds this one up by nothing.
        self.begin("f")
        self.wait_for_map("a")
        self.assertEqual(server.get("/-/ready").status, 200)
        self.assertEqual(server.post("/v1/batches", {"responder_id": own}).status, 200)
        unreached = eventually(
            lambda: self.standing("b")["unreached_since"] and self.standing("b"), SOON,
            "b is known not to be reached")
        self.assertEqual((unreached["version"], unreached["has_slots"]), (None, True))
        self.assertIn("cannot be connected to", unreached["problem"])
        self.begin("b")
        self.wait_for_map("b")
        eventually(
            lambda: (self.standing("b")["unreached_since"], self.standing("b")["version"]) == (None, 1),
            SOON, "b is known to have it")

    def test_a_restart_keeps_the_map(self):
        servers = self.fleet()
        own, other = people("a", 1)[0], people("b", 1)[0]
        servers["f"].stop()
        for end in (servers["a"].stop, servers["a"].kill):
            end()
            servers["a"].start()
            self.assertEqual(servers["a"].get("/v1/cells").json()["version"], 1)
            self.assertEqual(servers["a"].get("/-/ready").status, 200)
            self.check_elsewhere(servers["a"].post("/v1/batches", {"responder_id": other}), "b")
            self.assertEqual(servers["a"].post("/v1/batches", {"responder_id": own}).status, 200)
        # The fleet cell keeps it, too, and makes none anew.
        servers["f"].start()
        eventually(lambda: self.standing("a")["version"] == 1, SOON, "a is asked again")
        self.assertEqual(self.rows("f"), [CELLS])
        self.assertEqual(self.rows("a").count(CELLS), 1)

    def test_a_fleet_cell_without_its_store_takes_the_map_of_its_cells(self):
        servers = self.fleet()
        servers["f"].stop()
        os.remove(servers["f"].store)
        # More cells than then: a first map of them would divide the people otherwise.
        more = self.config("f").replace("    b:", f"    aa: {{url: \"{self.url('a')}\"}}\n    b:")
        servers["f"].configure(more)
        servers["f"].start()
        eventually(lambda: self.standing("a")["version"] == 1, SOON, "a is asked")
        answer = servers["f"].get("/v1/cells").json()
        self.assertEqual([cell["name"] for cell in answer["cells"]], ["a", "b"])
        self.assertFalse(self.standing("aa")["has_slots"])
        eventually(lambda: "a cell without slots takes nobody" in servers["f"].log(), SOON, "the log says so")

    def test_a_fleet_cell_without_its_store_that_starts_first_goes_on_behind_its_cells(self):
        servers = self.fleet()
        # A map of version 2, of which the lost store knew.
        servers["f"].stop()
        servers["f"].configure(self.config("f").replace(self.url("a"), self.url("a") + "/x"))
        servers["f"].start()
        eventually(lambda: servers["b"].get("/v1/cells").json()["version"] == 2, SOON, "b has it")
        for name in "abf":
            servers[name].kill()
        os.remove(servers["f"].store)
        servers["f"].configure(self.config("f"))
        servers["f"].start()
        eventually(lambda: servers["f"].get("/v1/cells").json()["version"] == 1, SOON, "it begins anew")
        for name in "ab":
            servers[name].start()
        for name in "ab":
            self.wait_for_map(name, 3)
            eventually(lambda name=name: self.standing(name)["heard_through"], SOON, "it is heard")
            eventually(
                lambda name=name: self.standing(name)["problem"] is None, SOON, "nothing is wrong with it")

    def test_a_fleet_cell_without_its_store_takes_slots_that_were_given_since(self):
        # As after a split, of which the lost store knew.
        given = self.map(5)
        given["cells"][0]["slots"], given["cells"][1]["slots"] = ["0-99"], ["100-4095"]
        for name in "ab":
            self.assertEqual(self.put(self.begin(name), given).json(), {"version": 5})
            self.servers[name].stop()
        server = self.begin("f")
        eventually(lambda: server.get("/v1/cells").json()["version"] == 1, SOON, "it begins anew")
        for name in "ab":
            self.servers[name].start()
        # The addresses that it knows make one more at once.
        eventually(lambda: server.get("/v1/cells").json()["version"] == 6, SOON, "it takes what they hold")
        self.assertEqual([cell["slots"] for cell in server.get("/v1/cells").json()["cells"]], [["0-99"], ["100-4095"]])
        for name in "ab":
            eventually(lambda name=name: self.standing(name)["heard_through"], SOON, "it is heard")
            self.assertIsNone(self.standing(name)["problem"])

    def test_a_fleet_cell_whose_map_a_cell_has_takes_no_other(self):
        given = self.map(5)
        given["cells"][0]["slots"], given["cells"][1]["slots"] = ["0-99"], ["100-4095"]
        self.put(self.begin("b"), given)
        self.servers["b"].stop()
        self.begin("a")
        server = self.begin("f")
        self.wait_for_map("a")
        self.servers["b"].start()
        self.wait_for_problem("b", "not this fleet cell's")
        # What it knew of them is gone.
        server.stop()
        server.start()
        eventually(lambda: self.standing("a")["version"], SOON, "a was asked")
        self.wait_for_problem("b", "not this fleet cell's")
        self.assertEqual(server.get("/v1/cells").json()["version"], 1)

    def test_addresses_follow_the_settings_and_slots_stay(self):
        servers = self.fleet()
        slots = [cell["slots"] for cell in servers["a"].get("/v1/cells").json()["cells"]]
        servers["f"].stop()
        # A second member, which is away.
        urls = f"urls: [\"http://127.0.0.1:9\", \"{self.url('b')}\"]"
        servers["f"].configure(self.config("f").replace(f"url: \"{self.url('b')}\"", urls))
        servers["f"].start()
        for name in "ab":
            self.wait_for_map(name, version=2)
        cells = servers["b"].get("/v1/cells").json()["cells"]
        self.assertEqual(cells[1]["urls"], ["http://127.0.0.1:9", self.url("b")])
        self.assertEqual([cell["slots"] for cell in cells], slots)
        self.check_elsewhere(
            servers["a"].post("/v1/batches", {"responder_id": people("b", 1)[0]}), "b", version=2)


class HandingOverTests(CellTestCase):
    def test_what_is_no_newer_map_of_this_cell_is_refused(self):
        server, held = self.begin("a"), self.map(2)
        conflict = "this is cell a, which the map does not name"
        other = self.map(1, "b", "c")
        self.assertEqual(self.problem(self.put(server, other), 409)["detail"], conflict)
        self.assertEqual(self.put(server, held).json(), {"version": 2})
        self.assertEqual(self.put(server, held).json(), {"version": 2}, "the same again is no fault")
        self.assertEqual(self.rows("a"), [CELLS])
        self.assertIn("held here already", self.problem(self.put(server, self.map(1)), 409)["detail"])
        changed = self.map(2)
        changed["cells"][1]["urls"] = ["http://127.0.0.1:9"]
        self.assertIn("is another one", self.problem(self.put(server, changed), 409)["detail"])
        changed["version"] = 3
        self.assertEqual(self.put(server, changed).json(), {"version": 3})
        changed["version"] = 4
        changed["cells"][0]["slots"], changed["cells"][1]["slots"] = ["0-2048"], ["2049-4095"]
        self.assertIn("only a new cell", self.problem(self.put(server, changed), 409)["detail"])
        changed["cells"][0]["slots"], changed["cells"][1]["slots"] = ["0-2046"], ["2047-4095"]
        self.assertIn("only a new cell", self.problem(self.put(server, changed), 409)["detail"])
        # To a new cell, whose members would have to look on in a log.
        given = {**changed, "cells": changed["cells"] + [{**changed["cells"][1], "name": "c"}]}
        given["cells"] = [dict(cell) for cell in given["cells"]]
        given["cells"][1]["slots"], given["cells"][2]["slots"] = ["2048-4095"], ["2047"]
        self.assertIn("has no log", self.problem(self.put(server, given), 409)["detail"])
        far = {**self.map(3), "version": 1_000_004}
        self.assertIn("so many maps", self.problem(self.put(server, far), 409)["detail"])
        del changed["cells"][1]
        self.assertIn("is of no cell", self.problem(self.put(server, changed), 422)["detail"])
        self.problem(self.put(server, "{"), 400)
        self.assertEqual(server.get("/v1/cells").json()["version"], 3)

    def test_a_watch_that_is_no_cell_takes_no_map_and_knows_none(self):
        # K7: what nobody set changes nothing.
        server = self.serve()
        self.assertIn("no cell", self.problem(self.put(server, self.map(1)), 409)["detail"])
        self.problem(server.get("/v1/cells"), 404)
        self.assertNotIn("rollcall_cell", server.scrape().text)
        self.assertEqual(server.post("/v1/batches", {"responder_id": "r-1"}).status, 200)
        fleet = self.begin("f")
        self.assertIn("no cell", self.problem(self.put(fleet, self.map(9)), 409)["detail"])

    def test_a_token_is_needed_where_there_are_tokens(self):
        token = secrets.token_hex(32)
        for name, text in (("token", token), ("wrong", secrets.token_hex(32))):
            with open(os.path.join(self.directory, name), "w", encoding="ascii") as file:
                file.write(text + "\n")
        guard = ("web: {tokens: [{name: fleet, scopes: [read, admin], token_file: token}]}\n")
        self.begin("a", self.config("a") + guard)
        self.begin("f", self.config("f") + "  cells_token_file: wrong\n")
        eventually(
            lambda: "401" in (self.standing("a")["problem"] or ""), SOON, "the cell refuses")
        self.assertIsNone(self.standing("a")["unreached_since"], "it was reached")
        self.servers["f"].stop()
        self.servers["f"].configure(self.config("f") + "  cells_token_file: token\n")
        self.servers["f"].start()
        headers = {"Authorization": f"Bearer {token}"}
        eventually(
            lambda: self.servers["a"].get("/v1/cells", headers).json()["version"] == 1, SOON,
            "it is let in")

    def test_another_watch_at_an_address_is_not_handed_the_map(self):
        self.begin("b", "cluster: {cell: c}\n")
        self.begin("f")
        eventually(
            lambda: "another watch than cell b" in (self.standing("b")["problem"] or ""), SOON,
            "it is told")
        self.assertEqual(self.servers["b"].get("/v1/cells").json()["version"], 0)

    def test_both_settings_at_once_are_a_fault(self):
        for config, said in (
                (self.config("f") + "  cell: a\n", "cells do not go together"),
                ("cluster: {cell: a/b}\n", "1 to 64 letters, digits or signs without /"),
                ("cluster: {cells: {a: {}}}\n", "1 to 16 addresses"),
                ("cluster:\n  cells:\n    a: {url: \"http://a\"}\n    a: {url: \"http://b\"}\n",
                 "twice")):
            path = os.path.join(self.directory, "wrong.yml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(config)
            status, said_by_check = self.ask("check", path)
            self.assertEqual(status, 64, said_by_check)
            self.assertIn(said, said_by_check)

    def test_the_command_tells_the_map_and_how_cells_stand(self):
        self.begin("a")
        status, text = self.ask("cluster", "cells", "--server", self.url("a"))
        self.assertEqual(status, 1, text)
        self.assertIn("has no map yet", text)
        self.begin("f")
        self.wait_for_map("a")
        eventually(
            lambda: self.standing("b")["unreached_since"], SOON, "b is known not to be reached")
        status, text = self.ask("cluster", "cells", "--server", self.url("f"))
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"(?m)^b +50\.0 % +2048-4095 +not reached for \d+ s +http")
        self.assertRegex(text, r"(?m)^b is not reached: http")
        # The fleet cell has nobody, which is not that nobody is there.
        for command in (["people"], ["gaps"], ["nudges"]):
            status, text = self.ask(*command, "--server", self.url("f"))
            self.assertEqual(status, 0, text)
            self.assertIn("fleet cell, which knows nobody", " ".join(text.split()))
            status, text = self.ask(*command, "-o", "ids", "--server", self.url("f"))
            self.assertEqual(status, 1, text)
        self.begin("b")
        self.wait_for_map("b")
        for name in "ab":
            eventually(
                lambda name=name: (self.standing(name)["unreached_since"], self.standing(name)["version"])
                == (None, 1), SOON, f"{name} is known to have it")
        status, text = self.ask("cluster", "cells", "--server", self.url("f"))
        self.assertEqual(status, 0, text)
        self.assertIn("The fleet cell", text)
        self.assertRegex(text, r"(?m)^a +50\.0 % +0-2047 +1 +http")
        status, text = self.ask("cluster", "cells", "--server", self.url("a"), "-o", "ids")
        self.assertEqual((status, text), (0, "a\nb\n"))
        status, text = self.ask("cluster", "cells", "--server", self.url("a"), "-o", "json")
        self.assertEqual(json.loads(text)["cell"], "a")


class BrokerTests(CellTestCase):
    def test_a_message_about_somebody_elses_counts_as_refused(self):
        broker = Mosquitto(self)
        server = self.begin("a", self.config("a") + f"""inputs:
  - {{name: ours, enrol: true, id: [{{topic: 2}}], captured_at: {{pointer: /t, unit: ms}},
      mqtt: {{url: "{broker.url}", topic: phones/+}}}}
""")

        def outcome(word):
            return server.scrape()(
                "rollcall_input_mqtt_messages_total", input="ours", outcome=word)

        eventually(
            lambda: server.scrape()("rollcall_input_mqtt_connected", input="ours") == 1, SOON,
            "it is subscribed")
        own, other = people("a", 1)[0], people("b", 1)[0]
        phone = Publisher(broker)
        phone.publish(f"phones/{own}", json.dumps({"t": now_ms()}))
        eventually(lambda: outcome("returned") > 0, SOON, "before the map it is left to the broker")
        self.assertEqual(self.rows("a"), [])
        self.begin("f")
        eventually(lambda: outcome("committed") == 1, SOON, "it comes again, and is taken")
        phone.publish(f"phones/{other}", json.dumps({"t": now_ms()}))
        eventually(lambda: outcome("refused") == 1, SOON, "another cell's is refused")
        phone.publish(f"phones/{own}", json.dumps({"t": now_ms()}))
        eventually(lambda: outcome("committed") == 2, SOON, "what comes behind it is taken")
        self.assertEqual(self.rows("a"), [CELLS, 1, 1])
        self.assertEqual(server.scrape()("rollcall_cell_misdirected_total"), 1)
        phone.close()


class MemberTests(CellTestCase):
    def test_a_cell_of_members_takes_the_map_at_any_of_them(self):
        members = Members(self, Etcd(self, members=1), names="xy")
        for name in "xy":
            with open(members[name].config_path, encoding="utf-8") as file:
                members[name].configure(file.read() + "  cell: a\n")
        members.start()
        leader = members.leader()
        follower = next(one for one in "xy" if one != leader)
        urls = [f"http://127.0.0.1:{members[follower].port}"]
        self.begin("f", f"cluster: {{cells: {{a: {{urls: {json.dumps(urls)}}}}}}}\n")
        for name in "xy":
            eventually(
                lambda name=name: members[name].get("/v1/cells").json()["version"] == 1, SOON,
                f"{name} has the map")
            eventually(
                lambda name=name: members[name].post("/v1/batches", {"responder_id": "r-1"}).status == 200,
                SOON, f"{name} takes a batch")

    def test_a_fleet_cell_of_members_makes_one_map_and_each_leader_hands_it_over(self):
        members = Members(self, Etcd(self, members=1), names="xy")
        for name in "xy":
            cells = "".join(f"    {cell}: {{url: \"{self.url(cell)}\"}}\n" for cell in "ab")
            with open(members[name].config_path, encoding="utf-8") as file:
                members[name].configure(file.read() + "  cells:\n" + cells)
        self.begin("a")
        members.start()
        leader = members.leader()
        self.wait_for_map("a")
        for name in "xy":
            eventually(
                lambda name=name: members[name].get("/v1/cells").json()["version"] == 1, SOON,
                f"{name} holds the map")
        # Its successor makes none anew, and goes on with who was away.
        members[leader].kill()
        other = next(one for one in "xy" if one != leader)
        self.assertEqual(members.leader(), other)
        self.begin("b")
        self.wait_for_map("b")
        eventually(
            lambda: [one["version"] for one in members[other].get("/v1/cells").json()["standing"]]
            == [1, 1], SOON, "it knows that both have the map")
        self.assertEqual(self.rows("a").count(CELLS), 1)
        refused = members[other].post("/v1/batches", {"responder_id": people("b", 1)[0]})
        self.check_elsewhere(refused, "b")

"""The list of people, sorted, searched and filtered by the server, and what is different about some:
against a ledger that the test keeps of what it told.

Source: V12, V13.
"""

import random
import time
import unittest
import urllib.parse

from rollcall_process import RollcallTestCase, eventually, now_ms

# On a mission people fall silent in two seconds, on duty they stay as they were told.
CONFIG = """
liveness:
  on_duty: {expected: 60s, degraded_after: 15m, offline_after: 30m}
  on_mission: {expected: 300ms, degraded_after: 1s, offline_after: 2s}
limits: {items: 10000}
"""
REGIONS = ["north", "east", "old-town", "harbour", "a,b", "North", "ärea"]
PHONES = [("Huawei", "Mate"), ("Samsung", "Galaxy Note"), ("Apple", "iPhone 14"), ("Xiaomi", "13, lite")]
NETWORKS = ["wifi", "cellular", "none", None]
POWERS = ["normal", "low_power", None]
COUNT = 3000
# The keys of the order, with what an answer says of somebody; None where it says nothing.
SORTS = {
    "id": lambda one: one["responder_id"],
    "region": lambda one: one["region"] or None,
    "status": lambda one: {"ONLINE": 0, "DEGRADED": 1, "UNKNOWN": 2, "OFFLINE": 3}.get(one["status"]),
    "since": lambda one: one["since"],
    "last_seen": lambda one: one["last_contact_at"],
    "cause": lambda one: one.get("suspected"),
    "battery": lambda one: one.get("battery_level"),
    "platform": lambda one: None if one["platform"] == "unknown" else one["platform"],
    "manufacturer": lambda one: one.get("manufacturer"),
    "model": lambda one: one.get("model"),
    "os_version": lambda one: one.get("os_version"),
    "app_version": lambda one: one.get("app_version"),
    "duty_state": lambda one: one.get("duty_state"),
    "network_type": lambda one: one.get("telemetry", {}).get("network_type"),
    "permission_status": lambda one: one.get("telemetry", {}).get("permission_status"),
    "power_mode": lambda one: one.get("telemetry", {}).get("power_mode"),
    "app_state": lambda one: one.get("telemetry", {}).get("app_state"),
}


def naive(people, key, turned=False):
    """Everybody sorted by a key, then by id; of whom it is not known last, either way round."""
    raw = lambda text: text.encode() if isinstance(text, str) else text
    name = lambda one: one["responder_id"].encode()
    if key is SORTS["id"]:
        return sorted(people, key=name, reverse=turned)
    known = sorted((one for one in people if key(one) is not None), key=name)
    known.sort(key=lambda one: raw(key(one)), reverse=turned)
    return known + sorted((one for one in people if key(one) is None), key=name)


class LedgerTestCase(RollcallTestCase):
    """One fleet for all of them: three waves, of which some fall silent."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.serve_all(CONFIG)
        cls.ledger = {}
        # Of whom something was told since.
        cls.moved = set()
        dice = random.Random(31)
        for wave in range(3):
            batches = []
            for number in range(wave, COUNT, 3):
                region = dice.choice(REGIONS)
                # In the harbour nearly all have one model, and save power.
                make, model = PHONES[0] if region == "harbour" and dice.random() < 0.8 else (
                    dice.choice(PHONES[1:]) if dice.random() < 0.97 else PHONES[0])
                network = dice.choice(NETWORKS)
                power = dice.choice(POWERS)
                one = {
                    "responder_id": f"{'R' if number % 5 == 0 else 'r'}-{number:05}", "region": region,
                    "duty_state": "ON_MISSION" if number % 30 == 0 else "ON_DUTY",
                    "platform": "ios" if make == "Apple" else "android",
                    "circles": dice.sample(["red", "green", "blue"], dice.randrange(3)),
                    "app_version": dice.choice(["4.1.0", "4.2.0", "4.10.0"]),
                    "battery_level": dice.choice([0.03, 0.05, 0.1, 0.2, 0.5, 0.77, 1.0, None]),
                    "telemetry": {"network_type": network, "power_mode": power, "app_state": "background"},
                }
                if number % 11:
                    one |= {"manufacturer": make, "model": model, "os_version": f"{number % 3}"}
                cls.ledger[one["responder_id"]] = {**one, "wave": wave}
                one = {key: value for key, value in one.items() if value is not None}
                one["telemetry"] = {k: v for k, v in one["telemetry"].items() if v is not None}
                batches.append({**one, "updates": [{"sequence": 1, "captured_at": now_ms()}]})
            cls.server.write("/v1/batches", batches)
            time.sleep(0.3)
        for number in range(1, COUNT, 100):
            name = f"r-{number:05}"
            if name in cls.ledger:
                cls.server.write("/v1/responders", {"responder_id": name, "duty_state": "OFF_DUTY"})
                cls.ledger[name]["duty_state"] = "OFF_DUTY"
        cls.silent = {name for name, one in cls.ledger.items() if one["duty_state"] == "ON_MISSION"}
        eventually(lambda: cls.server.get("/v1/status").json()["responders"]["OFFLINE"]
                   == len(cls.silent), 30, "those on a mission are silent")

    def ask(self, **parameters):
        return self.server.get("/v1/responders?" + urllib.parse.urlencode(parameters)).json()

    def pages(self, **parameters):
        """Everybody of all pages, and the total of the first."""
        found, after, total = [], {}, None
        while True:
            page = self.ask(**parameters, **after)
            total = page["total"] if total is None else total
            found += page["responders"]
            if page["next"] is None:
                return found, total
            after = {"after": page["next"]}

    def everybody(self):
        """All of them in the order in which they were enrolled, as the list without an order says."""
        found, after = [], {}
        while True:
            page = self.ask(limit=1000, **after)
            self.assertNotIn("total", page)
            found += page["responders"]
            if page["next"] is None:
                return found
            after = {"after": page["next"]}

    def names(self, people):
        return [one["responder_id"] for one in people]


class OrderTests(LedgerTestCase):
    def test_every_key_sorts_everybody_either_way_page_by_page(self):
        people = self.everybody()
        self.assertEqual(len(people), COUNT)
        for word, key in SORTS.items():
            for turned in (False, True):
                with self.subTest(word, turned=turned):
                    found, total = self.pages(sort=("-" if turned else "") + word, limit=700)
                    self.assertEqual(total, COUNT)
                    self.assertEqual(self.names(found), self.names(naive(people, key, turned)))

    def test_who_is_silent_for_the_longest_is_the_longest_of_all(self):
        page = self.ask(sort="-silent_for", limit=1000)
        spans = [one["silent_seconds"] for one in page["responders"]]
        self.assertEqual(spans, sorted(spans, reverse=True))
        expected = [one for name, one in self.ledger.items()
                    if one["duty_state"] != "OFF_DUTY" and name not in self.moved]
        first = sorted(one["responder_id"] for one in expected if one["wave"] == 0)
        self.assertEqual(sorted(self.names(page["responders"])[:len(first)]), first)
        last = self.pages(sort="-silent_for", limit=1000)[0][-1]
        self.assertEqual((last["status"], "silent_seconds" in last), ("NOT_EXPECTED", False))

    def test_small_pages_neither_skip_nor_double_while_others_change(self):
        found, after, number = [], {}, 0
        movers = [name for name in self.ledger if name.endswith("7")][:60]
        while True:
            page = self.ask(sort="-battery", limit=61, region="north,east", **after)
            found += self.names(page["responders"])
            # Of those who move the battery is told anew, so that they stand elsewhere.
            mover = self.ledger[movers[number % len(movers)]]
            number += 1
            self.moved.add(mover["responder_id"])
            self.server.write("/v1/batches", {
                "responder_id": mover["responder_id"], "battery_level": (number % 10) / 10,
                "updates": [{"sequence": 1 + number, "captured_at": now_ms()}]})
            if page["next"] is None:
                break
            after = {"after": page["next"]}
        changed = set(movers[:number])
        stayed = [name for name in found if name not in changed]
        wanted = {name for name, one in self.ledger.items()
                  if one["region"] in ("north", "east") and name not in changed}
        self.assertEqual(len(stayed), len(set(stayed)))
        self.assertEqual(set(stayed), wanted)

    def test_what_makes_no_sense_is_refused(self):
        cursor = self.ask(sort="battery", limit=1)["next"]
        for query, words in {
            "sort=height": "sort: one of id, region", "sort=--id": "sort: one of",
            "sort=relevance": "sort: one of", "status=FINE": "status: one of ONLINE",
            "cause=none": "cause: one of", "battery=10-20": "battery: one of",
            "make=Huawei": "unknown parameter: make", "q=" + "x" * 129: "q: at most 128",
            f"sort=-battery&after={cursor}": "after: the next of an answer in the same order",
            "sort=id&after=r-00001": "after: ", "q=r&after=AAAA": "after: ",
            "silent_since=7": "silent_since: ", "platform=ios,ios": "platform: at most",
        }.items():
            with self.subTest(query):
                problem = self.problem(self.server.get(f"/v1/responders?{query}"), 400)
                self.assertIn(words, problem["detail"])
        self.problem(self.server.get("/v1/differences?sort=id"), 400)


class FilterTests(LedgerTestCase):
    def of(self, fits):
        return {name for name, one in self.ledger.items() if fits(one)}

    def test_filters_choose_what_the_ledger_says(self):
        battery = lambda low, high: lambda one: (
            one["battery_level"] is not None and low < one["battery_level"] <= high)
        for query, fits in {
            "region=harbour": lambda one: one["region"] == "harbour",
            "region=a,b": lambda one: one["region"] == "a,b",
            "region=north,ärea": lambda one: one["region"] in ("north", "ärea"),
            "region=nor*": lambda one: one["region"].lower() == "north",
            "model=Mate": lambda one: one.get("model") == "Mate",
            "model=13, lite": lambda one: one.get("model") == "13, lite",
            "model=mat*,iPhone 14": lambda one: one.get("model") in ("Mate", "iPhone 14"),
            "model=": lambda one: "model" not in one,
            "manufacturer=Huawei,Xiaomi": lambda one: one.get("manufacturer") in ("Huawei", "Xiaomi"),
            "app_version=4.1*": lambda one: one["app_version"] in ("4.1.0", "4.10.0"),
            "os_version=2": lambda one: one.get("os_version") == "2",
            "circle=red": lambda one: "red" in one["circles"],
            "circle=red,blue": lambda one: {"red", "blue"} & set(one["circles"]),
            "circle=": lambda one: not one["circles"],
            "platform=ios": lambda one: one["platform"] == "ios",
            "network_type=none,unknown": lambda one: one["telemetry"]["network_type"] in ("none", None),
            "power_mode=low_power": lambda one: one["telemetry"]["power_mode"] == "low_power",
            "app_state=background": lambda one: True,
            "permission_status=denied": lambda one: False,
            "duty_state=ON_MISSION,OFF_DUTY": lambda one: one["duty_state"] != "ON_DUTY",
            "not_expected=off_duty": lambda one: one["duty_state"] == "OFF_DUTY",
            "status=OFFLINE": lambda one: one["duty_state"] == "ON_MISSION",
            "status=NOT_EXPECTED,OFFLINE": lambda one: one["duty_state"] != "ON_DUTY",
            "battery=0-5": battery(-1, 0.05), "battery=5-20": battery(0.05, 0.2),
            "battery=20-50,50-100": battery(0.2, 1),
            "battery=unknown": lambda one: one["battery_level"] is None,
            "sharing=paused": lambda one: False,
            "region=harbour&model=Mate&power_mode=low_power&status=ONLINE": lambda one: (
                one["region"], one.get("model"), one["telemetry"]["power_mode"],
                one["duty_state"]) == ("harbour", "Mate", "low_power", "ON_DUTY"),
            "q=R-0": lambda one: True, "q=-0012": lambda one: "-0012" in one["responder_id"],
            "q=99&region=north": lambda one: "99" in one["responder_id"] and one["region"] == "north",
            "q=nobody": lambda one: False,
        }.items():
            with self.subTest(query):
                parameters = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
                found, total = self.pages(sort="id", limit=1000, **parameters)
                wanted = self.of(fits)
                self.assertEqual(set(self.names(found)), wanted)
                self.assertEqual((len(found), total), (len(wanted), len(wanted)))
                if "q" not in parameters:
                    plain = self.ask(limit=1000, **parameters)["responders"]
                    self.assertLessEqual(set(self.names(plain)), wanted)
                    self.assertEqual(len(plain), min(1000, len(wanted)))

    def test_the_cause_and_the_time_are_those_of_the_open_gaps(self):
        gaps = self.server.get("/v1/gaps?state=open&limit=1000").json()["gaps"]
        self.assertEqual({gap["responder_id"] for gap in gaps}, self.silent)
        for cause in {gap["suspected"] for gap in gaps}:
            found, _ = self.pages(cause=cause, sort="id")
            wanted = {gap["responder_id"] for gap in gaps if gap["suspected"] == cause}
            self.assertEqual(set(self.names(found)), wanted)
            self.assertEqual({one["suspected"] for one in found}, {cause})
        opened = sorted(gap["opened_at"] for gap in gaps)
        middle = opened[len(opened) // 2]
        found, _ = self.pages(silent_since=middle, sort="id")
        self.assertEqual(set(self.names(found)),
                         {gap["responder_id"] for gap in gaps if gap["opened_at"] >= middle})
        found, _ = self.pages(silent_until=middle, sort="id")
        self.assertEqual(set(self.names(found)),
                         {gap["responder_id"] for gap in gaps if gap["opened_at"] < middle})

    def test_ids_that_begin_with_what_is_searched_for_come_first(self):
        found, _ = self.pages(q="r-0000")
        self.assertEqual(self.names(found), sorted(
            name for name in self.ledger if name.lower().startswith("r-0000")))
        server = self.serve(CONFIG)
        server.write("/v1/responders", [{"responder_id": name, "duty_state": "ON_DUTY"} for name in (
            "max", "amx", "mx-2", "xmx", "MX-1", "x-mx")])
        answer = server.get("/v1/responders?q=mx").json()
        self.assertEqual(self.names(answer["responders"]), ["MX-1", "mx-2", "amx", "x-mx", "xmx"])
        self.assertEqual(answer["total"], 5)


class DifferenceTests(LedgerTestCase):
    def differences(self, **parameters):
        return self.server.get("/v1/differences?" + urllib.parse.urlencode(parameters)).json()

    def fact(self, one, fact):
        """What the ledger knows of somebody."""
        level = one["battery_level"]
        if fact == "battery":
            return level and next(word for high, word in (
                (0.05, "0-5"), (0.2, "5-20"), (0.5, "20-50"), (1, "50-100")) if level <= high)
        return one["telemetry"].get(fact) or one.get(fact)

    def test_the_counts_are_the_ledgers(self):
        expected = [one for one in self.ledger.values() if one["duty_state"] != "OFF_DUTY"]
        harbour = [one for one in expected if one["region"] == "harbour"]
        rest = [one for one in expected if one["region"] != "harbour"]
        answer = self.differences(region="harbour")
        self.assertEqual((answer["chosen"], answer["rest"]), (len(harbour), len(rest)))
        found = answer["differences"]
        self.assertEqual([one["fact"] for one in found][:2], ["model", "manufacturer"])
        self.assertEqual([one["value"] for one in found][:2], ["Mate", "Huawei"])
        self.assertNotIn("region", [one["fact"] for one in found])
        for one in found:
            known = lambda people: [self.fact(p, one["fact"]) for p in people
                                    if self.fact(p, one["fact"]) is not None]
            ours, others = known(harbour), known(rest)
            self.assertEqual(
                (one["in"], one["of"], one["rest"], one["rest_of"]),
                (ours.count(one["value"]), len(ours), others.count(one["value"]), len(others)), one)
            share = one["in"] / one["of"] - one["rest"] / one["rest_of"]
            self.assertTrue(0 < one["at_least"] < share, one)
        shares = [one["at_least"] for one in found]
        self.assertEqual(shares, sorted(shares, reverse=True))

    def test_of_those_with_the_model_the_region_is_different(self):
        found = self.differences(model="Mate", limit=1)["differences"]
        self.assertEqual([(one["fact"], one["value"]) for one in found], [("region", "harbour")])

    def test_small_numbers_and_chance_say_nothing(self):
        few = self.differences(q="r-00001", model="Mate,Galaxy Note,iPhone 14")
        self.assertLessEqual(few["chosen"], 1)
        self.assertEqual(few["differences"], [])
        # Whose number ends alike, which nothing depends on.
        for digit in (1, 2, 3, 4, 6):
            chance = self.differences(q=f"{digit}{digit}")
            self.assertGreater(chance["chosen"], 50)
            self.assertEqual(chance["differences"], [], digit)
        everybody = self.differences()
        self.assertEqual((everybody["rest"], everybody["differences"]), (0, []))
        nobody = self.differences(status="NOT_EXPECTED")
        self.assertEqual((nobody["chosen"], nobody["differences"]), (0, []))


if __name__ == "__main__":
    unittest.main()

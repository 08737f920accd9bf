"""Limits of the routes, at the limit and one past it; test_http has those of bodies.

Source: style 15; I7, V8.
"""

import unittest
import urllib.parse

from rollcall_process import NDJSON, RollcallTestCase, ndjson


class LimitTests(RollcallTestCase):
    def test_a_list_holds_at_most_a_thousand(self):
        server = self.serve()
        server.write("/v1/batches", [{"responder_id": f"p{number}"} for number in range(1001)])
        page = server.get("/v1/responders?limit=1000").json()
        self.assertEqual((len(page["responders"]), page["next"]), (1000, "p999"))
        rest = server.get(f"/v1/responders?limit=1000&after={page['next']}").json()
        self.assertEqual((len(rest["responders"]), rest["next"]), (1, None))
        for limit in ("1001", "0", "-1", "1.5", "99999999999999999999", ""):
            self.problem(server.get(f"/v1/responders?limit={limit}"), 400)

    def test_a_question_looks_at_fifty_thousand_people_at_most(self):
        server = self.serve()

        def enrol(numbers):
            items = ndjson([{"responder_id": f"p{number}"} for number in numbers])
            server.write("/v1/batches", items, {"Content-Type": NDJSON})

        for part in range(5):
            enrol(range(part * 10_000, (part + 1) * 10_000))
        page = server.get("/v1/responders?region=nowhere").json()
        self.assertEqual(page, {"responders": [], "next": None})
        enrol([50_000])
        page = server.get("/v1/responders?region=nowhere").json()
        self.assertEqual(page, {"responders": [], "next": "p49999"})
        page = server.get("/v1/responders?region=nowhere&after=p49999").json()
        self.assertEqual(page, {"responders": [], "next": None})

    def test_names_in_targets_have_128_bytes(self):
        server = self.serve()
        for name, status in (("s" * 128, 200), ("s" * 129, 422), ("ü" * 64, 200),
                             ("ü" * 64 + "s", 422), ("a\tb", 422), ("", 422)):
            with self.subTest(name):
                source = urllib.parse.quote(name, safe="")
                self.assertEqual(
                    server.post(f"/v1/batches?source={source}", {"responder_id": "a"}).status,
                    status)
                beat = {"every_seconds": 60, "source": name}
                self.assertEqual(server.post("/v1/heartbeat", beat).status, status)
        longest = "r" * 128
        server.write("/v1/batches", {"responder_id": longest})
        self.assertEqual(server.get(f"/v1/responders/{longest}").status, 200)
        escaped = "".join(f"%{byte:02x}" for byte in longest.encode())
        self.assertEqual(server.get(f"/v1/responders/{escaped}").status, 200)
        self.problem(server.get(f"/v1/responders/{longest}r"), 404)
        for bad in ("%", "%4", "%zz", "a%2"):
            self.problem(server.get(f"/v1/responders/{bad}"), 404)

    def test_an_answer_lists_a_hundred_notes_and_counts_all(self):
        server = self.serve()
        for count in (100, 101):
            answer = server.post("/v1/batches", [{"region": "x"}] * count)
            document = self.problem(answer, 422)
            self.assertEqual(len(document["rejected"]), 100)
        bad = {"responder_id": "a", "updates": [{"sequence": -1}] * 101}
        self.assertEqual(len(server.write("/v1/batches", bad)["problems"]), 100)
        page = server.scrape()
        self.assertEqual(page.total("rollcall_rejected_items_total"), 201)
        self.assertEqual(page.total("rollcall_item_problems_total"), 101)


if __name__ == "__main__":
    unittest.main()

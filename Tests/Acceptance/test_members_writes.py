"""Writes and reads at any member of a watch on several machines: real members on a real etcd.

Source: Contract/Cluster, S15; Contract/Journal, S19.
"""

import json
import os
import threading
import time
import uuid

import input_bodies
from cluster_process import ClusterTestCase, Etcd, Members, batch
from journal_rows import journal_rows
from loopback_receivers import Pager
from rollcall_process import eventually, ndjson, now_ms, rfc3339

SILENCE = {"matchers": ["alertname=HighOfflineRate"], "duration": "2h", "author": "ann",
           "comment": "exercise"}
PAGED = """
receivers:
  - name: oncall
    pagerduty: {{url: "{url}", routing_key: "{key}"}}
"""
TOKENS = """
web:
  tokens:
    - {{name: backend, scopes: [ingest], token_file: {directory}/backend.token}}
    - {{name: ops, scopes: [read, admin, ingest, "input:t"], token_file: {directory}/ops.token}}
inputs: [{{name: t, preset: traccar_client, enrol: true}}]
"""


class MembersWritesTests(ClusterTestCase):
    def watch(self, settings="", etcds=1, names="abc"):
        # Whoever leads goes on leading on a machine that is late for a second or two.
        members = Members(
            self, Etcd(self, members=etcds), names=names, settings=settings, silence="3s")
        members.start()
        members.settled()
        leader = members.leader()
        followers = [name for name in members.names if name != leader]
        # Each follower knows the leader's address once it has read its note.
        for name in followers:
            eventually(
                lambda name=name: (members.standing(name) or {}).get("leader_address"), 10,
                "who leads")
        return members, leader, followers

    def held(self, client, target):
        """What is answered of a position, once it is held: who is behind by a second says 503."""
        return eventually(
            lambda: (answer := client.request("GET", target)).status != 503 and answer, 20,
            f"{target} is held")

    def test_each_write_is_taken_at_each_member_and_seen_at_the_others(self):
        pager = Pager(self)
        members, leader, followers = self.watch(
            PAGED.format(url=pager.url, key=Pager.ROUTING_KEY))
        one, other = (members[name] for name in followers)
        written = one.post("/v1/batches?source=pod%20a%2Fb", ndjson([batch("p-1"), batch("p-2")]),
                           {"Content-Type": "application/x-ndjson"})
        self.assertEqual(written.status, 200, written)
        self.assertEqual(written.json()["accepted"], 2)
        position = int(written.headers["rollcall-position"])
        seen = self.held(other, f"/v1/responders/p-2?at_least={position}")
        self.assertEqual(seen.status, 200, seen)
        self.assertGreaterEqual(int(seen.headers["rollcall-position"]), position)
        self.assertEqual(one.post("/v1/heartbeat?source=pod%20a%2Fb", {"every_seconds": 60}).status, 200)
        self.assertIn(
            "pod a/b", [source["source"] for source in members[leader].get("/v1/status").json()["sources"]])
        begun = one.post("/v1/silences", SILENCE)
        self.assertEqual(begun.status, 200, begun)
        listed = self.held(other, f"/v1/silences?at_least={begun.headers['rollcall-position']}")
        self.assertEqual([s["id"] for s in listed.json()["silences"]], [1])
        self.assertEqual(other.request("DELETE", "/v1/silences/1").status, 200)
        self.problem(other.request("DELETE", "/v1/silences/1"), 404)
        # What the leader says of a body, of a parameter and of a conflict reaches the client as it is.
        self.problem(one.post("/v1/silences", {}), 422)
        self.problem(one.post("/v1/batches?sauce=x", batch("p-1")), 400)
        retired = one.request("PUT", "/v1/responders", [])
        self.assertIn(retired.status, (200, 409), retired)
        self.assertEqual(one.post("/v1/wakes", {"circle": "c", "viewer": "v"}).status, 200)
        drill = one.post("/v1/drill", {"receiver": "oncall"})
        self.assertIn(drill.status, (200, 202), drill)
        self.problem(one.post("/v1/drill", {"receiver": "nobody"}), 404)
        erased = one.request("DELETE", "/v1/responders/p-1")
        self.assertEqual(erased.status, 202, erased)
        self.assertTrue(erased.headers["location"].startswith("/v1/erasures/"))
        counts = one.scrape()
        self.assertGreater(counts("rollcall_member_passed_on_total", outcome="answered"), 9)
        self.assertEqual(counts("rollcall_member_passed_on_total", outcome="unknown"), 0)
        self.assertEqual(
            members[leader].scrape()("rollcall_member_passed_on_total", outcome="answered"), 0)
        # Settings are each member's own file, and no write of the watch.
        self.assertEqual(one.post("/-/reload", b"").status, 200)

    def test_what_phones_send_is_taken_at_each_member(self):
        """S15, M3: with the field that names the phone."""
        members, _, followers = self.watch("inputs: [{name: o, preset: owntracks}]\n")
        one, other = (members[name] for name in followers)
        sent = input_bodies.owntracks("nobody", now_ms(), 1.5, 2.5)
        body = {name: value for name, value in json.loads(sent.body).items()
                if name not in ("topic", "tid")}
        taken = one.request(
            "POST", "/v1/in/o", json.dumps(body),
            {**sent.headers, "X-Limit-U": "jane", "X-Limit-D": "phone"})
        self.assertEqual((taken.status, taken.body), (200, sent.answer), taken)
        position = taken.headers["rollcall-position"]
        seen = self.held(other, f"/v1/responders/jane?at_least={position}")
        self.assertEqual((seen.status, seen.json()["status"]), (200, "ONLINE"), seen)
        # What its client could never send otherwise is answered so too; here it would be lost.
        counts = one.get("/v1/inputs").json()["inputs"][0]
        self.assertEqual(counts["problems"], {}, counts)

    def test_a_write_makes_one_hop(self):
        members, leader, followers = self.watch()
        follower = members[followers[0]]
        refused = follower.post("/v1/batches", batch("p-1"), {"Rollcall-Passed-On": "0"})
        self.problem(refused, 503)
        self.assertEqual(refused.headers["rollcall-leader"], f"http://{members[leader].address}")
        taken = members[leader].post("/v1/batches", batch("p-1"), {"Rollcall-Passed-On": "12"})
        self.assertEqual(taken.status, 200, taken)

    def test_the_leader_authorises_the_clients_own_token(self):
        for name in ("backend", "ops"):
            path = os.path.join(self.directory, f"{name}.token")
            with open(path, "w", encoding="ascii") as file:
                file.write(f"{name}-0123456789abcdef")
            os.chmod(path, 0o600)
        settings = TOKENS.format(directory=self.directory)
        members = Members(self, Etcd(self, members=1), settings=settings, silence="3s")
        members.start()
        leader = members.leader()
        follower = members[next(name for name in members.names if name != leader)]
        bearer = lambda name: {"Authorization": f"Bearer {name}-0123456789abcdef"}
        eventually(
            lambda: follower.post("/v1/batches", batch("p-1"), bearer("backend")).status == 200,
            20, "a batch is passed on")
        self.problem(follower.post("/v1/batches", batch("p-1")), 401)
        self.problem(follower.post("/v1/silences", SILENCE, bearer("backend")), 403)
        self.assertEqual(follower.post("/v1/silences", SILENCE, bearer("ops")).status, 200)
        # Phones may write by GET; HEAD writes nothing, wherever it comes.
        query = input_bodies.osmand_query("paul", now_ms(), 1.5, 2.5).path
        for method, who, status in (
                ("HEAD", members[leader], 404), ("HEAD", follower, 404), ("GET", follower, 200)):
            taken = who.request(method, f"/v1/in/t{query}", headers=bearer("ops"))
            self.assertEqual(taken.status, 200, taken)
            seen = members[leader].get("/v1/responders/paul", bearer("ops"))
            self.assertEqual(seen.status, status, method)
        # The leader alone knows who may: a token that it does not take gets its 401.
        with open(os.path.join(self.directory, "backend.token"), "w", encoding="ascii") as file:
            file.write("backend-another-secret")
        answer = members[leader].post("/-/reload", b"", bearer("ops"))
        self.assertEqual(answer.status, 200, answer)
        refused = follower.post("/v1/batches", batch("p-1"), bearer("backend"))
        self.problem(refused, 401)
        self.assertIn("www-authenticate", refused.headers)

    def test_a_hop_spoils_no_clock(self):
        """D10: a source is measured by when its request was heard, whoever heard it."""
        members, leader, followers = self.watch()
        follower, lead = members[followers[0]], members[leader]

        def sent(behind):
            return {"Rollcall-Sent-At": str(now_ms() - behind)}

        def heard(seconds_ago):
            """A batch that the backend heard the phone with some time ago stays of that time."""
            at = rfc3339(now_ms() - 1000 * seconds_ago)
            follower.write("/v1/batches", {"responder_id": "late-1", "received_at": at})
            seen = lead.responder("late-1")["last_contact_at"]
            self.assertEqual(seen[:19], at[:19])
        heard(20)

        def beat():
            for name, member, fields in (
                    ("behind", follower, sent(10_000)), ("right", follower, sent(0)),
                    ("held", lead, {**sent(3000), "Rollcall-Passed-On": "3000"})):
                answer = member.post(f"/v1/batches?source={name}", batch(name), fields)
                self.assertEqual(answer.status, 200, answer)

        def measured():
            beat()
            found = lead.scrape().all("rollcall_source_skew_seconds")
            return found if len(found) == 3 else None
        skews = {dict(labels)["source"]: value
                 for labels, value in eventually(measured, 150, "a minute", every=5).items()}
        for name, seconds in (("behind", 10), ("right", 0), ("held", 0)):
            self.assertAlmostEqual(skews[name], seconds, delta=0.5, msg=name)

    def test_positions_are_waited_for_and_never_pretended(self):
        members, leader, followers = self.watch()
        follower = members[followers[0]]
        here = int(follower.get("/v1/status").headers["rollcall-position"])
        began = time.monotonic()
        ahead = follower.get(f"/v1/status?at_least={here + 100000}")
        waited = time.monotonic() - began
        self.assertIn("not held here yet", self.problem(ahead, 503)["detail"])
        self.assertIn("retry-after", ahead.headers)
        self.assertNotIn("rollcall-position", ahead.headers)
        # A second, and what a busy machine adds to it.
        self.assertTrue(0.9 < waited < 6, waited)
        for wrong in ("x", "-1", "1.5", ""):
            self.problem(follower.get(f"/v1/status?at_least={wrong}"), 400)
        # Read your own writes, while others write: at no member is one missing.
        clients = [members[name].client() for name in followers]
        for number in range(200):
            written = members[leader].post("/v1/batches", batch(f"q-{number}"))
            position = written.headers["rollcall-position"]
            for client in clients:
                seen = self.held(client, f"/v1/responders/q-{number}?at_least={position}")
                self.assertEqual(seen.status, 200, seen)
            told = self.held(clients[0], f"/v1/responders/q-{number}/timeline?at_least={position}")
            self.assertEqual(told.status, 200, told)
            self.assertTrue(told.json()["events"], told)

    def test_a_leader_that_stands_still_leaves_the_outcome_open(self):
        members, leader, followers = self.watch(etcds=1)
        follower = members[followers[0]]
        name = str(uuid.uuid4())
        members[leader].pause()
        began = time.monotonic()
        answer = follower.client(10).request(
            "POST", "/v1/silences", SILENCE, {"Idempotency-Key": name})
        self.assertLess(time.monotonic() - began, 5.5)
        self.problem(answer, 503)
        others = [n for n in members.names if n != leader]
        eventually(lambda: any(members.leads(n) for n in others), 20, "another leads")
        members[leader].resume()

        def done():
            again = follower.client(10).request(
                "POST", "/v1/silences", SILENCE, {"Idempotency-Key": name})
            return again if again.status == 200 else None
        first = eventually(done, 20, "it is done")
        again = done()
        self.assertEqual(again.headers["idempotent-replayed"], "true")
        self.assertEqual(again.json()["silence"]["id"], first.json()["silence"]["id"])
        members.settled()
        for member in members.names:
            self.assertEqual(len(members[member].get("/v1/silences").json()["silences"]), 1, member)

    def test_a_leader_killed_behind_its_commit_has_done_it_once(self):
        """S19 over a fail-over: the next leader knows the name."""
        members, leader, followers = self.watch()
        for number in range(1, 4):
            leader = members.leader()
            name = f"k-{number}"
            outcome = []

            def ask(port, name=name, outcome=outcome):
                try:
                    client = members[leader].client(5)
                    outcome.append(client.request(
                        "POST", "/v1/silences", SILENCE, {"Idempotency-Key": name}))
                except Exception:  # it is killed meanwhile
                    outcome.append(None)
            asking = threading.Thread(target=ask, args=(members[leader].port,))
            asking.start()
            eventually(lambda: self.silences(members[leader]) == number, 10, "it is committed",
                       every=0.002)
            members[leader].kill()
            asking.join(10)
            others = [n for n in members.names if n != leader]
            eventually(lambda: any(members.leads(n) for n in others), 20, "another leads")

            def again():
                answer = members[others[0]].client(10).request(
                    "POST", "/v1/silences", SILENCE, {"Idempotency-Key": name})
                return answer if answer.status == 200 else None
            answer = eventually(again, 20, "an answer")
            self.assertEqual(answer.headers.get("idempotent-replayed"), "true")
            self.assertEqual(answer.json()["silence"]["id"], number)
            members[leader].start()
            members.settled()
        self.check_all_hold(members, [])

    def silences(self, member):
        return sum(kind == 28 for kind, _ in journal_rows(member.store))

    def test_at_capacity_the_client_is_shown_to_the_leader(self):
        members, leader, followers = self.watch()
        follower = members[followers[0]]
        members[leader].pause()
        answers, lock = [], threading.Lock()

        def send(number):
            answer = follower.client(10).request("POST", "/v1/batches", batch(f"x-{number}"))
            with lock:
                answers.append(answer)
        began = time.monotonic()
        threads = [threading.Thread(target=send, args=(number,)) for number in range(80)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        members[leader].resume()
        self.assertEqual(len(answers), 80)
        self.assertLess(time.monotonic() - began, 9)
        for answer in answers:
            if answer.status != 200:
                self.problem(answer, 503)
        full = [a for a in answers if a.status == 503 and "too much is on its way" in a.text]
        self.assertGreater(len(full), 0)
        self.assertTrue(all("rollcall-leader" in a.headers for a in full))
        # Questions were answered meanwhile, and are.
        self.assertEqual(follower.get("/v1/status").status, 200)

    def test_alone_nothing_of_it_is_there(self):
        """S16: no field is sent, and all is held."""
        server = self.serve()
        server.write("/v1/batches", batch("p-1"))
        for target in ("/v1/responders", "/v1/status", "/v1/responders/p-1?at_least=7"):
            answer = server.get(target)
            self.assertEqual(answer.status, 200, answer)
            self.assertFalse([name for name in answer.headers if name.startswith("rollcall-")])
        taken = server.post("/v1/batches", batch("p-1"), {"Rollcall-Passed-On": "3000"})
        self.assertEqual(taken.status, 200, taken)
        self.assertNotIn("rollcall_member_", server.scrape().text)

"""A small fleet, told through the API, with something to see in every view of the page."""

from rollcall_process import eventually, milliseconds, now_ms, rfc3339

# On a mission people fall silent in two seconds, on duty they stay as they were told.
SETTINGS = """
liveness:
  on_duty: {expected: 60s, degraded_after: 15m, offline_after: 30m}
  on_mission: {expected: 300ms, degraded_after: 1s, offline_after: 2s}
alerts:
  NoOnlineResponders: {for: 500ms, keep_firing_for: 0s}
  HighOfflineRate: {for: 500ms}
nudges: {stale_after: 3s}
receivers:
  - {name: oncall, log: {}, match: {severity: critical}}
  - {name: chat, log: {}}
  - {name: dead-man, log: {}, match: {alertname: Watchdog}}
"""

# Names that a page would run, break on, or show as something else.
HOSTILE = (
    "<img src=x onerror=\"document.title='run'\">",
    "</script><script>window.ran=1</script>",
    "\"'><svg onload=window.ran=1>`${window.ran=1}`{{ran}}",
    "gro.elpmaxe\u202eexe.txt",
    "x" * 128,
    "a/b?c=d#e&f=%2e%2E",
    "__proto__",
)

CALM = {"permission_status": "granted", "location_services": True, "power_mode": "normal",
        "app_state": "background", "network_type": "cellular", "queue_depth": 0}
LAST_FACTS = {
    "kim": {"app_state": "background"},
    "lee": {"permission_status": "denied"},
    "mo": {"network_type": "none"},
    "nia": {"power_mode": "low_power"},
}


class Told:
    """A backend that tells a server of its people."""

    def __init__(self, server):
        self.server = server
        self.sequence = 0

    def batch(self, person, region, duty="ON_DUTY", facts=None, captured=None, **more):
        """A phone is heard now; `captured` are times of its updates, else one is captured now."""
        updates = []
        for at in captured if captured is not None else [now_ms()]:
            self.sequence += 1
            updates.append({"sequence": self.sequence, "captured_at": at})
        return {"responder_id": person, "region": region, "duty_state": duty, "platform": "ios",
                "telemetry": {**CALM, **(facts or {})}, "updates": updates, **more}

    def tell(self, *batches):
        return self.server.write("/v1/batches", list(batches))

    def blind_for_a_while(self):
        """A source is declared and not heard; then it is given up."""
        self.server.write("/v1/heartbeat", {"source": "gone", "every_seconds": 1})
        eventually(lambda: not self.status()["watching"], 10, "the watch is blind")
        self.server.request("DELETE", "/v1/heartbeat?source=gone")
        eventually(lambda: self.status()["watching"], 10, "the watch sees")

    def status(self):
        return self.server.get("/v1/status").json()

    def offline(self):
        found = self.server.get("/v1/responders?status=OFFLINE&limit=1000").json()
        return {one["responder_id"] for one in found["responders"]}

    def fleet(self):
        """Everybody: twelve who are well, one late, one not heard of, four silent for different
        causes, a region without anybody ONLINE, one back with a verdict, some not expected."""
        self.blind_for_a_while()
        self.server.write("/v1/heartbeat", {"source": "pod-0", "every_seconds": 3600})
        self.server.write("/v1/silences", {
            "matchers": ["region=quay"], "author": "kim", "comment": "the mast is being moved",
            "duration": "1h"})
        self.tell(*(self.batch(f"on-{n:02}", region) for n, region in enumerate(
            ["north"] * 6 + ["south"] * 4 + ["east"] * 2)))
        self.tell(self.batch("late", "south"), self.batch("off", "north", duty="OFF_DUTY"),
                  self.batch("paused", "east", sharing="paused"))
        self.server.write("/v1/responders", [
            {"responder_id": "new", "region": "east", "duty_state": "ON_DUTY"}])
        self.server.write("/v1/transitions", [
            {"responder_id": "late", "from": "ONLINE", "to": "DEGRADED"}])
        self.return_with_a_verdict("back", "north")
        self.tell(*(self.batch(person, "north", "ON_MISSION", facts)
                    for person, facts in LAST_FACTS.items()))
        self.tell(self.batch("h-1", "harbour", "ON_MISSION", {"app_state": "foreground"}),
                  self.batch("h-2", "harbour", "ON_MISSION"),
                  self.batch("q-1", "quay", "ON_MISSION"))
        silent = {*LAST_FACTS, "h-1", "h-2", "q-1"}
        eventually(lambda: self.offline() == silent, 20, "all of them are OFFLINE")
        eventually(lambda: len(self.firing()) == 3, 10, "three alerts fire")
        eventually(lambda: self.server.get("/v1/nudges").json()["nudges"], 15, "a nudge")
        return silent

    def return_with_a_verdict(self, person, region):
        """Silent, back with what it had collected, and late once more: that settles the verdict."""
        self.tell(self.batch(person, region, "ON_MISSION", {"queue_depth": 1}))
        began = milliseconds(self.server.responder(person)["last_contact_at"])
        eventually(lambda: person in self.offline(), 10, "silent")
        inside = [rfc3339(began + 1300), rfc3339(began + 1600)]
        self.tell(self.batch(person, region, "ON_MISSION", captured=inside))
        eventually(
            lambda: self.server.get("/v1/gaps?state=closed").json()["gaps"][0]["verdict"], 10,
            "a verdict")
        self.tell(self.batch(person, region))

    def firing(self):
        """What fires, but for the alert that always does."""
        return [one for one in self.server.get("/v1/alerts").json()["alerts"]
                if one["state"] == "firing" and one["alertname"] != "Watchdog"]

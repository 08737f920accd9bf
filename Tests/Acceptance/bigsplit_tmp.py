import sys, time, unittest, os
from test_split import *
from rollcall_process import ndjson, Client
N = int(os.environ.get("N", "500000"))
class Big(SplitTests):
    def test_big(self):
        self.start()
        began = time.monotonic()
        client = Client(self.gateway.port, timeout=20)
        for first in range(0, N, 2000):
            body = ndjson([{"responder_id": f"q-{n}", "region": f"r{n % 20}", "duty_state": "ON_DUTY", "updates": [{"sequence": 1, "captured_at": 1}]} for n in range(first, min(N, first + 2000))])
            for _ in range(20):
                answer = client.request("POST", "/v1/batches", body, {"Content-Type": "application/x-ndjson"})
                if answer.status == 200: break
                time.sleep(0.2)
            else: raise AssertionError(answer)
        print(f"enrolled {N} in {time.monotonic()-began:.1f} s", flush=True)
        ids = [f"p-{number}" for number in range(60)]
        ledger = Ledger(self, [self.gateway, self.gateway], ids, is_partial=False).start()
        eventually(lambda: ledger.rounds > 5, PATIENCE, "taken")
        print("longest before", ledger.longest, flush=True); ledger.longest = 0
        began = time.monotonic()
        new = self.new_cell(count=1)
        self.split(new)
        print(f"split in {time.monotonic()-began:.1f} s, longest {ledger.longest:.2f} s", flush=True)
        rounds = ledger.rounds
        eventually(lambda: ledger.rounds > rounds + 5, PATIENCE, "taken")
        ledger.end()
        print(f"longest {ledger.longest:.2f} s", flush=True)
        for m in (self.old, new):
            for n in m.names:
                rss = [l for l in open(f"/proc/{m[n].process.pid}/status") if "VmRSS" in l][0].split()[1]
                print(n, int(rss)//1024, "MiB", flush=True)
                print("".join(l + "\n" for l in m[n].log().splitlines()[-8:])[:1500])
        print(self.gateway.get("/v1/status").json()["totals"] if False else "")

"""A gateway of its own process, over loopback only."""

from rollcall_process import BINARY, Rollcall, taken


class Gateway(Rollcall):
    """One address for all cells of the fleet cell at a URL. It has no store."""

    def __init__(self, case, fleet_cell, name="gateway", more="", **others):
        config = f"cluster:\n  fleet_cell: {{url: \"{fleet_cell}\"}}\n" + more
        super().__init__(case.directory, config, name=name, **others)
        case.addCleanup(self.close)

    def arguments(self):
        return [
            BINARY, "gateway", "--web.listen-address", self.address, *self.more,
            "--config.file", self.config_path]

    def write(self, target, body, headers=None):
        """A POST that must be taken, sent again where a client would: on a 503, as of a cell that was late."""
        return taken(lambda: self.post(target, body, headers), f"POST {target}").json()

    def is_ready(self):
        """True once it has the map."""
        return self.get("/-/ready").status == 200

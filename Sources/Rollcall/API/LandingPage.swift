import RollcallCore

/// The page at `/`: what this is, how the fleet stands, where to look further.
enum LandingPage {
    /// The page. Nothing that anybody sent stands in it, so there is nothing to escape.
    static func bytes(_ view: KeeperView) -> [UInt8] {
        let engine = view.engine
        let watch = engine.watch
        let sight =
            watch.onset.map {
                "<p class=\"blind\">Not watching since \(RFC3339.string(watch.wall($0))). "
                    + "Statuses are the last known ones.</p>"
            } ?? "<p>Watching.</p>"
        let rows = Status.allCases.map {
            "<tr><th>\($0.word)</th><td>\(engine.tally.byStatus[Int($0.rawValue)])</td></tr>"
        }
        let page = """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>Rollcall</title>
            <style>
            body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 40rem;
                   padding: 0 1rem; color-scheme: light dark; }
            th { text-align: left; padding-right: 2rem; font-weight: normal; }
            td { text-align: right; font-variant-numeric: tabular-nums; }
            .blind { border-left: .3rem solid #c60; padding-left: .7rem; }
            </style></head><body>
            <h1>Rollcall</h1>
            <p>Who of your people can be reached now. Version \(BuildInformation.version).</p>
            \(sight)
            <table>\(rows.joined())
            <tr><th>not expected</th><td>\(engine.tally.notExpected.reduce(0, +))</td></tr></table>
            <p>As of \(RFC3339.string(watch.wallNow)).</p>
            <ul><li><a href="/metrics">Metrics</a></li><li><a href="/v1/status">Status</a></li>
            <li><a href="/v1/responders">Responders</a></li>
            <li><a href="/-/healthy">Health</a></li><li><a href="/-/ready">Readiness</a></li></ul>
            </body></html>

            """
        return Array(page.utf8)
    }
}

import RollcallCore
import Testing

@testable import RollcallBasis

/// The file and what wins over it. Source: V8, V8.
@Suite struct SettingsTests {
    private func read(
        _ yaml: String, variables: [String: String] = [:], flags: [String: String] = [:]
    ) throws -> Configuration {
        var sources = SettingSources()
        sources.variables = variables
        sources.flags = flags
        return try Configuration(yaml: yaml, sources: &sources)
    }

    private func fault(
        _ yaml: String, variables: [String: String] = [:], flags: [String: String] = [:]
    ) -> String {
        do {
            _ = try read(yaml, variables: variables, flags: flags)
            return "no error"
        } catch {
            return "\(error)"
        }
    }

    // MARK: - The file

    @Test func `aliases cannot make a few lines as large as one likes`() throws {
        func file(_ aliases: Int) -> String {
            let list = Array(repeating: "*a", count: aliases).joined(separator: ", ")
            return "coverage: {regions: [&a north, \(list)]} # * no alias"
        }
        #expect(try read(file(32)).policy.coverageRegions.count > 0)
        #expect(fault(file(33)) == "more than 32 aliases (*name): write it out")
        let lists = (0..<9).map {
            "l\($0): &l\($0) [*l\($0 - 1), *l\($0 - 1), *l\($0 - 1), *l\($0 - 1)]"
        }
        let laughs = "l: &l-1 [x]\n" + lists.joined(separator: "\n") + "\n? *l8\n: 1"
        #expect(fault(laughs) == "more than 32 aliases (*name): write it out")
    }

    @Test(arguments: ["", "\n", "# nothing\n", "{}", "storage:\n", "liveness: {on_duty: }"])
    func `what a file does not say is default`(yaml: String) throws {
        #expect(try read(yaml) == Configuration())
    }

    @Test(
        arguments: [
            ("storage: {pth: x}", "line 1: storage.pth: unknown setting, did you mean \"path\"?"),
            ("\n\nfeeed: {}", "line 3: feeed: unknown setting, did you mean \"feed\"?"),
            ("colour: red", "line 1: colour: unknown setting"),
            ("a: 1", "line 1: a: unknown setting"),
            ("storage: 5", "line 1: storage: a mapping is expected"),
            ("storage:\n  path: a\n  path: b", "line 2: named twice in one mapping: path"),
            (
                "nudges:\n  sink:\n    expo: {chanel: a}",
                "line 3: nudges.sink.expo.chanel: unknown setting, did you mean \"channel\"?"
            ),
            (
                "feed: {min_active: many}",
                "line 1: feed.min_active must be an integer from 1 to 1000000 (many)"
            ),
            (
                "liveness: {forget_after: 7}",
                "line 1: liveness.forget_after must be a duration such as 1500ms, 90s, 2m30s, 4h or "
                    + "30d, from 1ms to 366d (7)"
            ),
            (
                "liveness:\n  on_duty:\n    degraded_after: 4m",
                "line 3: liveness.on_duty.offline_after must be longer than degraded_after (180s "
                    + "<= 240s)"
            ),
            (
                "liveness:\n  on_duty:\n    expected: 2m",
                "line 3: liveness.on_duty.expected must not be longer than degraded_after (120s > "
                    + "90s)"
            ),
            (
                "liveness: {on_duty: {background: {expected: 15m, offline_after: 45m}}}",
                "line 1: liveness.on_duty.background.degraded_after must be given too: the "
                    + "background has all three or none (0s)"
            ),
            (
                "liveness:\n  on_mission:\n    background:\n      expected: 15s\n"
                    + "      degraded_after: 20s\n      offline_after: 2m",
                "line 5: liveness.on_mission.background.degraded_after must not be shorter than "
                    + "in front (20s < 30s)"
            ),
            (
                "liveness:\n  on_duty:\n    background:\n      expected: 15m\n"
                    + "      degraded_after: 50m\n      offline_after: 45m",
                "line 6: liveness.on_duty.background.offline_after must be longer than "
                    + "degraded_after (45m <= 50m)"
            ),
            (
                "liveness: {promise_max: 3d}",
                "line 1: liveness.promise_max must be a duration such as 1500ms, 90s, 2m30s, 4h or "
                    + "30d, from 0s to 2d (3d)"
            ),
            ("coverage: {regions: north}", "line 1: coverage.regions must be a list"),
            ("storage: {path: null}", "line 1: storage.path must be a text (null)"),
            ("storage:\n  path: ~", "line 2: storage.path must be a text (~)"),
            (
                "coverage: {regions: [~]}",
                "line 1: coverage.regions must hold names of 1 to 128 bytes"
            ),
            (
                "feed: {min_active: 0x10}",
                "line 1: feed.min_active must be an integer from 1 to 1000000 (0x10)"
            ),
            (
                "feed: {min_active: 1_000}",
                "line 1: feed.min_active must be an integer from 1 to 1000000 (1_000)"
            ),
        ])
    func `an error says where, what and what to do`(yaml: String, message: String) {
        #expect(fault(yaml) == message)
    }

    @Test func `what is no YAML is told without what stands there`() {
        let message = fault("storage:\n  path: a: topsecret\n")
        #expect(message.hasPrefix("line 2: not YAML: "))
        #expect(!message.contains("topsecret"))
    }

    // MARK: - Limits

    @Test(
        arguments: [
            ("storage: {retention: 1d}", "storage: {retention: 86399999ms}"),
            ("storage: {retention: 3650d}", "storage: {retention: 3651d}"),
            ("storage: {size: 64MiB}", "storage: {size: 63MiB}"),
            ("storage: {size: 16TiB}", "storage: {size: 17TiB}"),
            ("limits: {body: 1KiB}", "limits: {body: 1023B}"),
            ("limits: {body: 32MiB}", "limits: {body: 33554433B}"),
            ("limits: {depth: 64}", "limits: {depth: 65}"),
            ("limits: {connections: 900}", "limits: {connections: 901}"),
            ("liveness: {forget_after: 366d}", "liveness: {forget_after: 367d}"),
            ("liveness: {low_power_factor: 100}", "liveness: {low_power_factor: 100.1}"),
            ("liveness: {low_power_factor: 0.1}", "liveness: {low_power_factor: .nan}"),
            ("feed: {min_active: 1}", "feed: {min_active: 0}"),
            ("feed: {stall_after: 1ms}", "feed: {stall_after: 99999999999999999999d}"),
        ])
    func `a setting is taken at its limit and refused one past it`(
        inside: String, outside: String
    ) throws {
        _ = try read(inside)
        #expect(throws: ConfigurationError.self) { try read(outside) }
    }

    @Test func `an item is never longer in the journal than it was in a body`() throws {
        // So a body within limits.body makes no row that the journal would have to refuse.
        let updates = String(repeating: "{\"sequence\":0},", count: 5000) + "{\"sequence\":0}"
        let names = (0..<100).map { "\"\($0)\"" }.joined(separator: ",")
        for body in [
            "{\"responder_id\":\"a\",\"updates\":[\(updates)]}",
            "{\"responder_id\":\"\\u0101\\u2021\",\"circles\":[\(names)]}",
            "{\"responder_id\":\"a\",\"updates\":[{\"sequence\":9223372036854775807,\"captured_at\":1}]}",
        ] {
            let scan = try ItemScanner.scan(Array(body.utf8).span, kind: .batch)
            #expect(scan.items.count == 1)
            #expect(scan.items.bytes.count < body.utf8.count)
        }
    }

    // MARK: - Variables and flags

    @Test func `a flag wins over a variable, a variable over the file, the file over the default`()
        throws
    {
        let file = "storage: {path: file.db}"
        let variables = ["ROLLCALL_STORAGE_PATH": "variable.db"]
        #expect(try read("").storagePath == "./rollcall.db")
        #expect(try read(file).storagePath == "file.db")
        #expect(try read(file, variables: variables).storagePath == "variable.db")
        let all = try read(file, variables: variables, flags: ["storage.path": "flag.db"])
        #expect(all.storagePath == "flag.db")
    }

    @Test func `every setting of one value can be a variable`() throws {
        let configuration = try read(
            "liveness: {on_duty: {offline_after: 500s}}",
            variables: [
                "ROLLCALL_WEB_LISTEN_ADDRESS": "[::1]:9000",
                "ROLLCALL_STORAGE_RETENTION": "10d", "ROLLCALL_STORAGE_SIZE": "1TiB",
                "ROLLCALL_LIVENESS_ON_DUTY_OFFLINE_AFTER": "400s",
                "ROLLCALL_LIVENESS_PLATFORM_FACTORS_IOS": "1.5",
                "ROLLCALL_LIVENESS_SERVER_TRANSITIONS": "observe",
                "ROLLCALL_LIMITS_ITEMS": "7",
            ])
        var expected = Configuration()
        expected.listenAddress = "[::1]:9000"
        expected.policy.retention = .seconds(864_000)
        expected.storageBytesMax = 1 << 40
        expected.policy.onDuty.offlineAfter = .seconds(400)
        expected.policy.iosFactor = 1.5
        expected.policy.serverTransitions = .observe
        expected.scanLimits.itemsMax = 7
        #expect(configuration == expected)
    }

    @Test func `a wrong variable or flag is named instead of a line`() {
        #expect(
            fault("storage: {size: 1GiB}", variables: ["ROLLCALL_STORAGE_SIZE": "1"])
                == "ROLLCALL_STORAGE_SIZE: storage.size must be a size such as 8MiB, from 64MiB to "
                + "16TiB (1)")
        #expect(
            fault("", flags: ["storage.path": ""])
                == "--storage.path: storage.path must be a text")
        #expect(
            fault("", variables: ["ROLLCALL_LIVENESS_ON_DUTY_DEGRADED_AFTER": "500s"])
                == "ROLLCALL_LIVENESS_ON_DUTY_DEGRADED_AFTER: liveness.on_duty.offline_after must "
                + "be longer than degraded_after (180s <= 500s)")
    }

    @Test func `a quoted null, and a variable's, is a name`() throws {
        #expect(try read("storage: {path: \"null\"}").storagePath == "null")
        #expect(try read("", variables: ["ROLLCALL_STORAGE_PATH": "null"]).storagePath == "null")
        #expect(try read("feed: {min_active: +7}").policy.feedMinActive == 7)
    }

    @Test func `what a variable hides in the file must be right as well`() {
        #expect(
            fault("limits: {items: no}", variables: ["ROLLCALL_LIMITS_ITEMS": "5"])
                == "line 1: limits.items must be an integer from 1 to 1000000 (no)")
    }

    @Test func `a variable that is set to nothing is not set`() throws {
        #expect(try read("", variables: ["ROLLCALL_STORAGE_PATH": ""]) == Configuration())
        let source = SettingsSource(
            path: nil, flags: [:], environment: ["ROLLCALL_CONFIG_FILE": ""])
        #expect(source.path == nil)
    }

    @Test func `an unknown variable is a word in the log and nothing worse`() throws {
        let source = SettingsSource(
            path: nil, flags: [:],
            environment: [
                "ROLLCALL_STORAGE_PAHT": "secret", "ROLLCALL_COVERAGE_REGIONS": "north",
                "ROLLCALL_NOVEL": "", "ROLLCAL_STORAGE_PATH": "x", "HOME": "/",
                "ROLLCALL_LOG_LEVEL": "debug",
                // What Kubernetes puts into every pod beside a Service of this name.
                "ROLLCALL_SERVICE_HOST": "10.0.0.1", "ROLLCALL_SERVICE_PORT": "10112",
                "ROLLCALL_SERVICE_PORT_HTTP": "10112", "ROLLCALL_PORT": "tcp://10.0.0.1:10112",
                "ROLLCALL_PORT_10112_TCP": "tcp://10.0.0.1:10112",
                "ROLLCALL_PORT_10112_TCP_ADDR": "10.0.0.1",
                "ROLLCALL_METRICS_SERVICE_HOST": "10.0.0.2",
                "ROLLCALL_METRICS_PORT_10113_UDP_PROTO": "udp", "ROLLCALL_URL": "http://x",
                "ROLLCALL_KILLS": "1", "ROLLCALL_SEEDS": "1", "ROLLCALL_BINARY": "x",
                "ROLLCALL_TOKEN": "t",
            ])
        #expect(
            try source.read().warnings == [
                "ROLLCALL_COVERAGE_REGIONS: only the file can give it",
                "ROLLCALL_NOVEL: unknown variable",
                "ROLLCALL_STORAGE_PAHT: unknown variable, did you mean \"ROLLCALL_STORAGE_PATH\"?",
            ])
    }

    @Test func `of many unknown variables ten are named`() throws {
        let names = (0..<11).map { ("ROLLCALL_STRANGE_\($0)", "x") }
        let source = SettingsSource(
            path: nil, flags: [:], environment: Dictionary(uniqueKeysWithValues: names))
        #expect(try source.read().warnings.count == 10)
    }

    @Test func `no two settings share a variable, and none looks like one of others`() throws {
        var sources = SettingSources()
        _ = try Configuration(yaml: "", sources: &sources)
        let names = sources.keys.map { SettingSources.variable($0) }
        #expect(names.count > 20)
        #expect(Set(names).count == names.count)
        #expect(names.filter { SettingsSource.isForeign($0) } == [])
        #expect(names.contains("ROLLCALL_LIVENESS_ON_DUTY_OFFLINE_AFTER"))
    }
}

import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallSupport

/// Subscriptions in the settings, and where brokers are (M6).
@Suite struct MQTTSettingsTests {
    private func read(_ mqtt: String, preset: String = "preset: owntracks") throws -> MQTTSettings?
    {
        var sources = SettingSources()
        sources.opensSecrets = true
        let yaml = "inputs: [{name: a, \(preset), mqtt: {\(mqtt)}}]"
        return try Configuration(yaml: yaml, sources: &sources).inputs.first?.mqtt
    }

    private func fault(_ mqtt: String, preset: String = "preset: owntracks") -> String {
        do {
            _ = try read(mqtt, preset: preset)
            return "no error"
        } catch {
            return "\(error)"
        }
    }

    @Test func `two inputs are two clients of a broker`() throws {
        func read(_ second: String) throws {
            var sources = SettingSources()
            _ = try Configuration(
                yaml: """
                    inputs:
                      - {name: a, preset: owntracks, mqtt: {url: 'mqtt://b', client_id: r}}
                      - {name: c, preset: owntracks, mqtt: {\(second)}}
                    """, sources: &sources)
        }
        try read("url: 'mqtt://b', client_id: s")
        try read("url: 'mqtt://d', client_id: r")
        let error = #expect(throws: ConfigurationError.self) {
            try read("url: 'mqtt://b:1883/', client_id: r")
        }
        #expect("\(String(describing: error))".contains("must not be that of a at the same broker"))
    }

    @Test func `a URL is enough for OwnTracks`() throws {
        let settings = try #require(try read("url: 'mqtt://broker'"))
        #expect(settings.address.text == "mqtt://broker:1883")
        #expect(settings.topic == "owntracks/#")
        #expect(settings.clientID == "rollcall-a")
        #expect(settings.beats && settings.user.isEmpty && settings.password == nil)
        #expect(settings.session.user == nil && settings.session.password == nil)
    }

    @Test func `all of it is read, and no password is shown`() throws {
        let settings = try #require(
            try read(
                "url: 'mqtts://[::1]:8884/', topic: 'a/+/b', client_id: c, user: u, "
                    + "password: hidden-word, heartbeat: false"))
        #expect(settings.address.host == "::1" && settings.address.port == 8884)
        #expect(settings.address.isEncrypted && settings.address.isLoopback)
        #expect(settings.session.filter == Array("a/+/b".utf8))
        #expect(settings.session.password == Array("hidden-word".utf8))
        #expect(!settings.beats)
        #expect(!"\(settings) \(settings.words) \(settings.shown)".contains("hidden-word"))
    }

    @Test(arguments: [
        ("topic: a", "mqtt.url must be like mqtt://host:1883"),
        ("url: 'http://a'", "must be like mqtt://host:1883"),
        ("url: 'mqtt://'", "must be like"), ("url: 'mqtt://a/b'", "must be like"),
        ("url: 'mqtt://a:0'", "must be like"), ("url: 'mqtt://a:70000'", "must be like"),
        ("url: 'mqtt://u:pw@a'", "must not hold a user"),
        ("url: 'mqtt://a', topic: 'a/#/b'", "mqtt.topic must be a topic or a filter"),
        ("url: 'mqtt://a', client_id: ''", "mqtt.client_id must be a text"),
        ("url: 'mqtt://a', client_id: 'a b'", "mqtt.client_id must be 1 to 128"),
        ("url: 'mqtt://a', password: p", "mqtt.user must be given beside a password"),
        ("url: 'mqtt://a', ca_file: /etc/ssl/certs/ca-certificates.crt", "of no use without mqtts"),
        ("url: 'mqtts://a', ca_file: /nowhere.pem", "must name a file of certificates"),
        ("url: 'mqtt://a', qos: 2", "mqtt.qos: unknown setting"),
    ])
    func `what cannot work is refused, where it stands`(mqtt: String, words: String) {
        let fault = fault(mqtt)
        #expect(fault.contains(words), "\(fault)")
        #expect(!fault.contains("pw"))
    }

    @Test func `a mapping of one's own has to say its topic`() {
        let fault = fault("url: 'mqtt://a'", preset: "id: [{topic: 2}]")
        #expect(fault.contains("mqtt.topic must be a topic"), "\(fault)")
    }

    @Test(arguments: [
        ("mqtt://10.0.0.1", true), ("mqtt://127.0.0.1", false), ("mqtts://10.0.0.1", false),
    ])
    func `what is not encrypted on its way is warned of`(url: String, isWarned: Bool) throws {
        let settings = try #require(try read("url: '\(url)'"))
        #expect((settings.warning("inputs[0].mqtt") != nil) == isWarned)
    }

    @Test func `pauses double up to a minute, and clients of a broker do not come at once`() {
        var pause = MQTTPause(seed: 7)
        let pauses = (0..<9).map { _ in pause.next() }
        for (found, expected) in zip(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60] as [Int64]) {
            #expect((expected * 800...expected * 1200).contains(found), "\(pauses)")
        }
        var other = MQTTPause(seed: 8)
        #expect((0..<9).map { _ in other.next() } != pauses)
        pause.begin()
        #expect(pause.next() <= 1200)
    }
}

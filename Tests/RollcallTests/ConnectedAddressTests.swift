import Glibc
import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallSupport

/// Who is never called, whatever name leads there.
@Suite struct ConnectedAddressTests {
    @Test(arguments: [
        ("0.0.0.0", ConnectedAddress.Ban.unspecified), ("0.1.2.3", .unspecified),
        ("169.254.0.0", .linkLocal), ("169.254.169.254", .linkLocal), ("169.254.170.2", .linkLocal),
        ("169.254.255.255", .linkLocal), ("100.100.100.200", .metadata), ("192.0.0.192", .metadata),
        ("168.63.129.16", .metadata), ("224.0.0.1", .multicast), ("239.255.255.250", .multicast),
        ("240.0.0.1", .reserved), ("255.255.255.255", .reserved),
        ("::", .unspecified), ("fe80::1", .linkLocal), ("febf::1", .linkLocal),
        ("ff02::1", .multicast),
        ("fd00:ec2::254", .metadata), ("fd00:ec2::23", .metadata), ("fd20:ce::254", .metadata),
        // An IPv4 address in the clothes of IPv6.
        ("::ffff:169.254.169.254", .linkLocal), ("::ffff:0.0.0.0", .unspecified),
        ("::169.254.169.254", .linkLocal), ("::ffff:0:169.254.169.254", .linkLocal),
        ("64:ff9b::169.254.169.254", .linkLocal), ("64:ff9b::a9fe:a9fe", .linkLocal),
        ("64:ff9b:1:a9fe:a9:fe00::", .linkLocal), ("2002:a9fe:a9fe::1", .linkLocal),
        ("64:ff9b::100.100.100.200", .metadata), ("::ffff:239.1.1.1", .multicast),
    ])
    func `nobody is called there`(text: String, ban: ConnectedAddress.Ban) throws {
        #expect(try #require(ConnectedAddress(text)).ban == ban)
    }

    @Test(arguments: [
        "127.0.0.1", "127.255.255.255", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1",
        "100.100.100.201", "169.253.255.255", "169.255.0.0", "1.0.0.0", "223.255.255.255",
        "192.0.0.191", "8.8.8.8", "::1", "fec0::1", "fe7f::1", "fd00::1", "fd00:ec1::254",
        "fd20:ce::253", "2001:db8::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::10.0.0.1",
        "64:ff9c::169.254.169.254", "2002:0a00:1::1",
    ])
    func `this machine, private networks and the world are called`(text: String) throws {
        #expect(try #require(ConnectedAddress(text)).ban == nil)
    }

    @Test func `what is no address is none`() {
        for text in ["", "localhost", "1.2.3", "2130706433", "fe80::1%eth0", "::g"] {
            #expect(ConnectedAddress(text) == nil)
        }
    }

    /// 0.0.0.0 is the negative control: Linux connects it to this machine, so that a call that was
    /// let pass would be answered.
    @Test(arguments: [
        ("0.0.0.0", "0.0.0.0 is no machine's"), ("0", "0.0.0.0 is no machine's"),
        ("0x0.0", "0.0.0.0 is no machine's"), ("[::]", ":: is no machine's"),
        ("[::ffff:0.0.0.0]", "::ffff:0.0.0.0 is no machine's"),
        ("169.254.169.254", "169.254.169.254 is link-local"),
        ("2852039166", "169.254.169.254 is link-local"),
        ("0xa9fea9fe", "169.254.169.254 is link-local"),
        ("0251.0376.0251.0376", "169.254.169.254 is link-local"),
        ("169.254.43518", "169.254.169.254 is link-local"),
        ("169.254.169.254.", "169.254.169.254 is link-local"),
        ("[::ffff:a9fe:a9fe]", "::ffff:169.254.169.254 is link-local"),
        ("[64:ff9b::a9fe:a9fe]", "64:ff9b::a9fe:a9fe is link-local"),
        ("[fe80::1]", "fe80::1 is link-local"), ("239.255.255.250", "239.255.255.250 is a group's"),
        ("255.255.255.255", "255.255.255.255 is reserved"),
    ])
    func `a call there is not made, however it is spelled`(host: String, words: String) throws {
        let server = try echoServer()
        defer { server.stop() }
        var call = HTTPCall(.post, "http://\(host):\(server.port)/s3cret")
        call.body = Array("{}".utf8)
        do throws(HTTPCallError) {
            let answer = try HTTPCaller().answer(to: call)
            Issue.record("answered \(answer.status)")
        } catch {
            guard case .banned(let address, let why) = error.cause else {
                // A name of digits and dots that some curl looks up is not called either.
                #expect(error.cause == .unknownHost || error.cause == .wrongURL, "\(error)")
                return
            }
            #expect("\(address) \(why)" == words)
            #expect(!error.mayHaveArrived)
            #expect(
                "\(error)"
                    == "http://\(host):\(server.port): not called, because its address \(words)")
        }
        #expect(server.stats.connectionsOpen == 0)
    }

    @Test(arguments: ["127.0.0.1", "2130706433", "0x7f000001", "127.1", "localhost"])
    func `this machine is called, however it is spelled`(host: String) throws {
        let server = try echoServer()
        defer { server.stop() }
        #expect(
            try HTTPCaller().answer(to: HTTPCall(.get, "http://\(host):\(server.port)/")).status
                == 200)
    }

    @Test func `a receiver at such an address is a trouble for somebody's hand, not for time`() {
        let address = NotificationSamples.address(.webhook, ["http://169.254.169.254/t0psecret"])
        let result = ReceiverCaller(log: .init(label: "test")).send(
            NotificationSamples.message([NotificationSamples.alert()]), to: address, target: 0,
            now: NotificationSamples.time)
        #expect(
            result
                == AttemptResult(
                    .refused,
                    error: "http://169.254.169.254: not called, because its address "
                        + "169.254.169.254 is link-local", mayHaveArrived: false))
    }
}

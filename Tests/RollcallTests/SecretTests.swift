import Glibc
import RollcallCore
import Testing

@testable import RollcallBasis

/// Secrets in settings, inline or by file. Source: V8.
@Suite struct SecretTests {
    private struct Reading {
        var secret: String?
        var warnings: [String] = []
        var error: String?
    }

    /// What `sink: {…}` says of a secret named `token`.
    private func read(
        _ fields: String, in directory: TemporaryDirectory, variables: [String: String] = [:],
        opens: Bool = true
    ) -> Reading {
        var sources = SettingSources()
        sources.variables = variables
        sources.directory = directory.path
        sources.opensSecrets = opens
        var secret: Secret?
        do {
            var tree = try ConfigurationTree(yaml: "sink: {\(fields)}", sources: sources)
            try tree.section("sink") { (sink) throws(ConfigurationError) in
                try sink.secret("token", &secret)
            }
            try tree.finish()
            return Reading(
                secret: secret.map { String(decoding: $0.bytes, as: UTF8.self) },
                warnings: tree.sources.warnings)
        } catch {
            return Reading(error: "\(error)")
        }
    }

    @Test func `a secret stands in the file or in a file of its own`() throws {
        let directory = TemporaryDirectory()
        directory.write("t", "s3cret\n")
        directory.write("windows", "s3cret\r\n")
        #expect(read("", in: directory).secret == nil)
        #expect(read("token: s3cret", in: directory).secret == "s3cret")
        #expect(read("token_file: t", in: directory).secret == "s3cret")
        #expect(read("token_file: windows", in: directory).secret == "s3cret")
        #expect(read("token_file: \(directory.path)/t", in: directory).secret == "s3cret")
    }

    @Test func `both at once is an error, and a variable wins over either in the file`() throws {
        let directory = TemporaryDirectory()
        directory.write("t", "from-file")
        #expect(
            read("token: a, token_file: t", in: directory).error
                == "line 1: sink.token and token_file must not both be given")
        let inline = ["ROLLCALL_SINK_TOKEN": "from-variable"]
        #expect(read("token_file: t", in: directory, variables: inline).secret == "from-variable")
        let file = ["ROLLCALL_SINK_TOKEN_FILE": "\(directory.path)/t"]
        #expect(read("token: a", in: directory, variables: file).secret == "from-file")
        let both = inline.merging(file) { $1 }
        #expect(
            read("", in: directory, variables: both).error
                == "ROLLCALL_SINK_TOKEN: sink.token and token_file must not both be given")
    }

    @Test func `a file that holds no secret of one line is an error that shows nothing of it`()
        throws
    {
        let directory = TemporaryDirectory()
        directory.write("empty", "")
        directory.write("blank", "\n")
        directory.write("lines", "topsecret\nmore\n")
        directory.makeFIFO("fifo")
        let cases = [
            ("empty", "empty"), ("blank", "empty"),
            ("lines", "several lines or control characters"),
            ("fifo", "no regular file"), (".", "no regular file"),
            ("missing", "No such file or directory"),
        ]
        for (name, reason) in cases {
            #expect(
                read("token_file: \(name)", in: directory).error
                    == "line 1: sink.token_file must name a file of one line that can be read "
                    + "(\(directory.path)/\(name): \(reason))")
        }
        #expect(
            read("token_file: ''", in: directory).error
                == "line 1: sink.token_file must name a file")
        #expect(
            read("token: \"topsecret\\nmore\"", in: directory).error
                == "line 1: sink.token must be a secret of one line (several lines or control "
                + "characters)")
    }

    @Test func `a secret may have 4096 bytes and not one more`() throws {
        let directory = TemporaryDirectory()
        let longest = String(repeating: "s", count: Secret.bytesMax)
        directory.write("longest", longest + "\r\n")
        directory.write("longer", longest + "s")
        #expect(read("token_file: longest", in: directory).secret == longest)
        let error = try #require(read("token_file: longer", in: directory).error)
        #expect(error.hasSuffix("more than 4096 bytes)"))
    }

    @Test func `a file that everybody can read is taken with a warning`() throws {
        let directory = TemporaryDirectory()
        directory.write("group", "s", mode: 0o440)
        directory.write("open", "s", mode: 0o444)
        #expect(read("token_file: group", in: directory).warnings == [])
        let reading = read("token_file: open", in: directory)
        #expect(reading.secret == "s")
        #expect(
            reading.warnings == [
                "sink.token_file: every user of this machine can read \(directory.path)/open: "
                    + "chmod o-r"
            ])
    }

    @Test func `where secrets decide nothing their files are not opened`() throws {
        let directory = TemporaryDirectory()
        let reading = read("token_file: missing", in: directory, opens: false)
        #expect(reading.error == nil && reading.secret == nil)
    }

    @Test func `a secret prints as nothing`() throws {
        let secret = try Secret(Array("topsecret".utf8))
        var dumped = ""
        dump((secret, [secret], Optional(secret)), to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), "\([secret])", dumped] {
            #expect(!text.contains("topsecret") && !text.contains("116"))
        }
    }
}

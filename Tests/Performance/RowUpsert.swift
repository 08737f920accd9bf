/// What a team sends that keeps the fleet in a table of PostgreSQL: one row for each responder, put
/// there or replaced by a prepared statement.
///
/// The same facts as `BatchSource`'s batches. Numbers and times go as text, as most drivers send
/// them.
enum RowUpsert {
    /// The table. Rows that are replaced in place (HOT) need room on their page.
    static let table = """
        CREATE TABLE responders (responder_id text PRIMARY KEY, region text NOT NULL,
            duty_state text NOT NULL, received_at timestamptz NOT NULL,
            captured_at timestamptz NOT NULL, sequence bigint NOT NULL, fields jsonb NOT NULL)
            WITH (fillfactor = 70)
        """
    /// Prepared once a connection. What is older than what is there changes nothing.
    static let statement = """
        INSERT INTO responders VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (responder_id) DO UPDATE SET region = excluded.region,
            duty_state = excluded.duty_state, received_at = excluded.received_at,
            captured_at = excluded.captured_at, sequence = excluded.sequence,
            fields = excluded.fields
        WHERE responders.sequence < excluded.sequence
        """
    private static let fields =
        #"{"platform":"ios","permission_status":"granted","power_mode":"normal","#
        + #""app_state":"background","queue_depth":5,"network_type":"cellular"}"#

    /// Bind, Execute and Sync of the protocol's version 3.
    static let request: [UInt8] = {
        let parameters = [
            "r-#####", "region-~", "ON_DUTY", String(repeating: "%", count: 24),
            String(repeating: "$", count: 24), String(repeating: "*", count: 10), fields,
        ]
        var bind: [UInt8] = [0] + Array("u\0".utf8) + PostgresMessage.int16(0)
        bind += PostgresMessage.int16(parameters.count)
        for parameter in parameters {
            bind += PostgresMessage.int32(parameter.utf8.count) + Array(parameter.utf8)
        }
        bind += PostgresMessage.int16(0)
        return PostgresMessage.bytes("B", bind)
            + PostgresMessage.bytes("E", [0] + PostgresMessage.int32(0))
            + PostgresMessage.bytes("S", [])
    }()

    private static let responder = field("r-#####").suffix(5)
    private static let region = field("region-~").suffix(1)
    private static let receivedAt = field(String(repeating: "%", count: 24))
    private static let capturedAt = field(String(repeating: "$", count: 24))
    private static let sequence = field(String(repeating: "*", count: 10))

    /// Makes `bytes`, which is `request`, the row of a responder.
    static func write(
        _ number: Int, region: Int, sequence: Int, receivedAt: [UInt8], capturedAt: [UInt8],
        to bytes: UnsafeMutableRawBufferPointer
    ) {
        TemplateField(Self.responder).write(number, to: bytes)
        TemplateField(Self.region).write(region, to: bytes)
        TemplateField(Self.sequence).write(sequence, to: bytes)
        TemplateField(Self.receivedAt).write(receivedAt, to: bytes)
        TemplateField(Self.capturedAt).write(capturedAt, to: bytes)
    }

    private static func field(_ text: String) -> Range<Int> {
        let text = Array(text.utf8)
        for start in 0..<(request.count - text.count)
        where request[start...].starts(with: text) { return start..<(start + text.count) }
        preconditionFailure("the request has each field")
    }
}

/// Messages of PostgreSQL's protocol, version 3.
enum PostgresMessage {
    /// A message of a type, which is one letter.
    static func bytes(_ type: Unicode.Scalar, _ body: [UInt8]) -> [UInt8] {
        [UInt8(ascii: type)] + int32(body.count + 4) + body
    }

    /// Two bytes, the higher one first.
    static func int16(_ value: Int) -> [UInt8] {
        [UInt8(truncatingIfNeeded: value >> 8), UInt8(truncatingIfNeeded: value)]
    }

    /// Four bytes, the highest first.
    static func int32(_ value: Int) -> [UInt8] { int16(value >> 16) + int16(value) }
}

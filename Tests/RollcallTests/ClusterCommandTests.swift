import RollcallCore
import RollcallSupport
import RollcallTools
import Testing

@Suite struct ClusterCommandTests {
    private static func answer(role: String, leader: String, confirmed: Bool, loss: String)
        -> String
    {
        """
        {"member":"b","role":"\(role)","leader":\(leader),"leader_address":null,
         "confirmed":\(confirmed),"reign":3,"position":90210,"lag":2,"log":"6f2c","hash":"99","revision":7,
         "loss":\(loss),"members":[
           {"member":"a","position":90212,"address":"http://10.0.0.1:10112",
            "noted_at":"2026-11-21T05:59:58.000Z"},
           {"member":"b\\u001b[2J","position":90000,"address":null,"noted_at":"2026-11-21T06:00:09.000Z"}]}
        """
    }

    private static func printed(
        _ text: String, _ form: OutputForm = .table
    ) throws -> (text: String, isWell: Bool) {
        let server = try CannedServer(["/v1/cluster": text])
        defer { server.stop() }
        let now = Timestamp(milliseconds: 1795240800000)
        let answer = try ClusterQuestion(form).answer(
            from: try server.asked(), style: ConsoleStyle(), now: now)
        return (answer.printout.text.replacing(server.url, with: "URL"), answer.isWell)
    }

    @Test func `who leads, and what each member holds`() throws {
        let answer = Self.answer(role: "following", leader: "\"a\"", confirmed: true, loss: "null")
        let (text, isWell) = try Self.printed(answer)
        #expect(isWell)
        #expect(
            text == """
                Member b follows a, at URL.
                Entry 90210 of the log, reign 3; 2 to go.

                MEMBER             HOLDS  BEHIND     SAID  ADDRESS
                a           leads  90212       0  2 s ago  http://10.0.0.1:10112
                b\\u{1B}[2J         90000     212  0 s ago  –

                """)
    }

    @Test func `what is wrong is loud, and ends with 1`() throws {
        let lost = Self.answer(
            role: "lost", leader: "\"a\"", confirmed: false,
            loss: "\"the log was restored from an older copy\"")
        let (text, isWell) = try Self.printed(lost)
        #expect(!isWell)
        #expect(text.contains("has lost the log"))
        #expect(text.contains("NOBODY LEADS FROM HERE: the log was restored from an older copy."))
        let alone = Self.answer(role: "following", leader: "null", confirmed: true, loss: "null")
        #expect(try !Self.printed(alone).isWell)
        let json = try Self.printed(alone, .json)
        #expect(
            json.text.contains("\"role\": \"following\"")
                || json.text.contains("\"role\":\"following\""))
    }

    @Test func `S13, S17: who is no member is told, and which erasures are not over`() throws {
        let text = """
            {"member":"a","role":"leading","leader":"a","confirmed":true,"reign":3,"position":90,"lag":0,
             "loss":null,"closed":true,"drained":true,"divergent":true,
             "erasures":{"pending":2,"oldest_at":"2026-11-21T05:30:00.000Z","missing":["b","c"],"in_log":1},
             "members":[
               {"member":"a","position":90,"listed":true,"address":null,"noted_at":"2026-11-21T06:00:00.000Z"},
               {"member":"d","position":90,"listed":false,"address":null,"noted_at":null}]}
            """
        let printed = try Self.printed(text).text
        #expect(printed.contains("ITS STATE IS NOT THAT OF THE OTHERS: it never leads."))
        #expect(printed.contains("It leaves the lead to others for some minutes."))
        #expect(printed.contains("d       no member"))
        #expect(
            printed.contains(
                "2 erasures are not over, the oldest since 30 min: "
                    + "something may be left at b, c and in the log."))
    }

    @Test func `S17: what is asked for goes to its route, and what came of it is told`() throws {
        let server = try CannedServer([
            "/v1/cluster/members/b%20c": #"{"members":["a","b c"],"closed":true}"#,
            "/v1/cluster/drain": #"{"done":"it is"}"#,
            "/v1/cluster/adopt?force=true": #"{"done":"begun"}"#,
        ])
        defer { server.stop() }
        let questions = try server.asked()
        func told(_ kind: ClusterRequest.Kind, isJSON: Bool = false) throws -> String {
            try ClusterRequest(kind, isJSON: isJSON).answer(from: questions)
        }
        #expect(try told(.add("b c")) == "Members: a, b c.\n")
        #expect(try told(.remove("b c")) == "Members: a, b c.\n")
        #expect(try told(.drain) == "it is\n")
        #expect(try told(.adopt(isForced: true)) == "begun\n")
        #expect(throws: QuestionError.self) { try told(.join) }
    }

    @Test func `a server on one machine has no members`() throws {
        let server = try CannedServer([:])
        defer { server.stop() }
        let questions = try server.asked()
        #expect(throws: QuestionError.self) {
            try ClusterQuestion(.table).answer(
                from: questions, style: ConsoleStyle(), now: Timestamp(milliseconds: 0))
        }
    }
}

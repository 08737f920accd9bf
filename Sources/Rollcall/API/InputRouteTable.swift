import RollcallBasis
import RollcallCore
import RollcallSupport

/// The routes of inputs, a part of the table of all routes. Source: M3, M4.
extension Route {
    /// Those to which phones send, and the one that tells what came.
    static let inputs: [Route] =
        [Resource.input, .inputBelow].flatMap { resource in
            [
                input(.post, resource, "What phones send anyway"),
                input(.put, resource, "The same by another method"),
                input(.get, resource, "The same in a query"),
            ]
        } + [
            Route(
                .get, .inputs, "listInputs", .inputs, .read, .answers, "What came by each input",
                """
                Counts since the start, and the last thing that could not be taken: where it stood \
                and why, never what.
                """,
                answers: [200: "InputList"]
            ) { $0.listInputs($1.answer) }
        ]

    private static func input(
        _ method: Method, _ resource: Resource, _ summary: String
    ) -> Route {
        let name = resource == .input ? "Input" : "InputBelow"
        return Route(
            method, resource, "\(method.rawValue.lowercased())\(name)", .inputs, .ingest, .writes,
            summary,
            """
            In the words of the client that the input is set up for, and so is the answer, after \
            the commit. Needs the scope `input:NAME`, as Bearer, as Basic's password or as the \
            parameter `token`; GET always does, and is there for forms alone. What can never be \
            taken is answered so too, and counted: `GET /v1/inputs`. Where phones have keys of their \
            own, `tell=true` has an answer that is an object say how the phone's person stands, as \
            `you` (`PersonalStanding`, or null).
            """,
            body: method == .get ? nil : "Input", answers: [200: "InputAnswer"],
            problems: [404, 421, 429],
            queryIsOf: .input
        ) { $0.takeInput($1) }
    }
}

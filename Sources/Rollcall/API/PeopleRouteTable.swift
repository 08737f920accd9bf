import RollcallBasis
import RollcallCore
import RollcallSupport

/// The part of the table of routes that is about people.
extension Route {
    /// The routes that answer about people, one or all of them.
    static let people: [Route] = [
        Route(
            .get, .responders, "listResponders", .responders, .read, .answers,
            "People, by what is known of them",
            """
            All filters must hold; several words of one, with commas between them, mean any of them. \
            `reachable=yes` is what assigns incidents. Go on with `after` = `next` until it is null; at \
            most \(Router.lookedAtMax) people are looked at for one answer, so that one may be empty \
            and have a `next`. With `sort` or `q` everybody is looked at, and `total` says how many fit. \
            It is done a slice at a time; 503 if too many such questions wait. A parameter that is not \
            known here is a 400.
            """,
            query: ResponderQuery.parameters, answers: [200: "ResponderList"], problems: [404]
        ) { $0.listResponders($1, $2) },
        Route(
            .get, .differences, "listDifferences", .responders, .read, .answers,
            "What is different about some people",
            """
            Those whom the filters choose against all others who are expected: what their phones said \
            and are, region and duty, each with how many have it on both sides, most telling first. A \
            fact is left out unless it is more common among the chosen beyond what chance does in small \
            numbers; if none is, `differences` is empty. Of a fact the three values that tell the most are \
            answered. A fact that is itself a filter is left out.
            """,
            query: ResponderQuery.differenceParameters, answers: [200: "Differences"]
        ) { $0.listDifferences($1, $2) },
        Route(
            .get, .responder, "getResponder", .responders, .read, .answers, "One person",
            answers: [200: "Responder"], problems: [404, 421]
        ) { $0.showResponder($1.target.id, $1.answer) },
        Route(
            .delete, .responder, "eraseResponder", .responders, .admin, .writes,
            "Erases a person",
            """
            Out of memory and answers at once, out of the store within \
            \(Router.erasedWithin.count / 60_000) minutes. Whether anybody had the id is not told. \
            The id is refused until `POST /v1/responders` names it again.
            """,
            shared: [.source], answers: [202: "ErasureAccepted"], problems: [404, 421, 422]
        ) { $0.erase($1.target.id, $1.request, $1.answer) },
        Route(
            .get, .erasure, "getErasure", .erasures, .read, .answers, "How far an erasure is",
            answers: [200: "Erasure"], problems: [404]
        ) { $0.showErasure($1.target.number, $1.answer) },
        Route(
            .get, .nudge, "getNudge", .responders, .read, .answers,
            "Would this person be nudged now?",
            "If not, why not, with every reason that holds, and when at the earliest.",
            query: NoQuery.parameters, answers: [200: "NudgeAnswer"], problems: [404, 421]
        ) { $0.showNudge($2.target.id, $2.answer) },
    ]
}

import RollcallCore
import RollcallSupport

/// The route of events. Source: E1.
extension Router {
    /// The time for which a request for events may wait for its answer: as long as it asks for, and
    /// what reading takes.
    static let eventPatience = Duration.seconds(EventQuery.waitMax + 5)

    /// Answers `GET /v1/events`: by a page, or by a stream if that is what is accepted.
    func showEvents(
        _ query: EventQuery, _ request: HTTPRequest, _ answer: @escaping Answer
    ) {
        let isAccepted = AcceptedType.names("text/event-stream", in: request.accept)
        if query.hasWatch, !isAccepted {
            return answer(
                .refusal(ParameterError(detail: "watch: goes with Accept: text/event-stream")),
                InputStats())
        }
        let isStream = isAccepted && !request.isHead
        var query = query
        // "The browser sends the last event ID it has seen": it wins over where it began.
        if isStream, let last = request.lastEventID, !last.isEmpty {
            do throws(ParameterError) {
                query.start = try EventQuery.start(last, "Last-Event-ID")
            } catch {
                return answer(.refusal(error), InputStats())
            }
        }
        let caller = caller(request)
        writer.ask { [events, query] view in
            events.ask(
                EventReaders.Question(
                    query: query, epoch: view.eventEpoch, isFollowing: view.isFollowing,
                    isStream: isStream, caller: caller, answer: { answer($0, InputStats()) }))
        }
    }
}

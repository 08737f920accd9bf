import RollcallCore

/// The verdicts on answers to a push, or on there being none. A push that may have gone out is
/// never sent again: one missed nudge is better than a double one. Source: N7.
///
/// | | |
/// |---|---|
/// | 2xx (of Expo: by its tickets) | delivered |
/// | 307, 308, 4xx but 408, 503 | refused: nothing went out |
/// | nothing can have reached the sink | refused |
/// | 408, other 3xx and 5xx, no whole answer | unknown |
enum PushVerdicts {
    /// Returns what the answer of a backend of one's own means.
    static func evaluate(_ answer: HTTPCallAnswer, of sink: PushSink, now: Timestamp) -> PushResult
    {
        let status = answer.status
        if (200...299).contains(status) { return PushResult(.delivered, status: status) }
        return PushResult(
            verdict(of: status, RetryAfter.span(of: answer, now: now)), status: status,
            error: AnswerWords.answered(sink.place, status))
    }

    /// Returns what it means that no whole answer came.
    static func evaluate(_ error: HTTPCallError, of sink: PushSink) -> PushResult {
        guard let status = error.status else {
            return PushResult(
                error.mayHaveArrived ? .unknown : .refused(retryAfter: nil), error: "\(error)")
        }
        // The status line says it all; but of Expo, whose tickets are in the rest.
        if sink.kind == .webhook, (200...299).contains(status) {
            return PushResult(.delivered, status: status)
        }
        return PushResult(verdict(of: status, nil), status: status, error: "\(error)")
    }

    /// Returns what Expo's answer to `pushes` means for each of them.
    static func evaluate(
        _ answer: HTTPCallAnswer, to pushes: [PushPayload], of sink: PushSink, now: Timestamp
    ) -> [PushResult] {
        let status = answer.status
        let expo = ExpoAnswer(answer.body)
        let wait = RetryAfter.span(of: answer, now: now)
        func answered(_ words: String?) -> String {
            AnswerWords.answered(sink.place, status, words)
        }
        func all(_ verdict: PushVerdict, _ words: String) -> [PushResult] {
            let shown = hidden(words, pushes, sink)
            return pushes.map { _ in PushResult(verdict, status: status, error: shown) }
        }
        guard status == 200 else {
            // What a gateway says in Expo's name is not shown.
            return all(verdict(of: status, wait), answered(expo.refusal))
        }
        if let tickets = expo.tickets(pushes.count) {
            return tickets.map { ticket in
                PushResult(
                    ticket.verdict, status: status,
                    error: ticket.words.map {
                        hidden("\(sink.place): \($0)", pushes, sink)
                    })
            }
        }
        if let refusal = expo.refusal {
            return all(.refused(retryAfter: wait), answered(refusal))
        }
        return all(.unknown, answered("not a ticket for each message"))
    }

    /// Returns what Expo's answer to the question for receipts means.
    static func receipts(
        _ answer: HTTPCallAnswer, for tickets: [[UInt8]], of sink: PushSink, now: Timestamp
    ) -> PushReceipts {
        let expo = ExpoAnswer(answer.body)
        guard answer.status == 200, let receipts = expo.receipts(tickets) else {
            let reason = answer.status == 200 ? "no receipts" : nil
            let words = AnswerWords.answered(sink.place, answer.status, expo.refusal ?? reason)
            return PushReceipts(
                verdicts: nil, retryAfter: RetryAfter.span(of: answer, now: now),
                error: hidden(words, [], sink))
        }
        let errors = receipts.errors.joined(separator: ", ")
        return PushReceipts(
            verdicts: receipts.verdicts,
            error: errors.isEmpty ? nil : hidden("\(sink.place): \(errors)", [], sink))
    }

    // MARK: - Parts

    private static func verdict(of status: Int, _ wait: Milliseconds?) -> PushVerdict {
        switch status {
        // 408 may come from somebody in between who has passed it on. 301 to 303 may be a form's
        // way of saying thanks.
        case 408: .unknown
        case 307, 308, 400...499, 503: .refused(retryAfter: wait)
        default: .unknown
        }
    }

    /// `text` on one line, without what must not be shown: Expo repeats tokens.
    private static func hidden(_ text: String, _ pushes: [PushPayload], _ sink: PushSink) -> String
    {
        var line = AnswerWords.oneLine(text)
        for token in pushes.compactMap(\.token) {
            line.replace(String(decoding: token, as: UTF8.self), with: "<token>")
        }
        if let bearer = sink.bearer, bearer.bytes.count >= AnswerWords.secretMin {
            line.replace(String(decoding: bearer.bytes, as: UTF8.self), with: "<secret>")
        }
        return line
    }
}

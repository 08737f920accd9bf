/// What must be right once nothing is wrong any more. Source: Contract/Liveness.
struct Ending {
    /// What really was.
    let truth: WorldTruth

    /// Evaluates the end of a story. Errors: the first person about whom the watch is wrong.
    func judge(_ trial: Trial, after line: Int) throws(Failure) {
        func fail(_ check: String, _ detail: String) throws(Failure) {
            throw Failure(line: line, check: check, detail: detail)
        }
        do throws(Breach) {
            try trial.stream.evaluateEnd(truth.endsAt)
        } catch {
            try fail(error.rule, error.detail)
        }
        if trial.isBlind { try fail("INV-12", "blind though all is well") }
        var people: [String: StoryPerson] = [:]
        for person in trial.people { people[person.responderID] = person }
        for phone in truth.phones {
            let known = people[phone.id]
            let status = known?.status ?? "NOT_EXPECTED"
            switch (phone.isExpected, phone.isAlive) {
            case (true, true):
                if status != "ONLINE" { try fail("INV-10", "\(phone.id) lives and is \(status)") }
            case (true, false):
                let isForgotten = known?.notExpected == "forgotten"
                if status != "OFFLINE" && !isForgotten {
                    try fail("INV-13", "\(phone.id) is dead and \(status)")
                }
            case (false, _):
                if status != "NOT_EXPECTED" {
                    try fail("INV-07", "\(phone.id) is not expected and \(status)")
                }
            }
        }
    }
}

/// Nudges, wakes and what became of their pushes, for a scrape. Source: N8, N9, §8.
extension Exposition {
    mutating func appendNudges(_ nudges: NudgeCounters, isCell: Bool) {
        family(
            "rollcall_nudges", .counter,
            "Decisions about people whose location was too old, by why.")
        for (decision, count) in [("send", nudges.sent), ("dry_run", nudges.dryRuns)]
            as [(StaticString, Int)]
        {
            sample(["decision": .word(decision), "reason": .word("due")], Quantity(count))
        }
        for reason in NudgeReason.written where isCell || !reason.isOfCells {
            sample(
                ["decision": .word("hold"), "reason": .word(reason.word)],
                Quantity(nudges.held(reason)))
        }
        family("rollcall_nudge_outcomes", .counter, "What followed nudges within half an hour.")
        for outcome in NudgeOutcome.allCases {
            for platform in Platform.allCases {
                sample(
                    ["outcome": .word(outcome.word), "platform": .word(platform.word)],
                    Quantity(nudges.followed(outcome, platform)))
            }
        }
        family(
            "rollcall_asks", .counter, "Asks for people by others, by what came of them and why.")
        for (decision, result) in [("send", .send), ("dry_run", .dryRun)]
            as [(StaticString, AskResult)]
        {
            sample(
                ["decision": .word(decision), "reason": .word("asked")],
                Quantity(nudges.asked(result)))
        }
        for reason in NudgeReason.allCases where isCell || !reason.isOfCells {
            sample(
                ["decision": .word("hold"), "reason": .word(reason.word)],
                Quantity(nudges.asked(.hold(reason))))
        }
        for (reason, result) in [("outsider", .outsider), ("disabled", .disabled)]
            as [(StaticString, AskResult)]
        {
            sample(
                ["decision": .word("hold"), "reason": .word(reason)],
                Quantity(nudges.asked(result)))
        }
        family(
            "rollcall_wakes", .counter,
            "Decisions about phones of circles that somebody looked at, by why.")
        sample(["decision": .word("wake"), "reason": .word("asked")], Quantity(nudges.wakes))
        for reason in WakeReason.allCases {
            sample(
                ["decision": .word("skip"), "reason": .word(reason.word)],
                Quantity(nudges.notWoken(reason)))
        }
        family(
            "rollcall_pushes", .counter,
            "Pushes that came to their end, by kind and what became of them.")
        for kind in PushKind.allCases {
            for outcome in PushOutcome.allCases {
                sample(
                    ["kind": .word(kind.word), "outcome": .word(outcome.word)],
                    Quantity(nudges.pushed(kind, outcome)))
            }
        }
    }
}

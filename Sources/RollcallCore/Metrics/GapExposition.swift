/// Gaps, verdicts and dark time, for a scrape. Source: Contract/Gaps, V2.
extension Exposition {
    mutating func appendGaps(_ gaps: GapCounters) {
        family(
            "rollcall_gaps", .counter,
            "Gaps that reached OFFLINE while the watch saw them, by suspected cause.")
        for cause in GapCause.allCases {
            for platform in Platform.allCases {
                sample(
                    ["cause": .word(cause.word), "platform": .word(platform.word)],
                    Quantity(gaps.gaps(cause, platform)))
            }
        }
        family(
            "rollcall_gap_verdicts", .counter,
            "Gaps that are over, by what was suspected and what they were.")
        for suspected in GapCause.allCases {
            for verdict in GapVerdict.allCases {
                for platform in Platform.allCases {
                    sample(
                        [
                            "suspected": .word(suspected.word), "verdict": .word(verdict.word),
                            "platform": .word(platform.word),
                        ], Quantity(gaps.verdicts(suspected, verdict, platform)))
                }
            }
        }
        family(
            "rollcall_gaps_by_manufacturer", .counter,
            "Gaps that are over, by the manufacturer of the phone and what they were.")
        let makers = gaps.makers
        // Behind those that have a label, all others.
        let labels = makers.names.map { LabelValue.bytes($0) } + [.word("other")]
        for (place, label) in labels.enumerated() {
            for verdict in GapVerdict.allCases {
                sample(
                    ["manufacturer": label, "verdict": .word(verdict.word)],
                    Quantity(makers.count(verdict, of: place)))
            }
        }
        family(
            "rollcall_gap_return_seconds", .histogram,
            "Watched time from leaving ONLINE to the return, by the manufacturer of the phone.")
        for (place, label) in labels.enumerated() {
            histogram(["manufacturer": label], makers.returns(of: place))
        }
        family(
            "rollcall_gap_duration_seconds", .histogram,
            "Watched time from leaving ONLINE to the end of gaps, by verdict.")
        for verdict in GapVerdict.allCases {
            histogram(["verdict": .word(verdict.word)], gaps.lengths(verdict))
        }
        family(
            "rollcall_gaps_blind", .counter,
            "Gaps of which 5 % and 1 s or more were blind: left out, by what they are missing in.")
        sample(["stage": .word("offline")], Quantity(gaps.gapsBlind))
        sample(["stage": .word("verdict")], Quantity(gaps.verdictsBlind))
    }

    mutating func appendPromised(_ engine: Engine) {
        family(
            "rollcall_promised_seconds", .counter,
            "Watched time in which responders were not out of contact by their phones' word alone.")
        for platform in Platform.allCases {
            sample(
                ["platform": .word(platform.word)],
                Quantity(Milliseconds(engine.promised(region: nil, platform))))
        }
    }

    mutating func appendDark(_ engine: Engine, _ regions: RegionLabels) {
        family(
            "rollcall_dark_seconds", .counter,
            "Watched time of expected responders out of contact, or covered by no location.")
        for kind in DarkKind.allCases {
            var rest = Platform.allCases.map { engine.dark(kind, region: nil, $0) }
            let stencils = Platform.allCases.map { platform in
                stencil(
                    "region", behind: ["kind": .word(kind.word)],
                    before: ["platform": .word(platform.word)])
            }
            for (place, row) in regions.rows.enumerated() {
                let isOther = regions.hasOther && place == regions.rows.count - 1
                for (platform, stencil) in zip(Platform.allCases, stencils) {
                    let index = Int(platform.rawValue)
                    let own = row.number.map { engine.dark(kind, region: $0, platform) } ?? 0
                    let value = isOther ? rest[index] : own
                    rest[index] = max(0, rest[index] - value)
                    sample(stencil, row.text, Quantity(Milliseconds(value)))
                }
            }
        }
    }
}

/// The parts of a text that is about the watch itself.
extension AlertText {
    var lost: StateLossCause {
        let word = member.annotations.value(of: StateLossCause.annotation)
        return StateLossCause.allCases.first { $0.word.bytes == word } ?? .gone
    }

    /// Source: K4.
    var darkHeadline: String { "Nothing is heard of cell \(cell)" }

    /// The claim, once it is past.
    var darkOver: String {
        "\(member.name == .cellDark ? "cell \(cell)" : "the fleet cell") was not heard"
    }

    private var cell: String {
        String(decoding: member.labels.value(of: Array("cell".utf8)), as: UTF8.self)
    }

    var darkPassed: String {
        "The cell said nothing for \(Self.span(CellBook.darkAfter)): how its people are is not known, and no "
            + "alert fires or ends that depends on it."
    }

    var fleetDarkPassed: String {
        "It asked no cell that answers for \(Self.span(CellBook.darkAfter)): nobody decides about many now, neither "
            + "HighOfflineRate nor NoOnlineResponders, ResponderFlapping or TelemetryFeedDown."
    }
}

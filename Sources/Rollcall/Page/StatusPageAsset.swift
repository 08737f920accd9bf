import RollcallBasis
import RollcallCore
import RollcallSupport

/// A file of the page, as it stands in `Page/Assets`; its bytes are in the program.
enum StatusPageAsset: String, CaseIterable, Sendable {
    case act = "act.js"
    case actStyle = "act.css"
    case alerts = "alerts.js"
    case band = "band.js"
    case cells = "cells.js"
    case chat = "chat.js"
    case dialog = "dialog.js"
    case differ = "differ.js"
    case dom = "dom.js"
    case enter = "enter.js"
    case feeds = "feeds.js"
    case filters = "filters.js"
    case fleet = "fleet.js"
    case frame = "frame.js"
    case keys = "keys.js"
    case live = "live.js"
    case instead = "instead.js"
    case list = "list.css"
    case main = "main.js"
    case marks = "marks.js"
    case now = "now.css"
    case moment = "moment.js"
    case nudges = "nudges.js"
    case outcome = "outcome.js"
    case people = "people.js"
    case person = "person.js"
    case phones = "phones.js"
    case picture = "picture.js"
    case rows = "rows.js"
    case said = "said.js"
    case server = "server.js"
    case session = "session.js"
    case silent = "silent.js"
    case story = "story.js"
    case strip = "strip.js"
    case stripStyle = "strip.css"
    case style = "page.css"
    case words = "words.js"

    /// The bytes of the file.
    var bytes: [UInt8] {
        switch self {
        case .act: PackageResources.act_js
        case .actStyle: PackageResources.act_css
        case .alerts: PackageResources.alerts_js
        case .band: PackageResources.band_js
        case .cells: PackageResources.cells_js
        case .chat: PackageResources.chat_js
        case .dialog: PackageResources.dialog_js
        case .differ: PackageResources.differ_js
        case .dom: PackageResources.dom_js
        case .enter: PackageResources.enter_js
        case .feeds: PackageResources.feeds_js
        case .filters: PackageResources.filters_js
        case .fleet: PackageResources.fleet_js
        case .frame: PackageResources.frame_js
        case .keys: PackageResources.keys_js
        case .live: PackageResources.live_js
        case .instead: PackageResources.instead_js
        case .list: PackageResources.list_css
        case .main: PackageResources.main_js
        case .marks: PackageResources.marks_js
        case .now: PackageResources.now_css
        case .moment: PackageResources.moment_js
        case .nudges: PackageResources.nudges_js
        case .outcome: PackageResources.outcome_js
        case .people: PackageResources.people_js
        case .person: PackageResources.person_js
        case .phones: PackageResources.phones_js
        case .picture: PackageResources.picture_js
        case .rows: PackageResources.rows_js
        case .said: PackageResources.said_js
        case .server: PackageResources.server_js
        case .session: PackageResources.session_js
        case .silent: PackageResources.silent_js
        case .story: PackageResources.story_js
        case .strip: PackageResources.strip_js
        case .stripStyle: PackageResources.strip_css
        case .style: PackageResources.page_css
        case .words: Self.worded
        }
    }

    /// The page has no words of its own for causes, verdicts and reasons: it gets the terminal's.
    private static let worded: [UInt8] = {
        func reason(_ cause: String, _ evidence: JSONTree) -> String {
            GapWording(evidence: evidence, style: ConsoleStyle(), at: .distantPast).reason(cause)
        }
        func table<Word>(_ words: [Word], _ text: (Word) -> (StaticString, String)) -> JSONTree {
            .object(
                words.map {
                    let (name, value) = text($0)
                    return JSONTree.Member(name: "\(name)", value: .text(value))
                })
        }
        let proofs = GapWording(evidence: .null, style: ConsoleStyle(), at: .distantPast)
        let house: JSONTree = [
            "reasons": table(GapCause.allCases) { ($0.word, reason("\($0.word)", .null)) },
            // What the evidence makes of them.
            "learned": .text(GapWording.learned),
            "noNetwork": .text(reason("no_network", ["network_type": "none"])),
            "massGap": table(["feed", "region"] as [StaticString]) {
                ($0, reason("mass_gap", ["group": ["of": .text("\($0)")]]))
            },
            "proofs": table(GapVerdict.allCases) { ($0.word, proofs.proof("\($0.word)")) },
            "blindness": table(BlindReason.allCases) {
                ($0.word, GapWording.blindness("\($0.word)"))
            },
            "holds": table(NudgeReason.allCases) { ($0.word, NudgeWords.reason($0)) },
        ]
        let file = String(decoding: PackageResources.words_js, as: UTF8.self)
        return Array(
            file.replacing("const house = {};", with: "const house = \(house.printed);").utf8)
    }()

    /// True for what a browser runs.
    var isScript: Bool { rawValue.hasSuffix(".js") }

    /// Its type: a browser runs no script that calls itself something else.
    var contentType: String {
        isScript ? "text/javascript; charset=utf-8" : "text/css; charset=utf-8"
    }

    /// The version in their addresses: another one whenever a byte of any of them changes, so that
    /// a browser may keep them for ever and never mixes two versions.
    static let version: String = {
        let all = allCases.flatMap { asset in
            Array("\(asset.rawValue) \(asset.bytes.count)\n".utf8) + asset.bytes
        }
        return NotificationPayload.hexadecimal(
            SHA256.digest(of: all).prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }()
}

/// A file of the page, as it stands in `Page/Assets`; its bytes are in the program.
enum StatusPageAsset: String, CaseIterable, Sendable {
    case alerts = "alerts.js"
    case band = "band.js"
    case dom = "dom.js"
    case feeds = "feeds.js"
    case fleet = "fleet.js"
    case frame = "frame.js"
    case main = "main.js"
    case marks = "marks.js"
    case nudges = "nudges.js"
    case people = "people.js"
    case person = "person.js"
    case picture = "picture.js"
    case rows = "rows.js"
    case said = "said.js"
    case server = "server.js"
    case silent = "silent.js"
    case story = "story.js"
    case style = "page.css"
    case words = "words.js"

    /// The bytes of the file.
    var bytes: [UInt8] {
        switch self {
        case .alerts: PackageResources.alerts_js
        case .band: PackageResources.band_js
        case .dom: PackageResources.dom_js
        case .feeds: PackageResources.feeds_js
        case .fleet: PackageResources.fleet_js
        case .frame: PackageResources.frame_js
        case .main: PackageResources.main_js
        case .marks: PackageResources.marks_js
        case .nudges: PackageResources.nudges_js
        case .people: PackageResources.people_js
        case .person: PackageResources.person_js
        case .picture: PackageResources.picture_js
        case .rows: PackageResources.rows_js
        case .said: PackageResources.said_js
        case .server: PackageResources.server_js
        case .silent: PackageResources.silent_js
        case .story: PackageResources.story_js
        case .style: PackageResources.page_css
        case .words: PackageResources.words_js
        }
    }

    /// Its type: a browser runs no script that calls itself something else.
    var contentType: String {
        self == .style ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8"
    }

    /// The version in their addresses: another one whenever a byte of any of them changes, so that
    /// a browser may keep them for ever and never mixes two versions.
    static let version: String = {
        let all = allCases.flatMap { asset in
            Array("\(asset.rawValue) \(asset.bytes.count)\n".utf8) + asset.bytes
        }
        return PageDraft.hexadecimal(
            SHA256.digest(of: all).prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }()
}

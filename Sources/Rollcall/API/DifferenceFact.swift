import RollcallCore

/// A fact by which some people may be unlike all others.
enum DifferenceFact: Int, CaseIterable, Sendable {
    case model, manufacturer, osVersion, appVersion, platform
    case permission, services, power, appState, network
    case battery, duty, region

    /// The word in answers, which is its filter's.
    var word: StaticString {
        switch self {
        case .platform: "platform"
        case .manufacturer: "manufacturer"
        case .model: "model"
        case .osVersion: "os_version"
        case .appVersion: "app_version"
        case .permission: "permission_status"
        case .services: "location_services"
        case .power: "power_mode"
        case .appState: "app_state"
        case .network: "network_type"
        case .battery: "battery"
        case .duty: "duty_state"
        case .region: "region"
        }
    }

    private static let fields = Telemetry.places(of: allCases.map(\.word))

    /// The place in `Telemetry.fields` of the field that it is; nil of all others.
    var field: Int? { Self.fields[rawValue] }

    /// The words of its values, where these are few; the first is that of what nobody said. Nil of a
    /// name.
    var words: [StaticString]? {
        switch self {
        case .platform: Platform.allCases.map(\.word)
        case .battery: BatteryBand.allCases.map(\.word)
        case .duty: DutyState.allCases.map(\.word)
        case .permission, .services, .power, .appState, .network:
            field.map { Telemetry.fields[$0].values }
        case .manufacturer, .model, .osVersion, .appVersion, .region: nil
        }
    }

    /// Returns the place of a person's value among `words`, or the number of its name; 0 if nobody said.
    func value(of person: Responder) -> Int {
        switch self {
        case .platform: Int(person.platform.rawValue)
        case .battery: BatteryBand(person.battery).rawValue
        case .duty: Int(person.duty.rawValue)
        case .manufacturer: Int(person.manufacturer)
        case .model: Int(person.model)
        case .osVersion: Int(person.osVersion)
        case .appVersion: Int(person.appVersion)
        case .region: Int(person.region)
        case .permission: Int(person.telemetry.permissionStatus)
        case .services: Int(person.telemetry.locationServices)
        case .power: Int(person.telemetry.powerMode)
        case .appState: Int(person.telemetry.appState)
        case .network: Int(person.telemetry.networkType)
        }
    }
}

extension Telemetry {
    /// Returns the places in `fields` of the fields with these names; nil for a word that names none.
    static func places(of words: [StaticString]) -> [Int?] {
        words.map { word in fields.firstIndex { "\($0.name)" == "\(word)" } }
    }
}

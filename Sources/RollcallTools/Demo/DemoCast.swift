import RollcallCore

/// Something that befalls phones, or that their people do.
enum DemoAct: Equatable, Sendable {
    /// From now on this is the matter with them.
    case become(DemoPhone.Condition, [String])
    /// The phone reports this about itself at once, and nothing after it.
    case lastWords(String, DemoPhone.Trait)
    /// The person opens the app: it runs, and says so.
    case open(String)
    /// The phone says this about itself from now on.
    case say(String, DemoPhone.Trait)
    /// The person goes off duty, or comes back; their backend tells Rollcall.
    case duty(String, isOn: Bool)
}

/// The forty people of the demo with their phones, and the truth about each.
struct DemoCast: Sendable {
    /// Regions with so many people each.
    static let regions = [("north", 14), ("south", 12), ("east", 8), ("harbour", 6)]

    private var phones: [DemoPhone] = []
    private var places: [String: Int] = [:]
    /// The changes of duty that the backend has to tell, beside batches.
    private var shifts: [(person: Int32, duty: DutyState)] = []
    private var offDuty: Set<String> = []

    /// Everybody comes on duty at `now`.
    init(at now: Timestamp) {
        for (region, (name, count)) in Self.regions.enumerated() {
            for _ in 0..<count {
                let number = phones.count + 1
                // They do not report in step. Those of the harbour do: they fall silent together,
                // and what is told of them is easier to follow.
                let phase = name == "harbour" ? 7 : number * 3 % 8
                let person = FleetPerson(
                    number: phones.count, id: number < 10 ? "r-0\(number)" : "r-\(number)",
                    region: region, platform: number % 5 < 3 ? .ios : .android, app: .current)
                places[person.id] = phones.count
                phones.append(
                    DemoPhone(
                        person, battery: 0.4 + Double(number * 7 % 55) / 100,
                        due: now + Milliseconds(Int64(phase) * 250)))
            }
        }
    }

    /// The ids of a region's people.
    func people(of region: String) -> [String] {
        everybody.filter { $0.region == region }.map(\.id)
    }

    /// Everybody, region by region.
    var everybody: [(id: String, region: String)] {
        phones.map { ($0.person.id, Self.regions[$0.person.region].0) }
    }

    /// A writer of what they report.
    var writer: FleetWriter {
        FleetWriter(phones.map(\.person), regions: Self.regions.map(\.0))
    }

    /// True if the script has this phone silent, or its person off duty.
    func isMeantToBeOffline(_ id: String) -> Bool {
        guard let place = places[id] else { return false }
        return phones[place].condition != .reporting || offDuty.contains(id)
    }

    /// Lets something happen.
    mutating func apply(_ act: DemoAct, at now: Timestamp) {
        switch act {
        case .become(let condition, let ids):
            for id in ids { change(id) { $0.become(condition, at: now) } }
        case .lastWords(let id, let trait):
            change(id) {
                $0.say(trait)
                $0.become(.leaving, at: now)
            }
        case .open(let id):
            change(id) {
                $0.say(.appState("foreground"))
                $0.become(.reporting, at: now)
            }
        case .say(let id, let trait): change(id) { $0.say(trait) }
        case .duty(let id, let isOn):
            if isOn { offDuty.remove(id) } else { offDuty.insert(id) }
            guard let place = places[id] else { return }
            shifts.append((Int32(place), isOn ? .onDuty : .offDuty))
            phones[place].become(isOn ? .reporting : .stopped, at: now)
        }
    }

    private mutating func change(_ id: String, _ body: (inout DemoPhone) -> Void) {
        if let place = places[id] { body(&phones[place]) }
    }

    /// Returns what the backend knows of people, or has received from phones, by now, and did not
    /// forward yet: people first, since a batch of somebody who is back on duty is no news then.
    mutating func reports(at now: Timestamp) -> [FleetReport] {
        let at = now.milliseconds
        var reports = shifts.map { FleetReport(at: at, person: $0, content: .duty($1)) }
        shifts = []
        for place in phones.indices {
            guard let batch = phones[place].report(at: now) else { continue }
            reports.append(FleetReport(at: at, person: Int32(place), content: .batch(batch)))
        }
        return reports
    }
}

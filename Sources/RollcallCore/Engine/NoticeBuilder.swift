/// Notices of one instant while they are put together.
struct NoticeBuilder {
    /// The news of alerts of one name for one receiver.
    struct Group {
        var name: AlertName
        var kind: Notice.Kind
        var receiver: Receiver
        /// In the order of the settings.
        var place: Int
        var members: [NoticeMember]
        /// The keys of the alerts that the members are of.
        var keys: [AlertKey]
        /// The storm that its one member stands for.
        var storm: StormNotification?

        static func areInOrder(_ a: Group, _ b: Group) -> Bool {
            if a.name != b.name { return a.name.rank < b.name.rank }
            if a.kind != b.kind { return a.kind.rawValue > b.kind.rawValue }
            return a.place < b.place
        }
    }

    private(set) var groups: [Group] = []
    var mutes: [Mute] = []
    /// The alerts that have joined a storm, each with its storm's number.
    var joined: [(key: AlertKey, storm: Int64)] = []
    /// The number of receivers there are.
    private let receivers: Int
    /// Places among `groups` by name, kind and receiver; -1 where there is none.
    private var places: [Int]

    init(receivers: Int) {
        self.receivers = receivers
        places = []
    }

    /// Adds what the receiver in one place of the settings is told.
    mutating func add(
        _ member: NoticeMember, of key: AlertKey, _ kind: Notice.Kind, _ receiver: Receiver,
        _ place: Int
    ) {
        let kinds = Notice.Kind.allCases.count
        if places.isEmpty {
            places = Array(repeating: -1, count: AlertName.allCases.count * kinds * receivers)
        }
        let index = (Int(member.name.rawValue) * kinds + Int(kind.rawValue)) * receivers + place
        guard places[index] < 0 else {
            groups[places[index]].members.append(member)
            return groups[places[index]].keys.append(key)
        }
        places[index] = groups.count
        groups.append(
            Group(
                name: member.name, kind: kind, receiver: receiver, place: groups.count,
                members: [member], keys: [key]))
    }

    /// Adds what a receiver is told of a storm.
    mutating func add(_ stormNotification: StormNotification) {
        groups.append(
            Group(
                name: stormNotification.member.name, kind: stormNotification.kind,
                receiver: stormNotification.receiver,
                place: groups.count, members: [stormNotification.member], keys: [],
                storm: stormNotification))
    }
}

/// What a disk holds, and what it may hold after a power cut: what was synced is there; of what was
/// not, each write is there, is not, or is in part, by sectors, in any combination; and so is each
/// name that was given or taken since the directory was synced last.
struct CrashDisk {
    /// What a power cut leaves, by names.
    typealias Image = [String: [UInt8]]

    /// What a disk writes as a whole, bytes.
    private static let sectorBytes = 512

    private enum Change {
        case write(at: Int, [UInt8])
        case truncate(to: Int)
    }

    private struct File {
        var durable: [UInt8]
        var waiting: [Change] = []
    }

    private enum NameChange {
        case given(String, file: Int)
        case taken(String)
    }

    private var files: [Int: File] = [:]
    private var names: [String: Int] = [:]
    private var namesWaiting: [NameChange] = []

    /// Takes the next call.
    mutating func take(_ call: DiskCall) {
        switch call {
        case .create(let name, let file, let bytes):
            files[file] = File(durable: bytes)
            namesWaiting.append(.given(name, file: file))
        case .write(let file, let place, let bytes):
            files[file]?.waiting.append(.write(at: place, bytes))
        case .truncate(let file, let size): files[file]?.waiting.append(.truncate(to: size))
        case .sync(let file):
            guard var synced = files[file] else { return }
            for change in synced.waiting { Self.apply(change, to: &synced.durable) }
            synced.waiting = []
            files[file] = synced
        case .delete(let name): namesWaiting.append(.taken(name))
        case .syncDirectory:
            for change in namesWaiting { Self.apply(change, to: &names) }
            namesWaiting = []
        }
    }

    /// What a power cut now may leave.
    func image(_ dice: inout SeededDice) -> Image {
        var left = names
        for change in namesWaiting where dice.chance(1, in: 2) { Self.apply(change, to: &left) }
        var image: Image = [:]
        for name in left.keys.sorted() {
            guard let file = left[name].flatMap({ files[$0] }) else { continue }
            var bytes = file.durable
            // Now and then nearly everything, and nearly nothing: what is in between is rarely read.
            let share = [0, 5, 50, 95, 100][dice.roll(5)]
            for change in file.waiting {
                if dice.chance(1, in: 8) {
                    tear(change, &bytes, &dice)
                } else if dice.chance(share, in: 100) {
                    Self.apply(change, to: &bytes)
                }
            }
            image[name] = bytes
        }
        return image
    }

    /// Does a write by some of its sectors only.
    private func tear(_ change: Change, _ bytes: inout [UInt8], _ dice: inout SeededDice) {
        guard case .write(let place, let written) = change else { return }
        var from = 0
        while from < written.count {
            let sectorEnd = ((place + from) / Self.sectorBytes + 1) * Self.sectorBytes - place
            let end = min(sectorEnd, written.count)
            if dice.chance(1, in: 2) {
                Self.apply(.write(at: place + from, Array(written[from..<end])), to: &bytes)
            }
            from = end
        }
    }

    private static func apply(_ change: Change, to bytes: inout [UInt8]) {
        switch change {
        case .truncate(let size):
            if size < bytes.count {
                bytes.removeLast(bytes.count - size)
            } else {
                bytes.append(contentsOf: repeatElement(0, count: size - bytes.count))
            }
        case .write(let place, let written):
            let end = place + written.count
            if end > bytes.count {
                bytes.append(contentsOf: repeatElement(0, count: end - bytes.count))
            }
            bytes.replaceSubrange(place..<end, with: written)
        }
    }

    private static func apply(_ change: NameChange, to names: inout [String: Int]) {
        switch change {
        case .given(let name, let file): names[name] = file
        case .taken(let name): names[name] = nil
        }
    }
}

/// Dice that fall the same each time (SplitMix64).
struct SeededDice {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func roll(_ sides: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ (mixed >> 31)) % UInt64(sides))
    }

    mutating func chance(_ part: Int, in whole: Int) -> Bool { roll(whole) < part }
}

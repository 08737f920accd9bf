import RollcallCore

/// The counts of what of some input was not taken. One that is empty costs no memory, which is the
/// usual case.
package struct InputStats: Equatable, Sendable {
    /// By `ItemFault`; empty while all are 0.
    private var rejected: [Int] = []
    private var problems: [Int] = []
    private var privateFieldsDropped = 0
    /// Times by `TimeForm`, in place: nearly every body has some. No vector: what holds one stands at a
    /// multiple of 32 bytes, for which the system's allocator takes its long course.
    private var timesRead: InlineArray<3, Int> = [0, 0, 0]

    /// Stats that are all 0.
    package init() {}

    /// True if everything was taken.
    package var isEmpty: Bool {
        rejected.isEmpty && problems.isEmpty && privateFieldsDropped == 0
            && TimeForm.allCases.allSatisfy { timesRead[Int($0.rawValue)] == 0 }
    }

    package static func == (a: InputStats, b: InputStats) -> Bool {
        a.rejected == b.rejected && a.problems == b.problems
            && a.privateFieldsDropped == b.privateFieldsDropped
            && TimeForm.allCases.allSatisfy {
                a.timesRead[Int($0.rawValue)] == b.timesRead[Int($0.rawValue)]
            }
    }

    /// Adds what the scanner did not take.
    package mutating func add(_ scan: ScanResult) {
        for fault in ItemFault.allCases {
            Self.add(scan.rejectedCount(fault), fault, to: &rejected)
            Self.add(scan.problemCount(fault), fault, to: &problems)
        }
        privateFieldsDropped += scan.privateFieldsDropped
        for form in TimeForm.allCases {
            timesRead[Int(form.rawValue)] += scan.timesRead[Int(form.rawValue)]
        }
    }

    /// Adds a part of something else than an item that was not taken.
    package mutating func addProblem(_ fault: ItemFault) { Self.add(1, fault, to: &problems) }

    /// Adds something else than an item of which nothing was taken.
    package mutating func addRejection(_ fault: ItemFault) { Self.add(1, fault, to: &rejected) }

    /// Adds fields that were dropped for their names.
    package mutating func addPrivateFields(_ count: Int) { privateFieldsDropped += count }

    /// Adds a time that stood elsewhere than in an item.
    mutating func addTime(_ form: TimeForm) { timesRead[Int(form.rawValue)] += 1 }

    /// Adds what the engine did not take.
    package mutating func add(_ receipt: Receipt) {
        for (_, fault) in receipt.rejected { Self.add(1, fault, to: &rejected) }
        Self.add(receipt.namesRefusedCount, .nameLimit, to: &problems)
        Self.add(receipt.agedCount, .outOfRange, to: &problems)
    }

    /// Adds other stats.
    package mutating func add(_ other: InputStats) {
        for (fault, count) in zip(ItemFault.allCases, other.rejected) {
            Self.add(count, fault, to: &rejected)
        }
        for (fault, count) in zip(ItemFault.allCases, other.problems) {
            Self.add(count, fault, to: &problems)
        }
        privateFieldsDropped += other.privateFieldsDropped
        for form in TimeForm.allCases {
            timesRead[Int(form.rawValue)] += other.timesRead[Int(form.rawValue)]
        }
    }

    private static func add(_ count: Int, _ fault: ItemFault, to counts: inout [Int]) {
        guard count > 0 else { return }
        if counts.isEmpty { counts = [Int](repeating: 0, count: ItemFault.allCases.count) }
        counts[Int(fault.rawValue)] += count
    }

    /// Appends the families of these stats.
    func append(to page: inout Exposition) {
        page.family("rollcall_rejected_items", .counter, "Items that were not taken at all.")
        Self.append(rejected, to: &page)
        page.family(
            "rollcall_item_problems", .counter, "Fields and updates left out of items taken.")
        Self.append(problems, to: &page)
        page.family(
            "rollcall_private_fields_dropped", .counter,
            "Fields dropped unread, named like a place.")
        page.sample(Quantity(privateFieldsDropped))
        page.family(
            "rollcall_times_read", .counter,
            "Times that were read, by what they were taken for; numbers are told by magnitude.")
        for form in TimeForm.allCases {
            page.sample(
                ["form": .word(form.word)], Quantity(timesRead[Int(form.rawValue)]))
        }
    }

    private static func append(_ counts: [Int], to page: inout Exposition) {
        for fault in ItemFault.allCases {
            let count = counts.isEmpty ? 0 : counts[Int(fault.rawValue)]
            page.sample(["reason": .word(fault.word)], Quantity(count))
        }
    }
}

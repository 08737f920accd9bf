import RollcallCluster
import RollcallTools

/// One story of a cluster: some minutes of troubles, then a peace in which everything must come right.
enum ClusterStory {
    /// Minutes of troubles, and of peace.
    private static let troubles: Int64 = 180_000
    private static let peace: Int64 = 45_000

    /// Plays the story of a seed; what failed, and what it contained.
    static func run(
        seed: UInt64, fault: ClusterFault? = nil
    ) -> (failure: String?, marks: [String: Int]) {
        let world = ClusterWorld(seed: seed, fault: fault)
        for host in 0..<ClusterWorld.hosts {
            world.time.after(world.dice.number(0...3000)) { world.start(host) }
        }
        world.pump()
        // Where few report the log stands still between two beats.
        let step = world.dice.pick([1, 1, 4, 12])
        for number in stride(from: 0, to: ClusterWorld.living + ClusterWorld.leaving, by: step) {
            world.time.after(world.dice.number(5000...10_000)) { world.report(number) }
        }
        trouble(world)
        slots(world)
        // Of some stories the log itself goes back, and then nothing else is asked.
        if world.dice.chance(250) {
            let at = world.dice.number(60_000...troubles)
            let state = Snapshot()
            let age = world.dice.pick([0, 100, 400, 2000, 20_000] as [Int64])
            world.time.after(at - age) {
                state.value = world.etcd.state
            }
            world.time.after(at) { restore(world, state) }
        }
        world.time.run(until: troubles) { world.failure != nil }
        heal(world)
        world.time.run(until: troubles + peace) { world.failure != nil }
        // What landed just now is folded at once.
        for step in 1...20 where !world.isEvenAtTheEnd {
            world.time.run(until: troubles + peace + Int64(step) * 100) { world.failure != nil }
        }
        world.checkEnd()
        return (world.failure, world.marks)
    }

    private final class Snapshot: @unchecked Sendable {
        var value: VirtualEtcd.State?
    }

    private static func restore(_ world: ClusterWorld, _ state: Snapshot) {
        guard let older = state.value else { return }
        if world.dice.chance(500) {
            world.mark("the log was written again")
            world.etcd.rewrite(older)
        } else {
            guard older.revision < world.etcd.state.revision else { return }
            world.mark("the log was restored")
            world.etcd.restore(older)
        }
        world.restored(to: world.etcd.state)
        // Somebody notices, and decides; a lost log heals by nothing else.
        for second in stride(from: Int64(20), to: 240, by: 10) {
            world.time.after(second * 1000) { if world.time.now > troubles { world.adopt() } }
        }
    }

    private static func slots(_ world: ClusterWorld) {
        world.checkSlots()
        world.checkErasures()
        world.time.after(1000) { slots(world) }
    }

    /// Lets something go wrong, now and then.
    private static func trouble(_ world: ClusterWorld) {
        world.time.after(world.dice.number(2000...15_000)) {
            guard world.time.now < troubles else { return }
            strike(world)
            trouble(world)
        }
    }

    private static func strike(_ world: ClusterWorld) {
        let host = Int(world.dice.number(0...2))
        let long = world.dice.pick([300, 1000, 2500, 4000, 9000, 30_000] as [Int64])
        func over(_ body: @escaping () -> Void) {
            world.troubledAt[host] = world.time.now + long
            world.time.after(long, body)
        }
        switch world.dice.number(0...14) {
        case 0, 1:
            world.mark("a process was killed")
            world.kill(host)
            over { world.start(host) }
        case 2:
            world.mark("a process was killed and its disk is gone")
            // Of two that are left one may be down at any time, but not both.
            // Nor may two that have lost theirs just now.
            let whole = world.processes.count {
                $0?.member.isConfirmed(at: world.time.now) ?? false
            }
            guard whole == 3, !world.isRestored else { return }
            world.kill(host)
            world.loseDisk(host)
            over { world.start(host) }
        case 3, 4:
            world.mark("a process was stopped")
            world.pause(host, for: long)
            over {}
        case 5:
            world.mark("a member was cut off")
            world.cut[host] = true
            over { world.cut[host] = false }
        case 6:
            world.mark("the log was away")
            world.isEtcdDown = true
            for other in 0..<ClusterWorld.hosts { world.troubledAt[other] = world.time.now + long }
            world.time.after(long) { world.isEtcdDown = false }
        case 7:
            world.mark("a watch stalled")
            world.stalledUntil[host] = world.time.now + long
        case 8:
            world.mark("the way to the log was shaky")
            world.isShaky = true
            over {
                world.isShaky = false
                for other in 0..<ClusterWorld.hosts {
                    world.troubledAt[other] = world.time.now + ClusterLink.patience + 3000
                }
            }
        case 9:
            // More than three changes of leaders in 5 min earn nobody a wait (S9).
            guard world.marks["a leader handed over"] == nil else { return }
            for process in world.processes { process?.handOver() }
        case 10: world.eraseSomebody()
        case 11: world.changeMembers()
        case 12: for process in world.processes { process?.drain() }
        case 13: world.processes[host]?.drift()
        default:
            world.mark("a wall stepped")
            world.walls[host] = world.dice.pick([-3_600_000, -2000, 0, 2000, 40_000])
            over { world.walls[host] = 0 }
        }
    }

    private static func heal(_ world: ClusterWorld) {
        world.isShaky = false
        world.isEtcdDown = false
        for host in 0..<ClusterWorld.hosts {
            world.cut[host] = false
            world.walls[host] = 0
            world.start(host)
        }
        world.nameAgain()
        world.eraseSomebody()
    }
}

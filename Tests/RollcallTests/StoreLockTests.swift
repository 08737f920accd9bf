import Foundation
import RollcallCore
import Testing

@testable import RollcallStore

/// The lock file: who holds it, and the mark that the store's failing was told.
@Suite struct StoreLockTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.store }
    private let time = Timestamp(milliseconds: 1_795_230_000_123)

    private func text() throws -> String {
        let descriptor = open(path + ".lock", O_RDONLY)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 100)
        let count = read(descriptor, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    @Test func `a mark outlives the process, and goes when it is taken away`() throws {
        var lock = try StoreLock(storePath: path)
        #expect(lock.mark == nil)
        try lock.setMark(time)
        lock.release()
        lock = try StoreLock(storePath: path)
        #expect(lock.mark == time)
        let process = "\(getpid())"
        let spaces = String(repeating: " ", count: 11 - process.count)
        #expect(try text() == "\(process)\(spaces)\n!001795230000123\n")
        try lock.setMark(nil)
        lock.release()
        #expect(try StoreLock(storePath: path).mark == nil)
        #expect(try text().hasSuffix("\n-000000000000000\n"))
    }

    @Test(arguments: [
        "", "4711\n", "4711       \n!12", "4711       \n!00179523000012x\n",
        "4711       \n-001795230000123\n", "4711       \n!001795230000123\nmore",
    ])
    func `what is no mark is none, and the file is put in order`(found: String) throws {
        directory.write(String(path.dropFirst(directory.path.count + 1)) + ".lock", found)
        let lock = try StoreLock(storePath: path)
        #expect(lock.mark == nil)
        try lock.setMark(time)
        #expect(try text().utf8.count == 29)
        lock.release()
        #expect(try StoreLock(storePath: path).mark == time)
    }

    @Test func `a file without room for the mark is not made longer`() throws {
        let lock = try StoreLock(storePath: path)
        #expect(truncate(path + ".lock", 12) == 0)
        #expect(throws: StoreError.self) { try lock.setMark(time) }
        #expect(lock.mark == nil)
        #expect(try text().utf8.count == 12)
    }

    @Test func `the holder is named, with and without a mark`() throws {
        let lock = try StoreLock(storePath: path)
        for mark in [nil, time] {
            try lock.setMark(mark)
            let error = try thrown { _ = try StoreLock(storePath: path) }
            #expect(error == .secondInstance(path: path, process: getpid()))
        }
    }

    @Test func `a lock that is given up is free, whoever has its file open still`() throws {
        let lock = try StoreLock(storePath: path)
        let file = path + ".lock"
        let held = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").first {
            let target = try? FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/self/fd/\($0)")
            return target == file
        }
        // As a process has it that was forked and does not run its own program yet.
        let copy = dup(try #require(held.flatMap { CInt($0) }))
        try #require(copy >= 0)
        defer { close(copy) }
        lock.release()
        try StoreLock(storePath: path).release()
    }
}

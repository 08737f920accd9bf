import CSQLite
import Glibc
import Synchronization
import Testing

/// What a disk was told, in order. Files are told apart by numbers: a name may be given again.
enum DiskCall {
    /// A file was made, or was there already when it was opened first, with these bytes.
    case create(name: String, file: Int, [UInt8])
    case write(file: Int, at: Int, [UInt8])
    case truncate(file: Int, to: Int)
    case sync(file: Int)
    case delete(name: String)
    /// The directory's entries are durable from here on.
    case syncDirectory
}

/// SQLite's own system layer, which notes what it is told to write. One store at a time: the notes
/// are global, as the layer is.
enum RecordingDisk {
    private struct OpenFile {
        let number: Int
        let path: String
        let methods: UnsafePointer<sqlite3_io_methods>
    }

    private struct State {
        var calls: [DiskCall] = []
        /// Open files by the address of SQLite's object.
        var open: [UInt: OpenFile] = [:]
        /// Numbers of files by their paths.
        var numbers: [String: Int] = [:]
        var lastNumber = 0
        /// The file that is being synced, and whether its directory is synced with it.
        var syncing = ""
        var hasSyncedDirectory = false

        mutating func number(of path: String, isNew: Bool) -> Int {
            if !isNew, let known = numbers[path] { return known }
            lastNumber += 1
            numbers[path] = lastNumber
            calls.append(
                .create(
                    name: RecordingDisk.name(of: path), file: lastNumber,
                    isNew ? [] : RecordingDisk.contents(of: path)))
            return lastNumber
        }
    }

    /// `@unchecked Sendable` is true because whoever has it is in `state`, a lock.
    private struct Locked: @unchecked Sendable {
        var state = State()
    }

    private typealias OpenDirectory =
        @convention(c) (
            UnsafePointer<CChar>?, UnsafeMutablePointer<Int32>?
        ) -> Int32

    private static let locked = Mutex(Locked())
    nonisolated(unsafe) private static let layer =
        UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    nonisolated(unsafe) private static var openDirectory: OpenDirectory?
    private static let registered: Int32 = register()

    /// Makes the layer known to SQLite, begins with no notes and returns its name.
    static func install() -> String {
        #expect(registered == SQLITE_OK)
        locked.withLock { $0.state = State() }
        return "recording"
    }

    /// How much was noted so far.
    static var position: Int { locked.withLock { $0.state.calls.count } }

    /// All of it.
    static var calls: [DiskCall] { locked.withLock { $0.state.calls } }

    /// Notes that somebody else than SQLite has synced the directory.
    static func noteDirectorySync() {
        locked.withLock { $0.state.calls.append(.syncDirectory) }
    }

    private static func register() -> Int32 {
        guard let system = sqlite3_vfs_find("unix") else { return SQLITE_ERROR }
        layer.initialize(to: system.pointee)
        layer.pointee.zName = UnsafePointer(strdup("recording"))
        layer.pointee.xOpen = { layer, name, file, flags, flagsOut in
            RecordingDisk.open(layer, name, file, flags, flagsOut)
        }
        layer.pointee.xDelete = { layer, name, syncsDirectory in
            RecordingDisk.delete(layer, name, syncsDirectory)
        }
        // "openDirectory" is called for nothing but a sync of the directory, whose result SQLite
        // keeps to itself.
        let found = system.pointee.xGetSystemCall(system, "openDirectory")
        openDirectory = unsafeBitCast(found, to: OpenDirectory?.self)
        let noting: OpenDirectory = { path, descriptor in
            RecordingDisk.note(directoryOf: path)
            return RecordingDisk.openDirectory?(path, descriptor) ?? SQLITE_CANTOPEN
        }
        let replaced = system.pointee.xSetSystemCall(
            system, "openDirectory", unsafeBitCast(noting, to: sqlite3_syscall_ptr.self))
        return replaced == SQLITE_OK ? sqlite3_vfs_register(layer, 0) : replaced
    }

    // MARK: - Calls

    private static func open(
        _ layer: UnsafeMutablePointer<sqlite3_vfs>?, _ name: UnsafePointer<CChar>?,
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32,
        _ flagsOut: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        let path = name.map { String(cString: $0) } ?? ""
        let isNew = access(path, F_OK) != 0
        let code = sqlite3_vfs_find("unix").pointee.xOpen(layer, name, file, flags, flagsOut)
        guard code == SQLITE_OK, let file, let methods = file.pointee.pMethods, !path.isEmpty
        else { return code }
        locked.withLock {
            let number = $0.state.number(of: path, isNew: isNew)
            $0.state.open[address(file)] = OpenFile(number: number, path: path, methods: methods)
        }
        file.pointee.pMethods = noting(methods.pointee)
        return code
    }

    private static func delete(
        _ layer: UnsafeMutablePointer<sqlite3_vfs>?, _ name: UnsafePointer<CChar>?, _ sync: Int32
    ) -> Int32 {
        let path = name.map { String(cString: $0) } ?? ""
        let code = sqlite3_vfs_find("unix").pointee.xDelete(layer, name, sync)
        guard code == SQLITE_OK else { return code }
        locked.withLock {
            $0.state.numbers[path] = nil
            $0.state.calls.append(.delete(name: Self.name(of: path)))
            if sync & 1 != 0 { $0.state.calls.append(.syncDirectory) }
        }
        return code
    }

    private static func note(directoryOf path: UnsafePointer<CChar>?) {
        guard let path else { return }
        let text = String(cString: path)
        locked.withLock {
            if $0.state.syncing == text { $0.state.hasSyncedDirectory = true }
        }
    }

    /// A table per file, never freed: the database's has locks, the log's has none.
    private static func noting(_ methods: sqlite3_io_methods) -> UnsafePointer<sqlite3_io_methods> {
        let table = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        table.initialize(to: methods)
        table.pointee.xWrite = { file, bytes, count, offset in
            let code = RecordingDisk.real(file).pointee.xWrite(file, bytes, count, offset)
            let buffer = UnsafeRawBufferPointer(start: bytes, count: Int(count))
            let copy = Array(buffer)
            RecordingDisk.note(file, code) { .write(file: $0, at: Int(offset), copy) }
            return code
        }
        table.pointee.xTruncate = { file, size in
            let code = RecordingDisk.real(file).pointee.xTruncate(file, size)
            RecordingDisk.note(file, code) { .truncate(file: $0, to: Int(size)) }
            return code
        }
        table.pointee.xSync = { file, flags in RecordingDisk.sync(file, flags) }
        table.pointee.xClose = { file in
            let methods = RecordingDisk.real(file)
            if let file {
                RecordingDisk.locked.withLock {
                    _ = $0.state.open.removeValue(forKey: RecordingDisk.address(file))
                }
            }
            return methods.pointee.xClose(file)
        }
        return UnsafePointer(table)
    }

    private static func sync(_ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32) -> Int32 {
        guard let file else { return SQLITE_IOERR }
        let methods = real(file)
        locked.withLock {
            $0.state.syncing = $0.state.open[address(file)]?.path ?? ""
            $0.state.hasSyncedDirectory = false
        }
        let code = methods.pointee.xSync(file, flags)
        note(file, code) { .sync(file: $0) }
        locked.withLock {
            if code == SQLITE_OK, $0.state.hasSyncedDirectory {
                $0.state.calls.append(.syncDirectory)
            }
            $0.state.syncing = ""
        }
        return code
    }

    private static func note(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ code: Int32, _ call: (Int) -> DiskCall
    ) {
        guard code == SQLITE_OK, let file else { return }
        locked.withLock {
            guard let open = $0.state.open[address(file)] else { return }
            $0.state.calls.append(call(open.number))
        }
    }

    private static func real(
        _ file: UnsafeMutablePointer<sqlite3_file>?
    ) -> UnsafePointer<sqlite3_io_methods> {
        let found = locked.withLock { locked in
            let open = file.flatMap { locked.state.open[address($0)] }
            return UInt(bitPattern: open?.methods)
        }
        guard let methods = UnsafePointer<sqlite3_io_methods>(bitPattern: found) else {
            preconditionFailure("a file that was never opened")
        }
        return methods
    }

    private static func address(_ file: UnsafeMutablePointer<sqlite3_file>) -> UInt {
        UInt(bitPattern: file)
    }

    private static func name(of path: String) -> String {
        path.split(separator: "/").last.map(String.init) ?? path
    }

    private static func contents(of path: String) -> [UInt8] {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: Int(status.st_size)) { buffer, count in
            count = max(0, pread(descriptor, buffer.baseAddress, buffer.count, 0))
        }
    }
}

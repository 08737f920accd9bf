import CFuzzer
import Glibc

/// What is fuzzed; chosen before the first input comes.
nonisolated(unsafe) private var target = FuzzTarget.all[0]

/// libFuzzer's callback; must not be a closure, which could be bound to the main actor.
private func fuzz(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    target.run(Array(UnsafeBufferPointer(start: data, count: size)))
    return 0
}

private func fail(_ message: String) -> Never {
    let line = Array("rollcall-fuzz: \(message)\n".utf8)
    _ = write(STDERR_FILENO, line, line.count)
    exit(64)
}

/// `rollcall-fuzz` names the targets; `rollcall-fuzz TARGET FOLDER [options of libFuzzer]` fuzzes one
/// with the inputs in a folder, after it has put the target's own samples there.
private func main() -> CInt {
    let arguments = CommandLine.arguments
    guard arguments.count > 1 else {
        for target in FuzzTarget.all { print(target.name) }
        return 0
    }
    guard arguments.count > 2, let found = FuzzTarget.all.first(where: { $0.name == arguments[1] })
    else { fail("TARGET FOLDER expected; without arguments the targets are named") }
    target = found
    let corpus = Corpus(folder: arguments[2])
    guard corpus.write(found.samples) else { fail("\(arguments[2]): cannot be written to") }
    let options = [arguments[0]] + arguments.dropFirst(3) + [corpus.folder]
    var pointers: [UnsafeMutablePointer<CChar>?] =
        (options + corpus.words(found.samples)).map { strdup($0) }
    var count = CInt(pointers.count)
    pointers.append(nil)
    return pointers.withUnsafeMutableBufferPointer { buffer in
        var start = buffer.baseAddress
        return LLVMFuzzerRunDriver(&count, &start, fuzz)
    }
}

exit(main())

import Glibc

let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
guard let options = Options(Array(CommandLine.arguments.dropFirst()), folder: folder) else {
    print(Options.usage)
    exit(64)
}
if options.asksForHelp {
    print(Options.usage)
    exit(0)
}
if options.isCluster { exit(simulateCluster(options)) }
if options.isInCells { exit(await compareCells(options)) }
if let truths = options.truths { exit(await seekTruth(options, truths)) }
exit(await simulate(options))

import Glibc

// No closure stands here: in main.swift it would belong to the main actor and die in a C callback.
exit(runBenchmark(arguments: Array(CommandLine.arguments.dropFirst())))

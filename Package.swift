// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
]

let package = Package(
    name: "rollcall",
    products: [
        .executable(name: "rollcall", targets: ["rollcall-cli"]),
        .executable(name: "rollcall-bench", targets: ["rollcall-bench"]),
        .executable(name: "rollcall-simulation", targets: ["rollcall-simulation"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    ],
    targets: [
        .systemLibrary(
            name: "CMicroHTTPD",
            pkgConfig: "libmicrohttpd",
            providers: [.apt(["libmicrohttpd-dev"])]
        ),
        .systemLibrary(
            name: "CGnuTLS",
            pkgConfig: "gnutls",
            // Which depends on GnuTLS's headers.
            providers: [.apt(["libmicrohttpd-dev"])]
        ),
        .systemLibrary(
            name: "CSQLite",
            pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"])]
        ),
        .target(name: "CCurl", publicHeadersPath: "."),
        .target(name: "RollcallCore", swiftSettings: strict),
        .target(
            name: "Rollcall",
            dependencies: [
                "RollcallCore", "CCurl", "CGnuTLS", "CMicroHTTPD", "CSQLite",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Yams", package: "Yams"),
            ],
            // The page's files, and the document's schemas, become bytes of the program.
            resources: [.embedInCode("Page/Assets"), .embedInCode("API/openapi.json")],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "rollcall-cli",
            dependencies: [
                "Rollcall", "RollcallCore",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict,
            // What a start reads stands closer together: 1 to 2 MB less of memory than by gold.
            linkerSettings: [.unsafeFlags(["-use-ld=lld"], .when(platforms: [.linux]))]
        ),
        .executableTarget(
            name: "rollcall-bench",
            dependencies: ["Rollcall", "RollcallCore", "CMicroHTTPD", "CSQLite"],
            path: "Tests/Performance",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "rollcall-simulation",
            dependencies: ["Rollcall", "RollcallCore"],
            path: "Tests/Simulation",
            swiftSettings: strict
        ),
        .testTarget(
            name: "RollcallCoreTests", dependencies: ["RollcallCore"], swiftSettings: strict),
        .testTarget(
            name: "RollcallTests",
            dependencies: [
                "Rollcall", "RollcallCore", "CCurl", "CSQLite",
                .product(name: "Logging", package: "swift-log"),
            ],
            exclude: ["Golden"], swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)

// What libFuzzer looks into is compiled for it, which nothing else needs: see Tests/fuzz.
if let runtime = Context.environment["ROLLCALL_FUZZER"] {
    for target in package.targets where ["RollcallCore", "Rollcall"].contains(target.name) {
        target.swiftSettings = strict + [.unsafeFlags(["-sanitize=fuzzer"])]
    }
    package.targets += [
        .systemLibrary(name: "CFuzzer", path: "Tests/Fuzzing/CFuzzer"),
        .executableTarget(
            name: "rollcall-fuzz",
            dependencies: [
                "CFuzzer", "Rollcall", "RollcallCore",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/Fuzzing", exclude: ["CFuzzer"], swiftSettings: strict,
            linkerSettings: [.unsafeFlags([runtime, "-lstdc++"])]),
    ]
}

// The core and its tests build in seconds without the rest: see Tests/quick.
if Context.environment["ROLLCALL_CORE_ONLY"] != nil {
    package.products = []
    package.dependencies = []
    package.targets.removeAll { !["RollcallCore", "RollcallCoreTests"].contains($0.name) }
}

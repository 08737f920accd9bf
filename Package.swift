// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
]

/// All Swift of the product but the command, from below.
let modules = [
    "RollcallCore", "RollcallCluster", "RollcallStore", "RollcallSupport", "RollcallBasis",
    "Rollcall", "RollcallTools",
]
let product = modules.map { Target.Dependency.target(name: $0) }

let package = Package(
    name: "rollcall",
    // Of the client, which runs in other people's servers; Rollcall itself runs on Linux.
    platforms: [.macOS(.v13), .iOS(.v16)],
    products: [
        .library(name: "RollcallClient", targets: ["RollcallClient"]),
        .executable(name: "rollcall", targets: ["rollcall-cli"]),
        .executable(name: "rollcall-bench", targets: ["rollcall-bench"]),
        .executable(name: "rollcall-simulation", targets: ["rollcall-simulation"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
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
        // Pure too: how several members are one watch.
        .target(name: "RollcallCluster", dependencies: ["RollcallCore"], swiftSettings: strict),
        // The store and what knows nothing of it are built side by side.
        .target(
            name: "RollcallStore",
            dependencies: [
                "RollcallCore", "CSQLite", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "RollcallSupport",
            dependencies: [
                "RollcallCore", "CCurl", "CGnuTLS", "CMicroHTTPD",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "RollcallBasis",
            dependencies: [
                "RollcallCluster", "RollcallCore", "RollcallStore", "RollcallSupport", "CCurl",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Rollcall",
            dependencies: [
                "RollcallBasis", "RollcallCluster", "RollcallCore", "RollcallStore",
                "RollcallSupport", .product(name: "Logging", package: "swift-log"),
            ],
            // The page's files, and the document's schemas, become bytes of the program.
            resources: [.embedInCode("Page/Assets"), .embedInCode("API/openapi.json")],
            swiftSettings: strict
        ),
        // Beside the server, not above it: an edit of one does not build the other.
        .target(
            name: "RollcallTools",
            dependencies: [
                "CSQLite", "RollcallBasis", "RollcallCore", "RollcallStore", "RollcallSupport",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "rollcall-cli",
            dependencies: product + [
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict,
            // What a start reads stands closer together: 1 to 2 MB less of memory than by gold.
            linkerSettings: [.unsafeFlags(["-use-ld=lld"], .when(platforms: [.linux]))]
        ),
        // For backends in Swift; it knows nothing of the rest.
        .target(name: "RollcallClient", swiftSettings: strict),
        .executableTarget(
            name: "rollcall-client-backend", dependencies: ["RollcallClient"],
            path: "Tests/Acceptance/ClientBackend", swiftSettings: strict),
        .executableTarget(
            name: "rollcall-bench",
            dependencies: product + ["CMicroHTTPD", "CSQLite"],
            path: "Tests/Performance",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "rollcall-simulation",
            dependencies: product,
            path: "Tests/Simulation",
            swiftSettings: strict
        ),
        .testTarget(
            name: "RollcallCoreTests", dependencies: ["RollcallCore"], swiftSettings: strict),
        .testTarget(
            name: "RollcallClusterTests", dependencies: ["RollcallCluster", "RollcallCore"],
            swiftSettings: strict),
        .testTarget(
            name: "RollcallTests",
            dependencies: product + [
                "CCurl", "CGnuTLS", "CSQLite", "RollcallClient",
                .product(name: "Logging", package: "swift-log"),
            ],
            exclude: ["Golden"], swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)

// What libFuzzer looks into is compiled for it, which nothing else needs: see Tests/fuzz.
if let runtime = Context.environment["ROLLCALL_FUZZER"] {
    for target in package.targets where modules.contains(target.name) {
        target.swiftSettings = strict + [.unsafeFlags(["-sanitize=fuzzer"])]
    }
    package.targets += [
        .systemLibrary(name: "CFuzzer", path: "Tests/Fuzzing/CFuzzer"),
        .executableTarget(
            name: "rollcall-fuzz",
            dependencies: product + [
                "CFuzzer",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/Fuzzing", exclude: ["CFuzzer"], swiftSettings: strict,
            linkerSettings: [.unsafeFlags([runtime, "-lstdc++"])]),
    ]
}

// What is pure and its tests build in seconds without the rest: see Tests/quick.
if Context.environment["ROLLCALL_CORE_ONLY"] != nil {
    let pure = ["RollcallCore", "RollcallCoreTests", "RollcallCluster", "RollcallClusterTests"]
    package.products = []
    package.dependencies = []
    package.targets.removeAll { !pure.contains($0.name) }
}

// The client and the backend of its acceptance test build without the rest.
if Context.environment["ROLLCALL_CLIENT_ONLY"] != nil {
    let client = ["RollcallClient", "rollcall-client-backend"]
    package.products = []
    package.dependencies = []
    package.targets.removeAll { !client.contains($0.name) }
}

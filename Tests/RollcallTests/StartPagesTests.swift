import Glibc
import Testing

@testable import RollcallSupport

/// What a server lets go of once it is ready (Q5).
@Suite struct StartPagesTests {
    private static let smaps = """
        55d0a0000000-55d0a08d2000 r--p 00000000 fe:00 42                         /usr/bin/rollcall
        Size:               9032 kB
        Rss:                4128 kB
        Anonymous:             0 kB
        VmFlags: rd mr mw me dw sd
        55d0a08d2000-55d0a2002000 r-xp 008d1000 fe:00 42                         /opt/a b/rollcall
        Anonymous:             0 kB
        55d0a2002000-55d0a20d1000 r--p 02000000 fe:00 42                         /usr/bin/rollcall
        Anonymous:           828 kB
        55d0a20d1000-55d0a45b6000 rw-p 020ce000 fe:00 42                         /usr/bin/rollcall
        Anonymous:             0 kB
        7f0000000000-7f0000008000 r--s 00000000 fe:00 43                         /var/lib/rollcall.db-shm
        Anonymous:             0 kB
        7f0000100000-7f0000101000 r--p 00000000 00:00 0
        Anonymous:             0 kB
        7f0000200000-7f0000201000 r-xp 00000000 00:00 0                          [vdso]
        Anonymous:             0 kB
        oddly
        \u{20}
        7f0000300000-7f0000200000 r-xp 00000000 fe:00 44                         /lib/libc.so.6
        Anonymous:             0 kB
        """

    @Test func `only pages that are as they stand in a file are let go`() {
        #expect(
            StartPages.fileMappings(in: Self.smaps) == [
                0x55d0_a000_0000..<0x55d0_a08d_2000, 0x55d0_a08d_2000..<0x55d0_a200_2000,
            ])
    }

    @Test func `what was let go is there again when it is needed`() {
        let before = DemoWords.said
        let pages = StartPages()
        for _ in 0..<3 { pages.letGo() }
        #expect(DemoWords.said == before)
        #expect(StartPages.fileMappings(in: "").isEmpty)
    }

    private enum DemoWords {
        static var said: String { "\(String(cString: strerror(ENOENT))), \(1.5), \([1: "a"])" }
    }
}

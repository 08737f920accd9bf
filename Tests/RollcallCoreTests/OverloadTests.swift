import RollcallCore
import Testing

/// Blind because we refuse. Source: B1, F11.
@Suite struct OverloadTests {
    @Test func `half of ten writes refused is overload, for as long as that holds`() throws {
        try timeline(
            """
            0s       1 reports                        → 1 unknown, 1 online
            0s       1 reports
            0s       1 reports
            0s       1 reports
            0s       1,2 report                       → 2 unknown, 2 online
            1s       refused 4
            2s       refused 1                        → blind overload since 1s
            15s                                       → blind overload ended since 1s
            """)
    }

    @Test func `nine writes are no overload, and less than half of them refused neither`() throws {
        try timeline(
            """
            0s       refused 9
            20s      1 reports                        → 1 unknown, 1 online
            20s      1 reports
            20s      1 reports
            20s      1 reports
            20s      1 reports
            20s      1 reports
            20s      refused 5
            """)
    }

    @Test func `overload looks back less than 15 s`() throws {
        try timeline(
            """
            0s       refused 5
            14.999s  refused 5                        → blind overload since 0s
            15s                                       → blind overload ended since 0s
            """)
        try timeline(
            """
            0s       refused 5
            15s      refused 5
            """)
    }

    @Test func `overload lasts as long as writes are refused`() throws {
        try timeline(
            """
            0s       refused 10
            1s                                        → blind overload since 0s
            10s      refused 10
            25s                                       → blind overload ended since 0s
            """)
    }

    @Test func `overload ends when enough writes are taken again`() throws {
        try timeline(
            """
            0s       9 reports                        → 9 unknown, 9 online
            80s      refused 10
            81s      1 reports                        → 1 unknown, 1 online
            81s                                       → blind overload since 80s
            82s      1 reports
            82s      1 reports
            82s      1 reports
            82s      1 reports
            83s      1 reports
            83s      1 reports
            83s      1 reports
            83s      1 reports
            84s      1 reports
            85s      1 reports                        → blind overload ended since 80s
            95s                                       → 9 degraded
            """)
    }
}

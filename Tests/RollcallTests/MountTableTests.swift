import Testing

@testable import RollcallStore

/// Whether a store is on a disk of this machine (D-12).
@Suite struct MountTableTests {
    private static let table = """
        22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
        95 22 0:52 / /mnt/nas rw,relatime shared:40 master:7 - nfs4 nas:/export rw,vers=4.2
        96 22 0:53 / /mnt/win\\040share rw,relatime - cifs //win/share rw
        97 22 0:5 / /dev rw - devtmpfs
        98 22 0:54 / /broken rw -
        99 22 0:55
        """

    @Test(arguments: [
        ("254:0", nil), ("0:52", "nfs4"), ("0:53", "cifs"), ("0:5", nil), ("0:54", nil),
        ("0:55", nil), ("0:99", nil),
    ])
    func `the type of a device is found behind the hyphen`(device: String, type: String?) {
        let numbers = device.split(separator: ":").compactMap { UInt($0) }
        let found = MountTable.network(device: numbers[0] << 8 | numbers[1], in: Self.table)
        #expect(found == type)
    }

    @Test func `a disk of this machine is not warned of`() {
        let log = LogCapture()
        MountTable.warn(of: "/proc", log.logger)
        MountTable.warn(of: "/nowhere/at/all", log.logger)
        #expect(log.lines == [])
    }
}

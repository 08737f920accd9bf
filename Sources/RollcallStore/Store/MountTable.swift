import Glibc
import Logging

/// The file systems that files are on, as the kernel tells in `/proc/self/mountinfo`.
package enum MountTable {
    /// File systems that another machine keeps.
    private static let networks: Set<String> = [
        "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "afs", "lustre", "gfs2", "ocfs2",
        "fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.ceph",
    ]
    /// More than the lines of a machine with thousands of containers take.
    private static let bytesMax = 4 << 20

    /// Warns if the store at `path` is on a network file system.
    ///
    /// sqlite.org/wal.html: "WAL does not work over a network filesystem", for two machines share no
    /// memory. One alone can, as far as the server keeps its locks and its promises of fsync.
    package static func warn(of path: String, _ log: Logger) {
        var status = stat()
        guard stat(path, &status) == 0,
            let name = network(device: status.st_dev, in: String(decoding: table, as: UTF8.self))
        else { return }
        log.warning(
            "the store is on a network file system, whose server must keep locks and fsync as a disk does",
            metadata: ["file_system": "\(name)", "path": "\(path)"])
    }

    /// The network file system of a device number in the lines of proc(5), "mountinfo"; nil for all
    /// others.
    static func network(device: dev_t, in table: String) -> String? {
        let type = entry(of: device, in: table)?.type
        return type.flatMap { networks.contains($0) ? $0 : nil }
    }

    /// The type and the options of the file system that the file at `path` is on; nil if the system does
    /// not tell.
    package static func fileSystem(of path: String) -> (type: String, options: [String])? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return entry(of: status.st_dev, in: String(decoding: table, as: UTF8.self))
    }

    private static func entry(
        of device: dev_t, in table: String
    ) -> (type: String, options: [String])? {
        // "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue": the
        // third is the device, and behind a lone hyphen, after any number of fields, the type.
        // How both parts stand in a number is said in the system's <bits/sysmacros.h>.
        let major = (device >> 8) & 0xFFF | (device >> 32) & 0xFFFF_F000
        let minor = device & 0xFF | (device >> 12) & 0xFFFF_FF00
        let number = "\(major):\(minor)"
        for line in table.split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count > 5, fields[2] == number, let hyphen = fields.firstIndex(of: "-"),
                hyphen + 1 < fields.count
            else { continue }
            let options = [fields[5]] + fields[(hyphen + 1)...].dropFirst(2)
            return (
                String(fields[hyphen + 1]),
                options.flatMap { $0.split(separator: ",").map(String.init) }
            )
        }
        return nil
    }

    private static var table: [UInt8] {
        let descriptor = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var table: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 64 << 10)
        while table.count < bytesMax {
            let count = read(descriptor, &part, part.count)
            guard count > 0 else { break }
            table += part.prefix(count)
        }
        return table
    }
}

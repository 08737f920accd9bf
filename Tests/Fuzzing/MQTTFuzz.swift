import RollcallCore

/// Whatever a broker sends, however it is cut: what waits stays within its bounds, what is acknowledged
/// came, and a reader that gets all at once reads the same packets.
enum MQTTFuzz {
    static let target = FuzzTarget("mqtt", samples: samples) { bytes in
        var input = FuzzInput(bytes)
        let size = max(1, Int(input.byte()))
        let stream = input.all()
        compare(stream, size)
        converse(stream, size)
    }

    /// Reads a stream in parts and at once.
    private static func compare(_ stream: [UInt8], _ size: Int) {
        func packets(_ size: Int) -> ([MQTTPacket], MQTTFault?) {
            var reader = MQTTReader(payloadBytesMax: 64)
            var packets: [MQTTPacket] = []
            for start in stride(from: 0, to: stream.count, by: size) {
                reader.append(stream[start..<min(stream.count, start + size)])
                do throws(MQTTFault) {
                    while let packet = try reader.next() { packets.append(packet) }
                } catch {
                    return (packets, error)
                }
            }
            return (packets, nil)
        }
        let (parts, whole) = (packets(size), packets(max(1, stream.count)))
        require(parts == whole, "\(parts) is \(whole)")
    }

    /// Is a client of whoever sends that.
    private static func converse(_ stream: [UInt8], _ size: Int) {
        var settings = MQTTSession.Settings(clientID: [0x72], filter: [0x23])
        settings.messagesMax = 8
        settings.bytesMax = 256
        settings.payloadBytesMax = 64
        var session = MQTTSession(settings, at: 0)
        var (now, delivered, acknowledged) = (Int64(0), 0, 0)
        var open: [Int] = []
        do throws(MQTTFault) {
            for start in stride(from: 0, to: stream.count, by: size) {
                now += Int64(stream[start])
                session.receive(stream[start..<min(stream.count, start + size)], at: now)
                while let news = try session.next(at: now) {
                    guard case .delivery(let delivery) = news else { continue }
                    require(delivery.number == delivered, "numbers go on")
                    delivered += 1
                    open.append(delivery.number)
                    // Some are settled late, and in another order.
                    if delivery.number % 3 != 0 { session.settle(open.removeLast()) }
                }
                require(session.waiting <= settings.messagesMax, "\(session.waiting) wait")
                if !session.hasRoom { while let last = open.popLast() { session.settle(last) } }
                try session.pass(at: now)
                let kinds: Set<UInt8> = [1, 4, 5, 7, 8, 12]
                let sent = session.takeOutgoing()
                if let first = sent.first { require(kinds.contains(first >> 4), "\(sent)") }
                acknowledged += sent.count
            }
        } catch {
            require(!error.sentence.isEmpty, "a fault has words")
        }
        require(acknowledged <= 64 + 4 * stream.count, "answers beyond all measure")
    }

    private static let samples: [[UInt8]] = [
        [7, 0x20, 2, 1, 0, 0x90, 3, 0, 1, 1, 0x32, 7, 0, 3, 0x61, 0x2F, 0x62, 0, 9, 0xD0, 0],
        [1, 0x20, 2, 0, 0, 0x34, 7, 0, 3, 0x61, 0x2F, 0x62, 0, 9, 0x62, 2, 0, 9, 0xD0, 0],
        [255, 0x20, 2, 0, 5], [3, 0x20, 2, 0, 0, 0x90, 3, 0, 1, 0x80],
        [9, 0x20, 2, 0, 0, 0x3B, 0x46, 0, 1, 0x61, 0, 1] + [UInt8](repeating: 0x7B, count: 65),
    ]
}

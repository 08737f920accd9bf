import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallSupport

/// The routes of drills: test alerts through the real path. Source: A11.
extension Router {
    /// The time for which a drill's receiver is waited for: the listener's watchdog would come
    /// next.
    private static var drillPatience: Milliseconds { Milliseconds(4000) }

    /// Answers `POST /v1/drill`: waits for the receiver.
    func postDrill(_ request: HTTPRequest, _ answer: @escaping Answer) {
        read(request, answer) { (body) throws(RequestFault) in
            guard let receiver = body["receiver"]?.text,
                (1...ReceiverSettings.nameMax).contains(receiver.utf8.count)
            else {
                throw RequestFault(
                    pointer: "/receiver", detail: "the name of a receiver expected")
            }
            return .drill(receiver: Array(receiver.utf8))
        } then: { receipt, answer in
            guard let number = receipt.repeated?.first ?? receipt.drill else {
                return self.refuseDrill(answer)
            }
            self.writer.waitForNotice(number, patience: Self.drillPatience) { deliveryStatus in
                answer(Self.drill(deliveryStatus), InputStats())
            }
        }
    }

    private func refuseDrill(_ answer: @escaping Answer) {
        writer.ask { view in
            let names = view.engine.policy.receivers.map {
                String(decoding: $0.name, as: UTF8.self)
            }
            answer(
                .problem(
                    404, "Not Found",
                    detail: "no receiver has this name; there are: "
                        + names.joined(separator: ", ")), InputStats())
        }
    }

    /// Answers `GET /v1/drill/{number}`: what has become of it.
    func showDrill(_ number: Int64, _ answer: @escaping Answer) {
        history.ask({ answer($0, InputStats()) }) { (work) throws(StoreError) in
            Self.drill(try work.reader.notices.deliveryStatus(of: number))
        }
    }

    /// Answers with what became of a drill: 202 as long as its end is not known.
    private static func drill(_ deliveryStatus: NoticeDeliveryStatus?) -> HTTPResponse {
        guard let deliveryStatus, deliveryStatus.notice.kind == .fired,
            deliveryStatus.notice.members.contains(where: { $0.name == .rollcallDrill })
        else { return .problem(404, "Not Found", detail: "there is no such drill") }
        let outcomes = deliveryStatus.targets.map(\.outcome)
        let isOver = !outcomes.isEmpty && !outcomes.contains(nil)
        // One address that did not take it is what a drill is for.
        let worst = outcomes.compactMap { $0 }.first { $0 != .delivered } ?? .delivered
        let tree: JSONTree = [
            "drill": .integer(deliveryStatus.notice.number),
            "receiver": AlertJSON.text(deliveryStatus.notice.receiver),
            "outcome": isOver ? AlertJSON.word(worst.word) : nil,
            "took_ms": deliveryStatus.took.map { .integer($0.count) } ?? nil,
            "targets": .list(deliveryStatus.targets.map { AlertJSON.target($0) }),
        ]
        return .json(AlertJSON.bytes(tree), status: isOver ? 200 : 202)
    }
}

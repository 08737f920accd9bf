import RollcallBasis
import RollcallCore
import RollcallSupport

/// A `ClusterRequest` asks a member to do something, for `rollcall cluster`. Source: S11, S17.
package struct ClusterRequest: Sendable {
    /// A `Kind` says what is asked for.
    package enum Kind: Equatable, Sendable {
        /// Name a member; only named ones lead from then on.
        case add(String)
        /// Take a member out: nothing waits for it any more.
        case remove(String)
        /// Leave the lead to others, now and for some minutes.
        case drain
        /// Put the own store aside, and take a copy of another member's.
        case join
        /// Begin a lost log anew with what this member holds.
        case adopt(isForced: Bool)
    }

    private let kind: Kind
    private let isJSON: Bool

    /// A request whose answer is for people, or for machines.
    package init(_ kind: Kind, isJSON: Bool) {
        self.kind = kind
        self.isJSON = isJSON
    }

    /// Asks, and returns what is to be printed.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    package func answer(from server: ServerQuestions) throws(QuestionError) -> String {
        let answer: JSONTree
        switch kind {
        case .add(let name): answer = try server.send(.put, path(name)).body
        case .remove(let name): answer = try server.send(.delete, path(name)).body
        case .drain: answer = try server.send(.post, Resource.clusterDrain.path).body
        case .join: answer = try server.send(.post, Resource.clusterJoin.path).body
        case .adopt(let isForced):
            let query = isForced ? "?force=true" : ""
            answer = try server.send(.post, Resource.clusterAdopt.path + query).body
        }
        if isJSON { return answer.printed }
        switch kind {
        case .add, .remove:
            let names = (answer["members"]?.elements ?? []).compactMap(\.shown)
            return "Members: \(names.joined(separator: ", ")).\n"
        case .drain, .join, .adopt: return (answer["done"]?.shown ?? "") + "\n"
        }
    }

    private func path(_ name: String) -> String {
        Resource.clusterMember.path(ServerQuestions.escaped(name))
    }
}

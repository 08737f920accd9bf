import RollcallBasis
import RollcallCore

/// The routes of a watch on several machines. Source: S11, S13, S17.
extension Route {
    static let cluster: [Route] = [
        Route(
            .get, .cluster, "getCluster", .status, .read, .answers,
            "This member, and the others as it sees them",
            """
            `confirmed` says that it held all of the log at most `cluster.silence` ago. 404 on one \
            machine.
            """,
            answers: [200: "Cluster"], problems: [404]
        ) { $0.showCluster($1.answer) },
        Route(
            .get, .clusterCopy, "getClusterCopy", .status, .admin, .operation,
            "A copy of the store, for another member",
            """
            Without parameters a copy is made, and its number and bytes are told; with `copy` and \
            `offset` a piece of it. There is one copy at a time.
            """,
            query: ClusterCopyQuery.parameters, answers: [200: "ClusterCopy"], problems: [404]
        ) { $0.copyStore($1, $2.answer) },
        Route(
            .put, .clusterMember, "addClusterMember", .status, .admin, .operation,
            "Names a member of the watch",
            """
            From then on who was not named only follows, and never leads. At most \
            \(Membership.membersMax). Of the leader.
            """,
            answers: [200: "ClusterMembers"], problems: [404, 409, 422]
        ) { $0.changeMember(.added($1.target.id), $1.request, $1.answer) },
        Route(
            .delete, .clusterMember, "removeClusterMember", .status, .admin, .operation,
            "Takes a member out of the watch",
            """
            Nothing waits for it any more: neither erasures nor the log's beginning. One that still \
            runs follows, and never leads. Of the leader.
            """,
            answers: [200: "ClusterMembers"], problems: [404, 409, 422]
        ) { $0.changeMember(.removed($1.target.id), $1.request, $1.answer) },
        Route(
            .post, .clusterDrain, "drainClusterMember", .status, .admin, .operation,
            "This member leaves the lead to others",
            "At once, and for some minutes unless nobody else leads. It goes on as a follower.",
            answers: [202: "ClusterOrder"], problems: [404, 409]
        ) { $0.order(.drain, $1.answer) },
        Route(
            .post, .clusterJoin, "joinClusterMember", .status, .admin, .operation,
            "This member takes a copy of another's store",
            "Its own store is put aside, and the process begins again.",
            answers: [202: "ClusterOrder"], problems: [404, 409]
        ) { $0.order(.join, $1.answer) },
        Route(
            .post, .clusterAdopt, "adoptClusterLog", .status, .admin, .operation,
            "Begins a lost log anew with what this member holds",
            """
            The others put their stores aside and take a copy. Refused while the log is not lost, \
            and, without `force`, if a member that is reached holds more.
            """,
            query: ClusterAdoptQuery.parameters, answers: [202: "ClusterOrder"],
            problems: [404, 409]
        ) { $0.order(.adopt(isForced: $1.force), $2.answer) },
    ]
}

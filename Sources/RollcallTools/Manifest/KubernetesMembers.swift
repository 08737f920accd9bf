/// The manifest that `rollcall manifest kubernetes --members 3` prints: several members as one watch,
/// each in a Pod of its own, and a proxy before them that finds who leads.
enum KubernetesMembers {
    static func text(
        _ settings: ManifestSettings?, _ members: Int, _ scrape: KubernetesScrape
    ) -> String {
        let settings = settings ?? standard
        let words = KubernetesWords(settings)
        let mounts = SecretMounts(settings)
        return head(members, settings) + KubernetesManifest.notes(settings, mounts)
            + KubernetesManifest.config(words)
            + KubernetesManifest.block(
                settings.yaml, head: "# Flags and variables win over what stands here.")
            + services + workload(members, scrape.annotations) + KubernetesManifest.image(words)
            + container(words)
            + KubernetesManifest.rights(words) + KubernetesManifest.mountLines(mounts)
            + KubernetesManifest.volumes(mounts, words) + KubernetesManifest.claim(words)
            + budget + KubernetesProxy.text(members, words) + KubernetesPolicy.members(words)
            + scrape.monitor(words, app: "rollcall")
    }

    /// The settings where none are given.
    private static var standard: ManifestSettings {
        var settings = ManifestSettings(path: "", yaml: MemberSettings.kubernetes)
        settings.files = MemberSettings.files
        return settings
    }

    private static func head(_ members: Int, _ settings: ManifestSettings) -> String {
        let log =
            settings.cluster.postgresURL.isEmpty
            ? """
            # Their log is in etcd, which is not part of this: three members of its own, on block volumes
            # that sync in some milliseconds, in three zones, with --heartbeat-interval 50,
            # --election-timeout 500 and --client-cert-auth. Not the etcd of Kubernetes itself.
            """
            : """
            # Their log is in PostgreSQL, which is not part of this: a primary with a synchronous standby
            # on another machine. Whoever makes a standby the primary takes one that commits waited for.
            """
        return """
            # Rollcall as \(members) members of one watch, for Kubernetes 1.29 or newer, printed by
            # `rollcall manifest kubernetes --members \(members)`. What is yours to decide is marked CHANGE.
            #
            \(log)
            #
            # A backend sends to rollcall-leader:10112, which goes to the one member whose `/-/leader`
            # answers 200, or to any member: rollcall-0.rollcall-members:10112 and so on. One that does
            # not lead passes a write on, or answers 503 with the field Rollcall-Leader.
            #

            """
    }

    private static let services = """
        ---
        # Names each member: for the others, for the proxy and for Prometheus, which scrapes all of
        # them: rollcall-0.rollcall-members.NAMESPACE.svc:10113
        apiVersion: v1
        kind: Service
        metadata:
          name: rollcall-members
          labels: {app: rollcall}
        spec:
          clusterIP: None
          # One that is not ready yet asks the others, and is asked by them.
          publishNotReadyAddresses: true
          selector: {app: rollcall}
          ports:
            - {name: http, port: 10112, targetPort: http}
            - {name: metrics, port: 10113, targetPort: metrics}
        ---
        # Questions: to any member that holds all of the log.
        apiVersion: v1
        kind: Service
        metadata:
          name: rollcall
          labels: {app: rollcall}
        spec:
          selector: {app: rollcall}
          ports:
            - {name: http, port: 10112, targetPort: http}

        """

    private static func workload(_ members: Int, _ annotations: String) -> String {
        """
        ---
        apiVersion: apps/v1
        kind: StatefulSet
        metadata:
          name: rollcall
          labels: {app: rollcall}
        spec:
          serviceName: rollcall-members
          replicas: \(members)
          # All at once: after an outage of all, a member with an empty volume needs one that comes
          # behind it. New versions arrive at one Pod after the other in any case.
          podManagementPolicy: Parallel
          selector:
            matchLabels: {app: rollcall}
          template:
            metadata:
              labels: {app: rollcall}\(annotations)
            spec:
              # SIGTERM makes the leader hand over, and takes less than 10 s.
              terminationGracePeriodSeconds: 20
              # Else Kubernetes puts ROLLCALL_… variables of the Services above into the Pods.
              enableServiceLinks: false
              automountServiceAccountToken: false
              affinity:
                podAntiAffinity:
                  # Two members on one machine would die together.
                  requiredDuringSchedulingIgnoredDuringExecution:
                    - topologyKey: kubernetes.io/hostname
                      labelSelector:
                        matchLabels: {app: rollcall}
                  preferredDuringSchedulingIgnoredDuringExecution:
                    - weight: 100
                      podAffinityTerm:
                        topologyKey: topology.kubernetes.io/zone
                        labelSelector:
                          matchLabels: {app: rollcall}
              securityContext:
                # Lets Rollcall's user write to the volume.
                fsGroup: 65532
                fsGroupChangePolicy: OnRootMismatch
              containers:
                - name: rollcall

        """
    }

    private static func container(_ words: KubernetesWords) -> String {
        let trust =
            words.hasTLS
            ? """
                        # CHANGE: the certificate is to be for these names, of an authority that the image trusts.

            """ : ""
        return """
                      command: ["rollcall"]
                      # Where names of files begin that begin with nothing.
                      workingDir: /etc/rollcall
                      args:
                        - serve
                        - --config.file=/etc/rollcall/rollcall.yml
                        - --storage.path=/var/lib/rollcall/rollcall.db
            \(KubernetesStandalone.listen(words))            # [::]:10112 in a cluster of IPv6.
                        - --web.listen-address=0.0.0.0:10112
                        # Metrics, health and who leads, without ids of people: it needs no token.
                        - --web.metrics-listen-address=0.0.0.0:10113
                      env:
                        # The member's name is the Pod's, rollcall-0 and so on, and keeps its volume.
                        - name: ROLLCALL_CLUSTER_MEMBER
                          valueFrom:
                            fieldRef: {fieldPath: metadata.name}
            \(trust)            - name: ROLLCALL_CLUSTER_ADDRESS
                          value: \(words.scheme)://$(ROLLCALL_CLUSTER_MEMBER).rollcall-members:10112
                      ports:
                        - {name: http, containerPort: 10112}
                        - {name: metrics, containerPort: 10113}
                      # Not /-/ready: without the log nobody is, and a new start would not help.
                      startupProbe:
                        httpGet: {path: /-/healthy, port: metrics}
                        periodSeconds: 1
                        failureThreshold: 1800
                      # Fails when the process does not answer, and when the loop that judges people has
                      # stood still for 60 s. A log that is away is neither.
                      livenessProbe:
                        httpGet: {path: /-/healthy, port: metrics}
                        periodSeconds: 10
                        timeoutSeconds: 5
                        failureThreshold: 3
                      # Ready is who holds all of the log, whether it leads or not: a new version goes on to
                      # the next Pod once this one could lead.
                      readinessProbe:
                        httpGet: {path: /-/ready, port: metrics}
                        periodSeconds: 2
                        timeoutSeconds: 2
                        failureThreshold: 3

            """
    }

    private static let budget = """
        ---
        # Whoever empties machines takes one member at a time.
        apiVersion: policy/v1
        kind: PodDisruptionBudget
        metadata:
          name: rollcall
        spec:
          maxUnavailable: 1
          selector:
            matchLabels: {app: rollcall}

        """
}

/// The manifest that `rollcall manifest kubernetes --standalone` prints: one Rollcall in a Pod of its own, to which
/// all replicas of a backend, or several backends, forward.
enum KubernetesStandalone {
    static func text(_ settings: ManifestSettings?, _ scrape: KubernetesScrape) -> String {
        let settings = settings ?? standard
        let words = KubernetesWords(settings)
        return head(words) + KubernetesManifest.notes(settings, SecretMounts(settings))
            + KubernetesManifest.config(words) + KubernetesManifest.block(settings.yaml)
            + service(words) + workload(settings, words, scrape.annotations)
            + KubernetesPolicy.standalone(words) + scrape.monitor(words, app: words.name)
    }

    /// The settings where none are given.
    static var standard: ManifestSettings {
        var settings = ManifestSettings(path: "", yaml: yaml)
        settings.files = ["backend.token", "people.token"]
        return settings
    }

    private static let yaml = """
        web:
          tokens:
            # For backends, and for people and their commands.
            - {name: backend, scopes: [ingest, read], token_file: backend.token}
            - {name: people, scopes: [read, admin], token_file: people.token}

        """

    private static func head(_ words: KubernetesWords) -> String {
        """
        # Rollcall in a Pod of its own, for Kubernetes 1.29 or newer, printed by
        # `rollcall manifest kubernetes --standalone`. What is yours to decide is marked CHANGE.
        #
        # Backends send to \(words.scheme)://rollcall:10112 with their token. There is one Pod, and none while its
        # machine is lost: `--members 3` is for who cannot wait.
        #

        """
    }

    /// The lines about what is spoken beyond loopback.
    static func listen(_ words: KubernetesWords) -> String {
        words.hasTLS
            ? """
                        # By web.config_file it speaks TLS, with a certificate for the names of the Service. The
                        # NetworkPolicy below says who reaches it.

            """
            : """
                        # Needs web.tokens. It is HTTP without TLS: the NetworkPolicy below says who reaches it.

            """
    }

    /// The Service that backends send to.
    static func service(_ words: KubernetesWords) -> String {
        """
        ---
        apiVersion: v1
        kind: Service
        metadata:
          name: "\(words.name)"
          labels: {app: "\(words.name)"}
        spec:
          selector: {app: "\(words.name)"}
          ports:
            - {name: http, port: 10112, targetPort: http}
            - {name: metrics, port: 10113, targetPort: metrics}

        """
    }

    /// The StatefulSet.
    static func workload(
        _ settings: ManifestSettings, _ words: KubernetesWords, _ annotations: String
    ) -> String {
        let mounts = SecretMounts(settings)
        return set(words, annotations) + KubernetesManifest.image(words) + container(words)
            + KubernetesManifest.probes + ready
            + KubernetesManifest.rights(words) + KubernetesManifest.mountLines(mounts)
            + KubernetesManifest.volumes(mounts, words) + KubernetesManifest.claim(words)
    }

    private static func set(_ words: KubernetesWords, _ annotations: String) -> String {
        """
        ---
        apiVersion: apps/v1
        # Not a Deployment, which may run two Pods for a while: the second could not take the store.
        kind: StatefulSet
        metadata:
          name: "\(words.name)"
          labels: {app: "\(words.name)"}
        spec:
          serviceName: "\(words.name)"
          replicas: 1
          selector:
            matchLabels: {app: "\(words.name)"}
          template:
            metadata:
              labels: {app: "\(words.name)"}\(annotations)
            spec:
              # SIGTERM takes less than 10 s.
              terminationGracePeriodSeconds: 20
              # Else Kubernetes puts ROLLCALL_… variables of the Service into the Pod.
              enableServiceLinks: false
              automountServiceAccountToken: false
              securityContext:
                # Lets Rollcall's user write to the volume.
                fsGroup: 65532
                fsGroupChangePolicy: OnRootMismatch
              containers:
                - name: rollcall

        """
    }

    private static func container(_ words: KubernetesWords) -> String {
        """
                  command: ["rollcall"]
                  # Where names of files begin that begin with nothing.
                  workingDir: /etc/rollcall
                  args:
                    - serve
                    - --config.file=/etc/rollcall/rollcall.yml
                    - --storage.path=/var/lib/rollcall/rollcall.db
        \(listen(words))            # [::]:10112 in a cluster of IPv6.
                    - --web.listen-address=0.0.0.0:10112
                    # Metrics and health alone, without ids of people: it needs no token.
                    - --web.metrics-listen-address=0.0.0.0:10113
                  ports:
                    - {name: http, containerPort: 10112}
                    - {name: metrics, containerPort: 10113}
                  # After a crash the tail of the journal is folded again first: about 2 s for a million
                  # people; an upgrade copies the store.

        """
    }

    private static let ready = """
                  # Not /-/ready: a full disk would take the page away, too. Backends are answered 503 and
                  # send again.
                  readinessProbe:
                    httpGet: {path: /-/healthy, port: metrics}
                    periodSeconds: 5
                    timeoutSeconds: 5
                    failureThreshold: 3

        """
}

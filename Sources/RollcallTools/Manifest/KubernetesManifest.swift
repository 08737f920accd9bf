/// The manifest that `rollcall manifest kubernetes` prints: Rollcall beside a backend in its Pod.
enum KubernetesManifest {
    static func text(_ settings: ManifestSettings?, _ scrape: KubernetesScrape) -> String {
        let mounts = SecretMounts(settings)
        let words = KubernetesWords(settings)
        return head + notes(settings, mounts) + config(words) + block(settings?.yaml ?? "")
            + service + workload(scrape.annotations, mounts) + image(words) + sidecar + probes
            + ready
            + rights(words)
            + mountLines(mounts) + backend(words) + volumes(mounts, words) + transience
            + claim(words)
            + KubernetesPolicy.sidecar(words) + scrape.monitor(words, app: "backend")
    }

    /// Settings as a block of the ConfigMap. A comment comes first, so that no line of the settings
    /// decides the block's indentation.
    static func block(
        _ yaml: String, head: String = "# Flags win over what stands here."
    ) -> String {
        var lines = [head]
        for line in yaml.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            lines.append(String(line))
        }
        while lines.last?.isEmpty == true { lines.removeLast() }
        return lines.map { $0.isEmpty ? "\n" : "    \($0)\n" }.joined()
    }

    /// Returns what is to be done about secrets before this is applied.
    static func notes(_ settings: ManifestSettings?, _ mounts: SecretMounts) -> String {
        let which =
            mounts.files.isEmpty
            ? """
            # CHANGE: secrets belong into a Secret. Each of its keys is a file beside the settings, which
            # name it: `token_file: backend-1.token`.

            """
            : """
            # CHANGE: the files that the settings name come from a Secret, which is to be made first:

            """
        let warning =
            settings?.holdsSecrets == true
            ? """
            # CHANGE: secrets stand in the settings themselves, and a ConfigMap hides nothing: name
            # files instead (token_file and so on).

            """ : ""
        return which + "#   \(mounts.command)\n" + warning
    }

    /// The places in the container of what lies beside no settings.
    static func mountLines(_ mounts: SecretMounts) -> String {
        mounts.elsewhere.enumerated().map { place, mount in
            let path = SecretMounts.quoted(mount.folder)
            return
                "            - {name: rollcall-secrets-\(place + 1), mountPath: \(path), readOnly: true}\n"
        }.joined()
    }

    /// The Pod's volumes of settings and secrets.
    static func volumes(_ mounts: SecretMounts, _ words: KubernetesWords) -> String {
        var text = """
                  volumes:
                    # The settings and the files beside them. Only Rollcall's group may read them.
                    - name: rollcall-settings
                      projected:
                        defaultMode: 0440
                        sources:
                          - configMap: {name: "\(words.name)"}
                          - secret:
                              name: "\(words.secret)"

            """
        if words.isChart {
            text += """
                {{- if .Values.secretItems }}
                                  items:
                {{ toYaml .Values.secretItems | indent 20 }}
                {{- end }}

                """
        } else if mounts.beside.isEmpty {
            text += "                  optional: true\n"
        } else {
            text += "                  items:\n"
            text += SecretMounts.items(mounts.beside, indent: "                    ")
        }
        for (place, mount) in mounts.elsewhere.enumerated() {
            text += """
                        - name: rollcall-secrets-\(place + 1)
                          secret:
                            secretName: "\(words.secret)"
                            defaultMode: 0440
                            items:

                """
            text += SecretMounts.items(mount.files, indent: "                ")
        }
        return text
    }

    private static let head = """
        # Rollcall as a native sidecar, for Kubernetes 1.29 or newer, printed by
        # `rollcall manifest kubernetes`. What is yours to decide is marked CHANGE.
        #
        # One Pod, one Rollcall: each knows only what its own store was told. A backend of several
        # replicas needs one Rollcall of its own, with web.tokens, that all replicas
        # forward to: `rollcall manifest kubernetes --standalone`.
        #

        """

    /// The beginning of the ConfigMap.
    static func config(_ words: KubernetesWords) -> String {
        """
        ---
        apiVersion: v1
        kind: ConfigMap
        metadata:
          name: "\(words.name)"
        data:
          # A change arrives in the Pod by itself; SIGHUP or POST /-/reload makes Rollcall read it.
          rollcall.yml: |

        """
    }

    private static let service = """
        ---
        # Names the Pod for Prometheus: backend-0.rollcall.NAMESPACE.svc:10113
        apiVersion: v1
        kind: Service
        metadata:
          name: rollcall
          labels: {app: backend}
        spec:
          # Headless, also so that no ROLLCALL_… variables are put into Pods: they would be settings.
          clusterIP: None
          # A Pod that is not ready is the one to be looked at.
          publishNotReadyAddresses: true
          selector: {app: backend}
          ports:
            - {name: metrics, port: 10113, targetPort: metrics}

        """

    private static func workload(_ annotations: String, _ mounts: SecretMounts) -> String {
        let account =
            mounts.hidesAccount
            ? """
                  # CHANGE: files of the settings are in /run, and Kubernetes could not mount its token below
                  # them. For a backend that asks Kubernetes put them elsewhere, and print this again.
                  automountServiceAccountToken: false

            """ : ""
        return """
            ---
            apiVersion: apps/v1
            # Not a Deployment, which may run two Pods for a while: the second could not take the store.
            kind: StatefulSet
            metadata:
              name: backend
              labels: {app: backend}
            spec:
              serviceName: rollcall
              replicas: 1
              selector:
                matchLabels: {app: backend}
              template:
                metadata:
                  labels: {app: backend}\(annotations)
                spec:
                  # CHANGE: what your backend needs to end, and 20 s: Rollcall is told after it.
                  terminationGracePeriodSeconds: 50
            \(account)      securityContext:
                    # Lets Rollcall's user write to the volume.
                    fsGroup: 65532
                    fsGroupChangePolicy: OnRootMismatch
                  initContainers:
                    - name: rollcall

            """
    }

    /// The image of the container.
    static func image(_ words: KubernetesWords) -> String {
        """
                  # CHANGE: there is no published image. In a clone, `.packages/image` builds one and prints
                  # its path; `skopeo copy oci-archive:PATH docker://registry.example.org/rollcall:VERSION`
                  # brings it to your registry.
                  image: "\(words.image)"

        """
    }

    /// The probes of one alone that tell when it has started, and whether it lives.
    static let probes = """
                  startupProbe:
                    httpGet: {path: /-/ready, port: metrics}
                    periodSeconds: 1
                    failureThreshold: 1800
                  # Fails when the process does not answer, and when the loop that judges people has
                  # stood still for 60 s. A full disk is neither.
                  livenessProbe:
                    httpGet: {path: /-/healthy, port: metrics}
                    periodSeconds: 10
                    timeoutSeconds: 5
                    failureThreshold: 3

        """

    private static let sidecar = """
                  # Makes it a sidecar: started before the backend, ended after it.
                  restartPolicy: Always
                  command: ["rollcall"]
                  args:
                    - serve
                    - --config.file=/etc/rollcall/rollcall.yml
                    - --storage.path=/var/lib/rollcall/rollcall.db
                    # The backend forwards to it; nobody outside the Pod reaches it.
                    - --web.listen-address=127.0.0.1:10112
                    # Metrics and health alone, without ids of people: it needs no token. [::]:10113
                    # in a cluster of IPv6.
                    - --web.metrics-listen-address=0.0.0.0:10113
                  ports:
                    - {name: metrics, containerPort: 10113}
                  # The backend starts once writes are taken. After a crash the tail of the journal is
                  # folded again first: about 2 s for a million people; an upgrade copies the store.

        """

    private static let ready = """
                  # Not /-/ready: the readiness of a sidecar is the Pod's, and a full disk here would
                  # take your backend out of service. Alert on rollcall_watching instead.
                  readinessProbe:
                    httpGet: {path: /-/healthy, port: metrics}
                    periodSeconds: 10
                    timeoutSeconds: 5
                    failureThreshold: 3

        """

    /// The container's share of the machine, what it may do, and its volumes.
    static func rights(_ words: KubernetesWords) -> String {
        """
                  # CHANGE: 30 MB when idle, 440 MB for a million people. No limit of processor time:
                  # who is throttled judges late.
                  resources:\(words.resources)
                  securityContext:
                    runAsNonRoot: true
                    runAsUser: 65532
                    runAsGroup: 65532
                    allowPrivilegeEscalation: false
                    readOnlyRootFilesystem: true
                    capabilities: {drop: [ALL]}
                    seccompProfile: {type: RuntimeDefault}
                  volumeMounts:
                    - {name: rollcall-store, mountPath: /var/lib/rollcall}
                    - {name: rollcall-settings, mountPath: /etc/rollcall, readOnly: true}

        """
    }

    private static func backend(_ words: KubernetesWords) -> String {
        let trust =
            words.hasTLS
            ? """
                        # CHANGE: the certificate is to be for 127.0.0.1, and the backend to know its authority.

            """ : ""
        return """
                  containers:
                    # CHANGE: your backend.
                    - name: backend
                      image: registry.example.org/backend:CHANGE
                      env:
            \(trust)            - {name: ROLLCALL_URL, value: "\(words.scheme)://127.0.0.1:10112"}

            """
    }

    private static let transience = """
                # Instead of volumeClaimTemplates below. It outlives a container, not the Pod: where a
                # Pod is made anew, everybody is unknown until they report.
                # - name: rollcall-store
                #   emptyDir: {}

        """

    /// The volume of the store.
    static func claim(_ words: KubernetesWords) -> String {
        """
          volumeClaimTemplates:
            - metadata:
                name: rollcall-store
              spec:
                # A block volume, not NFS: a store in WAL mode needs memory that processes share.
                accessModes: [ReadWriteOnce]
                # CHANGE: room for storage.size and half of it again, its log, and the copy of an upgrade.
                resources:
                  requests: {storage: "\(words.storage)"}

        """
    }
}

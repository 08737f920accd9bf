/// NetworkPolicies of Rollcall in Kubernetes, for clusters whose network heeds them. Probes come from the
/// machine itself and are let through. Where Rollcall calls is not limited: receivers are anywhere.
enum KubernetesPolicy {
    /// Beside a backend, whose own ports stay as open as they were.
    static func sidecar(_ words: KubernetesWords) -> String {
        policy("rollcall", app: "backend") + """
                # All that is not Rollcall's stays open to everybody.
                - ports:
                    - {port: 1, endPort: 10112}
                    - {port: 10114, endPort: 65535}
                    - {port: 1, endPort: 65535, protocol: UDP}

            """ + metrics(words)
    }

    /// Alone.
    static func standalone(_ words: KubernetesWords) -> String {
        policy(words.name, app: words.name) + given("clients", words, writes(words.clients))
            + given("scrapers", words, metrics(words))
    }

    /// A rule of a chart that goes where the value is empty: a rule from nobody named is one for everybody.
    private static func given(_ value: String, _ words: KubernetesWords, _ rule: String) -> String {
        guard words.isChart else { return rule }
        return "{{- if .Values.networkPolicy.\(value) }}\n\(rule){{- end }}\n"
    }

    /// Several members and the proxy before them.
    static func members(_ words: KubernetesWords) -> String {
        policy("rollcall", app: "rollcall")
            + writes(
                """
                \(words.clients)
                        # Each other, and the proxy, which asks who leads, too.
                        - podSelector: {matchLabels: {app: rollcall}}
                        - podSelector: {matchLabels: {app: rollcall-leader}}
                """)
            + metrics(
                words,
                more: """

                            - podSelector: {matchLabels: {app: rollcall-leader}}
                    """)
            + policy("rollcall-leader", app: "rollcall-leader") + writes(words.clients)
    }

    private static func policy(_ name: String, app: String) -> String {
        """
        ---
        apiVersion: networking.k8s.io/v1
        kind: NetworkPolicy
        metadata:
          name: "\(name)"
        spec:
          podSelector:
            matchLabels: {app: "\(app)"}
          policyTypes: [Ingress]
          ingress:

        """
    }

    private static func writes(_ clients: String) -> String {
        """
            - ports: [{port: 10112}]
              from:\(clients)

        """
    }

    private static func metrics(_ words: KubernetesWords, more: String = "") -> String {
        """
            - ports: [{port: 10113}]
              from:\(words.scrapers)\(more)

        """
    }
}

/// The proxy before several members in Kubernetes: it asks each whether it leads, and sends what
/// comes to the one that does. A Service cannot: it knows who is ready, and every member is.
enum KubernetesProxy {
    static func text(_ members: Int, _ words: KubernetesWords) -> String {
        let servers = (0..<members).map { number in
            "        server rollcall-\(number) \"rollcall-\(number).rollcall-members.${DOMAIN}:10112\"\n"
        }
        return config(words) + servers.joined() + rest(words)
    }

    /// The settings of HAProxy. TLS goes through it as it comes, so that it needs no certificate; then its own
    /// health has a port of its own.
    private static func config(_ words: KubernetesWords) -> String {
        let health = """
                    # Its own health; whether anybody leads is no question of it.
                    monitor-uri /-/proxy

            """
        let through = words.hasTLS ? "        mode tcp\n" : ""
        let apart = words.hasTLS ? "    frontend health\n        bind :10114\n\(health)" : ""
        return """
            ---
            apiVersion: v1
            kind: ConfigMap
            metadata:
              name: rollcall-leader
            data:
              haproxy.cfg: |
                # For HAProxy 2.4 or newer.
                global
                    maxconn 1000
                defaults
                    mode http
                    timeout connect 1s
                    timeout client 2m
                    timeout server 2m
                resolvers cluster
                    parse-resolv-conf
                    hold valid 5s
            \(apart)    frontend writes
                    bind :10112
            \(words.hasTLS ? through : health)        default_backend leader
                backend leader
            \(through)        # 200 at the leader alone, on the listener that asks for no token.
                    option httpchk GET /-/leader
                    default-server check port 10113 inter 500ms fall 1 rise 1 resolvers cluster init-addr libc,none on-marked-down shutdown-sessions

            """
    }

    private static func rest(_ words: KubernetesWords) -> String {
        let probed = words.hasTLS ? "health" : "http"
        let port =
            words.hasTLS ? "            - {name: health, containerPort: 10114}\n" : ""
        return """
            ---
            # Writes: to the leader.
            apiVersion: v1
            kind: Service
            metadata:
              name: rollcall-leader
              labels: {app: rollcall-leader}
            spec:
              selector: {app: rollcall-leader}
              ports:
                - {name: http, port: 10112, targetPort: http}
            ---
            apiVersion: apps/v1
            kind: Deployment
            metadata:
              name: rollcall-leader
              labels: {app: rollcall-leader}
            spec:
              replicas: 2
              selector:
                matchLabels: {app: rollcall-leader}
              template:
                metadata:
                  labels: {app: rollcall-leader}
                spec:
                  automountServiceAccountToken: false
                  affinity:
                    podAntiAffinity:
                      requiredDuringSchedulingIgnoredDuringExecution:
                        - topologyKey: kubernetes.io/hostname
                          labelSelector:
                            matchLabels: {app: rollcall-leader}
                  containers:
                    - name: haproxy
                      # CHANGE: the one that you have checked.
                      image: haproxy:3.0
                      env:
                        - name: NAMESPACE
                          valueFrom:
                            fieldRef: {fieldPath: metadata.namespace}
                        # CHANGE: if your cluster has another domain.
                        - {name: DOMAIN, value: $(NAMESPACE).svc.cluster.local}
                      ports:
                        - {name: http, containerPort: 10112}
            \(port)          readinessProbe:
                        httpGet: {path: /-/proxy, port: \(probed)}
                        periodSeconds: 2
                      livenessProbe:
                        httpGet: {path: /-/proxy, port: \(probed)}
                        periodSeconds: 10
                        timeoutSeconds: 5
                      resources:
                        requests: {cpu: 20m, memory: 64Mi}
                        limits: {memory: 256Mi}
                      securityContext:
                        runAsNonRoot: true
                        runAsUser: 99
                        runAsGroup: 99
                        allowPrivilegeEscalation: false
                        readOnlyRootFilesystem: true
                        capabilities: {drop: [ALL]}
                        seccompProfile: {type: RuntimeDefault}
                      volumeMounts:
                        - {name: settings, mountPath: /usr/local/etc/haproxy, readOnly: true}
                  volumes:
                    - name: settings
                      configMap: {name: rollcall-leader}
            ---
            apiVersion: policy/v1
            kind: PodDisruptionBudget
            metadata:
              name: rollcall-leader
            spec:
              maxUnavailable: 1
              selector:
                matchLabels: {app: rollcall-leader}

            """
    }
}

import RollcallSupport

/// The configuration that `rollcall manifest envoy` prints: Envoy before an app's endpoint, of whose
/// requests it sends Rollcall a copy.
///
/// What Envoy takes off a request on the route to the app is gone for the app too. So copies go to a
/// second listener of the same Envoy, which strips them and passes them on. Their Host is the app's with
/// `-shadow` behind it, which the second listener replaces. Source: Envoy, `RequestMirrorPolicy` in
/// api/envoy/config/route/v3/route_components.proto and source/common/router/shadow_writer_impl.cc.
enum EnvoyMirror {
    static func text(_ settings: ManifestSettings?) -> String {
        let (host, port) = MirrorAddress(settings).parts
        return head + listeners + clusters
            + "                    socket_address: {address: \"\(host)\", port_value: \(port)}\n"
            + tls(settings?.configuration.accessPolicy.web.tls)
    }

    /// The lines by which the certificate of a Rollcall that speaks TLS is verified.
    private static func tls(_ tls: TLSServerSettings?) -> String {
        guard let tls else { return "" }
        let client = """
                        tls_certificates:
                          - certificate_chain: {filename: /etc/envoy/rollcall-client.pem}
                            private_key: {filename: /etc/envoy/rollcall-client.key}

            """
        return """
                  # CHANGE: an authority that signed Rollcall's certificate, and a name in it.
                  transport_socket:
                    name: envoy.transport_sockets.tls
                    typed_config:
                      "@type": \(upstream)
                      sni: localhost
                      common_tls_context:
                        validation_context:
                          trusted_ca: {filename: /etc/envoy/rollcall-ca.pem}
                          match_typed_subject_alt_names:
                            - {san_type: DNS, matcher: {exact: localhost}}

            """ + (tls.clientAuth.isRequired ? client : "")
    }

    private static let head = """
        # Envoy 1.25 or newer before an app's endpoint, printed by `rollcall manifest envoy`: of each
        # location that phones post, Rollcall gets a copy. App and backend stay as they are. Rollcall's own
        # tests read this file as YAML; `envoy --mode validate -c FILE` tells what your Envoy says of it.
        #
        # Take the route with `request_mirror_policies` and the second listener into what you have. What is
        # yours to decide is marked CHANGE. Answers to copies are thrown away.
        static_resources:

        """

    private static let manager =
        "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3"
        + ".HttpConnectionManager"
    private static let upstream =
        "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"
    private static let router = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"

    private static let listeners = """
          listeners:
            - name: app
              # CHANGE: where phones come in; TLS as you have it.
              address:
                socket_address: {address: 127.0.0.1, port_value: 8080}
              filter_chains:
                - filters:
                    - name: envoy.filters.network.http_connection_manager
                      typed_config:
                        "@type": \(manager)
                        stat_prefix: app
                        route_config:
                          virtual_hosts:
                            - name: app
                              domains: ["*"]
                              routes:
                                # CHANGE: the path at which phones post their locations. Parameters are
                                # passed on, and Rollcall refuses those that it does not know.
                                - match:
                                    path: /locations
                                    headers:
                                      - {name: ":method", string_match: {exact: POST}}
                                  route:
                                    cluster: app
                                    request_mirror_policies:
                                      - cluster: rollcall_mirror
                                - match: {prefix: /}
                                  route: {cluster: app}
                        http_filters:
                          # CHANGE: what authenticates (envoy.filters.http.jwt_authn or ext_authz) stands
                          # here, before the router, which mirrors: so Rollcall hears only of phones that
                          # are known. Without it whoever reaches the path can make a phone look alive.
                          - name: envoy.filters.http.router
                            typed_config:
                              "@type": \(router)
            # For copies alone.
            - name: rollcall_mirror
              address:
                socket_address: {address: 127.0.0.1, port_value: 10111}
              filter_chains:
                - filters:
                    - name: envoy.filters.network.http_connection_manager
                      typed_config:
                        "@type": \(manager)
                        stat_prefix: rollcall_mirror
                        route_config:
                          # Rollcall has no use for them, and must not have them.
                          request_headers_to_remove:
                            - authorization
                            - cookie
                            - origin
                            - x-forwarded-for
                          # CHANGE: with web.tokens, one of scope ingest, or input:NAME for /v1/in/NAME.
                          #request_headers_to_add:
                          #  - header: {key: authorization, value: "Bearer TOKEN"}
                          virtual_hosts:
                            - name: rollcall
                              domains: ["*"]
                              routes:
                                - match: {prefix: /}
                                  route:
                                    cluster: rollcall
                                    # CHANGE: /v1/in/NAME, if the body is one for an input and not
                                    # Rollcall's own.
                                    regex_rewrite:
                                      pattern: {regex: "^.*$"}
                                      substitution: /v1/batches
                                    # On loopback Rollcall knows only its own names.
                                    host_rewrite_literal: localhost
                                    timeout: 1s
                        http_filters:
                          - name: envoy.filters.http.router
                            typed_config:
                              "@type": \(router)

        """

    private static let clusters = """
          clusters:
            - name: app
              connect_timeout: 5s
              type: STATIC
              load_assignment:
                cluster_name: app
                endpoints:
                  - lb_endpoints:
                      # CHANGE: your backend.
                      - endpoint:
                          address:
                            socket_address: {address: 127.0.0.1, port_value: 3000}
            - name: rollcall_mirror
              connect_timeout: 1s
              type: STATIC
              load_assignment:
                cluster_name: rollcall_mirror
                endpoints:
                  - lb_endpoints:
                      - endpoint:
                          address:
                            socket_address: {address: 127.0.0.1, port_value: 10111}
            - name: rollcall
              connect_timeout: 1s
              type: STATIC
              # Copies for a Rollcall that hangs do not pile up.
              circuit_breakers:
                thresholds:
                  - {max_connections: 64, max_pending_requests: 64, max_requests: 256}
              load_assignment:
                cluster_name: rollcall
                endpoints:
                  - lb_endpoints:
                      # CHANGE: the address of Rollcall; of several members, the proxy that finds the
                      # leader.
                      - endpoint:
                          address:

        """
}

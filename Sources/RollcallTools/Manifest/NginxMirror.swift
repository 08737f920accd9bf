import RollcallSupport

/// The site that `rollcall manifest nginx` prints: nginx before an app's endpoint, of whose requests it
/// sends Rollcall a copy.
///
/// The mirrored request passes no header field but those that are named (`proxy_pass_request_headers
/// off`): a list of what is kept cannot forget a secret, as a list of what is stripped could.
/// Source: https://nginx.org/en/docs/http/ngx_http_mirror_module.html.
enum NginxMirror {
    static func text(_ settings: ManifestSettings?) -> String {
        head + MirrorAddress(settings).text + site
            + "        proxy_pass \(settings?.scheme ?? "http")://rollcall/v1/batches;\n"
            + tls(settings?.configuration.accessPolicy.web.tls) + rest
    }

    /// The lines by which the certificate of a Rollcall that speaks TLS is verified.
    private static func tls(_ tls: TLSServerSettings?) -> String {
        guard let tls else { return "" }
        let client = """
                    proxy_ssl_certificate /etc/nginx/rollcall-client.pem;
                    proxy_ssl_certificate_key /etc/nginx/rollcall-client.key;

            """
        return """
                    # CHANGE: an authority that signed Rollcall's certificate, and a name in it.
                    proxy_ssl_verify on;
                    proxy_ssl_trusted_certificate /etc/nginx/rollcall-ca.pem;
                    proxy_ssl_name localhost;
                    proxy_ssl_server_name on;

            """ + (tls.clientAuth.isRequired ? client : "")
    }

    private static let head = """
        # nginx 1.15.3 or newer before an app's endpoint, printed by `rollcall manifest nginx`: of each
        # location that phones post, Rollcall gets a copy. App and backend stay as they are.
        #
        #   rollcall manifest nginx > /etc/nginx/conf.d/rollcall-mirror.conf
        #   nginx -t && nginx -s reload
        #
        # Or take the locations into the `server` that you have, and `upstream rollcall` beside it. What
        # is yours to decide is marked CHANGE. The answer to a copy is thrown away: whether they arrive
        # you see in Rollcall (`rollcall status`), and whether it knows their form, in `problems` of one
        # that you post by hand.

        upstream rollcall {
            # CHANGE: the address of Rollcall; of several members, the proxy that finds the leader.
            server \

        """

    private static let site = """
        ;
            keepalive 8;
            # Sooner than Rollcall ends idle connections.
            keepalive_timeout 5s;
        }

        server {
            # CHANGE: where phones come in; TLS as you have it.
            listen 127.0.0.1:8080;

            # CHANGE: the path at which phones post their locations.
            location = /locations {
                # CHANGE: the way by which nginx asks the backend whether the caller may come in: 2xx,
                # 401 or 403. It comes before the mirror, so that Rollcall hears only of phones that the
                # backend knows. Without it whoever reaches this path can make a phone look alive.
                #auth_request /authenticated;
                mirror /rollcall-mirror;
                # The body is read before it is passed on; up to this size it never touches the disk.
                client_body_buffer_size 256k;
                # CHANGE: your backend.
                proxy_pass http://127.0.0.1:3000;
            }

            location = /authenticated {
                internal;
                # CHANGE: something at your backend that needs a login and costs little.
                proxy_pass http://127.0.0.1:3000/me;
                proxy_method GET;
                proxy_pass_request_body off;
                proxy_set_header Content-Length "";
            }

            # The app's answer never waits for this one. But a request is over only when its copy is, and
            # until then the next request on the same HTTP/1.1 connection waits: 1 s at most for a
            # Rollcall that hangs, nothing for one that is stopped.
            location = /rollcall-mirror {
                internal;
                if ($request_method != POST) { return 204; }
                # In place of the parameters of the app's request, which Rollcall would refuse.
                set $args source=nginx;
                # CHANGE: /v1/in/NAME, if the body is one for an input and not Rollcall's own.

        """

    private static let rest = """
                proxy_http_version 1.1;
                # No Authorization, no Cookie, no Origin: nothing of the phone's but these.
                proxy_pass_request_headers off;
                proxy_set_header Content-Type $content_type;
                proxy_set_header Content-Encoding $http_content_encoding;
                # On loopback Rollcall knows only its own names.
                proxy_set_header Host localhost;
                proxy_set_header Connection "";
                # CHANGE: with web.tokens, a file of mode 0600 that holds one line for a token of scope
                # ingest, or input:NAME for /v1/in/NAME: proxy_set_header Authorization "Bearer TOKEN";
                #include /etc/nginx/rollcall-token;
                proxy_connect_timeout 1s;
                proxy_send_timeout 1s;
                proxy_read_timeout 1s;
                # An idle connection that was closed meanwhile is replaced; twice would count once.
                proxy_next_upstream error non_idempotent;
                access_log off;
            }
        }

        """
}

/// The address at which a proxy at this machine finds Rollcall.
struct MirrorAddress {
    let text: String

    /// That of `settings`, else the default.
    init(_ settings: ManifestSettings?) {
        text = settings?.address ?? ManifestSettings(path: "", yaml: "").address
    }

    /// Host and port apart; an IPv6 address without its brackets.
    var parts: (host: String, port: String) {
        let colon = text.lastIndex(of: ":") ?? text.endIndex
        let host = text[..<colon].filter { $0 != "[" && $0 != "]" }
        return (host, String(text[colon...].dropFirst()))
    }
}

import RollcallBasis
import RollcallCore

/// The rules for Prometheus that `rollcall manifest rules` prints. Source: rule V20.
enum RulesFile {
    static func text(_ configuration: Configuration, _ options: RuleOptions) -> String {
        let settings = RuleSettings(configuration, options)
        return head(settings) + absent(settings) + "groups:\n" + recording(settings)
            + (alerts(settings).map { "\n\($0.text)" }).joined()
    }

    /// The alerts in their order.
    static func alerts(_ settings: RuleSettings) -> [AlertRule] {
        PeopleRules.all(settings) + FeedRules.all(settings) + WatchRules.all(settings)
    }

    private static func head(_ settings: RuleSettings) -> String {
        let command = "rollcall manifest rules --config.file rollcall.yml\(settings.options.words)"
        return """
            # Rollcall's alerts for those who alert from Prometheus (2.42 or newer), over Rollcall's metrics, as
            # `rollcall manifest rules` prints them for given settings: print them again after a change.
            #
            #   \(command) > rollcall.rules.yml
            #   \(command) --tests > rollcall.rules.test.yml
            #   promtool check rules rollcall.rules.yml && promtool test rules rollcall.rules.test.yml
            #
            #   rule_files: [/etc/prometheus/rollcall.rules.yml]
            #
            # What Rollcall surely tells receivers of its own at once (`receivers`) is left out without --all,
            # since a person would be paged twice; RollcallPagesTwice fires where both would.
            #
            # Scrape it as `rollcall manifest prometheus` prints it: each 15 s, with `honor_labels: true`, as
            # job `\(settings.job)` (--job NAME prints rules and tests for another name). Without
            # honor_labels a label `region` or `source` of your own targets pushes Rollcall's aside to
            # `exported_region`, and alerts by region watch one region made of all, without a word. Give each
            # Rollcall an `instance` that stays the same when it is restarted elsewhere (a name, not a Pod's
            # address): another instance is another alert.
            #
            # Several Rollcalls are judged each by itself: each knows a fleet of its own. The cells of one
            # fleet are known by `rollcall_cell_role`: print rules by the settings of the fleet cell, and
            # scrape it, all cells and gateways in this job. What the fleet cell decides is asked of no cell,
            # and a gateway watches nobody.
            #
            # Thresholds, `for`, `keep_firing_for`, severities, labels and annotations are those of the
            # settings. What a scrape cannot tell is said beside the rule, and of all of them: `for` runs in
            # Prometheus' time here, in watched time there, and is rounded up to evaluations; one failed scrape
            # lets a pending alert wait anew; who it is, and of which circles, no metric says.
            #
            # While Rollcall does not see (`rollcall_watching` is 0, or no scrape succeeds) nothing gets worse
            # and nothing is over: no alert about people fires, and one that fires goes on firing. The second
            # half of each expression does that, with the value -1. It ends when the target is taken out of
            # Prometheus.
            #
            # runbook_url is a file beside this one if neither --runbook-url nor `runbook_url` of the settings
            # says anything else, page_url a view of Rollcall's page (`web.external_url`, or --page-url): who it
            # is, by name, for whoever may see that. Without an address before them they lead nowhere.

            """
    }

    /// Comments about what is not here.
    private static func absent(_ settings: RuleSettings) -> String {
        var elsewhere: [String] = []
        var (off, decided): ([String], [String]) = ([], [])
        for audience in settings.audiences {
            let name = "\(audience.name.word) (\(audience.severity.word))"
            switch settings.place(audience.name, audience.severity) {
            case .printed: break
            case .off: off.append(name)
            case .fleetCell: decided.append(name)
            case .elsewhere(let receivers):
                elsewhere.append("\(name): \(receivers.joined(separator: ", "))")
            }
        }
        var text = ""
        if !elsewhere.isEmpty {
            text +=
                "#\n# NOT HERE, since Rollcall itself tells these receivers (--all prints them too):\n"
            text += elsewhere.map { RuleText.comment("  \($0)", indent: 0) }.joined()
        }
        if !off.isEmpty {
            text += "#\n# NOT HERE, since the settings switch it off:\n"
            text += off.map { RuleText.comment($0, indent: 0) }.joined()
        }
        if !decided.isEmpty {
            text +=
                "#\n# NOT HERE, since the fleet cell decides it: print rules by its settings\n"
            text += decided.map { RuleText.comment($0, indent: 0) }.joined()
        }
        let doubled = settings.doubled.map {
            "\($0.name.word) (\($0.severity.word)): "
                + $0.receivers.map { String(decoding: $0.name, as: UTF8.self) }.joined(
                    separator: ", ")
        }
        if !doubled.isEmpty {
            text += "#\n"
            text += RuleText.comment(
                settings.options.printsAll
                    ? "HERE, though Rollcall tells these receivers of all (RollcallPagesTwice fires for them), of "
                        + "some, or later:"
                    : "HERE, since Rollcall tells these receivers of some only, or later. RollcallPagesTwice takes "
                        + "them for meant, and fires once there are more:", indent: 0)
            text += doubled.map { RuleText.comment($0, indent: 0) }.joined()
        }
        return text
    }

    private static func recording(_ settings: RuleSettings) -> String {
        let window = RuleText.duration(settings.unknownWindow)
        return """
              # One group, because rules of a group are evaluated in this order, one after another.
              - name: rollcall
                interval: 15s
                rules:
                  # What the memo calls this counter; the text format wants `_total` at its end.
                  - record: status_transitions
                    expr: status_transitions_total

                  # Rollcalls that do not see: blind, or not answering. The value is that of `up`. A gateway
                  # has nothing to see.
                  - record: instance:rollcall_not_watching:up
                    expr: |
                      up{job="\(settings.job)"}
                        unless on (job, instance) rollcall_watching == 1
                        unless on (job, instance) rollcall_gateway_fleet_requests_total

                  # Members of a watch on several machines, and whether each leads; of a cell's members with
                  # its name.
                  - record: instance:rollcall_member_leading:cell
                    expr: |
                      rollcall_member_leading * on (job, instance) group_left (cell) rollcall_cell_role
                        or on (job, instance)
                      rollcall_member_leading

                  # People who are expected to report; and the share of them that is OFFLINE, absent of nobody.
                  - record: instance:responders_active:sum
                    expr: sum without (status) (responders_by_status)
                  - record: instance:responders_offline_per_responders_active:ratio
                    expr: |
                      sum without (status) (responders_by_status{status="OFFLINE"})
                        / (instance:responders_active:sum > 0)

            \(RuleText.comment(
                "The same by region. Regions beyond `limits.regions` (\(settings.policy.regionLabelsMax)) are "
                    + "one region here, `other`.", indent: 6))\
                  - record: region:responders_active:sum
                    expr: sum without (status) (rollcall_responders)
                  - record: region:responders_online:sum
                    expr: sum without (status) (rollcall_responders{status="ONLINE"})
                  - record: region:responders_offline_per_responders_active:ratio
                    expr: |
                      sum without (status) (rollcall_responders{status="OFFLINE"})
                        / (region:responders_active:sum > 0)

            \(unknown(settings))\
                  - record: region:responders_silent:sum
                    expr: |
                      sum without (status) (
                          rollcall_responders{status=~"DEGRADED|OFFLINE"}
                        or
                          (
                              min_over_time(rollcall_responders{status="UNKNOWN"}[\(window)])
                            and
                              rollcall_responders{status="UNKNOWN"} offset \(window) > 0
                            and
                              rollcall_responders{status="UNKNOWN"}
                          )
                      )

            """ + doubled(settings)
    }

    /// The comment about how long somebody is UNKNOWN.
    private static func unknown(_ settings: RuleSettings) -> String {
        let (duty, mission) = (
            settings.policy.onDuty.degradedAfter, settings.policy.onMission.degradedAfter
        )
        let window = settings.unknownWindow
        let isRaised = window != duty
        let other =
            mission < window ? "sooner" : mission == window ? "as soon" : "later"
        return RuleText.comment(
            "People without contact: DEGRADED, OFFLINE, or UNKNOWN for longer than the degraded threshold. "
                + "A scrape shows how many are UNKNOWN and not for how long. So as many count as were UNKNOWN "
                + "in every scrape of the last \(RuleText.words(window)), "
                + (isRaised
                    ? "which are two scrapes (the threshold on duty is \(RuleText.words(duty))), "
                    : "the threshold on duty, ")
                + "even if they relieved each other. On a mission (\(RuleText.words(mission))) Rollcall's own "
                + "alert is \(other). Of factors, thresholds in the background and the grace after blindness "
                + "nothing is known here.",
            indent: 6)
    }

    /// The series of alerts that are both here and told to receivers of Rollcall's.
    private static func doubled(_ settings: RuleSettings) -> String {
        let selected = WatchRules.shared(settings)
        if selected.isEmpty { return "" }
        return """

                  # Alerts of this file of which Rollcall also tells receivers of its own.
                  - record: alertname:rollcall_alert_receivers:max
                    expr: |
                      max without (severity, extent) (

            """
                + selected.map { "              \($0)\n" }.joined(separator: "            or\n")
                + "          )\n"
    }
}

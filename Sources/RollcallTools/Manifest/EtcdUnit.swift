/// The unit that `rollcall manifest etcd` prints: one of the three members of the etcd that holds the
/// log of a watch. With two members of Rollcall the third machine is a witness, which has etcd alone.
enum EtcdUnit {
    static func text(_ members: Int) -> String {
        let witness =
            members == 2
            ? """
            # m1 and m2 have a member of Rollcall each. m3 is the witness: a small machine that has
            # this unit and nothing else, best in a third place. It decides who goes on.

            """
            : """
            # Each of the three machines has a member of Rollcall too.

            """
        return head + witness + rest
    }

    private static let head = """
        # etcd for Rollcall's log, printed by `rollcall manifest etcd`: the same unit at three machines.
        #
        #   apt install etcd-server && systemctl disable --now etcd
        #   rollcall manifest etcd > /etc/systemd/system/rollcall-etcd.service
        #   systemctl daemon-reload && systemctl enable --now rollcall-etcd
        #

        """

    private static let rest = """
        # etcd forms once two of the three are started. What is yours to decide is marked CHANGE.

        [Unit]
        Description=etcd, the log of Rollcall's members
        Wants=network-online.target
        After=network-online.target
        StartLimitIntervalSec=0

        [Service]
        Type=notify
        User=etcd
        # CHANGE: the three machines, by the names that `hostname` says there.
        Environment=ETCD_INITIAL_CLUSTER=m1=https://m1:2380,m2=https://m2:2380,m3=https://m3:2380
        Environment=ETCD_INITIAL_CLUSTER_STATE=new
        Environment=ETCD_INITIAL_CLUSTER_TOKEN=rollcall
        Environment=ETCD_NAME=%H
        # CHANGE: on a disk that syncs in some milliseconds, with room for 4 GiB.
        Environment=ETCD_DATA_DIR=%S/rollcall-etcd/data
        Environment=ETCD_LISTEN_CLIENT_URLS=https://0.0.0.0:2379
        Environment=ETCD_ADVERTISE_CLIENT_URLS=https://%H:2379
        Environment=ETCD_LISTEN_PEER_URLS=https://0.0.0.0:2380
        Environment=ETCD_INITIAL_ADVERTISE_PEER_URLS=https://%H:2380
        # At half of cluster.silence or less, so that its own election comes first.
        Environment=ETCD_HEARTBEAT_INTERVAL=50
        Environment=ETCD_ELECTION_TIMEOUT=500
        # Whoever reaches etcd reads and changes the log: nobody without a certificate. The user etcd
        # must be able to read the files; a certificate is for its host's name, for server and client.
        Environment=ETCD_CLIENT_CERT_AUTH=true ETCD_PEER_CLIENT_CERT_AUTH=true
        Environment=ETCD_TRUSTED_CA_FILE=/etc/rollcall-etcd/ca.pem
        Environment=ETCD_CERT_FILE=/etc/rollcall-etcd/etcd.pem
        Environment=ETCD_KEY_FILE=/etc/rollcall-etcd/etcd.key
        Environment=ETCD_PEER_TRUSTED_CA_FILE=/etc/rollcall-etcd/ca.pem
        Environment=ETCD_PEER_CERT_FILE=/etc/rollcall-etcd/etcd.pem
        Environment=ETCD_PEER_KEY_FILE=/etc/rollcall-etcd/etcd.key
        ExecStart=/usr/bin/etcd
        StateDirectory=rollcall-etcd
        StateDirectoryMode=0700
        # It says that it is ready once most of the three are there.
        TimeoutStartSec=infinity
        Restart=always
        RestartSec=1s
        OOMScoreAdjust=-500
        LimitNOFILE=65536
        NoNewPrivileges=yes
        ProtectSystem=strict
        ProtectHome=yes
        PrivateTmp=yes
        PrivateDevices=yes
        RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX

        [Install]
        WantedBy=multi-user.target

        """
}

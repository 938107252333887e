package controlplane

import "strconv"

const (
	etcdSocket = "etcd.sock" // relative: a socket's path may have 107 bytes only

	serviceRange = "10.96.0.0/16"
	// apiServiceIP is the first address of serviceRange: the service "kubernetes".
	apiServiceIP = "10.96.0.1"
)

func (c *ControlPlane) etcdFlags() []string {
	return []string{
		"--data-dir=etcd",
		"--listen-client-urls=unix://" + etcdSocket,
		// Nobody uses these two, but they may not be empty.
		"--advertise-client-urls=http://127.0.0.111:0",
		"--listen-peer-urls=http://127.0.0.1:0",
		"--unsafe-no-fsync=" + strconv.FormatBool(!c.parts.Sync),
		// The only member need not wait long for others to stand for election.
		"--heartbeat-interval=20", "--election-timeout=200",
		"--log-level=warn",
	}
}

func (c *ControlPlane) apiServerFlags() []string {
	flags := []string{
		"--etcd-servers=unix://" + etcdSocket,
		"--secure-port=" + strconv.Itoa(c.port),
		// The endpoints of the service "kubernetes" may not be on loopback.
		"--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none",
		"--tls-cert-file=" + servingName + ".crt", "--tls-private-key-file=" + servingName + ".key",
		"--client-ca-file=" + caName + ".crt",
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--enable-bootstrap-token-auth",
		"--allow-privileged",
		"--service-cluster-ip-range=" + serviceRange,
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + serviceAccountName + ".pub",
		"--service-account-signing-key-file=" + serviceAccountName + ".key",
		"--kubelet-client-certificate=" + kubeletClientName + ".crt",
		"--kubelet-client-key=" + kubeletClientName + ".key",
		"--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname",
		"--requestheader-client-ca-file=" + frontProxyCAName + ".crt",
		"--requestheader-allowed-names=" + frontProxyName,
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
		"--proxy-client-cert-file=" + frontProxyName + ".crt",
		"--proxy-client-key-file=" + frontProxyName + ".key",
		// There is no kube-proxy: aggregated API servers are reached at their pods.
		"--enable-aggregator-routing",
		"--profiling=false",
	}
	return append(flags, c.auditFlags()...)
}

func (c *ControlPlane) schedulerFlags() []string {
	return append([]string{
		"--kubeconfig=" + schedulerConfig,
		"--leader-elect=false", "--secure-port=0", "--profiling=false",
	}, c.rateFlags()...)
}

// rateFlags are those for the rate of requests to the API server.
func (c *ControlPlane) rateFlags() []string {
	if c.parts.QPS == 0 {
		return nil
	}
	return []string{"--kube-api-qps=" + strconv.Itoa(c.parts.QPS), "--kube-api-burst=" + strconv.Itoa(c.parts.QPS)}
}

func (c *ControlPlane) controllerFlags() []string {
	return append([]string{
		"--kubeconfig=" + controllersConfig,
		"--controllers=*,bootstrapsigner,tokencleaner",
		"--cluster-signing-cert-file=" + caName + ".crt", "--cluster-signing-key-file=" + caName + ".key",
		"--root-ca-file=" + caName + ".crt",
		"--service-account-private-key-file=" + serviceAccountName + ".key",
		"--leader-elect=false", "--secure-port=0", "--profiling=false",
	}, c.rateFlags()...)
}

package member

import (
	"fmt"
	"maps"
	"net"
	"os"

	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/e2e/machine"
)

// configurationFile is the KubeletConfiguration in the state folder.
const configurationFile = "kubelet.yaml"

// writeConfiguration writes what a kubeadm node has, on ports of its own.
func (m *Member) writeConfiguration() error {
	var err error
	if m.Port, err = machine.FreePort(); err != nil {
		return err
	}
	if m.HealthPort, err = machine.FreePort(); err != nil {
		return err
	}
	var addresses []net.IP
	if m.config.Address != "" {
		addresses = append(addresses, net.ParseIP(m.config.Address))
	}
	serving, err := m.config.Plane.ServingCertificate(m.Name, addresses...)
	if err != nil {
		return err
	}
	fields := map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1",
		"kind":       "KubeletConfiguration",
		"authentication": map[string]any{
			"anonymous": map[string]any{"enabled": false},
			"webhook":   map[string]any{"enabled": true},
			"x509":      map[string]any{"clientCAFile": m.config.Plane.CAFile()},
		},
		"authorization":      map[string]any{"mode": "Webhook"},
		"port":               m.Port,
		"podLogsDir":         m.file("logs"),
		"healthzPort":        m.HealthPort,
		"clusterDomain":      "cluster.local",
		"clusterDNS":         []string{"10.96.0.10"},
		"failCgroupV1":       false, // machines with version 1 are to pass, too
		"failSwapOn":         false,
		"evictionHard":       map[string]string{"memory.available": "0%", "nodefs.available": "0%", "imagefs.available": "0%"},
		"resolvConf":         m.file("resolv.conf"),
		"rotateCertificates": true,
		"tlsCertFile":        serving + ".crt",
		"tlsPrivateKeyFile":  serving + ".key",
	}
	if m.likeKubelet() {
		fields["cgroupRoot"] = "/" + m.kubeletCgroup()
		if err := m.makeKubeletCgroup(); err != nil {
			return err
		}
	}
	maps.Copy(fields, m.config.Kubelet)
	text, err := yaml.Marshal(fields)
	if err != nil {
		return fmt.Errorf("write the configuration of %s: %w", m.Name, err)
	}
	// The machine's resolv.conf may name a server that pods cannot reach.
	if err := os.WriteFile(m.file("resolv.conf"), []byte("nameserver 192.0.2.53\n"), 0o644); err != nil {
		return err
	}
	return os.WriteFile(m.file(configurationFile), text, 0o600)
}

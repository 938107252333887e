// Package hostports lets ports of this machine lead to pods, by rules of nftables, over
// netlink. They are in the table, the chains and the form of the CNI project's plugin
// portmap, which other runtimes of the machine use as well, and carry the container ID as
// their comment.
package hostports

import (
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Mapping is a host port, as the CNI capability portMappings has it.
type Mapping struct {
	HostPort      int    `json:"hostPort"`
	ContainerPort int    `json:"containerPort"`
	Protocol      string `json:"protocol"` // tcp, udp or sctp
	HostIP        string `json:"hostIP"`   // empty for every address of this machine
}

// protocols are those that have ports to lead to a pod.
var protocols = map[string]byte{"tcp": unix.IPPROTO_TCP, "udp": unix.IPPROTO_UDP, "sctp": unix.IPPROTO_SCTP}

// Validate says what is wrong with a mapping.
func (m Mapping) Validate() error {
	for _, port := range []int{m.HostPort, m.ContainerPort} {
		if port < 1 || port > 65535 {
			return fmt.Errorf("port mapping %d to %d: want ports from 1 to 65535", m.HostPort, m.ContainerPort)
		}
	}
	if _, known := protocols[m.Protocol]; !known {
		return fmt.Errorf("port mapping %d: unknown protocol %q", m.HostPort, m.Protocol)
	}
	if m.HostIP == "" {
		return nil
	}
	if _, err := netip.ParseAddr(m.HostIP); err != nil {
		return fmt.Errorf("port mapping %d: host IP: %w", m.HostPort, err)
	}
	return nil
}

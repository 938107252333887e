package run

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bundle"
)

// checkFree refuses a pod with a host port that a process of this machine
// listens on, or that another pod of this root publishes: the packet
// filter would send what comes in to one of them without a word. Call it when
// the pod's own record is written, so that of two pods that start at once at
// least one sees the other. It doesn't see what lifepods of other roots publish.
func checkFree(root string, pod *v1.Pod) error {
	wanted := hostPorts(pod)
	if len(wanted) == 0 {
		return nil
	}
	others, err := records(root)
	if err != nil {
		return fmt.Errorf("look for pods with the same host ports: %w", err)
	}
	for _, other := range others {
		if other.UID == pod.UID {
			continue
		}
		for _, port := range wanted {
			if port.clashesWith(other.Ports) {
				return fmt.Errorf("host port %s is published already by pod %s/%s (%s)", port, other.Namespace, other.Name, other.whose(root))
			}
		}
	}
	if pod.Spec.HostNetwork {
		return nil // its containers bind for themselves, or don't
	}
	for _, port := range wanted {
		if err := port.tryBind(); err != nil {
			return err
		}
	}
	return nil
}

// hostPort is a port of the machine that a pod publishes; an empty IP means
// all addresses.
type hostPort struct {
	IP       string      `json:"ip,omitempty"`
	Port     int32       `json:"port"`
	Protocol v1.Protocol `json:"protocol"`
}

// String is as -p takes it, such as 127.0.0.1:8080/tcp.
func (p hostPort) String() string {
	text := strconv.Itoa(int(p.Port))
	if p.IP != "" {
		text = net.JoinHostPort(p.IP, text)
	}
	return text + "/" + strings.ToLower(string(p.Protocol))
}

// hostPorts are those that the pod publishes.
func hostPorts(pod *v1.Pod) []hostPort {
	var ports []hostPort
	for _, c := range publishing(pod) {
		for _, p := range c.Ports {
			if p.HostPort == 0 {
				continue
			}
			ports = append(ports, hostPort{IP: p.HostIP, Port: p.HostPort, Protocol: cmp.Or(p.Protocol, v1.ProtocolTCP)})
		}
	}
	return ports
}

func (p hostPort) clashesWith(others []hostPort) bool {
	return slices.ContainsFunc(others, func(o hostPort) bool {
		return p.Port == o.Port && p.Protocol == o.Protocol && (p.IP == o.IP || p.anyIP() || o.anyIP())
	})
}

func (p hostPort) anyIP() bool { return p.IP == "" || p.IP == "0.0.0.0" || p.IP == "::" }

// tryBind listens for a moment. SCTP isn't tried: the kernel may lack it.
func (p hostPort) tryBind() error {
	address := net.JoinHostPort(p.IP, strconv.Itoa(int(p.Port)))
	var listening interface{ Close() error }
	var err error
	switch p.Protocol {
	case v1.ProtocolTCP:
		listening, err = net.Listen("tcp", address)
	case v1.ProtocolUDP:
		listening, err = net.ListenPacket("udp", address)
	default:
		return nil
	}
	switch {
	case err == nil:
		return listening.Close()
	case errors.Is(err, unix.EADDRINUSE):
		return fmt.Errorf("host port %s is used already by a process of this machine (ss -lpn shows it)", p)
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return fmt.Errorf("host port %s: %s is not an address of this machine", p, p.IP)
	default:
		return nil // such as IPv6 switched off: no reason to refuse the pod
	}
}

// whose says of a record which lifepod has it, or what to do about its pod.
func (r *record) whose(root string) string {
	if r.held() {
		return fmt.Sprintf("lifepod run with PID %d", r.PID)
	}
	return fmt.Sprintf("its lifepod run was killed; `%s` ends it", bundle.Command(root, "stop "+r.Namespace+"/"+r.Name))
}

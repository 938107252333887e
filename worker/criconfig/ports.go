package criconfig

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/ptr"
)

// PortMappings lists the ports of the pod's containers for the sandbox
// (A-CRI-3). Sidecars are included, which Kubernetes 1.37 leaves out although
// the scheduler reserves their host ports. A port declared twice is sent once.
func PortMappings(pod *v1.Pod) []*runtimeapi.PortMapping {
	var out []*runtimeapi.PortMapping
	seen := map[v1.ContainerPort]bool{}
	add := func(ports []v1.ContainerPort) {
		for _, port := range ports {
			port.Name, port.Protocol = "", cmp.Or(port.Protocol, v1.ProtocolTCP)
			if !seen[port] {
				protocol := runtimeapi.Protocol(runtimeapi.Protocol_value[string(port.Protocol)])
				out = append(out, &runtimeapi.PortMapping{HostIp: port.HostIP, HostPort: port.HostPort, ContainerPort: port.ContainerPort, Protocol: protocol})
			}
			seen[port] = true
		}
	}
	for _, c := range pod.Spec.InitContainers {
		if ptr.Deref(c.RestartPolicy, "") == v1.ContainerRestartPolicyAlways {
			add(c.Ports)
		}
	}
	for _, c := range pod.Spec.Containers {
		add(c.Ports)
	}
	return out
}

// ReleaseAddress gives back what the pod has. The plugin's store (bundle/runtime/ipam)
// documents the way: under its lock, the removal of the pod's record is the
// whole release. A pod without an address, or a folder that was never used, is
// no error.
func ReleaseAddress(ipamDir string, uid types.UID) error {
	record := filepath.Join(ipamDir, "pods", string(uid))
	if _, err := os.Lstat(record); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	lock, err := os.OpenFile(filepath.Join(ipamDir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("release the address of pod %s: %w", uid, err)
	}
	defer func() { _ = lock.Close() }() // which unlocks
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("release the address of pod %s: lock: %w", uid, err)
	}
	if err := os.Remove(record); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("release the address of pod %s: %w", uid, err)
	}
	return nil
}

package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
)

// bridgeCalls is 1 where packets between two ports of a bridge pass the packet
// filter. Answers of a pod to another one on the same bridge need it: they must get
// the service's address back, to which the question was.
const bridgeCalls = "/proc/sys/net/bridge/bridge-nf-call-iptables"

// filterBridges has packets within a bridge filtered, as kubeadm's requirements and
// other distributions do.
func filterBridges(ctx context.Context) error {
	value, err := os.ReadFile(bridgeCalls)
	if errors.Is(err, fs.ErrNotExist) {
		if out, err := exec.CommandContext(ctx, "modprobe", "br_netfilter").CombinedOutput(); err != nil {
			return fmt.Errorf("load the kernel module br_netfilter: %w %s", err, bytes.TrimSpace(out))
		}
		value, err = os.ReadFile(bridgeCalls)
	}
	if err == nil && string(bytes.TrimSpace(value)) != "1" {
		err = os.WriteFile(bridgeCalls, []byte("1\n"), 0o644)
	}
	if err != nil {
		return fmt.Errorf("filter packets within bridges: %w", err)
	}
	return nil
}

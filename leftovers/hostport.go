package leftovers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The CNI plugin portmap, and lifepod's own in its place, have one table for the host
// ports of every runtime of the machine, and one set of chains where iptables is used.
// Their rules name their pod's sandbox.
const (
	hostPortTable = "cni_hostport"
	hostPortChain = "CNI-HOSTPORT-DNAT"
)

// findHostPorts lists the rules of the sandboxes that containerd's folder of
// this place names: they send what comes in for a port to a pod that is gone.
func (s system) findHostPorts(ctx context.Context, place Place) []Leftover {
	if place.RunDir == "" {
		return nil
	}
	sandboxes, _ := os.ReadDir(filepath.Join(place.RunDir, "state", "io.containerd.grpc.v1.cri", "sandboxes"))
	if len(sandboxes) == 0 {
		return nil
	}
	var found []Leftover
	collect := func(kind Kind, listing string, name func(line string) string) {
		for line := range strings.Lines(listing) {
			// A later line may need what an earlier one says, of whomever it is.
			name := name(line)
			for _, sandbox := range sandboxes {
				if name != "" && strings.Contains(line, sandbox.Name()) {
					found = append(found, Leftover{Kind: kind, Name: name, Detail: "of sandbox " + sandbox.Name()})
				}
			}
		}
	}
	for _, family := range []string{"ip", "ip6"} {
		listing, _ := s.run(ctx, "", "nft", "-a", "list", "table", family, hostPortTable)
		collect(HostPortRule, listing, nftHandles(family))
	}
	listing, _ := s.run(ctx, "", "iptables", "-w", "-t", "nat", "-S")
	collect(HostPortChain, listing, hostPortRule)
	return found
}

// nftHandles names the rules of a listing, line by line, as nft delete rule
// takes them.
func nftHandles(family string) func(line string) string {
	chain := ""
	return func(line string) string {
		words := strings.Fields(line)
		if len(words) >= 2 && words[0] == "chain" {
			chain = words[1]
			return ""
		}
		_, handle, isRule := strings.Cut(line, "# handle ")
		if chain == "" || !isRule {
			return ""
		}
		return fmt.Sprintf("%s %s %s handle %s", family, hostPortTable, chain, strings.TrimSpace(handle))
	}
}

// hostPortRule is the line of the one rule per pod that leads to its chain.
func hostPortRule(line string) string {
	if !strings.HasPrefix(line, "-A "+hostPortChain+" ") {
		return ""
	}
	return strings.TrimSpace(line)
}

// sweepHostPortRule is content with a rule that is gone already.
func sweepHostPortRule(ctx context.Context, run command, name string) error {
	_, err := run(ctx, "", "nft", "delete rule "+name)
	if err != nil && strings.Contains(err.Error(), "No such file or directory") {
		return nil
	}
	return err
}

// sweepHostPortChain removes the rule and the pod's chain that it leads to.
func sweepHostPortChain(ctx context.Context, run command, rule string) error {
	match, isRule := strings.CutPrefix(rule, "-A ")
	_, chain, leads := strings.Cut(match, " -j ")
	if !isRule || !leads {
		return fmt.Errorf("not a rule as iptables -S prints it")
	}
	script := fmt.Sprintf("*nat\n-D %s\n-F %[2]s\n-X %[2]s\nCOMMIT\n", match, chain)
	_, err := run(ctx, script, "iptables-restore", "-w", "--noflush")
	return err
}

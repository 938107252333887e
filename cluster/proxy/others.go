package proxy

import (
	"context"
	"os/exec"
	"strings"
)

// tableSuffix ends the names of the tables of all roots.
const tableSuffix = "_services"

// warn tells who else on this machine has the range of service addresses of this
// cluster: whose rules come first gets the packets of both.
func (c Config) warn(ctx context.Context) {
	if c.APIServer == nil {
		return
	}
	for _, other := range others(ctx, run, c.Table, c.APIServer.String()) {
		c.Log.Warn("another cluster's proxy on this machine has the same service addresses, and one of the two clusters will not work: stop it, or delete its rules",
			"rules", other, "address", c.APIServer)
	}
}

// others are the tables of nft, and kube-proxy's chain of iptables, that have a
// service at the address.
func others(ctx context.Context, run func(context.Context, string, ...string) (string, error), own, address string) (found []string) {
	tables, _ := run(ctx, "nft", "list", "tables", "ip") // one that fails has found nothing
	for line := range strings.Lines(tables) {
		name := strings.TrimPrefix(strings.TrimSpace(line), "table ip ")
		if name == own || name != "kube-proxy" && !strings.HasSuffix(name, tableSuffix) {
			continue
		}
		if _, err := run(ctx, "nft", "get", "element", "ip", name, "cluster-ips", "{ "+address+" }"); err == nil {
			found = append(found, "nftables table "+name)
		}
	}
	const chain = "KUBE-SERVICES"
	rules, _ := run(ctx, "iptables", "-w", "-t", "nat", "-S", chain)
	if strings.Contains(rules, " -d "+address+"/32 ") {
		found = append(found, "iptables chain "+chain)
	}
	return found
}

func run(ctx context.Context, name string, arguments ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, arguments...).Output()
	return string(out), err
}

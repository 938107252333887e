package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"

	"github.com/lifepod/lifepod/internal/localnet"
)

// The two programs that can change the packet filter, and the network plugin's names
// for what it makes host ports with.
const (
	nftables = "nftables"
	iptables = "iptables"
)

// errNoFilter means that neither program works on this machine.
var errNoFilter = errors.New("neither nft nor iptables works: pods reach nothing beyond this machine, and host ports do not work; install nftables or iptables")

// masquerade gives the pods this machine's address when they talk to the
// world, by one rule for the subnet, for as long as the root is in use: a rule per pod
// would be one more thing to delete with each. Beside it, and with the network of others
// alone, is the guard of 127.0.0.0/8. It returns the backend that worked.
func (n network) masquerade(ctx context.Context, table string) (string, error) {
	rules := fmt.Sprintf("table ip %s {\n%s%s}\n", table, localnet.Chain, n.nftChain())
	// A deletion makes a transaction take 15 ms, so it is tried without
	// first: the table is there already only after a kill -9.
	if call(ctx, fmt.Sprintf("create table ip %s\n", table)+rules, "nft", "-f", "-") == nil {
		return nftables, nil
	}
	nftErr := call(ctx, fmt.Sprintf("add table ip %[1]s\ndelete table ip %[1]s\n", table)+rules, "nft", "-f", "-")
	if nftErr == nil {
		return nftables, nil
	}
	for _, rule := range n.iptablesRules(table) {
		if call(ctx, "", "iptables", rule.command("-C")...) == nil {
			continue
		}
		if err := call(ctx, "", "iptables", rule.command("-A")...); err != nil {
			return "", errors.Join(errNoFilter, nftErr, err)
		}
	}
	return iptables, nil
}

// nftChain has the masquerading rule; it is empty with the network of others.
func (n network) nftChain() string {
	if n.CNI != nil {
		return ""
	}
	return fmt.Sprintf(`	chain postrouting {
		type nat hook postrouting priority srcnat;
		ip saddr %s ip daddr != { %s, 224.0.0.0/4 } masquerade
	}
`, n.Subnet, n.pods())
}

// iptablesRule is a rule of one of iptables' tables.
type iptablesRule struct {
	table string
	rule  []string
}

func (r iptablesRule) command(verb string) []string {
	return append([]string{"-w", "-t", r.table, verb}, r.rule...)
}

// iptablesRules are the same where there is only iptables.
func (n network) iptablesRules(comment string) []iptablesRule {
	rules := []iptablesRule{{"raw", localnet.Rule(comment)}}
	if n.CNI == nil {
		rules = append(rules, iptablesRule{"nat", []string{"POSTROUTING", "-s", n.Subnet.String(), "!", "-d", n.pods().String(),
			"-m", "comment", "--comment", comment, "-j", "MASQUERADE"}})
	}
	return rules
}

// pods are the addresses of all pods that this root's pods talk with under their own.
func (n network) pods() netip.Prefix {
	if n.Cluster.IsValid() {
		return n.Cluster
	}
	return n.Subnet
}

// unmasquerade removes the rules, and what the network plugin leaves of host ports
// when nobody else uses it.
func (n network) unmasquerade(ctx context.Context, table string) error {
	switch n.Filter {
	case nftables:
		return errors.Join(deleteTable(ctx, "ip", table), removeHostPortTable(ctx))
	case iptables:
		errs := []error{removeHostPortChains(ctx)}
		for _, rule := range n.iptablesRules(table) {
			errs = append(errs, call(ctx, "", "iptables", rule.command("-D")...))
		}
		return errors.Join(errs...)
	}
	return nil
}

// removeHostPortTable removes the table that the network plugin made for the
// first host port, unless it holds a host port of some other runtime.
func removeHostPortTable(ctx context.Context) error {
	for _, family := range []string{"ip", "ip6"} {
		listing, err := exec.CommandContext(ctx, "nft", "list", "table", family, "cni_hostport").Output()
		if err != nil || strings.Contains(string(listing), "dnat") {
			continue
		}
		if err := deleteTable(ctx, family, "cni_hostport"); err != nil {
			return err
		}
	}
	return nil
}

// deleteTable deletes a table, which may be gone: those who share one may end at the same time.
func deleteTable(ctx context.Context, family, name string) error {
	return call(ctx, fmt.Sprintf("add table %[1]s %[2]s\ndelete table %[1]s %[2]s\n", family, name), "nft", "-f", "-")
}

// removeHostPortChains does the same where the plugin portmap used iptables.
func removeHostPortChains(ctx context.Context) error {
	listing, err := exec.CommandContext(ctx, "iptables", "-w", "-t", "nat", "-S").Output()
	if err != nil || !bytes.Contains(listing, []byte("-N CNI-HOSTPORT-DNAT")) ||
		bytes.Contains(listing, []byte("-A CNI-HOSTPORT-DNAT")) {
		return nil //nolint:nilerr // without iptables there are no such chains
	}
	const chains = "CNI-HOSTPORT-"
	var script strings.Builder
	script.WriteString("*nat\n")
	for line := range strings.Lines(string(listing)) {
		if rule, ok := strings.CutPrefix(line, "-A "); ok && strings.Contains(line, "-j "+chains) {
			script.WriteString("-D " + rule)
		}
	}
	for _, command := range []string{"-F", "-X"} {
		for _, name := range []string{"DNAT", "MASQ", "SETMARK"} {
			if strings.Contains(string(listing), "-N "+chains+name+"\n") {
				fmt.Fprintf(&script, "%s %s%s\n", command, chains, name)
			}
		}
	}
	script.WriteString("COMMIT\n")
	return call(ctx, script.String(), "iptables-restore", "-w", "--noflush")
}

// call runs a program; what it prints is the error's text.
func call(ctx context.Context, input, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w %s", name, err, bytes.TrimSpace(out))
	}
	return nil
}

package localnet

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// Chain is the guard in a table of nftables, of the family ip.
const Chain = `	chain localnet {
		type filter hook prerouting priority raw;
		iifname != "lo" ip daddr 127.0.0.0/8 drop
	}
`

// Rule is the guard as a rule of iptables in the table raw, with a comment.
func Rule(comment string) []string {
	return []string{"PREROUTING", "!", "-i", "lo", "-d", "127.0.0.0/8", "-m", "comment", "--comment", comment, "-j", "DROP"}
}

// name is of the table that Guard makes, and of its rule's comment.
const name = "lifepod_localnet"

// Guard makes sure that there is a guard, which stays: pods outlive a node's agent.
func Guard(ctx context.Context) error {
	// Creation fails if the table is there; then it is as here, because it is made as a whole.
	create := fmt.Sprintf("create table ip %s\ntable ip %[1]s {\n%s}\n", name, Chain)
	nftErr := run(ctx, create, "nft", "-f", "-")
	if nftErr == nil || run(ctx, "", "nft", "list", "chain", "ip", name, "localnet") == nil {
		return nil
	}
	iptables := []string{"-w", "-t", "raw"}
	rule := Rule(name)
	if run(ctx, "", "iptables", append(append(iptables, "-C"), rule...)...) == nil {
		return nil
	}
	return errors.Join(nftErr, run(ctx, "", "iptables", append(append(iptables, "-A"), rule...)...))
}

func run(ctx context.Context, input, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin = strings.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w %s", program, err, strings.TrimSpace(string(out)))
	}
	return nil
}

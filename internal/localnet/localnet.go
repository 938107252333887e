package localnet

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/vishvananda/netlink"
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

// attempts is how often a list is asked for. Two lists of three are interrupted where two
// programs do nothing but add and remove interfaces, and next to none where only pods come
// and go.
const attempts = 100

// WholeDump is the answer of list, a function of package netlink that lists something. The
// kernel gives a long list in parts, and the list may lack something if another program
// adds or removes an interface meanwhile; netlink tells that as
// [netlink.ErrDumpInterrupted]. Such a list is asked for again, at most 100 times in all;
// then the error is returned and no list, since a list in which something is missing
// would have a bridge with pods removed, or a subnet chosen that is in use.
func WholeDump[T any](list func() ([]T, error)) ([]T, error) {
	var err error
	for range attempts {
		var all []T
		if all, err = list(); err == nil {
			return all, nil
		}
		if !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	return nil, err
}

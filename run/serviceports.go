package run

import (
	"context"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/pidfd"
	"github.com/lifepod/lifepod/manifest"
)

// translatePorts lets pods be reached at the ports of their Services: the name of a Service is the address of a pod, so that in the
// network of the pod rules bring what comes for such a port to the pod's own. Each new container may be in another sandbox, whose
// network has no rules, and the same address: the rules are made again.
func (s *services) translatePorts(ctx context.Context, one *served) error {
	list, _ := manifest.Translations(s.list, one.pod)
	if len(list) == 0 || one.container == "" || s.translated[one.pod.UID] == one.container {
		return nil
	}
	s.translated[one.pod.UID] = one.container // it is tried once
	rules, err := portRules(list, one.ips)
	if err != nil {
		return err
	}
	process, err := pidfd.Find(cri.PID(ctx, s.node.Runtime, one.container))
	if err == nil {
		err = applyRules(ctx, process, rules)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pods[one.pod.UID].container != one.container {
		return nil // that one has ended meanwhile
	}
	return err
}

func applyRules(ctx context.Context, process pidfd.ID, rules string) error {
	return process.InNetwork(func() error {
		command := exec.CommandContext(ctx, "nft", "--file", "-")
		command.Stdin = strings.NewReader(rules)
		if said, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("nft: %w: %s", err, said)
		}
		return nil
	})
}

// portRules are in a table of their own. What a pod sends to itself passes no prerouting.
func portRules(list []manifest.Translation, ips []string) (string, error) {
	var text strings.Builder
	for _, ip := range ips {
		address, err := netip.ParseAddr(ip)
		if err != nil {
			return "", err
		}
		address = address.WithZone("") // which could be any text
		family := map[bool]string{true: "ip", false: "ip6"}[address.Is4()]
		var rules strings.Builder
		for _, t := range list {
			to := netip.AddrPortFrom(address, uint16(t.Target)) //nolint:gosec // it is valid
			_, _ = fmt.Fprintf(&rules, "\t\t%s daddr %s %s dport %d dnat to %s\n", family, address, strings.ToLower(string(t.Protocol)), t.Port, to)
		}
		table := fmt.Sprintf("table %s lifepod_services", family)
		_, _ = fmt.Fprintf(&text, "add %[1]s\ndelete %[1]s\n%[1]s {\n", table)
		for _, hook := range []string{"prerouting", "output"} {
			_, _ = fmt.Fprintf(&text, "\tchain %[1]s {\n\t\ttype nat hook %[1]s priority -100\n%[2]s\t}\n", hook, rules.String())
		}
		text.WriteString("}\n")
	}
	return text.String(), nil
}

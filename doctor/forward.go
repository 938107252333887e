package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// checkForward looks for a packet filter that drops what it doesn't know, as
// Docker makes it: pods that are connected to the bridge reach nothing beyond
// this machine then, and nothing reaches their published ports.
func checkForward(h Host, bridge string) Result {
	const name = "forwarding filter"
	if !h.IsRoot() {
		return notChecked(name, needsRoot)
	}
	// A program that isn't there, or that the kernel doesn't support, has no rules.
	rules, iptablesErr := h.Listing("iptables", "-w", "-S")
	advice := adviseIptables(rules, bridge)
	chains, nftErr := h.Listing("nft", "list", "chains")
	for _, chain := range droppingChains(chains) {
		if iptablesErr == nil && chain == "ip filter FORWARD" {
			continue // iptables shows it
		}
		listed, err := h.Listing("nft", append([]string{"list", "chain"}, strings.Fields(chain)...)...)
		if err == nil && !strings.Contains(listed, `"`+bridge+`"`) {
			advice = append(advice, fmt.Sprintf("nft insert rule %s iifname %s accept; nft insert rule %[1]s oifname %[2]s accept", chain, bridge))
		}
	}
	switch {
	case len(advice) > 0:
		return warn(name, "drops what isn't allowed, and "+bridge+" isn't", append([]string{
			"pods don't reach what is beyond this machine, nor is a published port reached from there; until the next reboot this allows it:",
		}, advice...)...)
	case iptablesErr != nil && nftErr != nil:
		return notChecked(name, "neither iptables nor nft lists its rules")
	default:
		return ok(name, "lets pods through")
	}
}

// adviseIptables reads the filter table as iptables -S prints it. Docker
// leaves the chain DOCKER-USER to others.
func adviseIptables(rules, bridge string) []string {
	chain, drops := "FORWARD", false
	for line := range strings.Lines(rules) {
		words := strings.Fields(line)
		switch {
		case slices.Equal(words, []string{"-P", "FORWARD", "DROP"}):
			drops = true
		case len(words) >= 4 && slices.Equal(words[:3], []string{"-A", "FORWARD", "-j"}) && (words[3] == "REJECT" || words[3] == "DROP"):
			drops = true
		case slices.Equal(words, []string{"-N", "DOCKER-USER"}):
			chain = "DOCKER-USER"
		case strings.Contains(line, "-i "+bridge+" ") && strings.Contains(line, "-j ACCEPT"):
			return nil
		}
	}
	if !drops {
		return nil
	}
	return []string{fmt.Sprintf("iptables -I %s -i %s -j ACCEPT; iptables -I %[1]s -o %[2]s -j ACCEPT", chain, bridge)}
}

// droppingChains are the chains, as "family table chain", that forwarded IPv4
// packets pass and that drop them by default. The text is that of nft list chains.
func droppingChains(text string) []string {
	var found []string
	var table, chain string
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) >= 3 && words[0] == "table":
			table = words[1] + " " + words[2]
		case len(words) >= 2 && words[0] == "chain":
			chain = words[1]
		case strings.Contains(line, "hook forward ") && strings.Contains(line, "policy drop;"):
			if family, _, _ := strings.Cut(table, " "); family == "ip" || family == "inet" {
				found = append(found, table+" "+chain)
			}
		}
	}
	return found
}

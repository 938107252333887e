package leftovers

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// command runs a program and returns what it prints.
type command func(ctx context.Context, input, name string, arguments ...string) (string, error)

func runCommand(ctx context.Context, input, name string, arguments ...string) (string, error) {
	program := exec.CommandContext(ctx, name, arguments...)
	program.Stdin = strings.NewReader(input)
	out, err := program.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w %s", name, err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// findFilter looks for the place's nft table, or the rules that bear its name
// where there is only iptables. A machine has at least one of the programs, and
// a kernel need not support both, so that a program that fails has found nothing.
func (s system) findFilter(ctx context.Context, place Place) []Leftover {
	if place.FilterTable == "" {
		return nil
	}
	var found []Leftover
	tables, _ := s.run(ctx, "", "nft", "list", "tables", "ip")
	for line := range strings.Lines(tables) {
		name := strings.TrimPrefix(strings.TrimSpace(line), "table ip ")
		if name == place.FilterTable || name == place.FilterTable+"_services" { // lifepod up's
			found = append(found, Leftover{Kind: FilterTable, Name: name})
		}
	}
	for _, chain := range []string{"PREROUTING", "POSTROUTING"} {
		rules, _ := s.run(ctx, "", "iptables", "-w", "-t", tablesOf[chain], "-S", chain)
		for line := range strings.Lines(rules) {
			words := strings.Fields(strings.ReplaceAll(line, `"`, ""))
			for i, word := range words {
				if word == "--comment" && i+1 < len(words) && words[i+1] == place.FilterTable {
					found = append(found, Leftover{Kind: FilterRule, Name: strings.Join(words, " ")})
				}
			}
		}
	}
	return found
}

// tablesOf are the tables of iptables in which a root has a rule, by chain.
var tablesOf = map[string]string{"PREROUTING": "raw", "POSTROUTING": "nat"}

// sweepTable is content with a table that is gone already.
func sweepTable(ctx context.Context, run command, name string) error {
	_, err := run(ctx, "", "nft", "add table ip "+name+"; delete table ip "+name)
	return err
}

func sweepRule(ctx context.Context, run command, rule string) error {
	match := strings.Fields(rule)
	if len(match) < 2 || match[0] != "-A" || tablesOf[match[1]] == "" {
		return fmt.Errorf("not a rule as iptables -S prints it")
	}
	call := func(verb string) error {
		_, err := run(ctx, "", "iptables", append([]string{"-w", "-t", tablesOf[match[1]], verb}, match[1:]...)...)
		return err
	}
	there := func() bool { return call("-C") == nil }
	if !there() {
		return nil
	}
	return call("-D")
}

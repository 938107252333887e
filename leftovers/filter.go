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

// findFilter looks for the place's nft table, or the rule that bears its name
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
	rules, _ := s.run(ctx, "", "iptables", "-w", "-t", "nat", "-S", "POSTROUTING")
	for line := range strings.Lines(rules) {
		words := strings.Fields(strings.ReplaceAll(line, `"`, ""))
		for i, word := range words {
			if word == "--comment" && i+1 < len(words) && words[i+1] == place.FilterTable {
				found = append(found, Leftover{Kind: FilterRule, Name: strings.Join(words, " ")})
			}
		}
	}
	return found
}

// sweepTable is content with a table that is gone already.
func sweepTable(ctx context.Context, run command, name string) error {
	_, err := run(ctx, "", "nft", "add table ip "+name+"; delete table ip "+name)
	return err
}

func sweepRule(ctx context.Context, run command, rule string) error {
	chain, isRule := strings.CutPrefix(rule, "-A ")
	if !isRule {
		return fmt.Errorf("not a rule as iptables -S prints it")
	}
	match := strings.Fields(chain)
	if _, err := run(ctx, "", "iptables", append([]string{"-w", "-t", "nat", "-C"}, match...)...); err != nil {
		return nil //nolint:nilerr // it is gone already
	}
	_, err := run(ctx, "", "iptables", append([]string{"-w", "-t", "nat", "-D"}, match...)...)
	return err
}

// Contract prints which rules of the lifecycle contract a test proves, and names
// those that none does. It fails if a rule is neither proven nor marked, or if a
// citation is wrong. -not-ours names the rules of other parts of Kubernetes, too.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/lifepod/lifepod/internal/contract"
)

func main() {
	notOurs := flag.Bool("not-ours", false, "name the rules of other parts of Kubernetes, too")
	flag.Parse()
	if err := run(*notOurs); err != nil {
		fmt.Fprintln(os.Stderr, "contract:", err)
		os.Exit(1)
	}
}

func run(notOurs bool) error {
	rules, err := contract.Rules()
	if err != nil {
		return err
	}
	citations, err := contract.Citations(os.DirFS("."))
	if err != nil {
		return err
	}
	report := contract.NewReport(rules, citations)
	if err := report.Print(os.Stdout); err != nil {
		return err
	}
	for _, rule := range rules {
		if notOurs && rule.NotOurs != "" {
			fmt.Printf("not ours: %s (%s): %s\n", rule.Number, rule.Title, rule.NotOurs)
		}
	}
	if len(report.Errors) > 0 {
		return errors.New("rules and tests do not agree")
	}
	return nil
}

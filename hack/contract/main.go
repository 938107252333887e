// Contract prints which rules of the lifecycle contract a test proves; it fails
// if one that applies has none. -not-yet names those that don't apply, with the reason.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/lifepod/lifepod/internal/contract"
)

func main() {
	notYet := flag.Bool("not-yet", false, "name the rules that do not apply yet, too")
	flag.Parse()
	if err := run(*notYet); err != nil {
		fmt.Fprintln(os.Stderr, "contract:", err)
		os.Exit(1)
	}
}

func run(notYet bool) error {
	rules, err := contract.Rules()
	if err != nil {
		return err
	}
	cited, err := contract.Citations(os.DirFS("."))
	if err != nil {
		return err
	}
	report := contract.NewReport(rules, cited)
	if err := report.Print(os.Stdout); err != nil {
		return err
	}
	for _, rule := range rules {
		if notYet && !rule.Applies() {
			fmt.Printf("not yet: %s (%s): %s\n", rule.Number, rule.Words, rule.NotYet)
		}
	}
	if len(report.Missing)+len(report.Unknown) > 0 {
		return errors.New("not every rule that applies has a test")
	}
	return nil
}

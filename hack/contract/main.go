// Contract prints which rules of the lifecycle contract a test proves, and names
// those that none does. It fails if a rule is neither proven nor marked, or if a
// citation is wrong.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/lifepod/lifepod/internal/contract"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "contract:", err)
		os.Exit(1)
	}
}

func run() error {
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
	if len(report.Errors) > 0 {
		return errors.New("rules and tests do not agree")
	}
	return nil
}

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/lifepod/lifepod/e2e/verdict"
)

// Main runs a package's tests against a control plane of their own, to which it
// points plane, and ends the process with their exit code: all that a TestMain does.
// When tests fail the parts' complaints are shown.
func Main(tests verdict.Tests, plane **ControlPlane) {
	code, err := runTests(tests, plane)
	if err != nil {
		fmt.Fprintln(os.Stderr, "control plane of the tests:", err)
		code = 1
	}
	os.Exit(code)
}

func runTests(tests verdict.Tests, plane **ControlPlane) (code int, err error) {
	c, err := Start(context.Background(), Config{})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	*plane = c
	return verdict.Run(tests, c.ShowComplaints), nil
}

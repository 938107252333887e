package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// Tests are a package's, as testing.M runs them.
type Tests interface{ Run() int }

// Main runs a package's tests against a control plane of their own, to which it
// points plane, and ends the process with their exit code: all that a TestMain does.
func Main(tests Tests, plane **ControlPlane) {
	code, err := runTests(tests, plane)
	if err != nil {
		fmt.Fprintln(os.Stderr, "control plane of the tests:", err)
		code = 1
	}
	os.Exit(code)
}

func runTests(tests Tests, plane **ControlPlane) (code int, err error) {
	c, err := Start(context.Background())
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	*plane = c
	return c.Run(tests), nil
}

// Run runs a package's tests and returns their exit code; when one fails, the complaints of the control plane's
// processes are shown.
func (c *ControlPlane) Run(tests Tests) int {
	code := tests.Run()
	if code != 0 {
		c.ShowComplaints()
	}
	return code
}

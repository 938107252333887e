package controlplane_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/lifepod/lifepod/e2e/controlplane"
)

// startOnly makes the test binary a caller of Start that does nothing more: a
// test kills it.
const startOnly = "LIFEPOD_TEST_START_ONLY"

func TestMain(m *testing.M) {
	if os.Getenv(startOnly) == "" {
		os.Exit(m.Run())
	}
	if err := startAndWait(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e/controlplane:", err)
		os.Exit(1)
	}
}

// startAndWait tells the test where everything runs, and then waits to be killed.
func startAndWait() error {
	plane, err := controlplane.Start(context.Background())
	if err != nil {
		return err
	}
	fmt.Println(plane.Dir())
	_, err = bufio.NewReader(os.Stdin).ReadString('\n')
	return errors.Join(err, plane.Close())
}

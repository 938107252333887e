package controlplane_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/e2e/controlplane"
)

// plane is the control plane of the tests that need none of their own.
var plane *controlplane.ControlPlane

// startOnly makes the test binary a caller of Start that does nothing more: a
// test kills it.
const startOnly = "LIFEPOD_TEST_START_ONLY"

func TestMain(m *testing.M) {
	run := testAll
	if dir := os.Getenv(startOnly); dir != "" {
		run = func(*testing.M) (int, error) { return 0, startAndWait(dir) }
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e/controlplane:", err)
		code = 1
	}
	os.Exit(code)
}

func testAll(m *testing.M) (code int, err error) {
	if plane, err = controlplane.Start(context.Background(), controlplane.Config{}); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, plane.Close()) }()
	return plane.Run(m), nil
}

// startAndWait tells the test that everything runs, and then waits to be killed.
func startAndWait(dir string) error {
	plane, err := controlplane.Start(context.Background(), controlplane.Config{Dir: dir})
	if err != nil {
		return err
	}
	fmt.Println("started")
	_, err = bufio.NewReader(os.Stdin).ReadString('\n')
	return errors.Join(err, plane.Close())
}

func admin(t *testing.T) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(plane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/e2e/machine"
)

// What all tests share. Those that end and start it again, or keep its node from
// taking pods, are not parallel.
var (
	up     *instance.Instance
	client kubernetes.Interface
)

// patience is for what takes a moment on a machine that is not busy.
const patience = 4 * time.Minute

func TestMain(m *testing.M) {
	code, err := whole(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func whole(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	program, err := instance.Program("../..")
	if err != nil {
		return 1, err
	}
	listen, err := freeAddress()
	if err != nil {
		return 1, err
	}
	if up, err = instance.Start(ctx, instance.Config{Program: program, Args: []string{"--listen", listen}}); err != nil {
		return 1, err
	}
	defer func() {
		if e := up.Close(ctx); e != nil && err == nil {
			err = e
		}
	}()
	if client, err = up.Client(); err != nil {
		return 1, err
	}
	// Tests wait most of the time.
	if err := flag.Set("test.parallel", "8"); err != nil {
		return 1, err
	}
	if code = m.Run(); code != 0 {
		fmt.Fprintln(os.Stderr, up.Log())
	}
	return code, nil
}

// freeAddress is one for --listen.
func freeAddress() (string, error) {
	port, err := machine.FreePort()
	return fmt.Sprintf("0.0.0.0:%d", port), err
}

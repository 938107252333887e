package groups

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/e2e/controlplane"
	"github.com/lifepod/lifepod/e2e/jobset"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/member"
)

// patience is how long anything may take before a test gives up.
const patience = 90 * time.Second

var (
	binary     string // of lifepod
	plane      *controlplane.ControlPlane
	client     kubernetes.Interface // an administrator
	controller *jobset.Controller
	nodes      []*member.Member
)

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "4"); err != nil { // they wait more than they work
		panic(err)
	}
	flag.Parse()
	code, err := testAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e/groups:", err)
		code = 1
	}
	os.Exit(code)
}

func testAll(m *testing.M) (code int, err error) {
	if os.Geteuid() != 0 {
		return 0, errors.New("these tests run containers: run them as root")
	}
	work, err := os.MkdirTemp("", "lp-e2e-groups-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if binary, err = machine.Binary("../..", work); err != nil {
		return 0, err
	}
	ctx := context.Background()
	if plane, err = controlplane.Start(ctx); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, plane.Close()) }()
	if client, err = kubernetes.NewForConfig(plane.RESTConfig()); err != nil {
		return 0, err
	}
	dir := filepath.Join(work, "jobset")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return 0, err
	}
	if controller, err = jobset.Start(ctx, jobset.Config{Plane: plane, Dir: dir}); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, controller.Close()) }()
	for range 2 {
		node, err := member.Start(ctx, member.Config{Plane: plane, Program: binary})
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, node.Close()) }()
		nodes = append(nodes, node)
	}
	for _, node := range nodes {
		if err := node.AwaitReady(ctx); err != nil {
			return 0, err
		}
	}
	return plane.Run(m), nil
}

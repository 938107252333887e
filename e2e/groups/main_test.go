package groups

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/e2e/controlplane"
	"github.com/lifepod/lifepod/e2e/jobset"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/member"
)

// patience is how long anything may take before a test gives up.
var patience = machine.Patience

var (
	binary     string // of lifepod
	plane      *controlplane.ControlPlane
	client     kubernetes.Interface // an administrator
	controller *jobset.Controller
	nodes      []*member.Member
)

func TestMain(m *testing.M) {
	machine.Suite("../..", func(work, program string) (int, error) {
		binary = program
		return testAll(m, work)
	})
}

func testAll(m *testing.M, work string) (code int, err error) {
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

package e2e

import (
	"fmt"
	"testing"

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

// patience is how long anything may take before a test gives up.
var patience = machine.Patience / 6

func TestMain(m *testing.M) {
	listen, err := freeAddress()
	if err != nil {
		panic(err)
	}
	instance.Suite("../..", instance.Config{Args: []string{"--listen", listen}}, func(i *instance.Instance, c kubernetes.Interface) int {
		up, client = i, c
		return m.Run()
	})
}

// freeAddress is one for --listen.
func freeAddress() (string, error) {
	port, err := machine.FreePort()
	return fmt.Sprintf("0.0.0.0:%d", port), err
}

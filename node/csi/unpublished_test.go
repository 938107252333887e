package csi

import (
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestForbidden: what the API server refuses is a failed registration (A-CSI-2).
func TestForbidden(t *testing.T) {
	m := csidriverNewMachine(t, csiTestNode("uid-1", nil))
	m.fail("patch", "", func() error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "n", errors.New("no"))
	})
	err := m.Register(t.Context(), "forbidden", serve(t, DriverOnNode{NodeID: "n-1"}).endpoint, []string{"1.0.0"})
	if !apierrors.IsForbidden(err) || !strings.HasPrefix(err.Error(), "error updating Node object with CSI driver node info: ") {
		t.Errorf("A-CSI-2 refused: %v", err)
	}
}

// TestUnanswered: while the API server does not answer, a driver is used nevertheless, and told of
// afterwards; so is the end of one (A-CSI-2).
func TestUnanswered(t *testing.T) {
	m := csidriverNewMachine(t, csiTestNode("uid-1", nil))
	m.patience = 10 * time.Millisecond
	away := func() error { return errors.New("connection refused") }
	m.fail("get", "", away)
	served := serve(t, DriverOnNode{NodeID: "n-1"})
	m.register("d", served)
	assert.NoError(t, assert.ErrorOf(m.Driver("d")), "A-CSI-2 the driver is not used")
	m.fails.Store(nil)
	m.await("its node ID", func() bool { return m.nodeObject().Annotations["csi.volume.kubernetes.io/nodeid"] == `{"d":"n-1"}` })
	m.fail("get", "", away)
	m.Deregister("d", served.endpoint)
	m.await("a failure", func() bool {
		return strings.Contains(m.log.text(), "error uninstalling CSI driver from CSINode object connection refused")
	})
	m.fails.Store(nil)
	m.await("its end", func() bool {
		return m.nodeObject().Annotations["csi.volume.kubernetes.io/nodeid"] == "" && len(m.csiDrivers()) == 0
	})
}

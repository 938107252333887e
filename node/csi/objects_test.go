package csi

import (
	"context"
	"testing"
	"testing/synctest"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

func newCSIDriver(name string, periodSeconds *int64) *storagev1.CSIDriver {
	return &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSIDriverSpec{NodeAllocatableUpdatePeriodSeconds: periodSeconds}}
}

// TestObject: nothing is asked of the API server before somebody wants to know.
func TestObject(t *testing.T) {
	m := csidriverNewMachine(t, newCSIDriver("d", nil))
	for _, action := range m.client.Actions() {
		t.Errorf("asked before: %v", action)
	}
	if got, err := m.Object(t.Context(), "d"); err != nil || got == nil || got.Name != "d" {
		t.Errorf("A-CSI-1 CSIDriver %v, %v", got, err)
	}
	if got, err := m.Object(t.Context(), "other"); err != nil || got != nil {
		t.Errorf("A-CSI-1 CSIDriver %v, %v, want none", got, err)
	}
}

// TestObjectUnreached: a lookup ends although the API server never answers.
func TestObjectUnreached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry(RegistryConfig{}) // nobody runs it
		defer r.Node.queue.ShutDown()
		_, err := r.Object(t.Context(), "d")
		assert.Error(t, "look up CSIDriver d: the API server was not reached yet", err)
		ended, end := context.WithCancel(t.Context())
		end()
		assert.Error(t, "look up CSIDriver d: context canceled", assert.ErrorOf(r.Object(ended, "d")))
	})
}

// TestRecount: the CSINode follows how many volumes a driver says that the node may have, if its
// CSIDriver asks for it, as long as the driver is there (A-CSI-2).
func TestRecount(t *testing.T) {
	m := csidriverNewMachine(t, csiTestNode("uid-1", nil), newCSIDriver("d", nil))
	served := serve(t, DriverOnNode{NodeID: "n-1", MaxVolumes: 5})
	m.register("d", served)
	count := func(want int32) func() bool {
		return func() bool { return *m.csiDrivers()[0].Allocatable.Count == want }
	}
	served.set(func() { served.about.MaxVolumes = 6 })
	assert.NoError(t, m.Recount(t.Context(), "d"), "A-CSI-2 recount")
	m.await("the count of Recount", count(6))
	assert.Error(t, "driver name other not found in the list of registered CSI drivers", m.Recount(t.Context(), "other"), "recount of another")
	served.set(func() { served.about.MaxVolumes = 7 })
	assert.Must(t, assert.ErrorOf(m.client.StorageV1().CSIDrivers().Update(t.Context(), newCSIDriver("d", new(int64(1))), metav1.UpdateOptions{})))
	m.await("the count by period", count(7))
	m.Deregister("d", served.endpoint)
	m.await("the end of the periods", func() bool { return len(m.periods()) == 0 })
}

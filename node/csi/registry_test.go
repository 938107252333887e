package csi

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/devices"
)

var _ devices.PluginHandler = (*Registry)(nil)

// TestValidate: A-CSI-1.
func TestValidate(t *testing.T) {
	m := csidriverNewMachine(t, csiTestNode("uid-1", nil))
	assert.Must(t, m.Register(t.Context(), "d", serve(t, DriverOnNode{NodeID: "n-1"}).endpoint, []string{"0.3.0", "1.4.0", "2.0.0"}))
	for _, tc := range []struct {
		name, endpoint string
		versions       []string
		want           string
	}{
		{"d", "/e", []string{"1.4.0"}, ""},
		{"d", "/e", []string{"1.5.0"}, ""},
		{"other", "/e", []string{"1.0.0"}, ""},
		{
			"d", "/e", []string{"1.3.9"},
			`validation failed for CSI Driver d at endpoint /e: kubernetes.io/csi: ValidatePlugin for CSI driver "d" failed. ` +
				`Another driver with the same name is already registered with a higher supported version: "1.4.0"`,
		},
		{
			"d", "/e", nil,
			`validation failed for CSI Driver d at endpoint /e: kubernetes.io/csi: ValidatePlugin for CSI driver "d" failed. ` +
				`Plugin returned an empty list for supported versions`,
		},
		{
			"d", "/e", []string{"2.0.0"},
			`validation failed for CSI Driver d at endpoint /e: kubernetes.io/csi: ValidatePlugin for CSI driver "d" failed. ` +
				`None of the versions specified ["2.0.0"] are supported. err=could not find a highest supported version from versions ([2.0.0]) reported: <nil>`,
		},
		{
			"d", "/e", []string{"0.3.0"},
			`validation failed for CSI Driver d at endpoint /e: kubernetes.io/csi: ValidatePlugin for CSI driver "d" failed. ` +
				`None of the versions specified ["0.3.0"] are supported. err=highest supported version reported is 0.3.0, must be v1.x`,
		},
	} {
		got := ""
		if err := m.Validate(tc.name, tc.endpoint, tc.versions); err != nil {
			got = err.Error()
		}
		assert.True(t, got == tc.want, "A-CSI-1 %s %v: %q\nwant %q", tc.name, tc.versions, got, tc.want)
	}
	d := assert.Get(m.Driver("d")).Must(t)
	assert.NoError(t, m.Validate("d", d.endpoint, []string{"1.0.0"}), "A-CSI-1 an older driver on the same socket")
}

// TestReplaced: a driver takes the place of another one of its name, of which the end changes
// nothing then (A-CSI-1).
func TestReplaced(t *testing.T) {
	m := csidriverNewMachine(t, csiTestNode("uid-1", nil))
	older, newer := serve(t, DriverOnNode{NodeID: "older"}), serve(t, DriverOnNode{NodeID: "newer"})
	m.register("d", older)
	first, err := m.Driver("d")
	assert.Require(t, err == nil && first.name == "d" && first.nodeID == "older", "driver %v, %v", first, err)
	begun, goOn := make(chan struct{}), make(chan struct{})
	older.set(func() {
		older.answer = func(context.Context) error { close(begun); <-goOn; return nil }
	})
	staged := make(chan error)
	go func() {
		_, err := first.node().NodeStageVolume(context.Background(), &csi.NodeStageVolumeRequest{VolumeId: "v", StagingTargetPath: "/p"})
		staged <- err
	}()
	<-begun
	m.register("d", newer)
	wantID := func(want string) {
		t.Helper()
		d, err := m.Driver("d")
		assert.True(t, err == nil && d.nodeID == want, "A-CSI-1 driver %v, %v, want %s", d, err, want)
		m.await("node ID "+want, func() bool {
			all := m.csiDrivers()
			return len(all) == 1 && all[0].NodeID == want && m.nodeObject().Annotations["csi.volume.kubernetes.io/nodeid"] == `{"d":"`+want+`"}`
		})
	}
	wantID("newer")
	close(goOn)
	assert.NoError(t, <-staged, "A-CSI-1 a call that was under way")
	m.Deregister("d", older.endpoint)
	wantID("newer")
	older.set(func() { older.answer = nil })
	m.register("d", older)
	wantID("older")
	m.Deregister("d", older.endpoint) // the other one is still there
	wantID("newer")
	m.Deregister("d", newer.endpoint)
	assert.Error(t, "driver name d not found in the list of registered CSI drivers", assert.ErrorOf(m.Driver("d")), "A-CSI-1 after the last one")
	m.Deregister("d", newer.endpoint) // it is gone already
	m.await("the end of all", func() bool {
		_, has := m.nodeObject().Annotations["csi.volume.kubernetes.io/nodeid"]
		return len(m.csiDrivers()) == 0 && !has
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	assert.True(t, m.changes == 6, "A-CSI-1 told %d times of changes, want 6", m.changes)
}

// TestRegisterFails: a driver that can't be asked, or says what can't be so, is not used
// (A-CSI-1, A-CSI-2).
func TestRegisterFails(t *testing.T) {
	for name, tc := range map[string]struct {
		says    DriverOnNode
		infoErr error
		want    string
	}{
		"an error":   {infoErr: status.Error(codes.Internal, "no metadata"), want: "rpc error: code = Internal desc = no metadata"},
		"no node ID": {want: "error adding CSI driver node info: driverNodeID must not be empty"},
		"other zone": {
			says: DriverOnNode{NodeID: "n-1", Topology: map[string]string{"zone": "b"}},
			want: `error updating Node object with CSI driver node info: detected topology value collision: driver reported "zone":"b" but existing label is "zone":"a"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := csidriverNewMachine(t, csiTestNode("uid-1", map[string]string{"zone": "a"}))
			driver := serve(t, tc.says)
			driver.infoErr = tc.infoErr
			err := m.Register(t.Context(), "d", driver.endpoint, []string{"1.0.0"})
			assert.Error(t, tc.want, err, "A-CSI-2")
			assert.Fails(t, assert.ErrorOf(m.Driver("d")), "A-CSI-1 it is used")
			m.await("the CSINode without it", func() bool { return m.Node.NotReady() == nil && len(m.csiDrivers()) == 0 })
			ids := m.nodeObject().Annotations["csi.volume.kubernetes.io/nodeid"]
			assert.True(t, !strings.Contains(ids, "d"), "annotation %s", ids)
		})
	}
	m := csidriverNewMachine(t, csiTestNode("uid-1", nil))
	err := m.Register(t.Context(), "d", "/nonexistent/csi.sock", []string{"1.0.0"})
	assert.True(t, status.Code(err) == codes.Unavailable, "A-CSI-1 without a socket: %v", err)
	ended, end := context.WithCancel(t.Context())
	end()
	err = m.Register(ended, "d", "/nonexistent/csi.sock", []string{"1.0.0"})
	assert.True(t, status.Code(err) == codes.Canceled || errors.Is(err, context.Canceled), "at the end: %v", err)
}

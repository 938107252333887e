package csi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/lifepod/lifepod/internal/assert"
)

// oneOfEach are calls of each kind, by name. Their requests are whole.
func oneOfEach(ctx context.Context, d *Driver) map[string]func() error {
	secrets, node := map[string]string{"password": "hush"}, d.node()
	return map[string]func() error{
		"Capabilities": func() error { _, err := d.Capabilities(ctx); return err },
		"Stage": func() error {
			_, err := node.NodeStageVolume(ctx, &csi.NodeStageVolumeRequest{VolumeId: "v", StagingTargetPath: "/staged", Secrets: secrets})
			return err
		},
		"Unstage": func() error {
			_, err := node.NodeUnstageVolume(ctx, &csi.NodeUnstageVolumeRequest{VolumeId: "v", StagingTargetPath: "/staged"})
			return err
		},
		"Publish": func() error {
			_, err := node.NodePublishVolume(ctx, &csi.NodePublishVolumeRequest{VolumeId: "v", TargetPath: "/target", Secrets: secrets})
			return err
		},
		"Unpublish": func() error {
			_, err := node.NodeUnpublishVolume(ctx, &csi.NodeUnpublishVolumeRequest{VolumeId: "v", TargetPath: "/target"})
			return err
		},
		"Expand": func() error {
			answer, err := node.NodeExpandVolume(ctx, &csi.NodeExpandVolumeRequest{VolumeId: "v", VolumePath: "/target", Secrets: secrets})
			if err == nil && answer.GetCapacityBytes() != 1<<20 {
				return fmt.Errorf("%d bytes", answer.GetCapacityBytes())
			}
			return err
		},
		"Stats": func() error {
			stats, err := node.NodeGetVolumeStats(ctx, &csi.NodeGetVolumeStatsRequest{VolumeId: "v", VolumePath: "/target"})
			if err == nil && stats.GetUsage()[0].Total != 7 {
				return fmt.Errorf("stats %v", stats)
			}
			return err
		},
	}
}

// TestCalls: each reaches the driver as it is, also after the driver has restarted, and its
// error comes back; secrets are nowhere else (A-CSI-3).
func TestCalls(t *testing.T) {
	m := csidriverNewMachine(t, csiTestNode("uid-1", nil))
	served := serve(t, DriverOnNode{NodeID: "n-1", MaxVolumes: 7})
	m.register("d", served)
	d, err := m.Driver("d")
	assert.Require(t, err == nil && d.maxVolumes.Load() == 7, "driver %v, %v", d, err)
	served.server.Stop()
	served.start(t, served)
	for name, call := range oneOfEach(t.Context(), d) {
		served.set(func() { served.requests, served.answer = nil, nil })
		if err := call(); err != nil || len(served.requests) != 1 {
			t.Errorf("A-CSI-3 %s: %v, requests %v", name, err, served.requests)
		}
		served.set(func() {
			served.answer = func(context.Context) error { return status.Error(codes.NotFound, "no such volume") }
		})
		err := call()
		assert.True(t, status.Code(err) == codes.NotFound && err.Error() == "rpc error: code = NotFound desc = no such volume",
			"A-CSI-3 %s: error %v", name, err)
		assert.True(t, !strings.Contains(m.log.text()+err.Error(), "hush"), "A-CSI-3 %s: a secret in %s%v", name, m.log.text(), err)
	}
	served.set(func() { served.requests, served.answer = nil, nil })
	want := &csi.NodePublishVolumeRequest{
		VolumeId: "v", TargetPath: "/target", StagingTargetPath: "/staged", Readonly: true,
		VolumeContext: map[string]string{"a": "b"}, Secrets: map[string]string{"password": "hush"},
	}
	_ = assert.Get(d.node().NodePublishVolume(t.Context(), want)).Must(t)
	assert.Deep(t, "A-CSI-3 request", []any{want}, served.requests, protocmp.Transform())
}

// TestCapabilities: A-CSI-3.
func TestCapabilities(t *testing.T) {
	m := csidriverNewMachine(t, csiTestNode("uid-1", nil))
	served := serve(t, DriverOnNode{NodeID: "n-1"})
	m.register("d", served)
	d := assert.Get(m.Driver("d")).Must(t)
	for _, tc := range []struct {
		can  []csi.NodeServiceCapability_RPC_Type
		want Capabilities
	}{
		{nil, Capabilities{}},
		{[]csi.NodeServiceCapability_RPC_Type{csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME}, Capabilities{StageUnstage: true}},
		{[]csi.NodeServiceCapability_RPC_Type{csi.NodeServiceCapability_RPC_GET_VOLUME_STATS}, Capabilities{VolumeStats: true}},
		{[]csi.NodeServiceCapability_RPC_Type{csi.NodeServiceCapability_RPC_EXPAND_VOLUME}, Capabilities{Expand: true}},
		{[]csi.NodeServiceCapability_RPC_Type{csi.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER}, Capabilities{SingleNodeMultiWriter: true}},
		{[]csi.NodeServiceCapability_RPC_Type{csi.NodeServiceCapability_RPC_VOLUME_MOUNT_GROUP, 99}, Capabilities{MountGroup: true}},
	} {
		served.set(func() { served.can = tc.can })
		got, err := d.Capabilities(t.Context())
		assert.True(t, err == nil && got == tc.want, "A-CSI-3 %v: %+v, %v", tc.can, got, err)
	}
}

// TestIncomplete: what a request lacks is said before any driver is called (A-CSI-3).
func TestIncomplete(t *testing.T) {
	node, ctx := (&Driver{endpoint: "/nonexistent"}).node(), t.Context()
	staged := func(r *csi.NodeStageVolumeRequest) error { _, err := node.NodeStageVolume(ctx, r); return err }
	unstaged := func(r *csi.NodeUnstageVolumeRequest) error { _, err := node.NodeUnstageVolume(ctx, r); return err }
	published := func(r *csi.NodePublishVolumeRequest) error { _, err := node.NodePublishVolume(ctx, r); return err }
	unpublished := func(r *csi.NodeUnpublishVolumeRequest) error { _, err := node.NodeUnpublishVolume(ctx, r); return err }
	grown := func(r *csi.NodeExpandVolumeRequest) error { _, err := node.NodeExpandVolume(ctx, r); return err }
	stats := func(r *csi.NodeGetVolumeStatsRequest) error { _, err := node.NodeGetVolumeStats(ctx, r); return err }
	for _, tc := range []struct {
		err  error
		want string
	}{
		{staged(&csi.NodeStageVolumeRequest{}), "missing volume id"},
		{staged(&csi.NodeStageVolumeRequest{VolumeId: "v"}), "missing staging target path"},
		{unstaged(&csi.NodeUnstageVolumeRequest{StagingTargetPath: "/p"}), "missing volume id"},
		{unstaged(&csi.NodeUnstageVolumeRequest{VolumeId: "v"}), "missing staging target path"},
		{published(&csi.NodePublishVolumeRequest{TargetPath: "/p"}), "missing volume id"},
		{published(&csi.NodePublishVolumeRequest{VolumeId: "v"}), "missing target path"},
		{unpublished(&csi.NodeUnpublishVolumeRequest{TargetPath: "/p"}), "missing volume id"},
		{unpublished(&csi.NodeUnpublishVolumeRequest{VolumeId: "v"}), "missing target path"},
		{grown(&csi.NodeExpandVolumeRequest{}), "missing volume id"},
		{grown(&csi.NodeExpandVolumeRequest{VolumeId: "v"}), "missing volume path"},
		{grown(&csi.NodeExpandVolumeRequest{VolumeId: "v", VolumePath: "/p", CapacityRange: &csi.CapacityRange{RequiredBytes: -1}}), "size can not be less than 0"},
		{stats(&csi.NodeGetVolumeStatsRequest{}), "missing volume id"},
		{stats(&csi.NodeGetVolumeStatsRequest{VolumeId: "v"}), "missing target path"},
	} {
		assert.Error(t, tc.want, tc.err, "A-CSI-3")
	}
}

// TestFinal: A-CSI-3.
func TestFinal(t *testing.T) {
	uncertain := map[codes.Code]bool{
		codes.Canceled: true, codes.DeadlineExceeded: true, codes.Unavailable: true, codes.ResourceExhausted: true, codes.Aborted: true,
	}
	for code := codes.Code(1); code <= codes.Unauthenticated; code++ {
		err := fmt.Errorf("stage: %w", status.Error(code, "why"))
		got := Final(err)
		assert.True(t, got != uncertain[code], "A-CSI-3 %v is final: %v", code, got)
	}
	assert.True(t, !Final(errors.New("missing volume id")), "A-CSI-3 an error before the call is final")
	gone := &Driver{name: "d", endpoint: "/nonexistent/csi.sock"}
	unpublish := &csi.NodeUnpublishVolumeRequest{VolumeId: "v", TargetPath: "/p"}
	_, err := gone.node().NodeUnpublishVolume(t.Context(), unpublish)
	assert.True(t, err != nil && !Final(err), "A-CSI-3 without a socket: %v", err)
	m := csidriverNewMachine(t, csiTestNode("uid-1", nil))
	served := serve(t, DriverOnNode{NodeID: "n-1"})
	m.register("d", served)
	hangs, hung := context.WithCancel(t.Context())
	served.set(func() { served.answer = func(ctx context.Context) error { hung(); <-ctx.Done(); return ctx.Err() } })
	d := assert.Get(m.Driver("d")).Must(t)
	_, err = d.node().NodeUnpublishVolume(hangs, unpublish)
	assert.True(t, status.Code(err) == codes.Canceled && !Final(err), "A-CSI-3 a call that was given up: %v", err)
}

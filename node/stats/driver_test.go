package stats

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/lifepod/lifepod/internal/assert"
)

type ofDriver func(ctx context.Context, pod types.UID, name string) (*csi.NodeGetVolumeStatsResponse, error)

// newDriverStats are of a pod with a claim and with an inline volume.
func newDriverStats(ask ofDriver) *Stats {
	s := newStats(&stub{})
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u"}, Spec: v1.PodSpec{Volumes: []v1.Volume{
		{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "claim"}}},
		{Name: "own", VolumeSource: v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: "d"}}},
	}}}
	bound := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
	bound.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: "d"}
	s.VolumePeriod = time.Minute
	s.Pods.List = func() []*v1.Pod { return []*v1.Pod{pod} }
	s.Pods.Bound = func(context.Context, *v1.Pod, *v1.Volume) (*v1.PersistentVolume, error) { return bound, nil }
	s.Pods.OfDriver = ask
	return s
}

func (s *Stats) ofPod(ctx context.Context) []statsapi.VolumeStats {
	list := []statsapi.VolumeStats{}
	for _, v := range s.sizes(ctx, map[types.UID]*v1.Pod{"u": s.Pods.List()[0]}, isMeasured)["u"] {
		v.stats.Time = metav1.Time{}
		list = append(list, v.stats)
	}
	return list
}

func fsOf(capacity, used uint64) statsapi.FsStats {
	return statsapi.FsStats{
		CapacityBytes: &capacity, UsedBytes: &used, AvailableBytes: new(capacity - used), Inodes: new(uint64), InodesUsed: new(uint64), InodesFree: new(uint64),
	}
}

func bytesUsed(capacity, used int64) []*csi.VolumeUsage {
	return []*csi.VolumeUsage{{Unit: csi.VolumeUsage_BYTES, Total: capacity, Used: used, Available: capacity - used}}
}

// TestFiguresOfDrivers: the figures of volumes are those of their drivers; an answer without any is an
// error (A-CSI-16).
func TestFiguresOfDrivers(t *testing.T) {
	answers := map[string]*csi.NodeGetVolumeStatsResponse{"pv": {Usage: bytesUsed(100, 30)}, "own": {}}
	s := newDriverStats(func(_ context.Context, _ types.UID, name string) (*csi.NodeGetVolumeStatsResponse, error) {
		return answers[name], nil
	})
	asked := make(chan string, 2)
	s.Measured = func(source string, _ time.Duration) { asked <- source }
	claim := &statsapi.PVCReference{Name: "claim", Namespace: "ns"}
	want := []statsapi.VolumeStats{{Name: "data", PVCRef: claim, FsStats: fsOf(100, 30)}}
	assert.Deep(t, "figures", want, s.ofPod(t.Context()))
	if sources := []string{<-asked, <-asked}; sources[0] != "d" || sources[1] != "d" {
		t.Errorf("A-VOL-8: measured by %q", sources)
	}
}

// TestDriverThatHangs holds up the first answer for a moment, and no other volume (A-CSI-16).
func TestDriverThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		released := make(chan struct{})
		s := newDriverStats(func(_ context.Context, _ types.UID, name string) (*csi.NodeGetVolumeStatsResponse, error) {
			if name == "pv" {
				<-released
			}
			return &csi.NodeGetVolumeStatsResponse{Usage: bytesUsed(7, 0)}, nil
		})
		for _, waits := range []time.Duration{sizePatience, 0, 0} {
			began := time.Now()
			if list := s.ofPod(t.Context()); len(list) != 1 || list[0].Name != "own" {
				t.Errorf("volumes: %+v", list)
			}
			assert.Equal(t, waits, time.Since(began), "the answer took")
		}
		close(released)
		synctest.Wait()
		if list := s.ofPod(t.Context()); len(list) != 2 {
			t.Errorf("volumes: %+v", list)
		}
	})
}

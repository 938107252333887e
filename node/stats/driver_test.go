package stats

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
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

// TestFiguresOfDrivers: the figures of volumes are those of their drivers; how volumes are is reported
// where somebody wants to know (A-CSI-16).
func TestFiguresOfDrivers(t *testing.T) {
	answers := map[string]*csi.NodeGetVolumeStatsResponse{
		"pv":  {Usage: bytesUsed(100, 30), VolumeCondition: &csi.VolumeCondition{Abnormal: true, Message: "it is on fire"}},
		"own": {VolumeCondition: &csi.VolumeCondition{}},
	}
	ask := func(_ context.Context, _ types.UID, name string) (*csi.NodeGetVolumeStatsResponse, error) {
		return answers[name], nil
	}
	s := newDriverStats(ask)
	asked := make(chan string, 2)
	s.Measured = func(source string, _ time.Duration) { asked <- source }
	claim := &statsapi.PVCReference{Name: "claim", Namespace: "ns"}
	want := []statsapi.VolumeStats{{Name: "data", PVCRef: claim, FsStats: fsOf(100, 30)}}
	if diff := cmp.Diff(want, s.ofPod(t.Context())); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
	if sources := []string{<-asked, <-asked}; sources[0] != "d" || sources[1] != "d" {
		t.Errorf("A-VOL-8: measured by %q", sources)
	}
	const metric = "kubelet_volume_stats_health_status_abnormal"
	if count := countOf(t, s, metric); count != 0 {
		t.Errorf("%s is told %d times", metric, count)
	}

	text := ""
	s = newDriverStats(ask)
	s.Abnormal = func(_ *v1.Pod, message string) { text = message }
	want[0].VolumeHealthStats = &statsapi.VolumeHealthStats{Abnormal: true}
	want = append(want, statsapi.VolumeStats{Name: "own", FsStats: fsOf(0, 0), VolumeHealthStats: &statsapi.VolumeHealthStats{}})
	if diff := cmp.Diff(want, s.ofPod(t.Context())); diff != "" {
		t.Errorf("with health (-want +got):\n%s", diff)
	}
	if text != "Volume data: it is on fire" {
		t.Errorf("told %q", text)
	}
	if count := countOf(t, s, metric); count != 1 {
		t.Errorf("%s is told %d times", metric, count)
	}
}

func countOf(t *testing.T, s *Stats, metric string) int {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(s)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == metric {
			return len(family.Metric)
		}
	}
	return 0
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
			if took := time.Since(began); took != waits {
				t.Errorf("the answer took %v, want %v", took, waits)
			}
		}
		close(released)
		synctest.Wait()
		if list := s.ofPod(t.Context()); len(list) != 2 {
			t.Errorf("volumes: %+v", list)
		}
	})
}

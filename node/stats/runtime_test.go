package stats

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/assert"
)

// stub has one pod with one container.
type stub struct {
	runtimeapi.RuntimeServiceClient
	asked   atomic.Int32
	podErr  error
	takes   time.Duration
	listErr error
}

func (r *stub) ListPodSandbox(context.Context, *runtimeapi.ListPodSandboxRequest, ...grpc.CallOption) (*runtimeapi.ListPodSandboxResponse, error) {
	return &runtimeapi.ListPodSandboxResponse{Items: []*runtimeapi.PodSandbox{
		{Id: "s", Metadata: &runtimeapi.PodSandboxMetadata{Name: "p", Namespace: "ns", Uid: "u"}, Labels: map[string]string{cri.PodUIDLabel: "u"}},
		{Id: "foreign", Metadata: &runtimeapi.PodSandboxMetadata{Name: "f", Namespace: "ns", Uid: "f"}, Labels: map[string]string{cri.PodUIDLabel: "f"}},
	}}, r.listErr
}

func (r *stub) ListContainers(context.Context, *runtimeapi.ListContainersRequest, ...grpc.CallOption) (*runtimeapi.ListContainersResponse, error) {
	return &runtimeapi.ListContainersResponse{Containers: []*runtimeapi.Container{
		{Id: "c", PodSandboxId: "s", Metadata: &runtimeapi.ContainerMetadata{Name: "main"}, CreatedAt: 5e9},
	}}, nil
}

func (r *stub) stats() []*runtimeapi.ContainerStats {
	number := func(v uint64) *runtimeapi.UInt64Value { return &runtimeapi.UInt64Value{Value: v} }
	of := func(id string) *runtimeapi.ContainerStats {
		return &runtimeapi.ContainerStats{
			Attributes: &runtimeapi.ContainerAttributes{Id: id, Metadata: &runtimeapi.ContainerMetadata{Name: "main"}},
			Cpu:        &runtimeapi.CpuUsage{Timestamp: 9e9, UsageCoreNanoSeconds: number(2e9)},
			Memory:     &runtimeapi.MemoryUsage{Timestamp: 9e9, WorkingSetBytes: number(1000)},
		}
	}
	return []*runtimeapi.ContainerStats{of("c"), of("ended")}
}

func (r *stub) ListPodSandboxStats(context.Context, *runtimeapi.ListPodSandboxStatsRequest, ...grpc.CallOption) (*runtimeapi.ListPodSandboxStatsResponse, error) {
	r.asked.Add(1)
	time.Sleep(r.takes)
	if r.podErr != nil {
		return nil, r.podErr
	}
	return &runtimeapi.ListPodSandboxStatsResponse{Stats: []*runtimeapi.PodSandboxStats{r.ofPod("s"), r.ofPod("foreign"), r.ofPod("gone")}}, nil
}

func (r *stub) ofPod(id string) *runtimeapi.PodSandboxStats {
	return &runtimeapi.PodSandboxStats{
		Attributes: &runtimeapi.PodSandboxAttributes{Id: id},
		Linux:      &runtimeapi.LinuxPodSandboxStats{Containers: r.stats(), Cpu: r.stats()[0].Cpu, Memory: r.stats()[0].Memory},
	}
}

func (r *stub) PodSandboxStats(_ context.Context, in *runtimeapi.PodSandboxStatsRequest, _ ...grpc.CallOption) (*runtimeapi.PodSandboxStatsResponse, error) {
	if in.PodSandboxId != "s" {
		return nil, r.podErr
	}
	return &runtimeapi.PodSandboxStatsResponse{Stats: r.ofPod("s")}, nil
}

func (r *stub) ListContainerStats(context.Context, *runtimeapi.ListContainerStatsRequest, ...grpc.CallOption) (*runtimeapi.ListContainerStatsResponse, error) {
	return &runtimeapi.ListContainerStatsResponse{Stats: r.stats()}, nil
}

func newStats(r *stub) *Stats {
	return New(Config{
		NodeName: "node", Runtime: r, Measured: func(string, time.Duration) {}, Log: slog.New(slog.DiscardHandler),
		Pods: Pods{Foreign: func(uid types.UID) bool { return uid == "f" }, List: func() []*v1.Pod { return nil }},
	})
}

func get(h http.Handler) string {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	return w.Body.String()
}

// TestResourceMetrics: with a runtime that tells of pods, with one that tells of containers only, and with
// one that tells of no pod because of one.
func TestResourceMetrics(t *testing.T) {
	for name, err := range map[string]error{
		"pods": nil, "containers only": status.Error(codes.Unimplemented, "no"), "each pod alone": status.Error(codes.Unknown, `sandbox "x" has no cgroup parent`),
	} {
		got := get(newStats(&stub{podErr: err}).ResourceHandler())
		for _, want := range []string{
			`container_cpu_usage_seconds_total{container="main",namespace="ns",pod="p"} 2 9000`,
			`container_memory_working_set_bytes{container="main",namespace="ns",pod="p"} 1000 9000`,
			`container_start_time_seconds{container="main",namespace="ns",pod="p"} 5` + "\n",
			`pod_cpu_usage_seconds_total{namespace="ns",pod="p"} 2 9000`,
			`pod_memory_working_set_bytes{namespace="ns",pod="p"} 1000 9000`,
			"resource_scrape_error 0", "\nnode_cpu_usage_seconds_total ", "\nnode_memory_working_set_bytes ",
		} {
			assert.True(t, strings.Contains(got, want), "%s: no %q in\n%s", name, want, got)
		}
		assert.True(t, !strings.Contains(got, `pod="f"`) && strings.Count(got, "container_start_time_seconds{") == 1,
			"%s: another's pod, or a container that ended:\n%s", name, got)
	}
}

func TestRuntimeThatFails(t *testing.T) {
	away := newStats(&stub{podErr: status.Error(codes.Unavailable, "away")})
	got := get(away.ResourceHandler())
	assert.True(t, strings.Contains(got, "resource_scrape_error 1"), "a runtime that is away is asked for each pod: %s", got)
	s := newStats(&stub{listErr: status.Error(codes.Unavailable, "away")})
	got = get(s.ResourceHandler())
	assert.True(t, strings.Contains(got, "resource_scrape_error 1"), "metrics: %s", got)
	assert.Equal(t, "Internal Error: list the runtime's sandboxes: away\n", get(s.SummaryHandler()), "summary")
}

// TestScrapesShareAnAnswer: many who ask at the same time cost what one costs, and
// one of them that gives up takes nothing from the others.
func TestScrapesShareAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &stub{takes: time.Second}
		s := newStats(r)
		given, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			assert.Fails(t, assert.ErrorOf(s.running(given)), "who has given up got an answer")
		})
		for range 10 {
			all.Go(func() {
				found, err := s.running(t.Context())
				assert.True(t, err == nil && len(found) == 1, "%d pods, %v", len(found), err)
			})
		}
		time.Sleep(time.Millisecond)
		cancel()
		all.Wait()
		got := r.asked.Load()
		assert.True(t, got == 1, "the runtime was asked %d times", got)
		_, err := s.running(t.Context())
		assert.True(t, err == nil && r.asked.Load() == 2, "a later one: asked %d times, %v", r.asked.Load(), err)

		all.Go(func() { _, _ = s.running(t.Context()) })
		time.Sleep(r.takes / 2)
		began := time.Now()
		for range 10 {
			all.Go(func() {
				if _, err := s.running(t.Context()); err != nil || time.Since(began) != r.takes/2+r.takes {
					t.Errorf("who asked meanwhile has an answer after %s (%v), so one to a question before", time.Since(began), err)
				}
			})
		}
		all.Wait()
		got = r.asked.Load()
		assert.True(t, got == 4, "the runtime was asked %d times, not once more for all", got)
	})
}

// TestVolumesAreMeasuredSeldom: once a period, and not at all while nobody asks; how long it takes is
// counted (A-VOL-8).
func TestVolumesAreMeasuredSeldom(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "u", "volumes", "kubernetes.io~empty-dir", "data")
	assert.Must(t, os.MkdirAll(folder, 0o755))
	write := func(name string) {
		assert.Must(t, os.WriteFile(filepath.Join(folder, name), make([]byte, 8192), 0o600))
	}
	write("one")
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}}
	pod.Spec.Volumes = []v1.Volume{
		{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
		{Name: "host", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/"}}},
		{Name: "not-made", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}},
	}
	pods := map[types.UID]*v1.Pod{"u": pod}
	s := newStats(&stub{})
	s.Pods.Dir, s.VolumePeriod = dir, time.Hour
	measured := 0
	s.Measured = func(source string, _ time.Duration) {
		assert.Equal(t, "du", source, "measured by")
		measured++
	}
	inodes := func() uint64 {
		sizes := s.sizes(t.Context(), pods, isMeasured)["u"]
		assert.Require(t, len(sizes) == 1 && sizes[0].stats.Name == "data" && sizes[0].ephemeral, "sizes %+v", sizes)
		return *sizes[0].stats.InodesUsed
	}
	first := inodes()
	write("two")
	got := inodes()
	assert.True(t, first == 2 && got == first && measured == 1, "%d inodes, then %d within the period, measured %d times", first, got, measured)
	s.VolumePeriod = 0
	got = inodes()
	assert.True(t, got == 3, "%d inodes after the period", got)
	s.volumes.forget(map[types.UID]*v1.Pod{})
	assert.True(t, len(s.volumes.of) == 0, "sizes stay of a pod that is gone")
	s.VolumePeriod = -1
	if got := s.sizes(t.Context(), pods, isMeasured); got != nil {
		t.Errorf("turned off: %v", got)
	}
}

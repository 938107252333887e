package devices

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	kubeletconfig "k8s.io/kubelet/config/v1beta1"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/stats"
	"github.com/lifepod/lifepod/roster/numa"
)

// A-NUMA-19: what pods ask for and get is counted as the kubelet counts it.
func TestResourceCounts(t *testing.T) {
	for _, scope := range numa.Scopes {
		t.Run(scope, func(t *testing.T) {
			alignedBy(t, scope)
		})
	}
}

func alignedBy(t *testing.T, scope string) {
	counts := stats.NewMetrics(stats.MetricsConfig{Log: slog.New(slog.DiscardHandler)})
	var of *stats.ManagerCounts
	r := mustOpen(t, t.TempDir(), func(k *kubeletconfig.KubeletConfiguration) {
		k.TopologyManagerPolicy, k.TopologyManagerScope = numa.SingleNUMANode, scope
		k.CPUManagerPolicyOptions = map[string]string{"full-pcpus-only": "true"}
		of = counts.Managers(k)
	})
	r.config.Counts = of
	counts.CPUs(r.Figures)
	admitted(t, r, guaranteed("a", "2", "600Mi"))
	admitted(t, r, guaranteed("b", "3", "64Mi"))
	admitted(t, r, guaranteed("shares", "1500m", "64Mi"))
	got := r.Allocate(t.Context(), guaranteed("c", "5", "64Mi"))
	assert.True(t, got.Refusal != nil, "a pod that is near to nothing is admitted")
	w := httptest.NewRecorder()
	counts.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	page := w.Body.String()
	for _, line := range []string{
		"kubelet_cpu_manager_pinning_requests_total 2", "kubelet_cpu_manager_pinning_errors_total 0",
		"kubelet_memory_manager_pinning_requests_total 3", "kubelet_memory_manager_pinning_errors_total 0",
		"kubelet_topology_manager_admission_requests_total 4", "kubelet_topology_manager_admission_errors_total 1",
		"kubelet_topology_manager_admission_duration_ms_count 4",
		"kubelet_cpu_manager_shared_pool_size_millicores 2000", "kubelet_cpu_manager_exclusive_cpu_allocation_count 5",
		`kubelet_cpu_manager_allocation_per_numa{numa_node="0"} 2`, `kubelet_cpu_manager_allocation_per_numa{numa_node="1"} 3`,
		`kubelet_container_aligned_compute_resources_count{boundary="numa_node",scope="` + scope + `"} 3`,
		`kubelet_container_aligned_compute_resources_failure_count{boundary="numa_node",scope="` + scope + `"} 1`,
		`kubelet_container_aligned_compute_resources_count{boundary="physical_cpu",scope="container"} 2`,
		`kubelet_container_aligned_compute_resources_failure_count{boundary="physical_cpu",scope="container"} 0`,
		`kubelet_container_aligned_compute_resources_count{boundary="uncore_cache",scope="container"} 2`,
	} {
		assert.True(t, strings.Contains(page, "\n"+line+"\n"), "no line %s", line)
	}
	if t.Failed() {
		for line := range strings.Lines(page) {
			if strings.HasPrefix(line, "kubelet_") && !strings.Contains(line, "_bucket") {
				t.Log(strings.TrimSpace(line))
			}
		}
	}
}

// A-NUMA-19: who could not have CPUs, is an error of the CPU manager's.
func TestCountsErrors(t *testing.T) {
	counts := stats.NewMetrics(stats.MetricsConfig{Log: slog.New(slog.DiscardHandler)})
	r := mustOpen(t, t.TempDir(), nil)
	of := counts.Managers(kubelet(nil))
	r.config.Counts = of
	counts.CPUs(r.Figures)
	got := r.Allocate(t.Context(), guaranteed("a", "8", "64Mi"))
	assert.True(t, got.Refusal != nil, "a pod has the reserved CPUs, too")
	w := httptest.NewRecorder()
	counts.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	for _, line := range []string{"kubelet_cpu_manager_pinning_requests_total 1", "kubelet_cpu_manager_pinning_errors_total 1", "kubelet_topology_manager_admission_errors_total 1"} {
		assert.True(t, strings.Contains(w.Body.String(), "\n"+line+"\n"), "no line %s", line)
	}
}

// counts are what was counted, by resource.
type counts []string

func (c *counts) PluginRegisters(resource string) { *c = append(*c, resource+" registers") }

func (c *counts) PluginAllocated(resource string, took time.Duration) {
	*c = append(*c, fmt.Sprint(resource, " allocated ", took > 0))
}

// A-DEV-16: each request to register is counted, and how long each Allocate takes.
func TestCounts(t *testing.T) {
	c := &counts{}
	n := begin(t, folder(t), func(config *Config) { config.Counts = c })
	assert.Fails(t, n.register(&api.RegisterRequest{Version: "v1alpha", ResourceName: gpu}), "a plugin of another version registers")
	n.healthy("a.sock", "g0")
	n.given(podOf("first", "1"))
	want := (counts{gpu + " registers", gpu + " registers", gpu + " allocated true"})
	assert.True(t, slices.Equal(*c, want), "A-DEV-16: counted %q", *c)
}

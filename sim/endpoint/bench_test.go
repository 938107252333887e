package endpoint

import (
	"fmt"
	"runtime"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/sim/choice"
	"github.com/lifepod/lifepod/sim/scenario"
)

// BenchmarkPods runs as many pods as it is told to (-benchtime 10000x), each with a container
// that runs on, and says what each takes: a sandbox, a container, its start, and then its list.
func BenchmarkPods(b *testing.B) {
	var instantly []scenario.Call
	for _, name := range []string{"CreateSandbox", "CreateContainer", "StartContainer"} {
		instantly = append(instantly, scenario.Call{Call: name, Takes: scenario.Fixed(0)})
	}
	scenarios, err := choice.Of(choice.Named{Scenario: &scenario.Scenario{Calls: instantly}})
	if err != nil {
		b.Fatal(err)
	}
	r, err := Runtime(Options{Scenarios: scenarios})
	if err != nil {
		b.Fatal(err)
	}
	before, goroutines := held(), runtime.NumGoroutine()
	b.ResetTimer()
	for i := range b.N {
		uid := fmt.Sprintf("uid-%d", i)
		config := &runtimeapi.PodSandboxConfig{
			Metadata: &runtimeapi.PodSandboxMetadata{Name: fmt.Sprintf("p%d", i), Namespace: "default", Uid: uid}, LogDirectory: "/nowhere",
			Labels: map[string]string{cri.PodUIDLabel: uid},
		}
		s, err := r.RunPodSandbox(b.Context(), &runtimeapi.RunPodSandboxRequest{Config: config})
		if err != nil {
			b.Fatal(err)
		}
		c, err := r.CreateContainer(b.Context(), &runtimeapi.CreateContainerRequest{PodSandboxId: s.PodSandboxId, SandboxConfig: config, Config: &runtimeapi.ContainerConfig{
			Metadata: &runtimeapi.ContainerMetadata{Name: "main"}, LogPath: "main.log", Labels: config.Labels,
		}})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := r.StartContainer(b.Context(), &runtimeapi.StartContainerRequest{ContainerId: c.ContainerId}); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	if r.Running() != b.N {
		b.Fatalf("%d containers run, want %d", r.Running(), b.N)
	}
	b.ReportMetric(float64(max(before, held())-before)/float64(b.N), "B/pod")
	b.ReportMetric(float64(runtime.NumGoroutine()-goroutines), "goroutines")
	runtime.KeepAlive(r)
}

// held is what the process holds, without what the collector would free.
func held() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

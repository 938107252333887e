package stats

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

func newMetrics() *Metrics {
	return NewMetrics(MetricsConfig{NodeName: "node", Version: "v1", Log: slog.New(slog.DiscardHandler)})
}

// checkLines wants a page to have lines, and none that begin as one of without.
func checkLines(t *testing.T, h http.Handler, want []string, without ...string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	page := "\n" + w.Body.String()
	for _, line := range want {
		assert.True(t, strings.Contains(page, "\n"+line), "no line %q", line)
	}
	for _, line := range without {
		assert.True(t, !strings.Contains(page, "\n"+line), "a line %q", line)
	}
	if t.Failed() {
		for line := range strings.Lines(page) {
			if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "go_") && !strings.Contains(line, "_bucket") {
				t.Log(strings.TrimSpace(line))
			}
		}
	}
}

type conn struct {
	grpc.ClientConnInterface
	err error
}

func (c conn) Invoke(context.Context, string, any, any, ...grpc.CallOption) error { return c.err }

func TestRuntimeCalls(t *testing.T) {
	m := newMetrics()
	ok, bad := runtimeapi.NewRuntimeServiceClient(m.Runtime(conn{})), runtimeapi.NewRuntimeServiceClient(m.Runtime(conn{err: errors.New("no")}))
	_, _ = ok.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{RuntimeHandler: "kata"})
	_, _ = bad.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{})
	_, _ = bad.Version(t.Context(), &runtimeapi.VersionRequest{})
	checkLines(t, m.Handler(), []string{
		`kubelet_runtime_operations_total{operation_type="run_podsandbox"} 2`,
		`kubelet_runtime_operations_errors_total{operation_type="run_podsandbox"} 1`,
		`kubelet_runtime_operations_errors_total{operation_type="version"} 1`,
		`kubelet_runtime_operations_duration_seconds_count{operation_type="run_podsandbox"} 2`,
		`kubelet_run_podsandbox_duration_seconds_count{runtime_handler="kata"} 1`,
		`kubelet_run_podsandbox_errors_total{runtime_handler=""} 1`,
		`kubelet_node_name{node="node"} 1`, `lifepod_build_info{go_version=`,
	})
	for method, want := range map[string]string{
		"ImageFsInfo": "image_fs_info", "ListPodSandboxStats": "list_podsandbox_stats", "UpdateContainerResources": "update_container",
		"ContainerStatus": "container_status", "ExecSync": "exec_sync", "ReopenContainerLog": "reopen_container_log", "PodSandboxStatus": "podsandbox_status",
	} {
		assert.Equal(t, want, operationType("/runtime.v1.RuntimeService/"+method), "%s is", method)
	}
}

type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestRequests(t *testing.T) {
	m := newMetrics()
	transport := m.API(trip(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodPut {
			return nil, io.EOF
		}
		return &http.Response{StatusCode: http.StatusConflict}, nil
	}))
	for _, method := range []string{http.MethodPut, http.MethodPost} {
		r := assert.Get(http.NewRequestWithContext(t.Context(), method, "https://api:6443/x", nil)).Must(t)
		_, _ = transport.RoundTrip(r)
	}
	served := m.HTTP("readonly", http.NotFoundHandler())
	for _, path := range []string{"/exec/a/b/c", "/metrics/resource", "/metrics/x", "/who/knows"} {
		served.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPatch, path, nil))
	}
	checkLines(t, m.Handler(), []string{
		`rest_client_requests_total{code="409",host="api:6443",method="POST"} 1`,
		`rest_client_requests_total{code="<error>",host="api:6443",method="PUT"} 1`,
		`rest_client_request_duration_seconds_count{host="api:6443",verb="PUT"} 1`,
		`kubelet_http_requests_total{long_running="true",method="other",path="exec",server_type="readonly"} 1`,
		`kubelet_http_requests_total{long_running="false",method="other",path="metrics/resource",server_type="readonly"} 1`,
		`kubelet_http_requests_total{long_running="false",method="other",path="other",server_type="readonly"} 2`,
		`kubelet_http_inflight_requests{long_running="true",method="other",path="exec",server_type="readonly"} 0`,
	})
}

func newPod() *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns", UID: "u", CreationTimestamp: metav1.Now()},
		Spec:       v1.PodSpec{InitContainers: []v1.Container{{Name: "init"}}, Containers: []v1.Container{{Name: "main"}}},
	}
}

// TestProbes: A-PROBE-7's outcomes with the kubelet's labels, until the pod is gone.
func TestProbes(t *testing.T) {
	m, pod := newMetrics(), newPod()
	probe := lifecycle.Probe{Container: "main", Kind: lifecycle.LivenessProbe}
	for _, fact := range []lifecycle.Probed{
		{Outcome: lifecycle.ProbeSuccess}, {Outcome: lifecycle.ProbeWarning}, {Outcome: lifecycle.ProbeFailure}, {Outcome: lifecycle.ProbeError},
		{Result: lifecycle.Result{Failure: &lifecycle.Failure{Class: lifecycle.Cancelled}}},
	} {
		m.Carried(pod, probe, fact, time.Second)
	}
	const labels = `container="main",namespace="ns",pod="p",pod_uid="u",probe_type="Liveness"`
	checkLines(t, m.ProbesHandler(), []string{
		`prober_probe_total{` + labels + `,result="successful"} 2`, `prober_probe_total{` + labels + `,result="failed"} 1`,
		`prober_probe_total{` + labels + `,result="unknown"} 1`,
		`prober_probe_duration_seconds_count{container="main",namespace="ns",pod="p",probe_type="Liveness"} 3`,
		`process_start_time_seconds `,
	})
	m.Gone(pod)
	checkLines(t, m.ProbesHandler(), nil, "prober_probe_")
}

func TestEffects(t *testing.T) {
	m, pod := newMetrics(), newPod()
	failed := func(class lifecycle.FailureClass, reason string) lifecycle.Result {
		return lifecycle.Result{Failure: &lifecycle.Failure{Class: class, Reason: reason}}
	}
	m.Carried(pod, lifecycle.CreateContainer{Container: "init"}, lifecycle.ContainerCreated{}, 0)
	m.Carried(pod, lifecycle.CreateContainer{Container: "main"}, lifecycle.ContainerCreated{Result: failed(lifecycle.Failed, "CreateContainerConfigError")}, 0)
	m.Carried(pod, lifecycle.StartContainer{Container: "main"}, lifecycle.ContainerStarted{Result: failed(lifecycle.Failed, "")}, 0)
	m.Carried(pod, lifecycle.StartContainer{Container: "main"}, lifecycle.ContainerStarted{Result: failed(lifecycle.Cancelled, "")}, 0)
	m.Carried(pod, lifecycle.PullImage{Container: "debug"}, lifecycle.ImagePulled{Result: failed(lifecycle.Failed, "ErrImagePull")}, 0)
	m.Carried(pod, lifecycle.PullImage{Container: "main"}, lifecycle.ImagePulled{Image: &lifecycle.ImageInfo{SizeBytes: 200 << 20}, Took: time.Second}, 0)
	m.Carried(pod, lifecycle.RunHook{Container: "main"}, lifecycle.HookEnded{Result: failed(lifecycle.Failed, "")}, 0)
	m.Carried(pod, lifecycle.RunHook{Container: "main", Hook: lifecycle.PreStop}, lifecycle.HookEnded{Result: failed(lifecycle.Failed, "")}, 0)
	m.Carried(pod, lifecycle.RunHook{}, lifecycle.HookEnded{Warnings: []lifecycle.Warning{{Reason: "LifecycleHTTPFallback"}}}, 0)
	m.Rejected("OutOfcpu")
	m.Rejected("OutOfexample.com/gpu")
	m.Restarted(true)
	m.Orphaned()
	for _, signal := range []string{"emptydirfs.limit", "emptydirfs.limit", "ephemeralpodfs.limit"} {
		m.Carried(pod, lifecycle.CountEviction{Signal: signal}, nil, 0)
	}
	m.Preempted(v1.ResourceCPU)
	checkLines(t, m.Handler(), []string{
		`kubelet_started_containers_total{container_type="init_container"} 1`, `kubelet_started_containers_total{container_type="container"} 1`,
		`kubelet_started_containers_errors_total{code="CreateContainerConfigError",container_type="container"} 1`,
		`kubelet_started_containers_errors_total{code="RunContainerError",container_type="container"} 1`,
		`kubelet_started_containers_errors_total{code="ErrImagePull",container_type="ephemeral_container"} 1`,
		`kubelet_started_containers_errors_total{code="PostStartHookError",container_type="container"} 1`,
		`kubelet_image_pull_duration_seconds_count{image_size_in_bytes="100MB-500MB"} 1`,
		`kubelet_lifecycle_handler_http_fallbacks_total 1`,
		`kubelet_admission_rejections_total{reason="OutOfcpu"} 1`, `kubelet_admission_rejections_total{reason="OutOfExtendedResources"} 1`,
		`kubelet_restarted_pods_total{static="true"} 1`, `kubelet_restarted_pods_total{static=""} 0`, `kubelet_orphaned_runtime_pods_total 1`,
		`kubelet_evictions{eviction_signal="emptydirfs.limit"} 2`, `kubelet_evictions{eviction_signal="ephemeralpodfs.limit"} 1`,
		`kubelet_preemptions{preemption_signal="cpu"} 1`,
	})
}

func TestResizes(t *testing.T) {
	m := newMetrics()
	with := func(requests, limits v1.ResourceList) *v1.Pod {
		pod := newPod()
		pod.Spec.Containers[0].Resources = v1.ResourceRequirements{Requests: requests, Limits: limits}
		return pod
	}
	list := func(cpu, memory string) v1.ResourceList {
		return v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
	}
	m.Updated(with(list("1", "1Gi"), list("2", "1Gi")), with(list("2", "1Gi"), list("1", "2Gi")))
	m.Updated(with(nil, nil), with(list("1", "1Gi"), nil))
	m.Updated(with(list("1", "1Gi"), nil), with(list("1", "1Gi"), nil))
	const name = "kubelet_container_requested_resizes_total"
	checkLines(t, m.Handler(), []string{
		name + `{operation="increase",requirement="requests",resource="cpu"} 1`, name + `{operation="decrease",requirement="limits",resource="cpu"} 1`,
		name + `{operation="increase",requirement="limits",resource="memory"} 1`, name + `{operation="add",requirement="requests",resource="memory"} 1`,
	}, name+`{operation="remove"`, name+`{operation="increase",requirement="requests",resource="memory"}`)
}

// TestStatus: starts, ends, restarts, also of all containers (B-RAC), as the status shows them.
func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, pod := newMetrics(), newPod()
		running := v1.ContainerState{Running: &v1.ContainerStateRunning{}}
		ended := func(id string, code int32) v1.ContainerState {
			return v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ContainerID: id, ExitCode: code, Reason: "Error"}}
		}
		of := func(main, last v1.ContainerState, restartingAll bool) v1.PodStatus {
			status := v1.PodStatus{Phase: v1.PodPending, ContainerStatuses: []v1.ContainerStatus{{Name: "main", State: main, LastTerminationState: last}}}
			if restartingAll {
				status.Conditions = []v1.PodCondition{{Type: v1.AllContainersRestarting, Status: v1.ConditionTrue}}
			}
			return status
		}
		none := v1.ContainerState{}
		before := v1.PodStatus{}
		for _, step := range []v1.PodStatus{
			of(none, none, false),
			of(running, none, false),          // after 1 s
			of(none, ended("a", 3), false),    // it has ended
			of(running, ended("a", 3), false), // and runs again a second later
			of(ended("b", 0), ended("a", 3), true),
			of(none, ended("b", 0), false),
			of(running, ended("b", 0), false), // the restart took 2 s
		} {
			m.Status(pod, &before, &step)
			before = step
			time.Sleep(time.Second)
		}
		checkLines(t, m.Handler(), []string{
			`kubelet_pod_start_duration_seconds_sum 1`, `kubelet_pod_start_duration_seconds_count 1`, `kubelet_pod_start_sli_duration_seconds_count 1`,
			`kubelet_containers_per_pod_count_count 1`,
			`kubelet_terminated_containers_total{container_type="container",exit_code="3",reason="Error"} 1`,
			`kubelet_terminated_containers_total{container_type="container",exit_code="0",reason="Error"} 1`,
			`lifepod_container_restart_duration_seconds_sum 3`, `lifepod_container_restart_duration_seconds_count 2`,
			`lifepod_restart_all_containers_total 1`, `lifepod_restart_all_containers_duration_seconds_sum 2`,
		})
		m.Gone(pod)
		assert.True(t, len(m.lives) == 0, "a pod that is gone is remembered")
	})
}

// TestTakenOver: a pod that ran before this agent is no start, and its ends before are
// none of this agent's.
func TestTakenOver(t *testing.T) {
	m, pod := newMetrics(), newPod()
	status := v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{{
		Name: "main", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}},
		LastTerminationState: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ContainerID: "a"}},
	}}}
	m.Status(pod, &status, &status)
	m.Status(pod, &v1.PodStatus{}, &status)
	checkLines(t, m.Handler(), []string{`kubelet_pod_start_duration_seconds_count 0`, `lifepod_container_restart_duration_seconds_count 0`},
		"kubelet_terminated_containers_total{")
}

// TestCensus: B-WRK-26, and every combination of labels is there as 0.
func TestCensus(t *testing.T) {
	m := newMetrics()
	ready := v1.PodCondition{Type: v1.PodReadyToStartContainers, Status: v1.ConditionTrue}
	running := &v1.PodStatus{
		Phase: v1.PodRunning, Conditions: []v1.PodCondition{ready, {Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonDeferred}},
		ContainerStatuses:          []v1.ContainerStatus{{State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}},
		EphemeralContainerStatuses: []v1.ContainerStatus{{State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}}}},
	}
	m.Census(func() []MetricsPod {
		return []MetricsPod{
			{Status: running, Desired: true, Lifecycle: "sync", Priority: 1000},
			{Status: running, Desired: true, Static: true, Lifecycle: "sync"},
			{Status: &v1.PodStatus{Phase: v1.PodFailed}, Desired: true, Lifecycle: "terminated"},
			{Status: running, Lifecycle: "terminating"},
			{Status: running, Runtime: true, Lifecycle: "terminating"},
			{Status: &v1.PodStatus{}, Desired: true},
		}
	})
	checkLines(t, m.Handler(), []string{
		`kubelet_desired_pods{static=""} 3`, `kubelet_desired_pods{static="true"} 1`, `kubelet_mirror_pods 1`,
		`kubelet_active_pods{static=""} 3`, `kubelet_active_pods{static="true"} 1`, `kubelet_running_pods 4`,
		`kubelet_working_pods{config="desired",lifecycle="sync",static=""} 1`, `kubelet_working_pods{config="desired",lifecycle="sync",static="true"} 1`,
		`kubelet_working_pods{config="desired",lifecycle="terminated",static=""} 1`, `kubelet_working_pods{config="orphan",lifecycle="terminating",static=""} 1`,
		`kubelet_working_pods{config="runtime_only",lifecycle="terminating",static="unknown"} 1`,
		`kubelet_working_pods{config="orphan",lifecycle="sync",static="true"} 0`,
		`kubelet_running_containers{container_state="running"} 4`, `kubelet_running_containers{container_state="exited"} 4`,
		`kubelet_managed_ephemeral_containers 4`, `kubelet_pod_in_progress_resizes 0`,
		`kubelet_pod_pending_resizes{priority_bucket="medium",reason="deferred"} 1`, `kubelet_pod_pending_resizes{priority_bucket="normal",reason="deferred"} 3`,
	})
}

// The classes of priorities are the kubelet's.
func TestPriorityBucket(t *testing.T) {
	for priority, want := range map[int32]string{
		2_000_001_000: "system-critical", 2_000_000_000: "system-critical", 1_999_999_999: "high", 100_000: "high", 99_999: "medium", 1: "medium",
		0: "normal", -1: "low", -999: "low", -1000: "very-low",
	} {
		assert.Equal(t, want, priorityBucket(priority), "%d", priority)
	}
}

func TestHealthAndCertificates(t *testing.T) {
	m := newMetrics()
	handler := m.SLIsHandler(map[string]func() error{"good": func() error { return nil }, "bad": func() error { return io.EOF }})
	checkLines(t, handler, []string{
		`kubernetes_healthcheck{name="good",type="healthz"} 1`, `kubernetes_healthcheck{name="bad",type="healthz"} 0`,
		`kubernetes_healthchecks_total{name="bad",status="error",type="healthz"} 1`,
	})
	m.Certificate("client", func() time.Time { return time.Now().Add(time.Hour) })
	m.Certificate("server", func() time.Time { return time.Time{} })
	checkLines(t, m.Handler(), []string{`kubelet_certificate_manager_client_ttl_seconds 3`}, `kubelet_certificate_manager_server_ttl_seconds`)
}

func TestPodCertificates(t *testing.T) {
	m := newMetrics()
	m.PodCertificates(func(tell func(signer, state string)) {
		tell("example.com/a", "fresh")
		tell("example.com/a", "fresh")
		tell("example.com/b", "denied")
	})
	checkLines(t, m.Handler(), []string{ // A-CERT-6
		`kubelet_podcertificate_states{signer_name="example.com/a",state="fresh"} 2`, `kubelet_podcertificate_states{signer_name="example.com/b",state="denied"} 1`,
	})
}

func TestImageSizes(t *testing.T) {
	got := map[uint64]string{}
	for _, mb := range []uint64{0, 10, 499, 1024, 102400} {
		got[mb] = sizeLabel(mb << 20)
	}
	assert.Deep(t, "labels", map[uint64]string{0: "0-10MB", 10: "10MB-100MB", 499: "100MB-500MB", 1024: "1GB-5GB", 102400: "GT100GB"}, got)
}

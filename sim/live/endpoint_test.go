package live

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/cri/crifake"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/sim/scenario"
	"github.com/lifepod/lifepod/sim/scenario/file"
)

func runtimeOf(t *testing.T, texts map[string]string) *crifake.Runtime {
	t.Helper()
	var list []file.Named
	for name, text := range texts {
		says := assert.Get(file.ReadForAny(manifest.Source{Name: name, Data: []byte("apiVersion: lifepod.dev/v1alpha1\nkind: Scenario\n" + text)})).Must(t)
		list = append(list, file.Named{Name: name, From: name, Scenario: says})
	}
	scenarios := assert.Get(file.ScenariosOf(list...)).Must(t)
	r := assert.Get(NewRuntime(EndpointOptions{Scenarios: scenarios, Images: "/images"})).Must(t)
	return r
}

func sandboxOf(name, dir string, annotations map[string]string) *runtimeapi.PodSandboxConfig {
	return &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "default", Uid: "uid-" + name}, LogDirectory: dir,
		Labels: map[string]string{cri.PodUIDLabel: "uid-" + name}, Annotations: annotations,
	}
}

func begin(t *testing.T, r runtimeapi.RuntimeServiceClient, config *runtimeapi.PodSandboxConfig, attempt uint32) (container string) {
	t.Helper()
	config.Metadata.Attempt = attempt
	s := assert.Get(r.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: config})).Must(t)
	c := assert.Get(r.CreateContainer(t.Context(), &runtimeapi.CreateContainerRequest{PodSandboxId: s.PodSandboxId, SandboxConfig: config, Config: &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: "main", Attempt: attempt}, LogPath: "main.log", Labels: config.Labels,
	}})).Must(t)
	assert.Must(t, assert.ErrorOf(r.StartContainer(t.Context(), &runtimeapi.StartContainerRequest{ContainerId: c.ContainerId})))
	return c.ContainerId
}

func statusOf(t *testing.T, r runtimeapi.RuntimeServiceClient, id string) *runtimeapi.ContainerStatus {
	t.Helper()
	out := assert.Get(r.ContainerStatus(t.Context(), &runtimeapi.ContainerStatusRequest{ContainerId: id})).Must(t)
	return out.Status
}

// Instances do what the scenario of their pod says, one after the other; those of other pods run on.
func TestEndpointInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := runtimeOf(t, map[string]string{"default/web-*": `
containers:
  main:
    runs:
    - {run: 5s, exit: 3, output: [{at: 1s, text: hello}, {at: 'uniform(5s,9s)', text: never}]}
    - {run: 2s, oom: true}
    - {stop: {ignore: true}}
`})
		dir := t.TempDir()
		for attempt, want := range []struct {
			after  time.Duration
			code   int32
			reason string
		}{{5 * time.Second, 3, "Error"}, {2 * time.Second, 137, "OOMKilled"}} {
			id := begin(t, r, sandboxOf("web-1", dir, nil), uint32(attempt)) //nolint:gosec // two
			time.Sleep(want.after - 100*time.Millisecond)
			s := statusOf(t, r, id)
			assert.True(t, s.State == runtimeapi.ContainerState_CONTAINER_RUNNING, "attempt %d is %v before its end", attempt, s.State)
			time.Sleep(200 * time.Millisecond)
			if s := statusOf(t, r, id); s.State != runtimeapi.ContainerState_CONTAINER_EXITED || s.ExitCode != want.code || s.Reason != want.reason {
				t.Errorf("attempt %d: %v %d %s, want exit %d %s", attempt, s.State, s.ExitCode, s.Reason, want.code, want.reason)
			}
		}
		log, err := os.ReadFile(filepath.Join(dir, "main.log"))
		assert.True(t, err == nil && strings.HasSuffix(string(log), " stdout F hello\n") && !strings.Contains(string(log), "never"),
			"the log is %q, %v", log, err)
		id := begin(t, r, sandboxOf("web-1", dir, nil), 2)
		began := time.Now()
		assert.Must(t, assert.ErrorOf(r.StopContainer(t.Context(), &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: 7})))
		if took := time.Since(began); took < 7*time.Second || statusOf(t, r, id).ExitCode != 137 {
			t.Errorf("what ignores its stop signal ended after %v with %d", took, statusOf(t, r, id).ExitCode)
		}
		other := begin(t, r, sandboxOf("other", dir, nil), 0)
		time.Sleep(time.Hour)
		s := statusOf(t, r, other)
		assert.True(t, s.State == runtimeapi.ContainerState_CONTAINER_RUNNING, "a container of which nothing is said is %v after an hour", s.State)
	})
}

// Commands get the answers of the scenario over time; calls fail, and pulls, as it says.
func TestAnswersAndFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := runtimeOf(t, map[string]string{"": `
containers: {main: {runs: [{probes: {liveness: [{answer: success}, {from: 10s, answer: failure, output: sick}, {from: 20s, answer: error}]}}]}}
images: {app: {pull: 3s, failures: 1, error: no such image, bytes: 5}}
calls: [{call: CreateSandbox, times: 1, fail: no room}]
`})
		config := sandboxOf("web", t.TempDir(), nil)
		assert.ErrorContains(t, "no room", assert.ErrorOf(r.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: config})), "the first sandbox")
		id := begin(t, r, config, 0)
		run := func() (*runtimeapi.ExecSyncResponse, error) {
			return r.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: []string{"check"}, Timeout: 1})
		}
		out, err := run()
		assert.True(t, err == nil && out.ExitCode == 0, "at first: %v, %v", out, err)
		time.Sleep(11 * time.Second)
		out, err = run()
		assert.True(t, err == nil && out.ExitCode == 1 && string(out.Stdout) == "sick", "after 10s: %v, %v", out, err)
		time.Sleep(10 * time.Second)
		out, err = run()
		assert.True(t, err != nil, "after 20s: %v", out)

		spec := &runtimeapi.ImageSpec{Image: "app:latest"}
		began := time.Now()
		_, err = r.PullImage(t.Context(), &runtimeapi.PullImageRequest{Image: spec, SandboxConfig: config})
		assert.True(t, err != nil && strings.Contains(err.Error(), "no such image") && time.Since(began) >= time.Second,
			"the first pull: %v after %v", err, time.Since(began))
		assert.NoError(t, assert.ErrorOf(r.PullImage(t.Context(), &runtimeapi.PullImageRequest{Image: spec})), "the second pull")
		image, err := r.ImageStatus(t.Context(), &runtimeapi.ImageStatusRequest{Image: spec})
		assert.True(t, err == nil && image.Image.GetSize() == 5, "the image: %v, %v", image, err)
		carried, err := r.ImageStatus(t.Context(), &runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: "lifepod.dev/toolbox:1"}})
		assert.True(t, err == nil && carried.Image != nil, "a carried image: %v, %v", carried, err)
	})
}

// A pod whose annotation names no scenario says so, and which one was meant.
func TestUnknownScenario(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := runtimeOf(t, map[string]string{"crash": "containers: {main: {runs: [{exit: 1}]}}"})
		config := sandboxOf("web", t.TempDir(), map[string]string{file.Annotation: "crush"})
		_, err := r.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: config})
		assert.ErrorContains(t, `there is no scenario "crush"; did you mean crash?`, err, "the sandbox")
	})
}

// What a runtime has no part in is refused, each with its place.
func TestRefused(t *testing.T) {
	const text = `
for: 1h
refuse: {reason: OutOfcpu}
assert: [never Failed]
calls: [{call: MountVolumes, fail: broken}]
events: [{at: 1s, delete: {}}]
containers: {main: {runs: [{ready: 1s, probes: {liveness: [{answer: failure}]}, hooks: {preStop: {takes: 1s}}}]}}
`
	says := assert.Get(file.ReadForAny(manifest.Source{Name: "s", Data: []byte("apiVersion: lifepod.dev/v1alpha1\nkind: Scenario\n" + text)})).Must(t)
	err := scenario.Errors(says, CheckForEndpoint)
	for _, want := range []string{"for: ", "refuse: ", "assert: ", "calls[0]: ", "events[0]: ", "containers[main].runs[0]: ", "containers[main].runs[0].hooks: "} {
		assert.True(t, err != nil && strings.Contains(err.Error(), want), "%q is not refused: %v", want, err)
	}
}

// At its socket it answers as any runtime does, with events; what is not there is said as gRPC does.
func TestServe(t *testing.T) {
	socket := "unix://" + filepath.Join(t.TempDir(), "cri.sock")
	listener := assert.Get(Listen(socket)).Must(t)
	ctx, cancel := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	serving.Go(func() {
		assert.NoError(t, Serve(ctx, listener, runtimeOf(t, map[string]string{"": "containers: {main: {runs: [{exit: 7, run: 1ms}]}}"})))
	})
	defer serving.Wait()
	defer cancel()
	assert.ErrorContains(t, "another runtime listens there", assert.ErrorOf(Listen(socket)), "a second runtime")
	client := assert.Get(cri.Dial(socket)).Must(t)
	defer func() { _ = client.Close() }()
	assert.Must(t, assert.ErrorOf(client.Check(t.Context())))
	events := assert.Get(client.Runtime.GetContainerEvents(t.Context(), &runtimeapi.GetEventsRequest{})).Must(t)
	first := make(chan *runtimeapi.ContainerEventResponse, 1)
	serving.Go(func() {
		for {
			event, err := events.Recv()
			if err != nil {
				return
			}
			if event.ContainerEventType == runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT {
				first <- event
				return
			}
		}
	})
	time.Sleep(50 * time.Millisecond) // events of before the subscription are lost, as with real runtimes
	begin(t, client.Runtime, sandboxOf("web", t.TempDir(), nil), 0)
	select {
	case event := <-first:
		got := event.ContainersStatuses[0]
		assert.True(t, got.ExitCode == 7, "the event says %v", got)
	case <-time.After(30 * time.Second):
		t.Error("there is no event of the exit")
	}
	_, err := client.Runtime.Attach(t.Context(), &runtimeapi.AttachRequest{})
	assert.True(t, status.Code(err) == codes.Unimplemented, "attach: %v, want Unimplemented", err)
}

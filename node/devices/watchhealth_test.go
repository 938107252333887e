package devices

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	healthapi "k8s.io/kubelet/pkg/apis/dra-health/v1"
	healthv1alpha1 "k8s.io/kubelet/pkg/apis/dra-health/v1alpha1"
	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// oneDevice is what a driver says of the device that fakeDriver prepares.
func oneDevice(health healthapi.HealthStatus, message string) []*healthapi.DeviceHealth {
	return []*healthapi.DeviceHealth{{Device: &healthapi.DeviceIdentifier{PoolName: "pool", DeviceName: "gpu-0"}, Health: health, Message: message}}
}

// shown are the devices of a container's status, as "name: id health message".
func shown(list []v1.ResourceStatus) (lines []string) {
	for _, status := range list {
		for _, device := range status.Resources {
			line := fmt.Sprintf("%s: %s %s", status.Name, device.ResourceID, device.Health)
			if device.Message != nil {
				line += " " + *device.Message
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// TestClaimsHealth: a container's status has the health of its devices under the names of its
// claims, as the driver tells it; when that is gone, it is unknown. The next agent knows what
// was told last (A-DRA-12).
func TestClaimsHealth(t *testing.T) {
	pod := podNamed("p", named("a"), named("quiet"))
	pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: "one request", Resources: v1.ResourceRequirements{
		Claims: []v1.ResourceClaim{{Name: "of-a", Request: "gpu"}, {Name: "of-a", Request: "another"}},
	}}, v1.Container{Name: "none"})
	d, changed := serveHealth(t, "gpu.example.com", healthapi.DRAResourceHealthService), make(chan types.UID, 10)
	n := claimsNewNode(t, claimFor("a", "gpu.example.com", pod), claimFor("quiet", "quiet.example.com", pod))
	n.config.HealthChanged = func(pod types.UID) { changed <- pod }
	n.restart()
	awaitChange := func() {
		t.Helper()
		select {
		case uid := <-changed:
			assert.Equal(t, pod.UID, uid, "told of the pod")
		case <-time.After(time.Minute):
			t.Fatal("nobody is told")
		}
	}
	says := func(health healthapi.HealthStatus, message string) {
		t.Helper()
		for { // a stream of before may still take the first one
			select {
			case d.health <- oneDevice(health, message):
			case uid := <-changed:
				assert.Equal(t, pod.UID, uid, "told of the pod")
				return
			case <-time.After(time.Minute):
				t.Fatal("nobody is told")
			}
		}
	}
	wantShown := func(container int, want ...string) {
		t.Helper()
		assert.Deep(t, "health", want, shown(n.Health(pod)[pod.Spec.Containers[container].Name]))
	}
	n.register(d)
	n.register(serve(t, "quiet.example.com", nil)) // it serves no health
	wantShown(0)
	assert.Must(t, n.Prepare(t.Context(), pod))
	awaitChange()
	wantShown(0, "claim:of-a: gpu.example.com/gpu=a-uid Unknown", "claim:of-quiet: quiet.example.com/gpu=quiet-uid Unknown")
	says(healthapi.HealthStatus_HEALTHY, "")
	d.health <- oneDevice(healthapi.HealthStatus_HEALTHY, "") // no news
	says(healthapi.HealthStatus_UNHEALTHY, "too hot")
	wantShown(0, "claim:of-a: gpu.example.com/gpu=a-uid Unhealthy too hot", "claim:of-quiet: quiet.example.com/gpu=quiet-uid Unknown")
	wantShown(1, "claim:of-a/gpu: gpu.example.com/gpu=a-uid Unhealthy too hot")
	wantShown(2)

	n.restart()
	wantShown(1, "claim:of-a/gpu: gpu.example.com/gpu=a-uid Unhealthy too hot")
	n.register(d)
	says(healthapi.HealthStatus_HEALTHY, "")
	n.Drivers().Deregister(d.name, d.endpoint)
	awaitChange()
	wantShown(1, "claim:of-a/gpu: gpu.example.com/gpu=a-uid Unknown")
	select {
	case uid := <-changed:
		t.Errorf("told of the pod %s, and nothing has changed", uid)
	default:
	}
}

// TestHealthServices: a driver is asked how its devices are at the newest service that it has
// registered with, and one that has registered with none is not asked (A-DRA-12).
func TestHealthServices(t *testing.T) {
	const newer, older = healthapi.DRAResourceHealthService, healthv1alpha1.DRAResourceHealthService
	for _, test := range []struct{ registered, asked []string }{
		{registered: []string{newer}, asked: []string{newer}},
		{registered: []string{older}, asked: []string{older}},
		{registered: []string{older, newer}, asked: []string{newer}},
	} {
		n, d := claimsNewNode(t), serveHealth(t, "d", test.asked...) // at another one nobody would hear it
		n.register(d, append([]string{drav1.DRAPluginService}, test.registered...)...)
		select {
		case d.health <- nil:
		case <-time.After(time.Minute):
			t.Errorf("registered with %q: not asked at %q", test.registered, test.asked)
		}
	}
	n, d := claimsNewNode(t), serveHealth(t, "d", newer, older)
	n.register(d, drav1.DRAPluginService)
	assert.True(t, n.drivers.drivers["d"][0].health == nil, "a driver that has registered without health is asked")
}

// TestTooManyDevices: of new devices beyond the limit nothing is kept; what is told of known ones
// counts (A-DRA-12).
func TestTooManyDevices(t *testing.T) {
	h := openHealth(filepath.Join(t.TempDir(), "dra_health_state"), slog.New(slog.DiscardHandler))
	defer h.end()
	said := make([]*healthapi.DeviceHealth, maxDevicesOfDriver+1)
	for _, health := range []healthapi.HealthStatus{healthapi.HealthStatus_UNHEALTHY, healthapi.HealthStatus_HEALTHY} {
		for i := range said {
			said[i] = &healthapi.DeviceHealth{Device: &healthapi.DeviceIdentifier{PoolName: "pool", DeviceName: fmt.Sprint(i)}, Health: health}
		}
		h.update(&driver{name: "d"}, said)
	}
	for name, want := range map[string]v1.ResourceHealthStatus{"0": v1.ResourceHealthStatusHealthy, fmt.Sprint(maxDevicesOfDriver): v1.ResourceHealthStatusUnknown} {
		assert.Equal(t, want, h.of("d", ClaimedDevice{PoolName: "pool", DeviceName: name}).Health, "device %s", name)
	}
}

// TestHealthCountsFor: what a driver has said counts for 30 s or as long as it says, and is
// cut where the API would refuse it (A-DRA-12).
func TestHealthCountsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "dra_health_state")
		h := openHealth(path, slog.New(slog.DiscardHandler))
		defer h.end()
		changes := 0
		h.begin(func(string, []DeviceHealth) { changes++ })
		from, device := &driver{name: "d"}, ClaimedDevice{PoolName: "pool", DeviceName: "gpu-0"}
		says := func(seconds int64, message string) {
			list := oneDevice(healthapi.HealthStatus_HEALTHY, message)
			list[0].HealthCheckTimeoutSeconds = seconds
			h.update(from, list)
		}
		wantAfter := func(wait time.Duration, want v1.ResourceHealthStatus) {
			t.Helper()
			time.Sleep(wait)
			synctest.Wait()
			assert.Equal(t, want, h.of("d", device).Health, "after %v it", wait)
		}
		says(0, "")
		wantAfter(20*time.Second, v1.ResourceHealthStatusHealthy)
		says(-5, "")
		wantAfter(29*time.Second, v1.ResourceHealthStatusHealthy)
		wantAfter(time.Second, v1.ResourceHealthStatusUnknown)
		says(300, "")
		wantAfter(299*time.Second, v1.ResourceHealthStatusHealthy)
		wantAfter(time.Second, v1.ResourceHealthStatusUnknown)
		assert.True(t, changes == 4, "told %d times of changes, want 4", changes)
		says(0, strings.Repeat("é", 600))
		assert.Equal(t, strings.Repeat("é", 510)+"...", h.of("d", device).Message, "the message")
		again := openHealth(path, slog.New(slog.DiscardHandler))
		defer again.end()
		again.begin(func(string, []DeviceHealth) { changes++ })
		h = again
		wantAfter(29*time.Second, v1.ResourceHealthStatusHealthy)
		wantAfter(time.Second, v1.ResourceHealthStatusUnknown)
	})
}

// TestHealthFile: the file is the kubelet's; a damaged one is as none (A-DRA-12).
func TestHealthFile(t *testing.T) {
	path, device := filepath.Join(t.TempDir(), "dra_health_state"), ClaimedDevice{PoolName: "pool", DeviceName: "gpu-0"}
	for text, want := range map[string]v1.ResourceHealthStatus{
		`{"d":{"Devices":{"pool/gpu-0":{"PoolName":"pool","DeviceName":"gpu-0","Health":"Unhealthy","LastUpdated":"` +
			time.Now().Format(time.RFC3339Nano) + `","HealthCheckTimeout":30000000000,"Message":"hot"}}}}`: v1.ResourceHealthStatusUnhealthy,
		`{"d":{"Devi`: v1.ResourceHealthStatusUnknown,
		`{"d":null}`:  v1.ResourceHealthStatusUnknown,
	} {
		assert.Must(t, os.WriteFile(path, []byte(text), 0o600))
		h := openHealth(path, slog.New(slog.DiscardHandler))
		assert.Equal(t, want, h.of("d", device).Health, "%s", text)
		h.update(&driver{name: "d"}, oneDevice(healthapi.HealthStatus_HEALTHY, "")) // it is written anew
		assert.Equal(t, v1.ResourceHealthStatusHealthy, openHealth(path, slog.New(slog.DiscardHandler)).of("d", device).Health, "%s: written anew", text)
		h.end()
	}
}

// TestHealthOfOneName: of devices with one name the worst is shown (A-DRA-12).
func TestHealthOfOneName(t *testing.T) {
	healthy, unhealthy, unknown := healthapi.HealthStatus_HEALTHY, healthapi.HealthStatus_UNHEALTHY, healthapi.HealthStatus_UNKNOWN
	for want, devices := range map[v1.ResourceHealthStatus][]healthapi.HealthStatus{
		v1.ResourceHealthStatusHealthy:   {healthy, healthy},
		v1.ResourceHealthStatusUnknown:   {healthy, unknown, healthy},
		v1.ResourceHealthStatusUnhealthy: {unknown, unhealthy, healthy},
	} {
		pod := podNamed("p", named("a"))
		n := claimsNewNode(t, claimFor("a", "d", pod))
		claim, state := Claim{ClaimUID: "a-uid", ClaimName: "a", Namespace: "default", PodUIDs: sets.New[string](), DriverState: map[string]DriverState{}}, DriverState{}
		var said []*healthapi.DeviceHealth
		for i, health := range devices {
			name := fmt.Sprintf("gpu-%d", i)
			state.Devices = append(state.Devices, ClaimedDevice{PoolName: "pool", DeviceName: name, CDIDeviceIDs: []string{"d/gpu=common", "d/gpu=" + name}})
			said = append(said, &healthapi.DeviceHealth{Device: &healthapi.DeviceIdentifier{PoolName: "pool", DeviceName: name}, Health: health})
		}
		claim.DriverState["d"] = state
		assert.Must(t, assert.ErrorOf(n.store.refer(pod.UID, []Claim{claim})))
		n.drivers.health.update(&driver{name: "d"}, said)
		assert.Deep(t, fmt.Sprintf("%v", devices), []string{"claim:of-a: d/gpu=common " + string(want)}, shown(n.Health(pod)["main"]))
	}
}

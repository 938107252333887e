package devices

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"
	drav1beta1 "k8s.io/kubelet/pkg/apis/dra/v1beta1"

	"github.com/lifepod/lifepod/internal/assert"
)

// claimsNode is a node's claims in a test.
type claimsNode struct {
	*Claims
	t      *testing.T
	config ClaimsConfig
}

func claimsNewNode(t *testing.T, objects ...runtime.Object) *claimsNode {
	n := &claimsNode{t: t, config: ClaimsConfig{
		Client: fake.NewClientset(objects...), Node: "n", StateFile: filepath.Join(t.TempDir(), "dra_manager_state"),
		HealthFile: filepath.Join(t.TempDir(), "dra_health_state"), Log: slog.New(slog.DiscardHandler), HealthChanged: func(types.UID) {},
	}}
	n.restart()
	t.Cleanup(func() { n.drivers.closeAll() })
	return n
}

// restart is another agent in the place of the one before.
func (n *claimsNode) restart() {
	n.t.Helper()
	if n.Claims != nil {
		n.drivers.closeAll()
	}
	claims := assert.Get(NewClaims(n.config)).Must(n.t)
	n.Claims = claims
}

func (n *claimsNode) register(d *fakeDriver, versions ...string) {
	n.t.Helper()
	if len(versions) == 0 {
		versions = append([]string{drav1.DRAPluginService}, d.serves...)
	}
	assert.Must(n.t, n.Drivers().Register(n.t.Context(), d.name, d.endpoint, versions))
}

// devices are the CDI devices of a container.
func (n *claimsNode) devices(pod *v1.Pod, c *v1.Container) ([]string, error) {
	assigned, err := n.Assigned(n.t.Context(), pod, c)
	return assigned.CDIDevices, err
}

func podNamed(name string, claims ...v1.PodResourceClaim) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name + "-uid")}}
	pod.Spec.ResourceClaims = claims
	c := v1.Container{Name: "main"}
	for _, claim := range claims {
		c.Resources.Claims = append(c.Resources.Claims, v1.ResourceClaim{Name: claim.Name})
	}
	pod.Spec.Containers = []v1.Container{c}
	return pod
}

func named(claim string) v1.PodResourceClaim {
	return v1.PodResourceClaim{Name: "of-" + claim, ResourceClaimName: &claim}
}

// claimFor is allocated from a driver, and reserved for pods.
func claimFor(name, driver string, pods ...*v1.Pod) *resourceapi.ResourceClaim {
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name + "-uid")}}
	claim.Status.Allocation = &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{
		Results: []resourceapi.DeviceRequestAllocationResult{{Request: "gpu", Driver: driver, Pool: "pool", Device: "gpu-0"}},
	}}
	for _, pod := range pods {
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourceapi.ResourceClaimConsumerReference{Resource: "pods", Name: pod.Name, UID: pod.UID})
	}
	return claim
}

func wantCalls(t *testing.T, d *fakeDriver, want ...string) {
	t.Helper()
	assert.Deep(t, fmt.Sprintf("calls of driver %s", d.name), want, d.takeCalls())
}

// TestOneCallForEachDriver: of a pod's claims each driver is asked once (A-DRA-4); asked
// again, it does nothing (A-DRA-2). Both versions of the API are spoken (A-DRA-10).
func TestOneCallForEachDriver(t *testing.T) {
	pod := podNamed("p", named("a"), named("b"), named("c"))
	n := claimsNewNode(t, claimFor("a", "gpu.example.com", pod), claimFor("b", "nic.example.com", pod), claimFor("c", "gpu.example.com", pod))
	gpu, nic := serve(t, "gpu.example.com", nil), serve(t, "nic.example.com", nil)
	n.register(gpu)
	n.register(nic, drav1beta1.DRAPluginService)
	for range 2 {
		assert.Must(t, n.Prepare(t.Context(), pod))
	}
	wantCalls(t, gpu, "prepare a c")
	wantCalls(t, nic, "prepare b")
	names, err := n.devices(pod, &pod.Spec.Containers[0])
	want := []string{"gpu.example.com/gpu=a-uid", "nic.example.com/gpu=b-uid", "gpu.example.com/gpu=c-uid"}
	diff := cmp.Diff(want, names)
	assert.True(t, diff == "" && err == nil, "CDI devices: %v\n%s", err, diff)
	for range 2 {
		assert.Must(t, n.Unprepare(t.Context(), pod.UID))
	}
	wantCalls(t, gpu, "unprepare a c")
	wantCalls(t, nic, "unprepare b")
}

// TestRequestOfAContainer: a container that names a request has only what was allocated for
// it, and one that names no claim has nothing (A-DRA-7).
func TestRequestOfAContainer(t *testing.T) {
	pod := podNamed("p", named("a"))
	n := claimsNewNode(t, claimFor("a", "d", pod))
	n.register(serve(t, "d", nil))
	assert.Must(t, n.Prepare(t.Context(), pod))
	for request, want := range map[string]int{"": 1, "gpu": 1, "gpu/large": 1, "other": 0} {
		pod.Spec.Containers[0].Resources.Claims[0].Request = request
		names, err := n.devices(pod, &pod.Spec.Containers[0])
		assert.True(t, len(names) == want && err == nil, "request %q: %v, %v; want %d devices", request, names, err, want)
	}
	names, err := n.devices(pod, &v1.Container{Name: "another"})
	assert.True(t, len(names) == 0 && err == nil, "a container without claims has %v, %v", names, err)
}

// TestExtendedResource: a container whose extended resource the scheduler has mapped to a
// claim of its own has the devices of that claim (A-DRA-1, A-DRA-7).
func TestExtendedResource(t *testing.T) {
	pod := podNamed("p")
	pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{"example.com/gpu": resource.MustParse("1")}
	pod.Status.ExtendedResourceClaimStatus = &v1.PodExtendedResourceClaimStatus{
		ResourceClaimName: "made", RequestMappings: []v1.ContainerExtendedResourceRequest{{ContainerName: "main", ResourceName: "example.com/gpu", RequestName: "gpu"}},
	}
	n := claimsNewNode(t, claimFor("made", "d", pod))
	n.register(serve(t, "d", nil))
	assert.Must(t, n.Prepare(t.Context(), pod))
	names, err := n.devices(pod, &pod.Spec.Containers[0])
	diff := cmp.Diff([]string{"d/gpu=made-uid"}, names)
	assert.True(t, diff == "" && err == nil, "%v %s", err, diff)
}

// TestClaimsRefused: what keeps a pod from its claims is told in Kubernetes' words, and no driver
// is asked for anything then, nor at the pod's end (A-DRA-3).
func TestClaimsRefused(t *testing.T) {
	plain := podNamed("p", named("a"))
	template := podNamed("p", v1.PodResourceClaim{Name: "of-a", ResourceClaimTemplateName: new("t")})
	made := template.DeepCopy()
	made.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "of-a", ResourceClaimName: new("a")}}
	ofGroup := claimFor("a", "d")
	ofGroup.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{{APIGroup: "scheduling.k8s.io", Resource: "podgroups", Name: "g", UID: "g-uid"}}
	unallocated := claimFor("a", "d", plain)
	unallocated.Status.Allocation = nil
	for _, test := range []struct {
		name  string
		pod   *v1.Pod
		claim *resourceapi.ResourceClaim
		want  string
	}{
		{"deleted", plain, claimFor("b", "d", plain), `prepare dynamic resources: fetch ResourceClaim a: resourceclaims.resource.k8s.io "a" not found`},
		{"not made yet", template, claimFor("a", "d", plain), `prepare dynamic resources: pod "default/p": ResourceClaim not created yet`},
		{"made for another", made, claimFor("a", "d", plain), "prepare dynamic resources: ResourceClaim default/a was not created for Pod default/p (Pod is not owner)"},
		{"not reserved", plain, claimFor("a", "d"), "prepare dynamic resources: pod p (p-uid) is not allowed to use ResourceClaim a (a-uid)"},
		{"reserved for a group of pods", plain, ofGroup, "prepare dynamic resources: pod p (p-uid) is not allowed to use ResourceClaim a (a-uid)"},
		{"not allocated", plain, unallocated, "prepare dynamic resources: ResourceClaim a: not allocated"},
		{"no driver", plain, claimFor("a", "other", plain), "prepare dynamic resources: DRA driver other is not registered"},
	} {
		t.Run(test.name, func(t *testing.T) {
			n, d := claimsNewNode(t, test.claim), serve(t, "d", nil)
			n.register(d)
			assert.Error(t, test.want, n.Prepare(t.Context(), test.pod))
			assert.NoError(t, n.Unprepare(t.Context(), test.pod.UID), "the pod can't end")
			wantCalls(t, d)
		})
	}
}

// TestSkippedOperations: a claim is refused if all devices of a driver say that it need not be
// called; it is called if one of them does not (A-DRA-3).
func TestSkippedOperations(t *testing.T) {
	const prepare, unprepare, all = resourceapi.SkipNodeOperationNodePrepareResources, resourceapi.SkipNodeOperationNodeUnprepareResources, resourceapi.SkipNodeOperationAll
	for _, test := range []struct {
		devices [2][]resourceapi.SkipNodeOperation
		refused bool
	}{
		{devices: [2][]resourceapi.SkipNodeOperation{{all}, {all}}, refused: true},
		{devices: [2][]resourceapi.SkipNodeOperation{{prepare, unprepare}, {unprepare}}, refused: true},
		{devices: [2][]resourceapi.SkipNodeOperation{{prepare}, {all}}, refused: true},
		{devices: [2][]resourceapi.SkipNodeOperation{{prepare}, {unprepare}}},
		{devices: [2][]resourceapi.SkipNodeOperation{{all}}},
	} {
		pod := podNamed("p", named("a"))
		claim, other := claimFor("a", "d", pod), claimFor("other", "d2").Status.Allocation.Devices.Results[0]
		results := []resourceapi.DeviceRequestAllocationResult{claim.Status.Allocation.Devices.Results[0], claim.Status.Allocation.Devices.Results[0], other}
		for i, skipped := range test.devices {
			results[i].SkipNodeOperations = skipped
		}
		claim.Status.Allocation.Devices.Results = results
		n, d := claimsNewNode(t, claim), serve(t, "d", nil)
		n.register(d)
		n.register(serve(t, "d2", nil))
		err := n.Prepare(t.Context(), pod)
		if !test.refused {
			wantCalls(t, d, "prepare a")
		}
		const refusal = "prepare dynamic resources: ResourceClaim a: DRAOptionalNodeOperations feature gate is disabled on kubelet"
		assert.True(t, (!test.refused || err != nil && err.Error() == refusal) && (test.refused || err == nil), "%q: %v", test.devices, err)
	}
}

// TestPreparedAgain: what a driver answers replaces what it has answered before, when another
// driver had failed (A-DRA-4).
func TestPreparedAgain(t *testing.T) {
	pod := podNamed("p", named("a"))
	claim := claimFor("a", "d", pod)
	claim.Status.Allocation.Devices.Results = append(claim.Status.Allocation.Devices.Results, claimFor("a", "fails").Status.Allocation.Devices.Results...)
	n, broken := claimsNewNode(t, claim), true
	n.register(serve(t, "d", nil))
	n.register(serve(t, "fails", func(string, []*drav1.Claim, map[string]string) error {
		if broken {
			return errors.New("broken")
		}
		return nil
	}))
	assert.Fails(t, n.Prepare(t.Context(), pod), "prepared by a driver that is broken")
	broken = false
	assert.Must(t, n.Prepare(t.Context(), pod))
	claimed, _ := n.store.get(types.NamespacedName{Namespace: "default", Name: "a"})
	devices := claimed.DriverState["d"].Devices
	assert.True(t, len(devices) == 1, "devices %+v, want one", devices)
}

// TestDriversAnswers: an answer that is an error, or not about what was asked, fails the
// preparation, and so the other end (A-DRA-4, A-DRA-9).
func TestDriversAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		answer func(results map[string]string) error
		want   string
	}{
		"refused": {func(map[string]string) error { return errors.New("broken") }, "%s: rpc error: code = Unknown desc = broken"},
		"failed":  {func(r map[string]string) error { r["a-uid"] = "too hot"; return nil }, "%s failed for ResourceClaim a: too hot"},
		"skipped": {func(r map[string]string) error { delete(r, "a-uid"); return nil }, "%s skipped 1 ResourceClaims"},
		"unasked": {func(r map[string]string) error { r["x-uid"] = ""; return nil }, "%s returned result for unknown claim UID x-uid"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podNamed("p", named("a"))
			n := claimsNewNode(t, claimFor("a", "d", pod))
			wrong := true
			d := serve(t, "d", func(_ string, _ []*drav1.Claim, results map[string]string) error {
				if wrong {
					return test.answer(results)
				}
				return nil
			})
			n.register(d)
			want := "prepare dynamic resources: " + fmt.Sprintf(test.want, "NodePrepareResources")
			assert.Error(t, want, n.Prepare(t.Context(), pod))
			want = "unprepare dynamic resources: " + fmt.Sprintf(test.want, "NodeUnprepareResources")
			assert.Error(t, want, n.Unprepare(t.Context(), pod.UID))
			wrong = false
			assert.NoError(t, n.Unprepare(t.Context(), pod.UID))
			wantCalls(t, d, "prepare a", "unprepare a", "unprepare a") // its end asks, although nothing was prepared (A-DRA-5)
		})
	}
}

// TestSharedClaim: the devices go back with the last pod that uses them (A-DRA-8), and pods
// that come at the same time have them prepared once.
func TestSharedClaim(t *testing.T) {
	a, b := podNamed("a", named("shared")), podNamed("b", named("shared"))
	n := claimsNewNode(t, claimFor("shared", "d", a, b))
	d := serve(t, "d", nil)
	n.register(d)
	errs := make(chan error)
	for _, pod := range []*v1.Pod{a, b} {
		go func() { errs <- n.Prepare(t.Context(), pod) }()
	}
	assert.Must(t, errors.Join(<-errs, <-errs))
	wantCalls(t, d, "prepare shared")
	assert.Must(t, n.Unprepare(t.Context(), a.UID))
	wantCalls(t, d)
	assert.Must(t, n.Unprepare(t.Context(), b.UID))
	wantCalls(t, d, "unprepare shared")
}

// TestPodComesWhileAnotherLeaves: a pod that comes for a claim while it is being unprepared
// has it prepared again; Kubernetes refuses it (A-DRA-3, A-DRA-4).
func TestPodComesWhileAnotherLeaves(t *testing.T) {
	a, b := podNamed("a", named("shared")), podNamed("b", named("shared"))
	n := claimsNewNode(t, claimFor("shared", "d", a, b))
	leaving, goOn := make(chan struct{}), make(chan struct{})
	d := serve(t, "d", func(call string, _ []*drav1.Claim, _ map[string]string) error {
		if call == "unprepare" {
			close(leaving)
			<-goOn
		}
		return nil
	})
	n.register(d)
	assert.Must(t, n.Prepare(t.Context(), a))
	errs := make(chan error)
	go func() { errs <- n.Unprepare(t.Context(), a.UID) }()
	<-leaving
	go func() { errs <- n.Prepare(t.Context(), b) }()
	close(goOn)
	assert.Must(t, errors.Join(<-errs, <-errs))
	wantCalls(t, d, "prepare shared", "unprepare shared", "prepare shared")
	names, err := n.devices(b, &b.Spec.Containers[0])
	assert.True(t, len(names) == 1 && err == nil, "%v, %v", names, err)
}

// TestHangingDriver: a driver that hangs holds up the pods that use it and no others, until
// somebody gives up waiting (A-DRA-4, A-DRA-9).
func TestHangingDriver(t *testing.T) {
	a, b, other := podNamed("a", named("x")), podNamed("b", named("x")), podNamed("other", named("y"))
	n := claimsNewNode(t, claimFor("x", "hangs", a, b), claimFor("y", "d", other))
	called, goOn := make(chan struct{}, 1), make(chan struct{})
	n.register(serve(t, "hangs", func(string, []*drav1.Claim, map[string]string) error {
		called <- struct{}{}
		<-goOn
		return nil
	}))
	t.Cleanup(func() { close(goOn) })
	n.register(serve(t, "d", nil))
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error)
	go func() { errs <- n.Prepare(ctx, a) }()
	<-called
	go func() { errs <- n.Prepare(ctx, b) }()
	assert.NoError(t, n.Prepare(t.Context(), other), "another driver's claim")
	cancel()
	for range 2 {
		assert.Fails(t, <-errs, "a claim is prepared without its driver")
	}
	assert.Deep(t, "which pods' ends ask the driver", []types.UID{a.UID}, n.Strays(func() []types.UID { return []types.UID{other.UID} }))
}

// TestNextAgent: the next agent knows which devices containers have, asks again before the
// next sandbox, because the machine may have been rebooted, and unprepares (A-DRA-5).
func TestNextAgent(t *testing.T) {
	pod := podNamed("p", named("a"))
	n := claimsNewNode(t, claimFor("a", "d", pod))
	d := serve(t, "d", nil)
	n.register(d)
	assert.Must(t, n.Prepare(t.Context(), pod))
	n.restart()
	for range 2 {
		names, err := n.devices(pod, &pod.Spec.Containers[0])
		assert.True(t, len(names) == 1 && err == nil, "%v, %v", names, err)
		n.register(d)
		assert.Must(t, n.Prepare(t.Context(), pod))
	}
	wantCalls(t, d, "prepare a", "prepare a")
	n.restart()
	assert.Error(t, "unprepare dynamic resources: DRA driver d is not registered", n.Unprepare(t.Context(), pod.UID), "without its driver")
	n.register(d)
	assert.NoError(t, n.Unprepare(t.Context(), pod.UID))
	wantCalls(t, d, "unprepare a")
}

// TestSameNameAgain: a claim that has the name of one that is not unprepared yet has to wait
// (A-DRA-3).
func TestSameNameAgain(t *testing.T) {
	old, next := podNamed("old", named("a")), podNamed("next", named("a"))
	n := claimsNewNode(t, claimFor("a", "d", old))
	n.register(serve(t, "d", nil))
	assert.Must(t, n.Prepare(t.Context(), old))
	again := claimFor("a", "d", next)
	again.UID = "new-uid"
	assert.Must(t, n.config.Client.ResourceV1().ResourceClaims("default").Delete(t.Context(), "a", metav1.DeleteOptions{}))
	assert.Must(t, assert.ErrorOf(n.config.Client.ResourceV1().ResourceClaims("default").Create(t.Context(), again, metav1.CreateOptions{})))
	const want = "prepare dynamic resources: old ResourceClaim with same name a and different UID a-uid still exists (previous pod force-deleted?!)"
	assert.Error(t, want, n.Prepare(t.Context(), next))
	assert.Must(t, n.Unprepare(t.Context(), old.UID))
	assert.NoError(t, n.Prepare(t.Context(), next))
}

// TestKubeletsFile: what a kubelet of Kubernetes 1.36 has written is gone on with, and what
// is written is the same (A-DRA-5).
func TestKubeletsFile(t *testing.T) {
	const kubelets = `{"Data":"{\"kind\":\"DRACheckpoint\",\"apiVersion\":\"checkpoint.dra.kubelet.k8s.io/v1\",\"ClaimInfoStateList\":[{\"ClaimUID\":\"a-uid\",\"ClaimName\":\"a\",\"Namespace\":\"default\",\"PodUIDs\":{\"p-uid\":{}},\"DriverState\":{\"d\":{\"Devices\":[{\"PoolName\":\"pool\",\"DeviceName\":\"gpu-0\",\"ShareID\":null,\"RequestNames\":[\"gpu\"],\"CDIDeviceIDs\":[\"d/gpu=0\"]}]}}}]}","Checksum":%d}`
	n := claimsNewNode(t)
	for _, checksum := range []uint32{897154242, 1} {
		text := fmt.Sprintf(kubelets, checksum)
		assert.Must(t, os.WriteFile(n.config.StateFile, []byte(text), 0o600))
		read, err := readFile(n.config.StateFile)
		if checksum == 1 {
			assert.ErrorContains(t, "dra_manager_state can't be used, drain the node and remove the file: its checksum is 1", err, "a damaged file")
			continue
		}
		assert.Must(t, err)
		assert.Must(t, writeFile(n.config.StateFile, read))
		written, err := os.ReadFile(n.config.StateFile)
		diff := cmp.Diff(text, string(written))
		assert.True(t, diff == "" && err == nil, "%v %s", err, diff)
	}
}

// TestVersions: a driver has to serve a version of the API that is spoken here (A-DRA-10).
func TestVersions(t *testing.T) {
	n := claimsNewNode(t)
	for versions, want := range map[string]string{
		"": "invalid supported gRPC versions of DRA driver plugin d at endpoint /e: empty list of supported gRPC services (aka supported versions)",
		"v1alpha1.DRA": `invalid supported gRPC versions of DRA driver plugin d at endpoint /e: none of services supported by the plugin (["v1alpha1.DRA"]) ` +
			`are supported by the kubelet (["v1.DRAPlugin" "v1beta1.DRAPlugin"])`,
	} {
		assert.Error(t, want, n.Drivers().Validate("d", "/e", strings.Fields(versions)), versions)
	}
	assert.NoError(t, n.Drivers().Validate("d", "/e", []string{"v1alpha1.DRA", "v1beta1.DRAPlugin"}))
}

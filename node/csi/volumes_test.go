package csi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/google/go-cmp/cmp"
	"github.com/moby/sys/mountinfo"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/volumes"
)

const driverName = "test.example.com"

// machine is a node with one driver.
type machine struct {
	t       *testing.T
	driver  *driver
	config  Config
	volumes *Volumes
	events  []string
	counted []string // of SELinux labels

	mu         sync.Mutex
	operations []string
}

func newMachine(t *testing.T, d *driver, object *storagev1.CSIDriver, others ...runtime.Object) *machine {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() { unmountAll(t, dir) })
	if object == nil {
		object = driverObject(storagev1.CSIDriverSpec{})
	}
	client := fake.NewClientset(append(others, object)...)
	registry := NewRegistry(RegistryConfig{Client: client, Node: "n", Log: slog.New(slog.DiscardHandler)})
	assert.Runs(t, registry.Run)
	go registry.Register(t.Context(), driverName, d.endpoint, []string{"1.0.0"}) //nolint:errcheck // it waits for a Node
	m := &machine{t: t, driver: d}
	m.config = Config{
		Drivers: registry, Client: client, Node: "n", PodsDir: filepath.Join(dir, "pods"), PluginsDir: filepath.Join(dir, "plugins"), Boot: "boot",
		Token: func(_ context.Context, pod *v1.Pod, r storagev1.TokenRequest) (authenticationv1.TokenRequestStatus, error) {
			return authenticationv1.TokenRequestStatus{Token: "token of " + pod.Name + " for " + r.Audience}, nil
		},
		Event: func(object v1.ObjectReference, kind, reason, message string) {
			m.events = append(m.events, strings.Join([]string{object.Kind, kind, reason, message}, " "))
		}, Changed: func() {}, Again: func(types.UID) {}, CountLabel: func(what volumes.LabelCount, labels ...string) {
			m.counted = append(m.counted, strings.TrimPrefix(string(what), "volume_manager_selinux_")+" "+strings.Join(labels, " "))
		}, Operation: func(o volumes.Operation) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.operations = append(m.operations, fmt.Sprint(o.Plugin, " ", o.Name, " ", o.Failed))
		}, Log: slog.New(slog.DiscardHandler),
	}
	m.begin()
	for range 500 {
		if _, err := registry.Driver(driverName); err == nil {
			return m
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the driver has not registered")
	return nil
}

// begin is an agent that begins, after another one perhaps.
func (m *machine) begin() {
	m.t.Helper()
	m.volumes = New(m.config)
}

func driverObject(spec storagev1.CSIDriverSpec) *storagev1.CSIDriver {
	if spec.AttachRequired == nil {
		spec.AttachRequired = new(false)
	}
	return &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driverName}, Spec: spec}
}

func podOf(name string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec:       v1.PodSpec{ServiceAccountName: "sa"},
	}
}

func persistent(name string) *v1.PersistentVolume {
	return &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PersistentVolumeSpec{
		AccessModes:            []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
		PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: driverName, VolumeHandle: "handle-" + name, FSType: "ext4"}},
	}}
}

func (m *machine) publish(pod *v1.Pod, bound *v1.PersistentVolume) (string, error) {
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	return m.publishIn(ctx, pod, bound)
}

func (m *machine) publishIn(ctx context.Context, pod *v1.Pod, bound *v1.PersistentVolume) (string, error) {
	out, err := m.volumes.Publish(ctx, volumes.CSIRequest{Pod: pod, Bound: bound, Own: func(string) error { return nil }})
	return out.Path, err
}

func (m *machine) mustPublish(pod *v1.Pod, bound *v1.PersistentVolume) string {
	m.t.Helper()
	return assert.Get(m.publish(pod, bound)).Must(m.t)
}

func (m *machine) unpublish(pod *v1.Pod) error {
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	return m.volumes.Unpublish(ctx, pod.UID)
}

func (m *machine) wantCalls(want ...string) {
	m.t.Helper()
	assert.Deep(m.t, "calls of the driver", want, m.driver.called())
}

// wantNothing: no mount, no record, nothing in use.
func (m *machine) wantNothing() {
	m.t.Helper()
	for _, dir := range []string{m.config.PodsDir, m.config.PluginsDir} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			assert.True(m.t, err != nil || e.IsDir(), "%s is left", path)
			return err
		})
		assert.True(m.t, err == nil || errors.Is(err, fs.ErrNotExist), "%v", err)
		assert.Empty(m.t, mountsBelow(m.t, dir), "left mounted")
	}
	assert.Empty(m.t, m.inUse(), "still in use")
}

// end takes a pod's volumes away, of which nothing is left then.
func (m *machine) end(pod *v1.Pod) {
	m.t.Helper()
	assert.Must(m.t, m.unpublish(pod))
	m.wantNothing()
}

// inUse are the volumes that would be in use if the driver's were attached.
func (m *machine) inUse() []v1.UniqueVolumeName {
	return m.volumes.inUse.list(func(string) bool { return true })
}

func mountsBelow(t *testing.T, dir string) (paths []string) {
	t.Helper()
	mounts := assert.Get(mountinfo.GetMounts(mountinfo.PrefixFilter(dir))).Must(t)
	for _, m := range mounts {
		paths = append(paths, m.Mountpoint)
	}
	return paths
}

func unmountAll(t *testing.T, dir string) {
	paths := mountsBelow(t, dir)
	slices.Reverse(paths)
	for _, path := range paths {
		_ = syscall.Unmount(path, syscall.MNT_DETACH)
	}
}

func deviceOf(info os.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Dev }

var staging = csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME

// TestVolume: a volume is staged once and published to each pod; it is in use until the last of
// them has given it back (A-CSI-4, A-CSI-6, A-CSI-7).
func TestVolume(t *testing.T) {
	m := newMachine(t, newDriver(t, staging), nil)
	one, two, bound := podOf("one"), podOf("two"), persistent("pv")
	path := m.mustPublish(one, bound)
	assert.Equal(t, filepath.Join(m.config.PodsDir, "uid-one/volumes/kubernetes.io~csi/pv/mount"), path, "published at")
	m.mustPublish(two, bound)
	m.wantCalls("Stage", "Publish", "Publish")
	assert.Must(t, os.WriteFile(filepath.Join(path, "file"), []byte("content"), 0o600))
	content, err := os.ReadFile(filepath.Join(target(m.volumes.layout.volume(two.UID, "pv")), "file"))
	assert.True(t, string(content) == "content", "the other pod reads %q, %v", content, err)
	diff := cmp.Diff([]v1.UniqueVolumeName{"kubernetes.io/csi/test.example.com^handle-pv"}, m.inUse())
	assert.True(t, diff == "", "in use (-want +got):\n%s", diff) // A-CSI-5
	m.driver.forgetCalls()
	for _, pod := range []*v1.Pod{one, two} {
		assert.Must(t, m.unpublish(pod))
	}
	m.wantCalls("Unpublish", "Unpublish", "Unstage")
	m.wantNothing()
}

// TestRefusedToStage: what a driver has refused to stage it need not unstage; it has to after an
// error that may mean that it is still at it, and if it has mounted something all the same (A-CSI-3, A-CSI-7).
func TestRefusedToStage(t *testing.T) {
	refuses := func(code codes.Code, mounts bool) fault {
		return func(_ context.Context, do func() error) error {
			if mounts {
				_ = do()
			}
			return status.Error(code, "refused")
		}
	}
	for name, c := range map[string]struct {
		fault func(context.Context, func() error) error
		want  []string
	}{
		"final":         {refuses(codes.InvalidArgument, false), []string{"Stage", "Unpublish"}},
		"final, a lie":  {refuses(codes.InvalidArgument, true), []string{"Stage", "Unpublish", "Unstage"}},
		"still at work": {refuses(codes.DeadlineExceeded, false), []string{"Stage", "Unpublish", "Unstage"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, newDriver(t, staging), nil)
			pod := podOf("pod")
			m.driver.once("Stage", c.fault)
			assert.Fails(t, assert.ErrorOf(m.publish(pod, persistent("pv"))), "published")
			assert.NoError(t, m.unpublish(pod))
			m.wantCalls(c.want...)
			m.wantNothing()
		})
	}
}

func (m *machine) restartDriver() {
	m.t.Helper()
	m.driver.server.Stop()
	m.driver.start(m.t, m.driver)
}

// TestBeginsAnew: the driver is not called for what pods have since this boot, by an agent before,
// and is for a pod of a kubelet or of another boot (A-CSI-12).
func TestBeginsAnew(t *testing.T) {
	m := newMachine(t, newDriver(t, staging), nil)
	pod, bound := podOf("pod"), persistent("pv")
	path := m.mustPublish(pod, bound)
	m.driver.forgetCalls()
	m.begin()
	names := m.inUse()
	assert.True(t, len(names) == 1, "in use: %q", names)
	m.mustPublish(pod, bound)
	m.wantCalls()
	record := filepath.Join(filepath.Dir(path), recordName)
	content := `{"specVolID":"pv","volumeHandle":"handle-pv","driverName":"test.example.com","nodeName":"n","volumeLifecycleMode":"Persistent"}`
	assert.Must(t, os.WriteFile(record, []byte(content), 0o600))
	m.mustPublish(pod, bound)
	m.wantCalls("Publish")
	m.driver.forgetCalls()
	m.config.Boot = "another boot"
	m.begin()
	m.mustPublish(pod, bound)
	m.wantCalls("Stage", "Publish")
	m.end(pod)
}

// After lifepod down has unmounted all, the driver is called again for a pod that comes back.
func TestUnmounted(t *testing.T) {
	m := newMachine(t, newDriver(t, staging), nil)
	pod, bound := podOf("pod"), persistent("pv")
	m.mustPublish(pod, bound)
	unmountAll(t, filepath.Dir(m.config.PodsDir))
	assert.Must(t, Unmounted(m.config.PodsDir, m.config.PluginsDir))
	m.driver.forgetCalls()
	m.begin()
	m.mustPublish(pod, bound)
	m.wantCalls("Stage", "Publish")
	m.end(pod)
}

// TestDevice: a device is published at the kubelet's place, and two pods can have it (A-CSI-8).
func TestDevice(t *testing.T) {
	m := newMachine(t, newDriver(t, staging), nil)
	one, two, bound := podOf("one"), podOf("two"), persistent("pv")
	bound.Spec.VolumeMode = new(v1.PersistentVolumeBlock)
	path := m.mustPublish(one, bound)
	assert.Equal(t, filepath.Join(m.config.PluginsDir, "kubernetes.io/csi/volumeDevices/publish/pv/uid-one"), path, "published at")
	to, err := os.Readlink(filepath.Join(m.config.PodsDir, "uid-one/volumeDevices/kubernetes.io~csi/pv"))
	assert.True(t, to == path, "the pod's link leads to %q, %v", to, err)
	m.mustPublish(two, bound)
	m.begin()
	m.mustPublish(one, bound)
	m.wantCalls("Stage", "Publish", "Publish")
	for _, pod := range []*v1.Pod{one, two} {
		assert.Must(t, m.unpublish(pod))
	}
	m.wantCalls("Stage", "Publish", "Publish", "Unpublish", "Unpublish", "Unstage")
	m.wantNothing()
	m.wantOperations("map_volume false", "map_volume false", "unmap_volume false", "unmap_volume false", "unmap_device false") // A-VOL-7
}

// TestInline: a volume of the pod's own is neither staged nor attached, if the CSIDriver allows it
// (A-CSI-9, A-CSI-11).
func TestInline(t *testing.T) {
	source := &v1.Volume{Name: "own", VolumeSource: v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: driverName, VolumeAttributes: map[string]string{"k": "v"}}}}
	ask := func(m *machine) error {
		_, err := m.volumes.Publish(t.Context(), volumes.CSIRequest{Pod: podOf("pod"), Inline: source, Own: func(string) error { return nil }})
		return err
	}
	spec := storagev1.CSIDriverSpec{
		VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecycleEphemeral}, PodInfoOnMount: new(true),
		TokenRequests: []storagev1.TokenRequest{{Audience: "bank"}},
	}
	m := newMachine(t, newDriver(t, staging), driverObject(spec))
	assert.Must(t, ask(m))
	m.wantCalls("Publish")
	want := map[string]string{
		"k": "v", "csi.storage.k8s.io/pod.name": "pod", "csi.storage.k8s.io/pod.namespace": "default", "csi.storage.k8s.io/pod.uid": "uid-pod",
		"csi.storage.k8s.io/serviceAccount.name": "sa", "csi.storage.k8s.io/ephemeral": "true",
		"csi.storage.k8s.io/serviceAccount.tokens": `{"bank":{"token":"token of pod for bank","expirationTimestamp":null}}`,
	}
	assert.Deep(t, "attributes", want, m.driver.lastPublish().VolumeContext)
	assert.Empty(t, m.inUse(), "in use")
	m.end(podOf("pod"))
	m.wantOperations("volume_mount false", "volume_unmount false")

	other := newMachine(t, newDriver(t, staging), driverObject(storagev1.CSIDriverSpec{VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}}))
	assert.Error(t, `MountVolume.SetUp failed for volume "own" : kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: `+
		`volume mode "Ephemeral" not supported by driver test.example.com (only supports ["Persistent"])`, ask(other))
}

// wantOperations says what was counted, with whether it failed (A-VOL-7).
func (m *machine) wantOperations(want ...string) {
	m.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range want {
		want[i] = "kubernetes.io/csi:test.example.com " + want[i]
	}
	assert.Deep(m.t, "operations", want, m.operations)
}

// TestRepublish: a volume is published again if the driver wants that, with what it asks for then,
// and keeps what it has if that fails (A-CSI-11).
func TestRepublish(t *testing.T) {
	m := newMachine(t, newDriver(t), driverObject(storagev1.CSIDriverSpec{RequiresRepublish: new(true)}))
	pod, bound := podOf("pod"), persistent("pv")
	m.mustPublish(pod, bound)
	m.begin()
	m.mustPublish(pod, bound)
	assert.Deep(t, "published again are those of", []types.UID{pod.UID}, m.volumes.republished())
	m.driver.once("Publish", refuses(codes.Internal))
	again := volumes.CSIRequest{Pod: pod, Bound: bound, Again: true}
	_, err := m.volumes.Publish(t.Context(), again)
	assert.Error(t, `MountVolume.SetUp failed for volume "pv" : rpc error: code = Internal desc = out of order`, err)
	mounts := mountsBelow(t, m.config.PodsDir)
	assert.True(t, len(mounts) == 1, "mounts: %q", mounts)
	assert.NoError(t, assert.ErrorOf(m.volumes.Publish(t.Context(), again)))
	m.wantCalls("Publish", "Publish", "Publish")
	err = m.unpublish(pod)
	assert.True(t, err == nil && len(m.volumes.republished()) == 0, "giving it back: %v; published again: %q", err, m.volumes.republished())
}

// TestGroup: the fsGroup goes to the driver or to the files, by the driver's policy (A-CSI-10).
func TestGroup(t *testing.T) {
	for name, test := range map[string]struct {
		can    []csi.NodeServiceCapability_RPC_Type
		policy storagev1.FSGroupPolicy
		fsType string
		modes  []v1.PersistentVolumeAccessMode
		driver string
		owned  bool
	}{
		"the driver does it":  {can: []csi.NodeServiceCapability_RPC_Type{csi.NodeServiceCapability_RPC_VOLUME_MOUNT_GROUP}, policy: storagev1.FileFSGroupPolicy, driver: "7"},
		"always":              {policy: storagev1.FileFSGroupPolicy, owned: true},
		"never":               {policy: storagev1.NoneFSGroupPolicy, fsType: "ext4", modes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}},
		"by file system":      {fsType: "ext4", modes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, owned: true},
		"without file system": {modes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}},
		"shared by nodes":     {fsType: "ext4", modes: []v1.PersistentVolumeAccessMode{v1.ReadWriteMany}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := storagev1.CSIDriverSpec{}
			if test.policy != "" {
				spec.FSGroupPolicy = &test.policy
			}
			m := newMachine(t, newDriver(t, test.can...), driverObject(spec))
			pod, bound := podOf("pod"), persistent("pv")
			pod.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: new(int64(7))}
			bound.Spec.CSI.FSType, bound.Spec.AccessModes = test.fsType, test.modes
			owned := ""
			out := assert.Get(m.volumes.Publish(t.Context(), volumes.CSIRequest{Pod: pod, Bound: bound, Own: func(dir string) error {
				owned = dir
				return nil
			}})).Must(t)
			assert.True(t, test.owned == (owned == out.Path), "given to the group: %q", owned)
			assert.Equal(t, test.driver, m.driver.lastPublish().VolumeCapability.GetMount().VolumeMountGroup, "the driver is told the group")
			assert.NoError(t, m.unpublish(pod))
		})
	}
}

// TestOnlyOnePod: a second pod does not get a volume for one (A-CSI-13).
func TestOnlyOnePod(t *testing.T) {
	m := newMachine(t, newDriver(t), nil)
	one, two, bound := podOf("one"), podOf("two"), persistent("pv")
	bound.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}
	m.mustPublish(one, bound)
	assert.Error(t, `MountVolume.SetUp failed for volume "pv" : volume uses the ReadWriteOncePod access mode and is already in use by another pod`, assert.ErrorOf(m.publish(two, bound)))
	assert.Must(t, m.unpublish(one))
	m.mustPublish(two, bound)
	m.end(two)
}

// TestNoDriver: a pod waits for its driver, nothing is asked of it, and the pod can go (A-CSI-4).
func TestNoDriver(t *testing.T) {
	m := newMachine(t, newDriver(t), nil)
	pod, bound := podOf("pod"), persistent("pv")
	bound.Spec.CSI.Driver = "other.example.com"
	_, err := m.publish(pod, bound)
	assert.Error(t, `MountVolume.MountDevice failed for volume "pv" : kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: `+
		`driver name other.example.com not found in the list of registered CSI drivers`, err)
	m.end(pod)
}

// TestDamagedRecord: a record that can't be read holds up its own volume, and neither the node nor
// other volumes (A-CSI-12).
func TestDamagedRecord(t *testing.T) {
	m := newMachine(t, newDriver(t, staging), nil)
	pod, other, bound := podOf("pod"), podOf("other"), persistent("pv")
	path := m.mustPublish(pod, bound)
	m.mustPublish(other, persistent("pv-2"))
	file := filepath.Join(filepath.Dir(path), recordName)
	good, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, nil, 0o600)
	}
	assert.Must(t, err)
	m.begin()
	names := m.inUse()
	assert.True(t, len(names) == 2, "in use: %q", names)
	assert.Error(t, "record of a volume "+file+": unexpected end of JSON input", m.unpublish(pod))
	m.mustPublish(other, persistent("pv-3"))
	assert.Must(t, os.WriteFile(file, good, 0o600))
	for _, p := range []*v1.Pod{pod, other} {
		assert.NoError(t, m.unpublish(p))
	}
	m.wantNothing()
}

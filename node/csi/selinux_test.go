package csi

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/volumes"
)

// fedora is a machine with SELinux, as Kubernetes' own tests have it.
type fedora struct{}

func (fedora) FileLabel(o v1.SELinuxOptions) (string, error) {
	if o.Type == "unknown_t" {
		return "", errors.New("no such type")
	}
	kind := o.Type
	if kind == "" || kind == "container_t" {
		kind = "container_file_t"
	}
	return fmt.Sprintf("system_u:object_r:%s:%s", kind, o.Level), nil
}

func (fedora) Relabels(string) (bool, error) { return true, nil }

// withSELinux is a machine whose driver mounts with labels, unless spec says otherwise.
func withSELinux(t *testing.T, spec storagev1.CSIDriverSpec) *machine {
	t.Helper()
	m := newMachine(t, newDriver(t, staging), driverObject(spec))
	m.config.Labels = fedora{}
	m.begin()
	return m
}

var mountsLabels = storagev1.CSIDriverSpec{SELinuxMount: new(true)}

func podLabelled(name, level string) *v1.Pod {
	pod := podOf(name)
	pod.Spec.SecurityContext = &v1.PodSecurityContext{SELinuxOptions: &v1.SELinuxOptions{Level: level}}
	pod.Spec.Containers = []v1.Container{{Name: "c", VolumeMounts: []v1.VolumeMount{{Name: "data"}}}}
	return pod
}

func oncePod(name string) *v1.PersistentVolume {
	bound := persistent(name)
	bound.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}
	bound.Spec.MountOptions = []string{"noatime"}
	return bound
}

func (m *machine) ask(pod *v1.Pod, bound *v1.PersistentVolume) (volumes.CSIVolume, error) {
	return m.volumes.Publish(m.t.Context(), volumes.CSIRequest{Pod: pod, Volume: "data", Bound: bound, Own: func(string) error { return nil }})
}

const (
	fileLabel = `system_u:object_r:container_file_t:`
	noRoom    = "Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: "
	waits     = "Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], failed to process volumes=[]: "
)

// wantOptions says with which options the driver was asked to stage and to publish.
func (m *machine) wantOptions(what string, want ...string) {
	m.t.Helper()
	m.driver.mu.Lock()
	staged := m.driver.staged[len(m.driver.staged)-1]
	m.driver.mu.Unlock()
	for call, capability := range map[string]*csi.VolumeCapability{"stage": staged.VolumeCapability, "publish": m.driver.lastPublish().VolumeCapability} {
		assert.Deep(m.t, fmt.Sprintf("%s: options to %s", what, call), want, capability.GetMount().GetMountFlags())
	}
}

// TestSELinuxMount: which volumes of which pods are mounted with a label, and that the runtime
// labels the files of the others (A-CSI-18, A-CSI-19, A-VOL-2).
func TestSELinuxMount(t *testing.T) {
	s0 := `context="` + fileLabel + `s0:c1,c2"`
	admitted := "volumes_admitted_total kubernetes.io/csi/test.example.com "
	policy := func(is v1.PodSELinuxChangePolicy) func(*v1.Pod) {
		return func(p *v1.Pod) { p.Spec.SecurityContext.SELinuxChangePolicy = &is }
	}
	for name, test := range map[string]struct {
		spec    storagev1.CSIDriverSpec
		pod     func(p *v1.Pod)
		modes   []v1.PersistentVolumeAccessMode
		all     bool
		options []string
		counted []string
	}{
		"labelled":                {spec: mountsLabels, options: []string{"noatime", s0}, counted: []string{admitted + "RWOP"}},
		"by policy, too":          {spec: mountsLabels, pod: policy(v1.SELinuxChangePolicyMountOption), options: []string{"noatime", s0}, counted: []string{admitted + "RWOP"}},
		"recursive":               {spec: mountsLabels, pod: policy(v1.SELinuxChangePolicyRecursive), options: []string{"noatime"}},
		"the driver does not":     {spec: storagev1.CSIDriverSpec{SELinuxMount: new(false)}, options: []string{"noatime"}},
		"the driver does not say": {options: []string{"noatime"}},
		"another access mode": {
			spec: mountsLabels, modes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, options: []string{"noatime"}, counted: []string{admitted + "RWO"},
		},
		"two access modes": {
			spec: mountsLabels, modes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod, v1.ReadWriteMany}, options: []string{"noatime"}, counted: []string{admitted + "RWX"},
		},
		"another access mode with the gate": {
			spec: mountsLabels, modes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, all: true, options: []string{"noatime", s0}, counted: []string{admitted + "RWO"},
		},
		"no options": {spec: mountsLabels, pod: func(p *v1.Pod) { p.Spec.SecurityContext = nil }, options: []string{"noatime"}},
		"no level":   {spec: mountsLabels, pod: func(p *v1.Pod) { p.Spec.SecurityContext.SELinuxOptions = &v1.SELinuxOptions{Type: "container_t"} }, options: []string{"noatime"}},
		"of containers": {spec: mountsLabels, pod: func(p *v1.Pod) {
			p.Spec.Containers[0].SecurityContext = &v1.SecurityContext{SELinuxOptions: &v1.SELinuxOptions{Type: "db_t", Level: "s0"}}
			p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: "without the volume"})
		}, options: []string{"noatime", `context="system_u:object_r:db_t:s0"`}, counted: []string{admitted + "RWOP"}},
		"several labels, another access mode": {
			spec: mountsLabels, modes: []v1.PersistentVolumeAccessMode{v1.ReadOnlyMany}, options: []string{"noatime"},
			pod: func(p *v1.Pod) {
				p.Spec.InitContainers = slices.Clone(p.Spec.Containers)
				p.Spec.InitContainers[0].SecurityContext = &v1.SecurityContext{SELinuxOptions: &v1.SELinuxOptions{Level: "s1"}}
			}, counted: []string{"pod_context_mismatch_warnings_total ROX"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := withSELinux(t, test.spec)
			m.config.LabelAllModes = test.all
			m.begin()
			pod, bound := podLabelled("pod", "s0:c1,c2"), oncePod("pv")
			if test.pod != nil {
				test.pod(pod)
			}
			if test.modes != nil {
				bound.Spec.AccessModes = test.modes
			}
			got := assert.Get(m.ask(pod, bound)).Must(t)
			m.wantOptions("", test.options...)
			assert.Equal(t, len(test.options) == 1, got.Relabel, "the runtime labels the files")
			assert.Deep(t, "counted", test.counted, m.counted)
		})
	}
}

// TestNoSELinux: without SELinux nothing is mounted with a label, or labelled (A-CSI-18).
func TestNoSELinux(t *testing.T) {
	m := newMachine(t, newDriver(t, staging), driverObject(mountsLabels))
	got, err := m.ask(podLabelled("pod", "s0"), oncePod("pv"))
	assert.True(t, err == nil && !got.Relabel, "published %+v, error %v", got, err)
	m.wantOptions("without SELinux", "noatime")
}

// TestNoLabel: a pod that has no one label for a volume does not get it (A-CSI-18, A-CSI-19).
func TestNoLabel(t *testing.T) {
	m := withSELinux(t, storagev1.CSIDriverSpec{})
	unknown := podLabelled("unknown", "s0")
	unknown.Spec.SecurityContext.SELinuxOptions.Type = "unknown_t"
	_, err := m.ask(unknown, oncePod("pv"))
	if err == nil || !strings.HasPrefix(err.Error(), noRoom+"failed to construct SELinux label from context ") || !strings.HasSuffix(err.Error(), ": no such type") {
		t.Errorf("error of a pod whose label there is not: %v", err)
	}
	two := podLabelled("two", "s1")
	two.Spec.Containers = append(two.Spec.Containers, *two.Spec.Containers[0].DeepCopy())
	two.Spec.Containers[1].SecurityContext = &v1.SecurityContext{SELinuxOptions: &v1.SELinuxOptions{Level: "s0"}}
	assert.Error(t, noRoom+"multiple SELinux labels found: "+fileLabel+"s0,"+fileLabel+"s1", assert.ErrorOf(m.ask(two, oncePod("pv"))))
	assert.Deep(t, "counted", []string{"container_errors_total RWOP", "pod_context_mismatch_errors_total RWOP"}, m.counted)
	assert.Empty(t, m.driver.called(), "the driver was called")
}

// TestOtherLabel: a volume that a pod has with a label is not another pod's with another one
// before it was unmounted and unstaged, by this agent or the next (A-CSI-18, A-CSI-19).
func TestOtherLabel(t *testing.T) {
	m := withSELinux(t, mountsLabels)
	m.config.LabelAllModes = true // so that two pods can have it
	m.begin()
	bound := persistent("pv")
	one, same, other := podLabelled("one", "s0"), podLabelled("same", "s0"), podLabelled("other", "s1")
	for _, pod := range []*v1.Pod{one, same} {
		assert.Must(t, assert.ErrorOf(m.ask(pod, bound)))
	}
	conflict := noRoom + `conflicting SELinux labels of volume pv: "` + fileLabel + `s0" and "` + fileLabel + `s1"`
	for range 2 {
		_, err := m.ask(other, bound)
		assert.Error(t, conflict, err)
	}
	m.begin() // after a kill
	assert.Must(t, assert.ErrorOf(m.ask(one, bound)))
	_, err := m.ask(other, bound)
	assert.Error(t, conflict, err)
	assert.Must(t, m.unpublish(same))
	m.driver.once("Unpublish", refuses(codes.Internal))
	assert.Require(t, m.unpublish(one) != nil, "the driver has not refused to unpublish")
	_, err = m.ask(other, bound)
	assert.Error(t, waits+`waiting for unmount of volume "kubernetes.io/csi/test.example.com^handle-pv", because it is already mounted to a different pod with a different SELinux label`, err)
	assert.Must(t, m.unpublish(one))
	assert.Must(t, assert.ErrorOf(m.ask(other, bound)))
	m.wantCalls("Stage", "Publish", "Publish", "Unpublish", "Unpublish", "Unpublish", "Unstage", "Stage", "Publish")
	m.wantOptions("the other pod", `context="`+fileLabel+`s1"`)
	const plugin = " kubernetes.io/csi/test.example.com RWO"
	want := []string{"volumes_admitted_total" + plugin, "volume_context_mismatch_errors_total" + plugin, "volume_context_mismatch_errors_total" + plugin,
		"volumes_admitted_total" + plugin, "volume_context_mismatch_errors_total" + plugin, "volumes_admitted_total" + plugin}
	assert.Deep(t, "counted", want, m.counted)
}

// TestStagedWithOtherLabel: what was staged for no pod is unstaged before it is staged with another
// label, and stays in use on the Node; what a pod has keeps its label (A-CSI-18).
func TestStagedWithOtherLabel(t *testing.T) {
	m := withSELinux(t, mountsLabels)
	one, other, bound := podLabelled("one", "s0"), podLabelled("other", "s1"), oncePod("pv")
	assert.Must(t, assert.ErrorOf(m.ask(one, bound)))
	m.driver.once("Unstage", refuses(codes.Internal))
	assert.Require(t, m.unpublish(one) != nil, "the driver has not refused to unstage")
	m.begin() // after a kill between the two calls
	assert.Must(t, assert.ErrorOf(m.ask(other, bound)))
	m.wantCalls("Stage", "Publish", "Unpublish", "Unstage", "Unstage", "Stage", "Publish")
	m.wantOptions("the other pod", "noatime", `context="`+fileLabel+`s1"`)
	names := m.inUse()
	assert.True(t, len(names) == 1, "in use: %q", names)
	record, err := readRecord(m.volumes.layout.staged(driverName, "handle-pv"))
	assert.True(t, err == nil && record["seLinuxMountContext"] == fileLabel+"s1", "record of what is staged: %v, error %v", record, err)
	other.Spec.SecurityContext = nil // as if it were another CSIDriver: the agent after this decides otherwise
	m.begin()
	got, err := m.ask(other, bound)
	assert.True(t, err == nil && !got.Relabel, "the next agent: %+v, error %v", got, err)
	m.end(other)
}

package podcgroup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/cgroups"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// What is written of a container and a pod of each class (A-RES-7).
func TestMemoryQoS(t *testing.T) {
	on := MemoryQoS{On: true, ThrottlingFactor: 0.9, Allocatable: 1000 << 20}
	tiered := on
	tiered.Tiered = true
	unthrottled := on
	unthrottled.ThrottlingFactor = 0
	of := func(least, low, high string) map[string]string {
		return map[string]string{"memory.min": least, "memory.low": low, "memory.high": high}
	}
	none, off := of("0", "0", "max"), map[string]string{"memory.high": "max"}
	guaranteed := podOf(needs(list("1", "64Mi"), list("1", "64Mi")))
	burstable := podOf(needs(list("", "100Mi"), list("", "200Mi")))
	limitless := podOf(needs(list("", "100Mi"), nil))
	bestEffort := podOf(needs(nil, nil))
	wholePod := withPodLevel(podOf(needs(list("", "100Mi"), nil)), needs(list("", "100Mi"), list("", "200Mi")))
	allLimited := withPodLevel(podOf(needs(list("", "100Mi"), list("", "200Mi"))), needs(list("", "100Mi"), nil))
	notLimited := withPodLevel(podOf(needs(list("", "100Mi"), nil)), needs(list("", "100Mi"), nil))
	for name, test := range map[string]struct {
		qos            MemoryQoS
		pod            *v1.Pod
		wantPod, wantC map[string]string
	}{
		"off":                         {MemoryQoS{Tiered: true}, guaranteed, nil, off},
		"nothing reserved":            {on, guaranteed, none, none},
		"Guaranteed":                  {tiered, guaranteed, of("67108864", "0", "max"), of("67108864", "0", "max")},
		"Burstable":                   {tiered, burstable, of("0", "104857600", "max"), of("0", "104857600", "199229440")},
		"throttled, not reserved":     {on, burstable, none, of("0", "0", "199229440")},
		"no factor":                   {unthrottled, burstable, none, none},
		"throttled by allocatable":    {on, limitless, none, of("0", "0", "954204160")},
		"BestEffort is throttled":     {on, bestEffort, none, of("0", "0", "943718400")},
		"by the pod's limit":          {on, wholePod, of("0", "0", "199229440"), none},
		"by its containers' limits":   {on, allLimited, of("0", "0", "199229440"), of("0", "0", "199229440")},
		"no limit in a pod with some": {on, notLimited, none, of("0", "0", "954204160")},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Deep(t, "A-RES-7 pod", test.wantPod, test.qos.OfPod(test.pod))
			assert.Deep(t, "A-RES-7 container", test.wantC, test.qos.OfContainer(test.pod, &test.pod.Spec.Containers[0]))
		})
	}
}

// pretended is a cgroup of version 2 in a folder of the test's.
type pretended struct {
	cgroups.Manager
	t   *testing.T
	dir string
	// before is called once, before the first value is written.
	before func()
}

func (p *pretended) Path(string) string { return p.dir }

func (p *pretended) Set(r *cgroups.Resources) error {
	if before := p.before; before != nil {
		p.before = nil
		before()
	}
	for file, value := range r.Unified {
		p.write(file, value)
	}
	return nil
}

func (p *pretended) write(file, content string) {
	path := filepath.Join(p.dir, file)
	assert.Must(p.t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content+"\n"), 0o600)))
}

func (p *pretended) read(file string) string {
	content := assert.Get(os.ReadFile(filepath.Join(p.dir, file))).Must(p.t)
	return strings.TrimSpace(string(content))
}

func pretendedLevels(t *testing.T) (root, burstable *pretended) {
	root = &pretended{t: t, dir: t.TempDir()}
	burstable = &pretended{t: t, dir: filepath.Join(root.dir, "burstable")}
	for _, level := range []*pretended{root, burstable} {
		level.write(memoryMin, "0")
		level.write(memoryLow, "0")
	}
	return root, burstable
}

// The levels cover what is protected in them, as long as the gate is on (A-RES-7).
func TestProtectedBelow(t *testing.T) {
	root, burstable := pretendedLevels(t)
	for file, content := range map[string]string{
		"pod1/memory.min": "100", "pod2/memory.min": "20", "burstable/pod3/memory.low": "7",
		"burstable/pod4/memory.low": "8", "burstable/pod4/memory.min": "0", "burstable/pod5/memory.low": "max",
	} {
		root.write(file, content)
	}
	for _, q := range []struct {
		MemoryQoS
		low, min string
	}{{MemoryQoS{On: true}, "15", "135"}, {MemoryQoS{}, "0", "0"}} {
		assert.Must(t, q.cover(root, burstable))
		got := [4]string{burstable.read(memoryLow), burstable.read(memoryMin), root.read(memoryLow), root.read(memoryMin)}
		assert.Equal(t, [4]string{q.low, "0", q.low, q.min}, got, "A-RES-7 memory.low and memory.min of burstable, then of all")
	}
}

// A pod that comes while the levels are being set for another one is covered, too
// (A-RES-7).
func TestPodsComeAtOnce(t *testing.T) {
	root, burstable := pretendedLevels(t)
	root.write("burstable/pod1/memory.low", "64")
	q := MemoryQoS{On: true}
	root.before = func() {
		root.write("burstable/pod2/memory.low", "32")
		assert.NoError(t, q.cover(root, burstable))
	}
	assert.Must(t, q.cover(root, burstable))
	got := [3]string{burstable.read(memoryLow), root.read(memoryLow), root.read(memoryMin)}
	assert.Equal(t, [3]string{"96", "96", "96"}, got, "A-RES-7 memory.low of burstable and of all, memory.min of all")
}

// A level that is not there, because its last pod has just gone, is no error.
func TestNoLevel(t *testing.T) {
	root, burstable := pretendedLevels(t)
	root.write("pod1/memory.min", "100")
	assert.Must(t, os.RemoveAll(burstable.dir))
	assert.Must(t, (MemoryQoS{On: true}).cover(root, burstable))
	assert.Equal(t, "100", root.read(memoryMin), "A-RES-7 memory.min of all")
}

package ipam

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

// modelPod is what the model knows of a pod that holds an address.
type modelPod struct {
	address string
	// sandboxes holds the boot of each container that wasn't detached.
	sandboxes map[string]int
	changed   int
	damaged   bool
}

func (p *modelPod) attached(container string) bool {
	_, attached := p.sandboxes[container]
	return attached
}

// model is the store as its package comment promises it, in a few maps.
type model struct {
	store *Store
	dir   string
	size  int
	boots int
	step  int
	clock *clock
	pods  map[string]*modelPod
	// removed are pods whose file was removed, which leaves a link behind.
	removed map[string]bool
}

// live says that a sandbox of this boot uses the pod's address.
func (m *model) live(pod *modelPod) bool {
	return slices.Contains(slices.Collect(maps.Values(pod.sandboxes)), m.boots)
}

func (m *model) free() int { return m.size - len(m.pods) }

// oldestIdle is the pod that gives way when the range is exhausted.
func (m *model) oldestIdle() string {
	oldest := ""
	for name, pod := range m.pods {
		if !m.live(pod) && !pod.damaged && (oldest == "" || pod.changed < m.pods[oldest].changed) {
			oldest = name
		}
	}
	return oldest
}

func (m *model) attach(t *rapid.T) {
	name, container := m.pick(t), rapid.SampledFrom([]string{"c1", "c2"}).Draw(t, "container")
	within := testRange(&testing.T{}, m.size)
	got, err := m.store.Attach(sandbox(name, container), within)
	pod, known := m.pods[name]
	victim := m.oldestIdle()
	if !known && m.free() == 0 && victim == "" {
		if !errors.Is(err, ErrExhausted) {
			t.Fatalf("%s got %v, %v; want ErrExhausted", name, got, err)
		}
		return
	}
	if err != nil {
		t.Fatalf("attach %s: %v", name, err)
	}
	if !known {
		if m.free() == 0 {
			delete(m.pods, victim)
		}
		pod = &modelPod{address: got.String(), sandboxes: map[string]int{}}
		m.pods[name] = pod
	}
	if got.String() != pod.address {
		t.Fatalf("%s has %s, had %s", name, got, pod.address)
	}
	maps.DeleteFunc(pod.sandboxes, func(_ string, boot int) bool { return pod.damaged || boot != m.boots })
	m.step++
	pod.sandboxes[container], pod.changed, pod.damaged = m.boots, m.step, false
}

func (m *model) detach(t *rapid.T) {
	name, container := m.pick(t), rapid.SampledFrom([]string{"c1", "c2"}).Draw(t, "container")
	detach(&testing.T{}, m.store, sandbox(name, container))
	pod, known := m.pods[name]
	if !known || pod.damaged || !pod.attached(container) {
		return
	}
	delete(pod.sandboxes, container)
	m.settle(name)
}

func (m *model) settle(name string) {
	m.step++
	m.pods[name].changed = m.step
}

// removeRecord is the release of a pod that is gone.
func (m *model) removeRecord(t *rapid.T) {
	name := m.pick(t)
	_ = os.Remove(m.store.recordPath(name))
	delete(m.pods, name)
	m.removed[name] = true
}

func (m *model) collect(t *rapid.T) {
	if _, err := m.store.Collect("lifepod", []Attachment{{Container: "c1", Interface: "eth0"}}); err != nil {
		t.Fatalf("collect: %v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(m.pods)) {
		pod := m.pods[name]
		if !pod.damaged && pod.attached("c2") {
			delete(pod.sandboxes, "c2")
			m.settle(name)
		}
	}
}

// damage leaves a record that can't be read. Not of a pod that came back after
// its file was removed: rebuilding may choose its earlier address then.
func (m *model) damage(t *rapid.T) {
	name := m.pick(t)
	pod, known := m.pods[name]
	if !known || m.removed[name] {
		return
	}
	assert.Must(t, os.WriteFile(m.store.recordPath(name), []byte("?"), 0o600))
	pod.damaged = true
}

func (m *model) ready(t *rapid.T) {
	err := m.store.Ready(testRange(&testing.T{}, m.size))
	if want := m.free() == 0 && m.oldestIdle() == ""; errors.Is(err, ErrExhausted) != want {
		t.Fatalf("ready: %v; exhausted is %v", err, want)
	}
}

func (m *model) pick(t *rapid.T) string {
	return rapid.SampledFrom([]string{"pod-a", "pod-b", "pod-c", "pod-d", "pod-e"}).Draw(t, "pod")
}

// check is the promise itself: one owner for one address.
func (m *model) check(t *rapid.T) {
	owners := map[string]string{}
	for name, pod := range m.pods {
		if other, taken := owners[pod.address]; taken {
			t.Fatalf("%s and %s both have %s", name, other, pod.address)
		}
		owners[pod.address] = name
	}
	if len(m.pods) > m.size {
		t.Fatalf("%d pods share %d addresses", len(m.pods), m.size)
	}
}

func TestStoreAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{size: rapid.IntRange(1, 4).Draw(rt, "size"), clock: &clock{}, pods: map[string]*modelPod{}, removed: map[string]bool{}}
		m.dir = memoryDir(t)
		m.open(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"":       m.check,
			"attach": m.attach, "detach": m.detach, "remove": m.removeRecord,
			"collect": m.collect, "damage": m.damage, "ready": m.ready, "boot": m.boot,
		})
		m.store.Close()
	})
}

func (m *model) open(t *rapid.T) {
	s := assert.Get(Open(m.dir)).Must(t)
	m.store, s.boot, s.now = s, fmt.Sprint("boot-", m.boots), m.clock.now
}

// boot closes the store and opens it in the next boot: no sandbox is live.
func (m *model) boot(t *rapid.T) {
	m.boots++
	m.store.Close()
	m.open(t)
}

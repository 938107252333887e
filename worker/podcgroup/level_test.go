package podcgroup

import (
	"strings"
	"testing"

	"github.com/opencontainers/cgroups"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// Both levels are there before any pod, with the least weight; those that are there keep
// their pods and weigh what these ask for (A-CRI-6).
func TestEnsureLevels(t *testing.T) {
	d := testDriver(t)
	weight := func(class v1.PodQOSClass) string {
		return readIn(t, folders(d, d.path(d.level(class))), "cpu.shares", "cpu.weight")
	}
	least, ofPod := "2", "1024"
	if cgroups.IsCgroup2UnifiedMode() {
		least, ofPod = "1", "39"
	}
	assert.Must(t, d.EnsureLevels())
	got := [2]string{weight(v1.PodQOSBurstable), weight(v1.PodQOSBestEffort)}
	assert.True(t, got == [2]string{least, least}, "A-CRI-6 weights of the levels without pods: %v, want %s", got, least)
	pod := podOf(needs(list("1", ""), nil))
	assert.Must(t, d.Ensure(pod))
	assert.Must(t, d.EnsureLevels())
	got = [2]string{weight(v1.PodQOSBurstable), weight(v1.PodQOSBestEffort)}
	assert.True(t, got == [2]string{ofPod, least}, "A-CRI-6 weights of the levels with a pod: %v, want %s and %s", got, ofPod, least)
	left := folders(d, d.Path(pod))
	assert.True(t, len(left) != 0, "the pod's cgroup is gone")
}

// What the levels protect follows their pods, and is 0 after a start without the gate;
// on cgroup v1 nothing is protected, and nothing fails (A-RES-7).
func TestLevelMemoryFollowsThePods(t *testing.T) {
	d := testDriver(t)
	d.MemoryQoS = MemoryQoS{On: true, Tiered: true}
	protected := func() [3]string {
		if !cgroups.IsCgroup2UnifiedMode() {
			return [3]string{}
		}
		root, burstable := folders(d, d.Root()), folders(d, d.path(d.level(v1.PodQOSBurstable)))
		return [3]string{readIn(t, burstable, "", memoryLow), readIn(t, root, "", memoryLow), readIn(t, root, "", memoryMin)}
	}
	one, two, guaranteed := podOf(needs(list("", "64Mi"), nil)), podOf(needs(list("", "32Mi"), nil)), podOf(needs(list("1", "16Mi"), list("1", "16Mi")))
	one.UID, two.UID, guaranteed.UID = "uid-1", "uid-2", "uid-3"
	var got [][3]string
	for _, step := range []func() error{
		d.EnsureLevels,
		func() error { return d.Ensure(one) },
		func() error { return d.Ensure(two) },
		func() error { return d.Ensure(guaranteed) },
		func() error { return d.Remove(t.Context(), one.UID) },
		func() error { d.MemoryQoS = MemoryQoS{}; return d.EnsureLevels() },
	} {
		assert.Must(t, step())
		got = append(got, protected())
	}
	want := [][3]string{
		{"0", "0", "0"}, {"67108864", "67108864", "67108864"}, {"100663296", "100663296", "100663296"},
		{"100663296", "100663296", "117440512"}, {"33554432", "33554432", "50331648"}, {"0", "0", "0"},
	}
	if !cgroups.IsCgroup2UnifiedMode() {
		want = make([][3]string, len(want))
		files := folders(d, d.Root()+"/"+memoryMin)
		assert.True(t, len(files) == 0, "A-RES-7 on cgroup v1: %s", strings.Join(files, ", "))
	}
	assert.Deep(t, "A-RES-7 memory.low of burstable, memory.low and memory.min of all", want, got)
}

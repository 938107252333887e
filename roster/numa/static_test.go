package numa

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/cpuset"

	"github.com/lifepod/lifepod/internal/assert"
)

// small is a machine of one socket with two cores of two CPUs each.
func small() Layout {
	return Layout{Nodes: []Node{{CPUs: []CPU{{ID: 0}, {ID: 1, Core: 1}, {ID: 2}, {ID: 3, Core: 1}}}}}
}

func static(t *testing.T, reserved cpuset.CPUSet, count int, o CPUOptions) *StaticCPUs {
	t.Helper()
	s := assert.Get(NewStaticCPUs(small(), reserved, count, o)).Must(t)
	return s
}

// A-NUMA-3: the reserved CPUs are those named, else of the first cores.
func TestReserved(t *testing.T) {
	for _, test := range []struct {
		named cpuset.CPUSet
		count int
		want  string // what can be given
	}{
		{count: 2, want: "1,3"}, {count: 1, want: "1-3"}, {named: cpuset.New(1, 2), count: 2, want: "0,3"},
	} {
		got := static(t, test.named, test.count, CPUOptions{}).Allocatable().String()
		assert.True(t, got == test.want, "A-NUMA-3: %d reserved of %q: %s can be given, want %s", test.count, test.named, got, test.want)
	}
	for _, named := range []cpuset.CPUSet{cpuset.New(), cpuset.New(1, 2, 3, 4, 5)} {
		assert.Fails(t, assert.ErrorOf(NewStaticCPUs(small(), named, 5, CPUOptions{})), "A-NUMA-3: five CPUs of four are reserved, of ", named)
	}
}

// A-NUMA-15: a state that is not of this machine or its reservation is refused in upstream's
// words.
func TestCpusRestore(t *testing.T) {
	given := map[types.UID]map[string]cpuset.CPUSet{"u": {"c": cpuset.New(1)}}
	for _, test := range []struct {
		strict bool
		state  CPUState
		want   string
	}{
		{state: CPUState{Shared: cpuset.New(0, 2, 3), Given: given}},
		{state: CPUState{}},
		{state: CPUState{Given: given}, want: "default cpuset cannot be empty"},
		{state: CPUState{Shared: cpuset.New(1, 2, 3)}, want: `not all reserved cpus: "0" are present in defaultCpuSet: "1-3"`},
		{strict: true, state: CPUState{Shared: cpuset.New(0, 1, 2, 3)}, want: `some of strictly reserved cpus: "0" are present in defaultCpuSet: "0-3"`},
		{state: CPUState{Shared: cpuset.New(0, 1, 2, 3), Given: given}, want: `pod: u, container: c cpuset: "1" overlaps with default cpuset "0-3"`},
		{state: CPUState{Shared: cpuset.New(0, 2), Given: given}, want: `current set of available CPUs "0-3" doesn't match with CPUs in state "0-2"`},
	} {
		s, got := static(t, cpuset.New(0), 1, CPUOptions{Strict: test.strict}), ""
		if err := s.Restore(test.state); err != nil {
			got = err.Error()
		}
		assert.Equal(t, test.want, got, "A-NUMA-15: state %v: error", test.state)
	}
}

// A-NUMA-3: what is given back can be given to somebody else.
func TestRelease(t *testing.T) {
	s := static(t, cpuset.New(0), 1, CPUOptions{})
	assert.Must(t, s.Restore(CPUState{Shared: cpuset.New(0, 2, 3), Given: map[types.UID]map[string]cpuset.CPUSet{"u": {"c": cpuset.New(1)}}}))
	before := s.State()
	s.Release("u")
	got := s.State().Shared.String()
	assert.True(t, got == "0-3" && len(s.Holders()) == 0, "after the release %s are shared, holders %v", got, s.Holders())
	assert.True(t, before.Shared.String() == "0,2-3", "the state of before has changed")
}

// fourNodes are two sockets of two NUMA nodes with four CPUs each: 0 to 3, 4 to 7, 8 to 11, 12 to 15.
func fourNodes() cpuMachine {
	var l Layout
	for id := range 4 {
		n := Node{ID: id}
		for cpu := range 4 {
			n.CPUs = append(n.CPUs, CPU{ID: id*4 + cpu, Core: id*4 + cpu, Socket: id / 2})
		}
		l.Nodes = append(l.Nodes, n)
	}
	return machineOf(l)
}

// A-NUMA-6: with align-by-socket NUMA nodes of one socket go before others, also if they can't give equally many; none gives more than
// it has.
func TestDistributedByOneSocket(t *testing.T) {
	free := cpuset.New(0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12)
	for _, test := range []struct {
		align bool
		want  string
	}{{false, "0-2,8-10"}, {true, "0-5"}} {
		got, err := takeDistributed(fourNodes(), free, 6, CPUOptions{AcrossNodes: true, AlignBySocket: test.align})
		assert.True(t, err == nil && got.String() == test.want, "A-NUMA-6 align-by-socket %t: %s, %v, want %s", test.align, got, err, test.want)
	}
}

// A-NUMA-7: a container keeps the CPUs that it was given before full-pcpus-only was set.
func TestPartOfACoreIsKept(t *testing.T) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main"}}}}
	list := v1.ResourceList{v1.ResourceCPU: resource.MustParse("1"), v1.ResourceMemory: resource.MustParse("1Gi")}
	pod.Spec.Containers[0].Resources = v1.ResourceRequirements{Requests: list, Limits: list}
	s := static(t, cpuset.New(0), 1, CPUOptions{})
	assert.Must(t, s.Allocate(pod, &pod.Spec.Containers[0], Hint{}))
	now := static(t, cpuset.New(0), 1, CPUOptions{WholeCores: true})
	assert.Must(t, now.Restore(s.State()))
	assert.NoError(t, now.Clone().Allocate(pod, &pod.Spec.Containers[0], Hint{}), "A-NUMA-7 of a container that has its CPUs already")
	pod.UID = "another"
	assert.Fails(t, now.Clone().Allocate(pod, &pod.Spec.Containers[0], Hint{}), "A-NUMA-7 another pod gets a part of a core")
}

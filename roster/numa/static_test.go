package numa

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/cpuset"
)

// small is a machine of one socket with two cores of two CPUs each.
func small() Layout {
	return Layout{Nodes: []Node{{CPUs: []CPU{{ID: 0}, {ID: 1, Core: 1}, {ID: 2}, {ID: 3, Core: 1}}}}}
}

func static(t *testing.T, reserved cpuset.CPUSet, count int, o CPUOptions) *StaticCPUs {
	t.Helper()
	s, err := NewStaticCPUs(small(), reserved, count, o)
	if err != nil {
		t.Fatal(err)
	}
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
		if got := static(t, test.named, test.count, CPUOptions{}).Allocatable().String(); got != test.want {
			t.Errorf("A-NUMA-3: %d reserved of %q: %s can be given, want %s", test.count, test.named, got, test.want)
		}
	}
	for _, named := range []cpuset.CPUSet{cpuset.New(), cpuset.New(1, 2, 3, 4, 5)} {
		if _, err := NewStaticCPUs(small(), named, 5, CPUOptions{}); err == nil {
			t.Errorf("A-NUMA-3: five CPUs of four are reserved, of %q", named)
		}
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
		if got != test.want {
			t.Errorf("A-NUMA-15: state %v: error %q, want %q", test.state, got, test.want)
		}
	}
}

// A-NUMA-3: what is given back can be given to somebody else.
func TestRelease(t *testing.T) {
	s := static(t, cpuset.New(0), 1, CPUOptions{})
	if err := s.Restore(CPUState{Shared: cpuset.New(0, 2, 3), Given: map[types.UID]map[string]cpuset.CPUSet{"u": {"c": cpuset.New(1)}}}); err != nil {
		t.Fatal(err)
	}
	before := s.State()
	s.Release("u")
	if got := s.State().Shared.String(); got != "0-3" || len(s.Holders()) != 0 {
		t.Errorf("after the release %s are shared, holders %v", got, s.Holders())
	}
	if before.Shared.String() != "0,2-3" {
		t.Error("the state of before has changed")
	}
}

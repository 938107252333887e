package numa

import "k8s.io/utils/cpuset"

// takeUncores takes CPUs from as few uncore caches as possible: whole ones, then a part of
// one that has enough (A-NUMA-5).
func (t *taking) takeUncores() {
	for _, id := range t.uncores() {
		if t.needs >= t.machine.perUncore() {
			t.takeWholeLevel(uncore, t.uncores())
		}
		if t.done() {
			return
		}
		t.takePart(id)
		if t.done() {
			return
		}
	}
}

// takePart takes the missing CPUs from one uncore cache, if all of them can be had there.
func (t *taking) takePart(id int) {
	perCore := max(t.machine.perCore(), 1)
	cores := t.free.only(t.free.in(uncore, id)).groups(core).List()
	cores = cores[:min(len(cores), (t.needs+perCore-1)/perCore)]
	if len(cores) == 0 {
		return
	}
	found := t.free.in(core, cores...).List()
	if t.needs%2 != 0 && perCore > 1 && len(found) > t.needs { // of the last core, one CPU is enough
		found = found[:len(found)-1]
	}
	if len(found) == t.needs {
		t.take(cpuset.New(found...))
	}
}

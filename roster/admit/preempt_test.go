package admit

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestVictims(t *testing.T) {
	critical := testPod("critical", "", withPriority(systemCritical))
	pods := map[string]*v1.Pod{}
	for _, p := range []*v1.Pod{
		testPod("best-effort", ""),
		testPod("burstable-small", "cpu=100m memory=100Mi"),
		testPod("burstable-large", "cpu=300m memory=300Mi"),
		testPod("burstable-cpu", "cpu=800m memory=10Mi"),
		testPod("guaranteed-small", "cpu=200m memory=200Mi", guaranteed),
		testPod("guaranteed-large", "cpu=800m memory=800Mi", guaranteed),
		testPod("also-critical", "cpu=1", withPriority(systemCritical)),
		testPod("static", "cpu=1", static),
	} {
		pods[p.Name] = p
	}
	missing := func(resource v1.ResourceName, amount int64) Failure {
		return Failure{Resource: resource, Requested: amount}
	}
	tests := []struct {
		name    string
		others  []string
		missing []Failure
		want    []string
		err     string
	}{
		{"B-PRE-1 BestEffort before all others", []string{"guaranteed-small", "burstable-small", "best-effort"}, []Failure{missing("pods", 1)}, []string{"best-effort"}, ""},
		{"B-PRE-1 Burstable before Guaranteed", []string{"guaranteed-small", "burstable-large", "best-effort"}, []Failure{missing("cpu", 100)}, []string{"burstable-large"}, ""},
		{"B-PRE-1 the smallest that is enough", []string{"burstable-large", "burstable-small"}, []Failure{missing("memory", 100<<20)}, []string{"burstable-small"}, ""},
		{"B-PRE-1 one large before two", []string{"burstable-small", "burstable-large", "burstable-cpu"}, []Failure{missing("memory", 200<<20)}, []string{"burstable-large"}, ""},
		{"B-PRE-1 two if one is not enough", []string{"burstable-small", "burstable-large"}, []Failure{missing("cpu", 350)}, []string{"burstable-large", "burstable-small"}, ""},
		{"B-PRE-1 Guaranteed as little as can be", []string{"guaranteed-small", "guaranteed-large", "burstable-large"}, []Failure{missing("cpu", 500)}, []string{"guaranteed-small", "burstable-large"}, ""},
		{"B-PRE-1 no Burstable if the Guaranteed one is enough", []string{"guaranteed-large", "burstable-small"}, []Failure{missing("cpu", 850), missing("memory", 700<<20)}, []string{"guaranteed-large", "burstable-small"}, ""},
		{"B-PRE-1 no pod without which there is enough", []string{"guaranteed-large", "burstable-small"}, []Failure{missing("cpu", 750)}, []string{"guaranteed-large"}, ""},
		{"B-PRE-1 not critical ones", []string{"also-critical", "static", "burstable-small"}, []Failure{missing("cpu", 500)}, nil, "no set of running pods found to reclaim resources: [(res: cpu, q: 400), ]"},
		{"B-PRE-1 nobody is there", nil, []Failure{missing("cpu", 500), missing("pods", 1)}, nil, "no set of running pods found to reclaim resources: [(res: cpu, q: 500), (res: pods, q: 1), ]"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var others []*v1.Pod
			for _, name := range tc.others {
				others = append(others, pods[name])
			}
			got, err := Victims(critical, others, tc.missing)
			assert.Deep(t, "victims", tc.want, names(got))
			assert.Error(t, tc.err, err)
		})
	}
}

// TestCriticalOverCritical: B-PRE-1, a greater priority counts among critical pods, too.
func TestCriticalOverCritical(t *testing.T) {
	others := []*v1.Pod{testPod("cluster", "cpu=1", withPriority(systemCritical))}
	got, err := Victims(testPod("node", "", withPriority(systemCritical+1000)), others, []Failure{{Resource: "cpu", Requested: 1}})
	if err != nil || len(got) != 1 {
		t.Errorf("victims %v, error %v", names(got), err)
	}
}

// TestVictimsSuffice: B-PRE-1 on any node: the victims give what is missing, none
// of them could stay, and if there are none then all together would not do.
func TestVictimsSuffice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var others []*v1.Pod
		for i := range rapid.IntRange(0, 6).Draw(t, "pods") {
			requests := rapid.SampledFrom([]string{"", "cpu=100m", "cpu=300m memory=50Mi", "memory=200Mi", "cpu=1 memory=1Gi"}).Draw(t, "requests")
			pod := testPod(string(rune('a'+i)), requests)
			if rapid.Bool().Draw(t, "guaranteed") {
				guaranteed(pod)
			}
			others = append(others, pod)
		}
		missing := []Failure{
			{Resource: "cpu", Requested: rapid.Int64Range(1, 1500).Draw(t, "cpu")},
			{Resource: "memory", Requested: rapid.Int64Range(1, 2<<30).Draw(t, "memory")},
		}
		enough := func(pods []*v1.Pod) bool {
			return !slices.ContainsFunc(missing, func(f Failure) bool {
				sum := int64(0)
				for _, p := range pods {
					sum += Held(p)[f.Resource]
				}
				return sum < f.Requested
			})
		}
		victims, err := Victims(testPod("critical", "", static), others, missing)
		if (err == nil) != enough(others) {
			t.Fatalf("B-PRE-1: error %v, all together are enough: %v", err, enough(others))
		}
		if err != nil {
			return
		}
		if !enough(victims) {
			t.Fatalf("B-PRE-1: %v are not enough", names(victims))
		}
		for i := range victims {
			if enough(slices.Delete(slices.Clone(victims), i, i+1)) {
				t.Fatalf("B-PRE-1: %v need not go", victims[i].Name)
			}
		}
	})
}

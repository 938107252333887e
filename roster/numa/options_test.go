package numa

import (
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// A-NUMA-4: what options there are, which gates they need, and which exclude each other.
func TestCpusOptions(t *testing.T) {
	for _, test := range []struct {
		options map[string]string
		gates   CPUGates
		want    string
	}{
		{options: map[string]string{"full-pcpus-only": "true", "distribute-cpus-across-numa": "1"}, gates: CPUGates{Beta: true}},
		{options: map[string]string{"align-by-socket": "true", "strict-cpu-reservation": "true"}, gates: CPUGates{Alpha: true}},
		{
			options: map[string]string{"distribute-cpus-across-numa": "true"},
			want:    `CPU Manager Policy Beta-level Options not enabled, but option "distribute-cpus-across-numa" provided: it requires feature gate CPUManagerPolicyBetaOptions`,
		},
		{
			options: map[string]string{"align-by-socket": "false"}, gates: CPUGates{Beta: true},
			want: `CPU Manager Policy Alpha-level Options not enabled, but option "align-by-socket" provided: it requires feature gate CPUManagerPolicyAlphaOptions`,
		},
		{
			options: map[string]string{"full-pcpus": "true"},
			want:    `unknown CPU Manager Policy option: "full-pcpus"; there are ["align-by-socket" "distribute-cpus-across-cores" "distribute-cpus-across-numa" "full-pcpus-only" "prefer-align-cpus-by-uncorecache" "strict-cpu-reservation"]`,
		},
		{options: map[string]string{"full-pcpus-only": "yes"}, want: `bad value for option "full-pcpus-only": "yes" should be true or false`},
		{
			options: map[string]string{"full-pcpus-only": "true", "distribute-cpus-across-cores": "true"}, gates: CPUGates{Alpha: true},
			want: "static policy options full-pcpus-only and distribute-cpus-across-cores can not be used at the same time",
		},
		{
			options: map[string]string{"prefer-align-cpus-by-uncorecache": "true", "distribute-cpus-across-numa": "true"}, gates: CPUGates{Beta: true},
			want: "static policy options prefer-align-cpus-by-uncorecache and distribute-cpus-across-numa can not be used at the same time",
		},
	} {
		assert.Error(t, test.want, assert.ErrorOf(ParseCPUOptions(test.options, test.gates)), "A-NUMA-4: options ", test.options)
	}
}

// A-NUMA-11: what options there are.
func TestOptions(t *testing.T) {
	for _, test := range []struct {
		options map[string]string
		want    string
	}{
		{options: map[string]string{"prefer-closest-numa-nodes": "true", "max-allowable-numa-nodes": "12"}},
		{options: map[string]string{"max-allowable-numa-nodes": "7"}, want: `the minimum value of "max-allowable-numa-nodes" should not be less than 8`},
		{options: map[string]string{"max-allowable-numa-nodes": "many"}, want: `unable to convert policy option to integer "max-allowable-numa-nodes": "many" should be a number`},
		{options: map[string]string{"prefer-closest-numa-nodes": "yes"}, want: `bad value for option "prefer-closest-numa-nodes": "yes" should be true or false`},
		{options: map[string]string{"closest": "true"}, want: `unknown Topology Manager Policy option: "closest"; there are prefer-closest-numa-nodes and max-allowable-numa-nodes`},
	} {
		assert.Error(t, test.want, assert.ErrorOf(ParseOptions(test.options)), "A-NUMA-11: options ", test.options)
	}
}

// nodes is a machine of NUMA nodes without anything.
func nodes(count int) (l Layout) {
	for id := range count {
		l.Nodes = append(l.Nodes, Node{ID: id})
	}
	return l
}

// A-NUMA-11: machines that the policies can't be used on.
func TestMachines(t *testing.T) {
	for _, test := range []struct {
		nodes   int
		policy  string
		options Options
		want    string
	}{
		{nodes: 8, policy: BestEffort, options: Options{MaxNodes: 8}},
		{nodes: 9, policy: None, options: Options{MaxNodes: 8}},
		{nodes: 9, policy: BestEffort, options: Options{MaxNodes: 8}, want: "unsupported on machines with more than 8 NUMA Nodes"},
		{nodes: 2, policy: Restricted, options: Options{MaxNodes: 8, PreferClosest: true}, want: "option prefer-closest-numa-nodes: the machine doesn't tell the distances of NUMA node 0"},
		{nodes: 65, policy: Restricted, options: Options{MaxNodes: 80}, want: "NUMA node 64: should be between 0 and 63"},
	} {
		assert.Error(t, test.want, assert.ErrorOf(NewPolicy(test.policy, PodScope, test.options, nodes(test.nodes))), "A-NUMA-11: ", test.policy, " on ", test.nodes, " NUMA nodes")
	}
}

// A-NUMA-10: of sets of equally many nodes the closest is the best, if asked for.
func TestClosest(t *testing.T) {
	l := nodes(4)
	for i := range l.Nodes {
		l.Nodes[i].Distances = []uint64{30, 30, 30, 30}
		l.Nodes[i].Distances[i] = 10
		l.Nodes[i].Distances[3-i] = 20
	}
	hints := []Hints{{"cpu": {{Nodes: 0b0011, Preferred: true}, {Nodes: 0b0110, Preferred: true}, {Nodes: 0b1010, Preferred: true}}}}
	for closest, want := range map[bool]Mask{false: 0b0011, true: 0b0110} {
		p := assert.Get(NewPolicy(Restricted, ContainerScope, Options{MaxNodes: 8, PreferClosest: closest}, l)).Must(t)
		got, admitted := p.Merge(hints)
		assert.True(t, got.Nodes == want && admitted, "A-NUMA-10: prefer closest %v: %b, admitted %v", closest, got.Nodes, admitted)
	}
}

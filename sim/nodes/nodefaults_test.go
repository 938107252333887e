package nodes_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/sim/nodes/nodefaults"
)

func nodeNames(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("sim-%d", i))
	}
	return list
}

func readFaults(text string, nodes int) (*nodefaults.Scenario, error) {
	return nodefaults.Read(manifest.Source{Name: "nodes.yaml", Data: []byte("apiVersion: lifepod.dev/v1alpha1\nkind: NodeScenario\n" + text)}, nodeNames(nodes))
}

// Shares are of all nodes, each node has its first entry, and the seed says which ones they are.
func TestNodeFaultsEachNodeHasItsFirstEntry(t *testing.T) {
	s := assert.Get(readFaults(`
nodes:
- names: sim-1?
  slow: 3
- share: 1%
  events:
  - {at: 1m, loss: {}}
- share: 1.5%
  slow: 10
  events:
  - {at: 5m, reboot: {for: 10s}}
  - {at: "uniform(1m,2m)", partition: {}}
`, 200)).Must(t)
	faults := s.Of(nodeNames(200), 7)
	var slow, lost, both []int
	for i, f := range faults {
		switch {
		case f.Slow == 3 && f.Events == nil:
			slow = append(slow, i)
		case f.Slow == 0 && len(f.Events) == 1:
			lost = append(lost, i)
			assert.Deep(t, fmt.Sprintf("sim-%d", i), []nodefaults.Happening{{Kind: nodefaults.Loss, At: time.Minute}}, f.Events)
		case f.Slow == 10:
			both = append(both, i)
			assert.True(t, len(f.Events) == 2 && f.Events[0].Kind == nodefaults.Partition && f.Events[0].For == time.Minute &&
				f.Events[0].At >= time.Minute && f.Events[0].At <= 2*time.Minute && f.Events[1] == (nodefaults.Happening{Kind: nodefaults.Reboot, At: 5 * time.Minute, For: 10 * time.Second}), "sim-%d: %+v", i, f)
		case f.Slow != 0 || f.Events != nil:
			t.Errorf("sim-%d: %+v", i, f)
		}
	}
	want := []int{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}
	assert.True(t, slices.Equal(slow, want), "slow are %v, want %v", slow, want)
	assert.True(t, len(lost) == 2 && len(both) == 3, "of 200 nodes %v are lost, want 1 %%, and %v slow and rebooted, want 1.5 %%", lost, both)
	assert.Deep(t, "the same seed (-first +second)", faults, s.Of(nodeNames(200), 7))
	assert.True(t, !cmp.Equal(faults, s.Of(nodeNames(200), 8)), "another seed has the same faults")
	got := (*nodefaults.Scenario)(nil).Of(nodeNames(2), 1)
	assert.True(t, cmp.Equal(got, make([]nodefaults.Faults, 2)), "without a scenario: %+v", got)
}

// A share of all nodes is had although earlier entries have some of them, as far as there are others.
func TestNodeFaultsShareOfWhatIsLeft(t *testing.T) {
	s := assert.Get(readFaults(`nodes: [{share: 60%, slow: 2}, {share: 30%, slow: 3}, {share: 50%, slow: 4}]`, 10)).Must(t)
	count := map[float64]int{}
	for _, f := range s.Of(nodeNames(10), 1) {
		count[f.Slow]++
	}
	assert.Deep(t, "how many are slow", map[float64]int{2: 6, 3: 3, 4: 1}, count)
}

// A mistake is a clear error: where it is, and what would be right.
func TestNodeFaultsMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"nodes: []":         "nodes.yaml:3: nodes: says nothing; should have entries, each with the nodes that it chooses",
		"nodes:\n- slow: 2": "nodes.yaml:4: nodes[0]: has names and share, or neither; should say which nodes by one of them: names: sim-1*, or share: 1%",
		"nodes:\n- names: sim-1\n  share: 1%\n  slow: 2":                        "nodes.yaml:4: nodes[0]: has names and share, or neither; should say which nodes by one of them: names: sim-1*, or share: 1%",
		"nodes:\n- names: sim-1":                                                "nodes.yaml:4: nodes[0]: has nothing happen; should say slow, or events",
		"nodes:\n- names: node-*\n  slow: 2":                                    "nodes.yaml:4: nodes[0].names: no node has a name such as node-*; the nodes are sim-0 to sim-19",
		"nodes:\n- names: 'sim-['\n  slow: 2":                                   "nodes.yaml:4: nodes[0].names: is sim-[; should be a pattern of names such as sim-1*",
		"nodes:\n- share: 1%\n  slow: 2":                                        "nodes.yaml:4: nodes[0].share: 1% of 20 nodes is none; should be enough for one of them",
		"nodes:\n- share: 101%\n  slow: 2":                                      `nodes.yaml:4: nodes[0].share: "101%" cannot be read; should be a share of all nodes, such as 1%, above 0% and up to 100%`,
		"nodes:\n- share: 0.1\n  slow: 2":                                       "nodes.yaml:4: nodes[0].share: is a number (0.1); should be a share of all nodes, such as 1%, above 0% and up to 100%",
		"nodes:\n- share: 10%\n  slow: 0.5":                                     "nodes.yaml:5: nodes[0].slow: is a number (0.5); should be how many times as long calls take: 1 to 10000",
		"nodes:\n- share: 10%\n  slwo: 2":                                       "nodes.yaml:5: nodes[0].slwo: unknown field; did you mean slow?",
		"nodes:\n- share: 10%\n  events:\n  - loss: {}":                         "nodes.yaml:6: nodes[0].events[0].at: missing; should be a duration such as 30s, or a distribution of them: exp(30s), uniform(1s,5s), weibull(1.5,30s); forever",
		"nodes:\n- share: 10%\n  events:\n  - {at: forever, loss: {}}":          "nodes.yaml:6: nodes[0].events[0].at: never comes; should be a time that comes",
		"nodes:\n- share: 10%\n  events:\n  - at: 1m":                           "nodes.yaml:6: nodes[0].events[0]: says 0 things that happen; should say one thing: partition, reboot or loss",
		"nodes:\n- share: 10%\n  events:\n  - {at: 1m, loss: {}, reboot: {}}":   "nodes.yaml:6: nodes[0].events[0]: says 2 things that happen; should say one thing: partition, reboot or loss",
		"nodes:\n- share: 10%\n  events:\n  - {at: soon, loss: {}}":             `nodes.yaml:6: nodes[0].events[0].at: "soon" cannot be read; should be a duration such as 30s, or a distribution of them: exp(30s), uniform(1s,5s), weibull(1.5,30s); forever`,
		"nodes:\n- share: 10%\n  events:\n  - {at: 1s, partition: {until: 5s}}": "nodes.yaml:6: nodes[0].events[0].partition.until: unknown field; fields here are for",
	} {
		_, err := readFaults(text, 20)
		if err == nil {
			t.Errorf("%s\nis no mistake", text)
			continue
		}
		got := strings.TrimPrefix(err.Error(), "node scenario: ")
		assert.True(t, got == want, "%s\ngives %s\nwant  %s", text, got, want)
	}
}

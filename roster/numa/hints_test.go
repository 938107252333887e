package numa

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/lifepod/lifepod/internal/assert"
)

// A-NUMA-16: near to which NUMA nodes devices could be.
func TestHints(t *testing.T) {
	zero, one, both := Mask(1), Mask(2), Mask(3)
	wide := DeviceResource{"w0": {Healthy: true, Nodes: []int64{0, 1}}, "none": {Healthy: true}, "far": {Healthy: true, Nodes: []int64{7}}}
	for _, tt := range []struct {
		name           string
		resource       DeviceResource
		from, reusable DeviceIDs
		count          int
		want           []Hint
	}{
		{"any of one node", gpus(), sets.New("g0", "g1", "g2", "g3"), nil, 2, []Hint{{Nodes: zero, Preferred: true}, {Nodes: one, Preferred: true}, {Nodes: both}}},
		{"what is left of both", gpus(), sets.New("g1", "g2"), nil, 2, []Hint{{Nodes: both}}},
		{"more than a node has, broken ones included", gpus(), sets.New("g0", "g1", "g2", "g3"), nil, 4, []Hint{{Nodes: both, Preferred: true}}},
		{"with those that are reused", gpus(), sets.New("g0", "g1", "g2"), sets.New("g3"), 2, []Hint{{Nodes: one, Preferred: true}, {Nodes: both}}},
		{"not enough", gpus(), sets.New("g0"), nil, 2, []Hint{}},
		{"near to two", wide, sets.New("w0"), nil, 1, []Hint{{Nodes: zero, Preferred: true}, {Nodes: one, Preferred: true}, {Nodes: both}}},
		{"near to none of the machine", wide, sets.New("w0", "none", "far"), nil, 2, []Hint{}},
		{"near to none", DeviceResource{"a": {Healthy: true}}, sets.New("a"), nil, 1, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.resource.Hints([]int{0, 1}, tt.from, tt.reusable, tt.count)
			assert.Deep(t, "A-NUMA-16", tt.want, got)
		})
	}
}

package numa

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/lifepod/lifepod/internal/assert"
)

// gpus are four devices, two of each NUMA node, and one that is broken.
func gpus() DeviceResource {
	return DeviceResource{
		"g0": {Healthy: true, Nodes: []int64{0}}, "g1": {Healthy: true, Nodes: []int64{0}},
		"g2": {Healthy: true, Nodes: []int64{1}}, "g3": {Healthy: true, Nodes: []int64{1}}, "g4": {Nodes: []int64{1}},
	}
}

func need(count int, change func(*DeviceNeed)) DeviceNeed {
	n := DeviceNeed{PodUID: "u", Container: "main", Name: "v.com/gpu", Count: count, Registered: true, Resource: gpus()}
	if change != nil {
		change(&n)
	}
	return n
}

// A-DEV-6: which devices a container gets.
func TestChoose(t *testing.T) {
	for _, tt := range []struct {
		name   string
		need   DeviceNeed
		prefer []string // answers the question
		want   string
	}{
		{"the first unused healthy ones", need(2, func(n *DeviceNeed) { n.InUse = sets.New("g0") }), nil, "g1 g2"},
		{"those of init containers first", need(2, func(n *DeviceNeed) { n.Reusable, n.InUse = sets.New("g3"), sets.New("g0", "g3") }), nil, "g3 g1"},
		{"those that it has", need(2, func(n *DeviceNeed) { n.Has = sets.New("g2", "g3") }), nil, ""},
		{"what the plugin prefers", need(2, nil), []string{"g3", "g2"}, "g2 g3"},
		{"what the plugin prefers, and more", need(3, nil), []string{"g3"}, "g3 g0 g1"},
		{"nothing that is in use, broken or unknown", need(2, func(n *DeviceNeed) { n.InUse = sets.New("g1") }), []string{"g1", "g4", "x"}, "g0 g2"},
		{"the plugin prefers too much", need(1, nil), []string{"g2", "g3"}, "g2"},
		// A-DEV-7
		{"near to a NUMA node", need(1, func(n *DeviceNeed) { n.Affinity = []int64{1} }), nil, "g2"},
		{"preferred near to a NUMA node", need(1, func(n *DeviceNeed) { n.Affinity = []int64{1} }), []string{"g0", "g3"}, "g3"},
		{"all of a NUMA node, then others", need(3, func(n *DeviceNeed) { n.Affinity = []int64{1} }), []string{"g1"}, "g2 g3 g1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := assert.Get(ChooseDevices(tt.need, tt.prefer != nil)).Must(t)
			if c.Ask != nil {
				c = c.Preferred(tt.prefer)
			}
			assert.Equal(t, tt.want, strings.Join(c.IDs, " "), "A-DEV-6, A-DEV-7: chose")
		})
	}
}

// A-DEV-6: what the plugin is asked.
func TestQuestion(t *testing.T) {
	c := assert.Get(ChooseDevices(need(2, func(n *DeviceNeed) { n.Reusable, n.InUse = sets.New("g3"), sets.New("g3", "g0") }), true)).Must(t)
	want := &DeviceQuestion{Available: []string{"g1", "g2", "g3"}, MustInclude: []string{"g3"}, Size: 2}
	assert.Deep(t, "A-DEV-6 question", want, c.Ask)
}

// A-DEV-8: why a container gets none.
func TestRefused(t *testing.T) {
	for want, n := range map[string]DeviceNeed{
		`pod "u" container "main" changed request for resource "v.com/gpu" from 1 to 2`:                   need(2, func(n *DeviceNeed) { n.Has = sets.New("g0") }),
		"cannot allocate unregistered device v.com/gpu":                                                   need(1, func(n *DeviceNeed) { n.Registered = false }),
		"no healthy devices present; cannot allocate unhealthy devices v.com/gpu":                         need(1, func(n *DeviceNeed) { n.Resource = gpus().Unhealthy() }),
		"previously allocated devices are no longer healthy; cannot allocate unhealthy devices v.com/gpu": need(1, func(n *DeviceNeed) { n.Has = sets.New("g4") }),
		"requested number of devices unavailable for v.com/gpu. Requested: 3, Available: 2":               need(3, func(n *DeviceNeed) { n.InUse = sets.New("g0", "g1") }),
	} {
		_, err := ChooseDevices(n, false)
		assert.Error(t, want, err, "A-DEV-8")
		_, short := errors.AsType[*ErrShort](err)
		assert.True(t, short == strings.HasPrefix(want, "requested number"), "%q: may others give some back: %t", want, short)
	}
}

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

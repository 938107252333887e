package sim

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/sim/scenario"
)

// TestUsed: an instance uses what it requests, unless and until the scenario says something else.
func TestUsed(t *testing.T) {
	quantity := func(text string) *resource.Quantity { return new(resource.MustParse(text)) }
	requests := v1.ResourceList{v1.ResourceCPU: resource.MustParse("2"), v1.ResourceMemory: resource.MustParse("1Gi")}
	later := []level{ // whose order by chance is another one
		{20 * time.Second, &scenario.Usage{CPU: quantity("0")}},
		{10 * time.Second, &scenario.Usage{CPU: quantity("500m"), Memory: quantity("3Gi")}},
	}
	for _, test := range []struct {
		name     string
		requests v1.ResourceList
		uses     []level
		after    time.Duration
		want     Used
	}{
		{"nothing is said", nil, nil, 10 * time.Second, Used{CPU: 11 * time.Millisecond, MemoryBytes: 10 << 20}},
		{"requests", requests, nil, 10 * time.Second, Used{CPU: 20001 * time.Millisecond, MemoryBytes: 1 << 30}},
		{"before the first", requests, later, 5 * time.Second, Used{CPU: 10001 * time.Millisecond, MemoryBytes: 1 << 30}},
		{"after the first", requests, later, 14 * time.Second, Used{CPU: 22001 * time.Millisecond, MemoryBytes: 3 << 30}},
		{"after the last", requests, later, time.Minute, Used{CPU: 25001 * time.Millisecond, MemoryBytes: 3 << 30}},
	} {
		c := &container{spec: &v1.Container{Resources: v1.ResourceRequirements{Requests: test.requests}}, drawn: drawn{uses: test.uses}}
		assert.Deep(t, test.name, test.want, c.used(test.after))
	}
}

package devices

import (
	"fmt"
	"slices"
	"testing"
	"time"

	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/lifepod/lifepod/internal/assert"
)

// counts are what was counted, by resource.
type counts []string

func (c *counts) PluginRegisters(resource string) { *c = append(*c, resource+" registers") }

func (c *counts) PluginAllocated(resource string, took time.Duration) {
	*c = append(*c, fmt.Sprint(resource, " allocated ", took > 0))
}

// A-DEV-16: each request to register is counted, and how long each Allocate takes.
func TestCounts(t *testing.T) {
	c := &counts{}
	n := begin(t, folder(t), func(config *Config) { config.Counts = c })
	assert.Fails(t, n.register(&api.RegisterRequest{Version: "v1alpha", ResourceName: gpu}), "a plugin of another version registers")
	n.plugin("a.sock", nil, "g0")
	n.await(gpu, 1, 1)
	if got := n.Allocate(t.Context(), podOf("first", "1")); got.Refusal != nil {
		t.Fatal(got.Refusal)
	}
	if want := (counts{gpu + " registers", gpu + " registers", gpu + " allocated true"}); !slices.Equal(*c, want) {
		t.Errorf("A-DEV-16: counted %q", *c)
	}
}

package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// ParseGates reads feature gates as people write them: NAME=true,NAME=false.
func ParseGates(text string) (map[string]bool, error) {
	gates := map[string]bool{}
	for setting := range strings.SplitSeq(text, ",") {
		if setting == "" {
			continue
		}
		name, value, _ := strings.Cut(setting, "=")
		on, err := strconv.ParseBool(value)
		if err != nil {
			return nil, fmt.Errorf("feature gate %q: want NAME=true or NAME=false", setting)
		}
		gates[name] = on
	}
	return gates, nil
}

// featureOn says whether the API server has a feature and it is on.
func (c *ControlPlane) featureOn(ctx context.Context, gate string) (bool, error) {
	text, err := c.client.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return false, fmt.Errorf("ask the API server for its features: %w", err)
	}
	about := []byte(`kubernetes_feature_enabled{name="` + gate + `",`)
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, about) {
			return bytes.HasSuffix(line, []byte(" 1\n")), nil
		}
	}
	return false, nil
}

// Has says whether the API server does what a feature gate is for. One of another version
// may not do it yet, or not unless it is told to; the one that lifepod is made for does.
func (c *ControlPlane) Has(t *testing.T, gate string) bool {
	t.Helper()
	if !isOther() {
		return true
	}
	on := assert.Get(c.featureOn(t.Context(), gate)).Must(t)
	return on
}

// Needs skips a test of what an API server of another version does not do.
func (c *ControlPlane) Needs(t *testing.T, gate string) {
	t.Helper()
	if c.Has(t, gate) {
		return
	}
	version := assert.Get(c.client.Discovery().ServerVersion()).Must(t)
	t.Skipf("the API server %s does not have the feature %s, or has it off", version.GitVersion, gate)
}

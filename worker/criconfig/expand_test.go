package criconfig

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestExpand(t *testing.T) {
	values := map[string]string{"A": "a", "B": "$(A)", "EMPTY": ""}
	lookup := func(name string) (string, bool) { v, ok := values[name]; return v, ok }
	for _, tc := range []struct{ in, want string }{
		{"", ""},
		{"plain", "plain"},
		{"$(A)", "a"},
		{"x$(A)y$(A)z", "xayaz"},
		{"$(B)", "$(A)"},
		{"[$(EMPTY)]", "[]"},
		{"$(NONE)", "$(NONE)"},
		{"$$(A)", "$(A)"},
		{"$$$(A)", "$a"},
		{"$$$$(A)", "$$(A)"},
		{"$A ${A}", "$A ${A}"},
		{"end$", "end$"},
		{"$(A", "$(A"},
		{"$(A $(A)", "$(A $(A)"},
		{"$()", "$()"},
		{"$é$(A)", "$éa"},
	} {
		t.Run("A-ENV-4 "+tc.in, func(t *testing.T) {
			assert.Equal(t, tc.want, Expand(tc.in, lookup), "Expand(%q)", tc.in)
		})
	}
}

func TestSubPath(t *testing.T) {
	env := []KeyValue{{"POD", "web-0"}, {"EMPTY", ""}}
	for _, tc := range []struct {
		name          string
		mount         v1.VolumeMount
		want, wantErr string
	}{
		{"A-VOL-3 subPath is not expanded", v1.VolumeMount{SubPath: "$(POD)"}, "$(POD)", ""},
		{"A-VOL-3 subPathExpr expands", v1.VolumeMount{SubPathExpr: "logs/$(POD)"}, "logs/web-0", ""},
		{"A-VOL-3 missing and empty variables", v1.VolumeMount{SubPathExpr: "$(NONE)/$(EMPTY)/$(NONE)"}, "", "missing value for EMPTY, NONE"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := SubPath(&tc.mount, env)
			assert.Error(t, tc.wantErr, err)
			assert.Equal(t, tc.want, got, "path")
		})
	}
}

// A-PROBE-13: only what the container's list of variables says literally is known.
func TestExpandLiterally(t *testing.T) {
	env := []v1.EnvVar{
		{Name: "PORT", Value: "8080"}, {Name: "URL", Value: "http://x:$(PORT)"},
		{Name: "SECRET", ValueFrom: &v1.EnvVarSource{}},
	}
	got := ExpandLiterally([]string{"$(PORT)", "$(URL)", "<$(SECRET)>", "$(NOBODY)", "$$(PORT)"}, env)
	assert.Deep(t, "", []string{"8080", "http://x:$(PORT)", "<>", "$(NOBODY)", "$(PORT)"}, got)
}

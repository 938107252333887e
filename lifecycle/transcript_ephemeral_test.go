package lifecycle

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// ephemeral adds an ephemeral container, given as YAML.
func (tr *transcript) ephemeral(t *testing.T, text string) {
	c := v1.EphemeralContainer{}
	if err := yaml.UnmarshalStrict([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	tr.feed(EphemeralContainerAdded{Container: withDefaults(c)})
}

func namedEphemeral(name, target string) v1.EphemeralContainer {
	return withDefaults(v1.EphemeralContainer{
		EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: name}, TargetContainerName: target,
	})
}

func withDefaults(c v1.EphemeralContainer) v1.EphemeralContainer {
	if c.Image == "" {
		c.Image = "debug:1"
	}
	if c.ImagePullPolicy == "" {
		c.ImagePullPolicy = v1.PullIfNotPresent
	}
	return c
}

package spelling

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"image", "imagePullPolicy", "command", "env", "envFrom", "terminationGracePeriodSeconds"}
	for name, want := range map[string]string{
		"imagePullpolicy":               "imagePullPolicy",
		"imgae":                         "image",
		"cmd":                           "",
		"commands":                      "command",
		"terminationGracePeriodsSecond": "terminationGracePeriodSeconds",
		"replicas":                      "",
		strings.Repeat("x", 100_000):    "",
	} {
		if got := Nearest(name, known); got != want {
			t.Errorf("Nearest(%.40q) = %q, want %q", name, got, want)
		}
	}
}

package plain

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/compare"
)

func TestName(t *testing.T) {
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
		compare.Equal(t, fmt.Sprintf("Name(%.40q)", name), want, Nearest(name, known))
	}
}

// The nearest come first, and no more than are wanted.
func TestNames(t *testing.T) {
	got := NearestNames("PodCertificate", []string{"ContainerCheckpoint", "PodCertificates", "PodCertificateRequest", "podcertificate"}, 2)
	if want := []string{"podcertificate", "PodCertificates"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

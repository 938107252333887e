package cluster

import (
	"strings"
	"testing"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestCheckVersion: a cluster goes up by one minor version of Kubernetes at a time, and not back; one of which nothing is written is
// of 1.36.
func TestCheckVersion(t *testing.T) {
	const back, leap = ": a cluster does not go back; go on with a lifepod of ", ": a cluster goes up by one minor version at a time; run a lifepod of "
	for name, test := range map[string]struct{ node, before, own, refused string }{
		"new":                {own: "1.40"},
		"the same":           {node: "n", before: "1.37", own: "1.37"},
		"one on":             {node: "n", before: "1.37", own: "1.38"},
		"two on":             {node: "n", before: "1.37", own: "1.39", refused: "is of Kubernetes 1.37, and this lifepod of 1.39" + leap + "1.38 on it first"},
		"back":               {node: "n", before: "1.38", own: "1.37", refused: "is of Kubernetes 1.38, and this lifepod of 1.37" + back + "1.38"},
		"before the file":    {node: "n", own: "1.37"},
		"two on from before": {node: "n", own: "1.38", refused: "is of Kubernetes 1.36, and this lifepod of 1.38" + leap + "1.37 on it first"},
		"nonsense":           {node: "n", before: "x", own: "1.37", refused: "kubernetes-version: "},
	} {
		t.Run(name, func(t *testing.T) {
			l := named(t, test.node, &machine.Log{})
			if test.before != "" {
				assert.Must(t, l.rememberVersion(test.before))
			}
			switch err := l.checkVersion(test.own); {
			case test.refused == "" && err != nil:
				t.Error(err)
			case test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused)):
				t.Errorf("error %v, want one with %q", err, test.refused)
			}
		})
	}
}

package node

import (
	"strings"
	"testing"
)

func TestUnsupportedSkew(t *testing.T) {
	for _, test := range []struct{ server, node, want string }{
		{"v1.37.2", "v1.37.2+lifepod", ""},
		{"v1.38.0", "v1.37.2+lifepod", ""},
		{"v1.40.0-gke.100", "v1.37.2+lifepod", ""},
		{"v1.41.0", "v1.37.2+lifepod", "4 minor versions newer than this node, and Kubernetes supports 3"},
		{"v1.36.3+k3s1", "v1.37.2+lifepod", "older than this node"},
		{"v1.37.0", "v1.37.2+lifepod", ""},
		{"nonsense", "v1.37.2+lifepod", ""},
	} {
		got := unsupportedSkew(test.server, test.node)
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("API server %s, node %s: %q, want %q", test.server, test.node, got, test.want)
		}
	}
}

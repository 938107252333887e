package register

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
)

func TestSkew(t *testing.T) {
	own := version.MustParseGeneric(Version)
	at := func(offset int, rest string) string {
		return fmt.Sprintf("v%d.%d%s", own.Major(), int(own.Minor())+offset, rest)
	}
	for _, test := range []struct{ server, want string }{
		{Version, ""},
		{at(0, ".0-rc.1"), ""},
		{at(1, ".0"), ""},
		{at(mostOlder, ".0-gke.100"), ""},
		{at(mostOlder+1, ".0"), "at most 3 minor versions older"},
		{at(-1, ".3+k3s1"), "supports no node that is newer"},
		{"nonsense", "does not tell which version"},
	} {
		err := Skew(test.server)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("API server %s, node %s: %v, want %q", test.server, Version, err, test.want)
		}
		if err != nil && (strings.Contains(err.Error(), "k3s") || strings.Contains(err.Error(), "nonsense")) {
			t.Errorf("the API server's text is in the error: %v", err)
		}
	}
}

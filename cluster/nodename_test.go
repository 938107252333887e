package cluster

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node"
	"github.com/lifepod/lifepod/node/register"
)

// named is the layout of a root whose node had a name before; none if it is empty.
func named(t *testing.T, before string, log *machine.Log) *layout {
	t.Helper()
	l := assert.Get(Config{Root: t.TempDir(), Log: slog.New(slog.NewTextHandler(log, nil))}.layout()).Must(t)
	assert.Must(t, os.MkdirAll(l.file(""), 0o700))
	if l.Node = before; before != "" {
		assert.Must(t, l.rememberNode())
	}
	return l
}

// A node keeps its name, whatever the machine is called now; another one that is asked
// for is refused, because the pods would be ended.
func TestNameNode(t *testing.T) {
	host := assert.Get(register.Hostname("")).Must(t)
	for name, test := range map[string]struct{ before, given, want, refused, logged string }{
		"first start":           {want: host},
		"first start, named":    {given: "a", want: "a"},
		"first start, bad name": {given: "Bad_Name", refused: `name of the node "bad_name": a lowercase RFC 1123 subdomain must`},
		"again":                 {before: host, want: host},
		"again, same name":      {before: "a", given: "a", want: "a"},
		"again, not named":      {before: "a", want: "a", logged: "the machine's name has changed"},
		"again, bad name":       {before: "a", given: "Bad_Name", refused: `name of the node "bad_name": a lowercase RFC 1123 subdomain must`},
		"again, another name":   {before: "a", given: "b", refused: "--node-name b: this machine's node is called a ("},
	} {
		t.Run(name, func(t *testing.T) {
			var log machine.Log
			l := named(t, test.before, &log)
			l.Node = test.given
			err := l.nameNode("--node-name", l.newNode())
			if err == nil {
				err = l.rememberNode()
			}
			switch {
			case test.refused == "" && err != nil:
				t.Error(err)
			case test.refused != "" && (err == nil || !strings.HasPrefix(err.Error(), test.refused)):
				t.Errorf("error %v, want %s…", err, test.refused)
			case err == nil && l.Node != test.want:
				t.Errorf("the node is called %s, want %s", l.Node, test.want)
			}
			said := log.String()
			assert.True(t, strings.Contains(said, test.logged) && (test.logged != "" || said == ""), "the log says %q, want %q", said, test.logged)
		})
	}
}

// A member of a cluster keeps its name as well; one that has no credentials yet has none.
func TestNameMember(t *testing.T) {
	for name, test := range map[string]struct {
		member      bool
		given, want string
		refused     bool
	}{
		"not named":                    {member: true, want: "a"},
		"another name":                 {member: true, given: "b", refused: true},
		"another name, no credentials": {given: "b", want: "b"},
	} {
		t.Run(name, func(t *testing.T) {
			l := named(t, "a", &machine.Log{})
			o := node.Options{Kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), HostnameOverride: test.given}
			if test.member {
				assert.Must(t, os.WriteFile(o.Kubeconfig, nil, 0o600))
			}
			if err := l.nameMember(&o); (err != nil) != test.refused {
				t.Errorf("error %v", err)
			} else if err == nil && (l.Node != test.want || o.HostnameOverride != test.want) {
				t.Errorf("it is called %s, its node %s, want %s", l.Node, o.HostnameOverride, test.want)
			}
		})
	}
}

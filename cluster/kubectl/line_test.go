package kubectl

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		args string
		want line
		err  string
	}{
		{args: "get pods -A", want: line{args: []string{"get", "pods", "-A"}}},
		{args: "--root /r get pods", want: line{root: "/r", args: []string{"get", "pods"}}},
		{args: "get pods --root=/r", want: line{root: "/r", args: []string{"get", "pods"}}},
		{args: "get --kubeconfig /k pods", want: line{kubeconfig: true, args: []string{"get", "--kubeconfig", "/k", "pods"}}},
		{args: "--kubeconfig=/k get", want: line{kubeconfig: true, args: []string{"--kubeconfig=/k", "get"}}},
		{args: "exec p -- ls --root /r --kubeconfig x", want: line{args: []string{"exec", "p", "--", "ls", "--root", "/r", "--kubeconfig", "x"}}},
		{args: "get --root", err: "--root: want a folder"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			got, err := parse(strings.Fields(tc.args))
			if tc.err != "" {
				assert.Error(t, tc.err, err)
				return
			}
			assert.Deep(t, "", tc.want, got, cmp.AllowUnexported(line{}))
		})
	}
}

// TestPrepare: whose kubeconfig it is, and what is told of a cluster that isn't there.
func TestPrepare(t *testing.T) {
	dir := t.TempDir()
	there, none := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "none")
	assert.Must(t, os.WriteFile(there, nil, 0o600))
	at := func(path string, err error) func(string) (string, error) {
		return func(string) (string, error) { return path, err }
	}
	for _, tc := range []struct {
		args string
		of   func(string) (string, error)
		want string // of KUBECONFIG, or of the error
	}{
		{"get pods", at(there, nil), there},
		{"get pods --kubeconfig x", at(there, nil), "the user's"},
		{"get pods", at("", errors.New("no root")), "no root"},
		{"get pods", at(none, nil), "there is no cluster yet, it would have the kubeconfig " + none + ": begin it with lifepod up"},
		{"exec p -- x --help", at(none, nil), "there is no cluster yet, it would have the kubeconfig " + none + ": begin it with lifepod up"},
		{"version", at(none, nil), "there is no cluster yet, it would have the kubeconfig " + none + ": begin it with lifepod up"},
		{"get pods --help", at(none, nil), none},
		{"", at(none, nil), none},
		{"version --client", at(none, nil), none},
		{"kustomize .", at(none, nil), none},
	} {
		t.Run(tc.args, func(t *testing.T) {
			t.Setenv("KUBECONFIG", "the user's")
			l := assert.Get(parse(strings.Fields(tc.args))).Must(t)
			err := l.prepare(tc.of)
			got := os.Getenv("KUBECONFIG")
			if err != nil {
				got = err.Error()
			}
			assert.Deep(t, "", tc.want, got)
		})
	}
}

package state

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/cluster/etcd"
	"github.com/lifepod/lifepod/cluster/pki"
	"github.com/lifepod/lifepod/internal/assert"
)

func TestValidate(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	assert.Must(t, os.WriteFile(text, []byte("no certificate"), 0o600))
	some := []string{"https://etcd1:2379"}
	for want, p := range map[string]Place{
		"":                                {},
		"want --etcd-endpoints as well":   {CAFile: text},
		"want URLs such as":               {Endpoints: []string{"etcd1:2379"}},
		"--etcd-cafile " + text + ": the": {Endpoints: some, CAFile: text},
		"belong together":                 {Endpoints: some, CertFile: text},
		"--etcd-certfile " + text:         {Endpoints: some, CertFile: text, KeyFile: text},
		"--etcd-prefix \"registry\"":      {Endpoints: some, Prefix: "registry"},
	} {
		err := p.Validate()
		assert.True(t, (want != "" || err == nil) && (want == "" || err != nil && strings.Contains(err.Error(), want)),
			"%+v: error %v, want one with %q", p, err, want)
	}
}

// The first record stays, whoever comes later.
func TestFound(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	store := assert.Get(etcd.Start(t.Context(), etcd.Config{Dir: filepath.Join(t.TempDir(), "etcd"), RunDir: shortDir(t), Log: log})).Must(t)
	defer store.Close()
	assert.Must(t, store.AwaitReady(t.Context()))
	p := Place{Endpoints: []string{store.Endpoint()}}
	if got, err := p.Find(t.Context()); got != nil || err != nil {
		t.Fatalf("an empty etcd has the record %+v, error %v", got, err)
	}
	first := Record{Services: "10.43.0.0/16", Keys: map[string]string{"ca.crt": "a"}, Founder: "n1"}
	for _, r := range []Record{first, {Services: "10.44.0.0/16", Founder: "n2"}} {
		got := assert.Get(p.Found(t.Context(), r)).Must(t)
		assert.Deep(t, fmt.Sprintf("recorded by %s", r.Founder), &first, got)
	}
	got, err := p.Find(t.Context())
	diff := cmp.Diff(&first, got)
	assert.True(t, diff == "" && err == nil, "error %v (-want +got):\n%s", err, diff)
}

// shortDir is one whose path leaves room for the name of a socket.
func shortDir(t *testing.T) string {
	dir := assert.Get(os.MkdirTemp("", "lps")).Must(t)
	assert.AtEnd(t, func() error { return os.RemoveAll(dir) })
	return dir
}

// Another server's keys are taken; those of another cluster are not replaced.
func TestShare(t *testing.T) {
	one, two := filepath.Join(t.TempDir(), "pki"), filepath.Join(t.TempDir(), "pki")
	assert.Must(t, assert.ErrorOf(pki.Open(pki.Config{Dir: one})))
	for range 2 {
		assert.Must(t, pki.Share(one, two))
	}
	want, err := pki.Fingerprints(one)
	assert.Require(t, err == nil && len(want) == 3, "fingerprints %v, error %v, want three", want, err)
	assert.Must(t, assert.ErrorOf(pki.Open(pki.Config{Dir: two})))
	got, err := pki.Fingerprints(two)
	diff := cmp.Diff(want, got)
	assert.True(t, diff == "" && err == nil, "error %v (-want +got):\n%s", err, diff)
	other := filepath.Join(t.TempDir(), "pki")
	assert.Must(t, assert.ErrorOf(pki.Open(pki.Config{Dir: other})))
	assert.ErrorContains(t, "belongs to another cluster", pki.Share(one, other))
}

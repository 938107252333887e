package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnknownArchitecture(t *testing.T) {
	if _, err := newTree("../..", "x86_64"); err == nil || !strings.Contains(err.Error(), `architecture "x86_64", only for amd64 and arm64`) {
		t.Errorf("newTree: %v", err)
	}
}

// TestForeignTree: what is built for another architecture leaves alone what is embedded
// for this one; the overlay alone puts it there.
func TestForeignTree(t *testing.T) {
	foreign := map[string]architecture{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]
	tree := tree{root: t.TempDir(), arch: foreign}
	cache := filepath.Join(tree.root, ".cache", string(foreign))
	if err := tree.writeOverlay(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(cache, "overlay.json"))
	if err != nil {
		t.Fatal(err)
	}
	var overlay struct{ Replace map[string]string }
	if err := json.Unmarshal(text, &overlay); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, name := range []string{"cluster.json", "cluster.tar.zst", "manifest.json", "runtime.tar.zst"} {
		want[filepath.Join(tree.root, "bundle", "assets", name)] = filepath.Join(cache, "assets", name)
	}
	if diff := cmp.Diff(want, overlay.Replace); diff != "" {
		t.Errorf("the overlay (-want +got):\n%s", diff)
	}
	packing := tree.runtimePacking()
	for _, path := range []string{packing.from, packing.to, tree.cluster(), tree.stampFile()} {
		if !strings.HasPrefix(path, cache+string(filepath.Separator)) {
			t.Errorf("%s is not below %s", path, cache)
		}
	}
}

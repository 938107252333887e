package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestUnknownArchitecture(t *testing.T) {
	_, err := newTree("../..", "x86_64")
	assert.True(t, err != nil && strings.Contains(err.Error(), `architecture "x86_64", only for amd64 and arm64`), "newTree: %v", err)
}

// TestForeignTree: what is built for another architecture leaves alone what is embedded
// for this one; the overlay alone puts it there.
func TestForeignTree(t *testing.T) {
	foreign := map[string]architecture{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]
	tree := tree{root: t.TempDir(), arch: foreign}
	cache := filepath.Join(tree.root, ".cache", string(foreign))
	assert.Must(t, tree.writeForeignOverlay())
	text := assert.Get(os.ReadFile(filepath.Join(cache, "overlay.json"))).Must(t)
	var overlay struct{ Replace map[string]string }
	assert.Must(t, json.Unmarshal(text, &overlay))
	want := map[string]string{}
	for _, name := range []string{"cluster.json", "cluster.tar.zst", "manifest.json", "runtime.tar.zst"} {
		want[filepath.Join(tree.root, "bundle", "assets", name)] = filepath.Join(cache, "assets", name)
	}
	assert.Deep(t, "the overlay", want, overlay.Replace)
	packing := tree.runtimePacking()
	for _, path := range []string{packing.from, packing.to, tree.cluster(), tree.stampFile()} {
		assert.True(t, strings.HasPrefix(path, cache+string(filepath.Separator)), "%s is not below %s", path, cache)
	}
}

// TestDemoOverlay: `go build` for the demo embeds the runtime that is packed for it, and no
// program of clusters; while that is not packed yet, nothing.
func TestDemoOverlay(t *testing.T) {
	tree := demo{tree{root: t.TempDir(), arch: architecture(runtime.GOARCH)}}
	assets, packed := filepath.Join(tree.root, embedded), tree.packing().to
	for path, text := range map[string]string{
		filepath.Join(tree.root, "go.mod"):       "module m\n",
		filepath.Join(tree.root, "a.go"):         "package a\n\nimport \"embed\"\n\n//go:embed all:bundle/assets\nvar F embed.FS\n",
		filepath.Join(assets, "README.md"):       "",
		filepath.Join(assets, "cluster.json"):    "",
		filepath.Join(assets, "cluster.tar.zst"): "",
		filepath.Join(assets, "docs.json"):       "",
		filepath.Join(packed, "manifest.json"):   "",
		filepath.Join(packed, "runtime.tar.zst"): "",
	} {
		assert.Must(t, writeFile(path, []byte(text)))
	}
	for from, want := range map[string]string{
		"":     "[bundle/assets/README.md]",
		packed: "[bundle/assets/README.md bundle/assets/manifest.json bundle/assets/runtime.tar.zst]",
	} {
		assert.Must(t, tree.writeOverlay(from))
		list := exec.CommandContext(t.Context(), "go", "list", "-mod=mod", "-overlay", filepath.Join(tree.root, ".cache", "demo", "overlay.json"),
			"-f", "{{.EmbedFiles}}", ".")
		list.Dir = tree.root
		out, err := list.CombinedOutput()
		assert.True(t, err == nil && strings.TrimSpace(string(out)) == want, "with what is packed in %q, embedded: %s, want %s, %v", from, out, want, err)
	}
}

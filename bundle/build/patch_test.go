package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The changes fit the versions that are pinned; one that fits no longer is an error.
func TestPatches(t *testing.T) {
	tree, err := newTree("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := tree.source(t.Context(), containerd)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range containerdPatches {
		text, err := os.ReadFile(filepath.Join(dir, p.file))
		if err != nil {
			t.Fatal(err)
		}
		changed, err := p.apply(string(text))
		if err != nil || !strings.Contains(changed, p.to) {
			t.Errorf("error %v", err)
		}
		for _, text := range []string{"", p.from + p.from} {
			if _, err := p.apply(text); err == nil {
				t.Errorf("it fits %q", text)
			}
		}
	}
}

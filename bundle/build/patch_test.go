package main

import (
	"os"
	"strings"
	"testing"
)

// The changes fit the versions that are pinned; one that fits no longer is an error.
func TestPatches(t *testing.T) {
	tree, err := newTree("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, err := tree.overlay(t.Context(), containerdPatches, dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "sandbox_run_linux.go") {
		t.Errorf("overlay %s (%v), want the changed file in it", text, err)
	}
	for _, text := range []string{"", containerdPatches[0].from + containerdPatches[0].from} {
		if _, err := containerdPatches[0].apply(text); err == nil {
			t.Errorf("it fits %q", text)
		}
	}
}

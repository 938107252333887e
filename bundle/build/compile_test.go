package main

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// TestBatches: each program is made once, without cgo or with it as it says, and none is
// written over another.
func TestBatches(t *testing.T) {
	list := binaries("v1.2.3")
	var made []string
	for _, b := range batches(list) {
		names := map[string]bool{}
		for _, p := range b.programs {
			if p.cgo != b.cgo {
				t.Errorf("%s is built with the others that have cgo = %t", p.pkg, b.cgo)
			}
			if names[path.Base(p.pkg)] {
				t.Errorf("%s is written over another program", p.pkg)
			}
			names[path.Base(p.pkg)] = true
			if p.cgo && b.tags() != strings.Join(slices.Sorted(strings.FieldsSeq(p.tags)), ",") {
				t.Errorf("%s is built with the tags %s, want its own: %s", p.pkg, b.tags(), p.tags)
			}
			made = append(made, p.pkg)
		}
	}
	var want []string
	for _, p := range list {
		want = append(want, p.pkg)
	}
	slices.Sort(want)
	slices.Sort(made)
	if !slices.Equal(made, want) {
		t.Errorf("built: %v, want %v", made, want)
	}
}

// TestBatchArguments: programs that are built together keep their own flags for the linker.
func TestBatchArguments(t *testing.T) {
	b := batch{programs: []binary{
		{pkg: "example.com/a", out: "bin/a", tags: "y x", ldflags: "-X main.v=1"}, {pkg: "example.com/b", out: "b", tags: "x z"},
	}}
	want := "build -v -trimpath -buildvcs=false -tags x,y,z -o to/ " +
		"-ldflags=example.com/a=-s -w -X main.v=1 -ldflags=example.com/b=-s -w  example.com/a example.com/b"
	if got := strings.Join(b.arguments("to"), " "); got != want {
		t.Errorf("go %s,\nwant %s", got, want)
	}
}

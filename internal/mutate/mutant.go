package mutate

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Mutant is one mistake: a place in a file, and what stands there instead.
type Mutant struct {
	File     string // relative to the root of the module
	Line     int
	Operator string // the kind of mistake
	Was, Now string // the text of the place, and what replaces it
	Text     string // the line in which it begins

	offset int
}

// Change is the mistake in a few words, on one line.
func (m Mutant) Change() string {
	was, now := oneLine(m.Was), oneLine(m.Now)
	switch {
	case was == "":
		return "+ " + now
	case now == "":
		return "− " + was
	}
	return was + " → " + now
}

func oneLine(text string) string {
	const most = 90
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}

// Apply is the file's text with the mistake in it. It has as many lines as before.
func (m Mutant) Apply(source []byte) []byte {
	now := m.Now
	if missing := strings.Count(m.Was, "\n") - strings.Count(now, "\n"); missing > 0 {
		now += strings.Repeat("\n", missing)
	}
	return slices.Concat(source[:m.offset], []byte(now), source[m.offset+len(m.Was):])
}

// Replacing is the mutant that has new in place of old, which must occur once in the file.
func Replacing(root, file, old, new string) (Mutant, error) {
	source, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return Mutant{}, err
	}
	if n := bytes.Count(source, []byte(old)); n != 1 {
		return Mutant{}, fmt.Errorf("%s: %q occurs %d times, want once", file, old, n)
	}
	at := bytes.Index(source, []byte(old))
	return Mutant{File: file, Line: 1 + bytes.Count(source[:at], []byte("\n")), Operator: "replaced", Was: old, Now: new, offset: at}, nil
}

// Of lists the mistakes that can be made in the packages of some folders, tests left out.
func Of(root string, folders ...string) ([]Mutant, error) {
	var all []Mutant
	for _, folder := range folders {
		paths, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			mutants, err := ofFile(path, filepath.Join(folder, filepath.Base(path)))
			if err != nil {
				return nil, err
			}
			all = append(all, mutants...)
		}
	}
	return all, nil
}

func ofFile(path, name string) ([]Mutant, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &finder{set: set, source: source, name: name}
	ast.Inspect(file, f.visit)
	return f.found, nil
}

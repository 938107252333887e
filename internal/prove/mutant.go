package prove

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Mutant is one mistake: a place in a file, and what stands there instead.
type Mutant struct {
	File     string // relative to the root of the module
	Was, Now string // the text of the place, and what replaces it

	offset int
}

func oneLine(text string) string {
	const most = 90
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
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
	return Mutant{File: file, Was: old, Now: new, offset: bytes.Index(source, []byte(old))}, nil
}

package contract

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Citation is a test that cites a rule.
type Citation struct {
	File       string // below the folder that was looked through
	Transcript bool
}

// Citations are the tests below a folder by the rules they cite. What is below
// this package itself is not looked at: its tests make rules up.
func Citations(sources fs.FS) (map[string][]Citation, error) {
	cited := map[string][]Citation{}
	err := fs.WalkDir(sources, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if file != "." && strings.HasPrefix(entry.Name(), ".") || file == "internal/contract" {
				return fs.SkipDir
			}
			return nil
		}
		transcript := path.Dir(file) == "lifecycle/testdata"
		played := transcript || strings.Contains(file, "/testdata/")
		if !played && !strings.HasSuffix(file, "_test.go") {
			return nil
		}
		data, err := fs.ReadFile(sources, file)
		if err != nil {
			return fmt.Errorf("read a test: %w", err)
		}
		text := string(data)
		if played {
			text = firstLines(text)
		}
		for _, rule := range Numbers(text) {
			cited[rule] = append(cited[rule], Citation{File: file, Transcript: transcript})
		}
		return nil
	})
	return cited, err
}

// firstLines are the comments that a transcript begins with, of the machine or of
// another package.
func firstLines(transcript string) string {
	var b strings.Builder
	for line := range strings.Lines(transcript) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		b.WriteString(line)
	}
	return b.String()
}

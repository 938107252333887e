package contract

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// Citation is a place in a test that cites a rule.
type Citation struct {
	File       string // below the folder that was looked through
	Line       int
	Rule       string
	Transcript bool // a transcript of the machine
	// Block is the line in which the comment begins that the citation belongs to, 0
	// for one in a string.
	Block int
}

// Citations are the places in which tests below a folder cite rules. What is below
// this package itself is not looked at: its tests make rules up.
func Citations(sources fs.FS) ([]Citation, error) {
	var all []Citation
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
		played := strings.Contains("/"+file, "/testdata/")
		if !played && !strings.HasSuffix(file, "_test.go") {
			return nil
		}
		text, err := fs.ReadFile(sources, file)
		if err != nil {
			return fmt.Errorf("read a test: %w", err)
		}
		for _, c := range citationsIn(string(text), played) {
			c.File, c.Transcript = file, path.Dir(file) == "lifecycle/testdata"
			all = append(all, c)
		}
		return nil
	})
	return all, err
}

// data is a rule's number in a test that is no citation: what lifepod prints has it in brackets, and a string that is
// nothing else is data.
var data = regexp.MustCompile("\\[" + number.String() + "\\]|[\"`]" + number.String() + "[\"`]")

// citationsIn finds the citations in the comments of a file that tests play, or in the comments and strings of a Go test.
func citationsIn(text string, played bool) []Citation {
	var out []Citation
	line, block := 0, 0
	cite := func(part string, block int) {
		for _, rule := range Numbers(part) {
			out = append(out, Citation{Line: line, Rule: rule, Block: block})
		}
	}
	for s := range strings.Lines(text) {
		line++
		code, comment, isComment := strings.Cut(s, "//")
		if played {
			code = ""
			comment, isComment = strings.CutPrefix(s, "#")
		}
		switch {
		case !isComment:
			block = 0
		case block == 0:
			block = line
		}
		cite(data.ReplaceAllString(code, ""), 0)
		if isComment {
			cite(comment, block)
		}
	}
	return out
}

// maxTogether is how many rules one line or one comment may cite. More of them say
// nothing of where each is proven.
const maxTogether = 5

// crowded are the lines and comments that cite too many rules.
func crowded(citations []Citation) []string {
	type place struct {
		file string
		line int
	}
	lines, blocks := map[place]int{}, map[place]int{}
	var out []string
	say := func(at place, what string) {
		out = append(out, fmt.Sprintf("%s:%d: %s cites more than %d rules: cite each where it is proven", at.file, at.line, what, maxTogether))
	}
	for _, c := range citations {
		at := place{c.File, c.Line}
		if lines[at]++; lines[at] == maxTogether+1 {
			say(at, "the line")
		}
		if begin := (place{c.File, c.Block}); c.Block != 0 {
			if blocks[begin]++; blocks[begin] == maxTogether+1 && lines[at] <= maxTogether {
				say(begin, "the comment")
			}
		}
	}
	return out
}

package contract

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"strconv"
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
		data, err := fs.ReadFile(sources, file)
		if err != nil {
			return fmt.Errorf("read a test: %w", err)
		}
		found := inGo(data)
		if played {
			found = inTranscript(string(data))
		}
		for _, c := range found {
			c.File, c.Transcript = file, path.Dir(file) == "lifecycle/testdata"
			all = append(all, c)
		}
		return nil
	})
	return all, err
}

// inTranscript finds the citations in the comments of a file that tests play.
func inTranscript(text string) []Citation {
	var out []Citation
	line, block := 0, 0
	for s := range strings.Lines(text) {
		line++
		if !strings.HasPrefix(s, "#") {
			block = 0
			continue
		}
		if block == 0 {
			block = line
		}
		for _, rule := range Numbers(s) {
			out = append(out, Citation{Line: line, Rule: rule, Block: block})
		}
	}
	return out
}

// shown is a rule in a test's data: what lifepod prints has it in brackets.
var shown = regexp.MustCompile(`\[` + number.String() + `\]`)

// inGo finds the citations in the comments and strings of a Go test. A string that
// is nothing but a rule's number is data.
func inGo(source []byte) []Citation {
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(source))
	var s scanner.Scanner
	s.Init(file, source, func(token.Position, string) {}, scanner.ScanComments)
	var out []Citation
	block, last := 0, 0 // where the comment began, and its last line so far
	for {
		pos, kind, literal := s.Scan()
		line := file.Line(pos)
		switch kind {
		case token.EOF:
			return out
		case token.COMMENT:
			if block == 0 || line != last+1 {
				block = line
			}
			last = line + strings.Count(literal, "\n")
			out = append(out, inText(literal, line, block)...)
		case token.STRING:
			if text, err := strconv.Unquote(literal); err == nil && number.FindString(text) != text {
				out = append(out, inText(shown.ReplaceAllString(literal, ""), line, 0)...)
			}
		}
	}
}

func inText(text string, line, block int) []Citation {
	var out []Citation
	for s := range strings.Lines(text) {
		for _, rule := range Numbers(s) {
			out = append(out, Citation{Line: line, Rule: rule, Block: block})
		}
		line++
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

package contract

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/lifepod/lifepod/docs"
	"github.com/lifepod/lifepod/internal/sentence"
)

// Chapter is one file of the contract.
type Chapter struct {
	Title string
	File  string // below docs/contract
	Part  string // the heading of README.md that it is listed below
	Areas []string
	Rules []Rule
}

// Chapters are all chapters in the order of README.md.
func Chapters() ([]Chapter, error) { return readChapters(files()) }

// files are those below docs/contract.
func files() fs.FS {
	below, _ := fs.Sub(docs.Contract, "contract") // the path is valid
	return below
}

// Rules are all rules in the contract's order.
func Rules() ([]Rule, error) {
	chapters, err := Chapters()
	if err != nil {
		return nil, err
	}
	return rulesOf(chapters), nil
}

func rulesOf(chapters []Chapter) []Rule {
	var rules []Rule
	for _, c := range chapters {
		rules = append(rules, c.Rules...)
	}
	return rules
}

// chapterRow is a row of README.md's tables of chapters.
var chapterRow = regexp.MustCompile(`^\| \[([^\]]+)\]\(([a-z-]+/[a-z-]+\.md)\) \| (.+) \|$`)

func readChapters(contract fs.FS) ([]Chapter, error) {
	index, err := fs.ReadFile(contract, "README.md")
	if err != nil {
		return nil, fmt.Errorf("read the contract: %w", err)
	}
	var chapters []Chapter
	part, seen := "", map[string]bool{}
	for line := range strings.Lines(string(index)) {
		line = strings.TrimSpace(line)
		if heading, found := strings.CutPrefix(line, "## "); found {
			part = heading
		}
		row := chapterRow.FindStringSubmatch(line)
		if row == nil {
			continue
		}
		chapter := Chapter{Title: row[1], File: row[2], Part: part, Areas: strings.Split(row[3], ", ")}
		if err := chapter.read(contract, seen); err != nil {
			return nil, fmt.Errorf("read the contract: %s: %w", chapter.File, err)
		}
		chapters = append(chapters, chapter)
	}
	return chapters, nil
}

// read reads the chapter's rules; seen are those of the chapters before.
func (c *Chapter) read(contract fs.FS, seen map[string]bool) error {
	data, err := fs.ReadFile(contract, path.Clean(c.File))
	if err != nil {
		return err
	}
	title, text, _ := strings.Cut(string(data), "\n")
	if title != "# "+c.Title {
		return fmt.Errorf("its title is %q, in README.md it is %q", title, c.Title)
	}
	for _, section := range sections(text) {
		heading, body, _ := strings.Cut(section, "\n")
		rule, err := parseRule(Rule{Number: heading, Chapter: c.Title, File: c.File}, body)
		if err != nil {
			return err
		}
		if seen[rule.Number] {
			return fmt.Errorf("rule %s: there are two of it", rule.Number)
		}
		seen[rule.Number] = true
		c.Rules = append(c.Rules, rule)
	}
	return nil
}

// sections are the texts below headings of the third level, which are rules; other
// headings end them.
func sections(text string) []string {
	var out []string
	for i, part := range strings.Split("\n"+text, "\n### ") {
		if i > 0 {
			rule, _, _ := strings.Cut(part, "\n## ")
			out = append(out, rule)
		}
	}
	return out
}

// Word is what some words mean that people search for.
type Word struct {
	Names []string
	Text  string // Markdown, with the rules behind it
}

// Words are those of words.md, in a language.
func Words(language sentence.Language) ([]Word, error) {
	file := "contract/words.md"
	if language == sentence.Chinese {
		file = "zh/contract/words.md"
	}
	data, err := docs.Contract.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the contract: %w", err)
	}
	var words []Word
	for _, section := range strings.Split(string(data), "\n## ")[1:] {
		heading, text, _ := strings.Cut(section, "\n")
		words = append(words, Word{Names: strings.Split(heading, ", "), Text: strings.TrimSpace(text)})
	}
	return words, nil
}

// FindWord finds a word, however it is capitalized.
func FindWord(words []Word, name string) (Word, bool) {
	i := slices.IndexFunc(words, func(w Word) bool {
		return slices.ContainsFunc(w.Names, func(n string) bool { return strings.EqualFold(n, name) })
	})
	if i < 0 {
		return Word{}, false
	}
	return words[i], true
}

// Naming are the rules in whose text a word stands as it is.
func Naming(rules []Rule, word string) []Rule {
	return slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return !strings.Contains(r.Text, word) })
}

package contract

import (
	"fmt"
	"slices"
	"strings"

	files "github.com/lifepod/lifepod/docs/contract"
)

// Word is what some words mean that people search for.
type Word struct {
	Names []string
	Text  string // Markdown, with the rules behind it
}

// Words are those of words.md.
func Words() ([]Word, error) {
	data, err := files.Files.ReadFile("words.md")
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

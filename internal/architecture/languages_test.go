package architecture

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/internal/assert"
)

var (
	rewrite   = flag.Bool("rewrite", false, "copy the code blocks of the English pages into the Chinese ones")
	codeBlock = regexp.MustCompile("(?ms)^```.*?^```$")
	skeleton  = regexp.MustCompile("(?ms)^(?:```.*?^```$|#+ |- |[0-9]+[.] |[|]|![[])")
	codeSpan  = regexp.MustCompile("`[^`]+`")
)

// glossary is the one page without an English one; others link to it where they like.
const glossary = "docs/zh/glossary.md"

// TestChinese: a page of docs/zh has the headings, code blocks, list items, table rows, pictures, terms in code and links of its English
// page, so that it does not fall behind. TestLinks finds dead links of both.
func TestChinese(t *testing.T) {
	t.Chdir("../..")
	pages := assert.Get(filepath.Glob("docs/zh/*.md")).Must(t)
	below := assert.Get(filepath.Glob("docs/zh/*/*.md")).Must(t)
	for _, page := range append(pages, below...) {
		if page == glossary {
			continue
		}
		other := englishOf(page)
		text, english := read(t, page), read(t, other)
		if *rewrite {
			text = copyCodeBlocks(english, text)
			assert.Must(t, os.WriteFile(page, []byte(text), 0o600))
		}
		same := func(what string, want, got any) {
			diff := cmp.Diff(want, got)
			assert.True(t, diff == "", "%s has other %s than %s (-English +Chinese):\n%s", page, what, other, diff)
		}
		same("headings, code blocks (-args -rewrite copies them), list items, table rows or pictures",
			skeleton.FindAllString(english, -1), skeleton.FindAllString(text, -1))
		english, text = codeBlock.ReplaceAllString(english, ""), codeBlock.ReplaceAllString(text, "")
		same("terms in code", codeSpans(english), codeSpans(text))
		links := linkedPages(page, text)
		assert.True(t, links[other], "%s does not link to %s, its English page", page, other)
		for to := range links {
			chinese := filepath.Join("docs/zh", strings.TrimPrefix(to, "docs/"))
			assert.True(t, to == other || !exists(chinese), "%s links to %s: %s is its Chinese page", page, to, chinese)
		}
		same("links", linkedInEnglish(other, linkedPages(other, english)), linkedInEnglish(other, links))
	}
}

// copyCodeBlocks puts the code blocks of an English page in the place of those of its Chinese one, in their order.
func copyCodeBlocks(english, chinese string) string {
	blocks := codeBlock.FindAllString(english, -1)
	return codeBlock.ReplaceAllStringFunc(chinese, func(old string) string {
		if len(blocks) > 0 {
			old, blocks = blocks[0], blocks[1:]
		}
		return old
	})
}

// linkedInEnglish are the English pages of those that a page links to, without itself and the glossary.
func linkedInEnglish(page string, links map[string]bool) map[string]bool {
	pages := map[string]bool{}
	for to := range links {
		pages[englishOf(to)] = true
	}
	delete(pages, page)
	delete(pages, englishOf(glossary))
	return pages
}

// englishOf is the English page of one in Chinese; another page is its own.
func englishOf(page string) string {
	name, is := strings.CutPrefix(page, "docs/zh/")
	switch {
	case !is:
		return page
	case name == "README.md":
		return name
	}
	return filepath.Join("docs", name)
}

func read(t *testing.T, name string) string {
	t.Helper()
	return string(assert.Get(os.ReadFile(name)).Must(t))
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func codeSpans(text string) map[string]bool {
	spans := map[string]bool{}
	for _, span := range codeSpan.FindAllString(text, -1) {
		spans[strings.Join(strings.Fields(span), " ")] = true
	}
	return spans
}

// linkedPages are the files that a page links to, without itself.
func linkedPages(page, text string) map[string]bool {
	pages := map[string]bool{}
	for _, match := range link.FindAllStringSubmatch(text, -1) {
		switch path, _, _ := strings.Cut(match[1], "#"); {
		case external.MatchString(path):
			pages[match[1]] = true
		case path != "":
			pages[filepath.Join(filepath.Dir(page), path)] = true
		}
	}
	return pages
}

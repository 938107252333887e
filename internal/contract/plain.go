package contract

import (
	"regexp"
	"strings"

	"github.com/lifepod/lifepod/internal/plain"
)

// Plain is the contract's Markdown as text for a terminal of a width: wrapped, with
// its tables aligned. Code keeps its quotes, because what is in them is exact.
func Plain(markdown string, width int) string {
	var blocks []string
	for i, text := range strings.Split(strings.TrimSpace(markdown), fence) {
		if i%2 == 1 { // between two fences
			blocks = append(blocks, "    "+strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    "))
			continue
		}
		for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
			blocks = append(blocks, plainBlock(block, width))
		}
	}
	return strings.Join(blocks, "\n\n")
}

// fence begins and ends a block that is shown as it is.
const fence = "```"

var listItem = regexp.MustCompile(`^(- |[0-9]+\. )`)

func plainBlock(block string, width int) string {
	if strings.HasPrefix(block, "|") {
		return table(block, width)
	}
	var out, paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			text := separated.ReplaceAllString(strings.Join(paragraph, " "), "$1")
			out = append(out, plain.Wrap(inline(text), width, strings.Repeat(" ", len(listItem.FindString(text)))))
		}
		paragraph = nil
	}
	for line := range strings.Lines(block) {
		line = strings.TrimSpace(line)
		if listItem.MatchString(line) {
			flush()
		}
		paragraph = append(paragraph, line)
	}
	flush()
	return strings.Join(out, "\n")
}

var (
	separated = regexp.MustCompile(`([，。；：、）]) `) // what Chinese text has in place of spaces
	linkText  = regexp.MustCompile(`\[([^\]]+)\]\([^)]*\)`)
	emphasis  = regexp.MustCompile(`(\*\*|\*)([^*]+)(\*\*|\*)`)
)

// inline is Markdown without links and emphasis.
func inline(markdown string) string {
	return emphasis.ReplaceAllString(linkText.ReplaceAllString(markdown, "$1"), "$2")
}

// table aligns a table. If it is wider than the terminal, the widest columns wrap.
func table(markdown string, width int) string {
	var rows [][]string
	for i, line := range strings.Split(markdown, "\n") {
		if i == 1 {
			continue // the line below the heading
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if strings.HasPrefix(line, "| |") {
			cells = append([]string{""}, strings.Split(strings.TrimPrefix(strings.Trim(line, " "), "| | "), " | ")...)
			cells[len(cells)-1] = strings.TrimRight(cells[len(cells)-1], "| ")
		}
		for c := range cells {
			cells[c] = inline(cells[c])
		}
		if i > 0 || strings.Join(cells, "") != "" {
			rows = append(rows, cells)
		}
	}
	return strings.Join((&plain.Table{Gap: "  ", Columns: width}).Lines(rows), "\n")
}

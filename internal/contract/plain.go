package contract

import (
	"regexp"
	"slices"
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
			text := strings.Join(paragraph, " ")
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
	linkText = regexp.MustCompile(`\[([^\]]+)\]\([^)]*\)`)
	emphasis = regexp.MustCompile(`(\*\*|\*)([^*]+)(\*\*|\*)`)
)

// inline is Markdown without links and emphasis.
func inline(markdown string) string {
	return emphasis.ReplaceAllString(linkText.ReplaceAllString(markdown, "$1"), "$2")
}

const columnGap = "  "

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
	widths := columnWidths(rows, width)
	var out []string
	for _, cells := range rows {
		out = append(out, tableRow(cells, widths)...)
	}
	return strings.Join(out, "\n")
}

// leastColumn is how narrow a column gets at most.
const leastColumn = 12

func columnWidths(rows [][]string, width int) []int {
	var widths []int
	for _, cells := range rows {
		for i, cell := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], plain.Width(cell))
		}
	}
	for {
		sum := len(columnGap) * (len(widths) - 1)
		for _, w := range widths {
			sum += w
		}
		widest := slices.Max(widths)
		if sum <= width || widest <= leastColumn {
			return widths
		}
		widths[slices.Index(widths, widest)]--
	}
}

// tableRow is one row, in as many lines as its longest cell needs.
func tableRow(cells []string, widths []int) []string {
	var columns [][]string
	height := 1
	for i, cell := range cells {
		lines := strings.Split(plain.Wrap(cell, widths[i], ""), "\n")
		columns, height = append(columns, lines), max(height, len(lines))
	}
	var out []string
	for n := range height {
		var line strings.Builder
		for i, lines := range columns {
			text := ""
			if n < len(lines) {
				text = lines[n]
			}
			line.WriteString(text)
			if i < len(columns)-1 {
				line.WriteString(strings.Repeat(" ", max(widths[i]-plain.Width(text), 0)) + columnGap)
			}
		}
		out = append(out, strings.TrimRight(line.String(), " "))
	}
	return out
}

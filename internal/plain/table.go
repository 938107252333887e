package plain

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Table is rows in columns. It remembers how wide they are, for rows that follow.
type Table struct {
	Gap     string // between columns
	Columns int    // of the terminal: where that is not enough, the widest columns wrap between words; 0: they never do
	widths  []int
}

// leastColumn is how narrow a column gets at most; one with a longer word keeps room for it, unless it is the last.
const leastColumn = 12

// Lines are the lines of rows; none has spaces at its end.
func (t *Table) Lines(rows [][]string) (lines []string) {
	least := map[int]int{} // by column: its longest word
	for _, cells := range rows {
		for i, cell := range cells {
			if i == len(t.widths) {
				t.widths = append(t.widths, 0)
			}
			t.widths[i] = max(t.widths[i], Width(cell))
			for word := range strings.FieldsSeq(cell) {
				least[i] = max(least[i], Width(word))
			}
		}
	}
	t.narrow(least)
	for _, cells := range rows {
		lines = append(lines, t.row(cells)...)
	}
	return lines
}

// narrow makes the widest columns narrower, if that helps.
func (t *Table) narrow(least map[int]int) {
	excess := len(t.Gap)*(len(t.widths)-1) - t.Columns
	most := 0 // how much narrower all can get
	for i, w := range t.widths {
		if least[i] = min(w, max(least[i], leastColumn)); i == len(t.widths)-1 {
			least[i] = min(w, leastColumn)
		}
		excess, most = excess+w, most+w-least[i]
	}
	if t.Columns == 0 || excess > most {
		return
	}
	for ; excess > 0; excess-- {
		widest := -1
		for i, w := range t.widths {
			if w > least[i] && (widest < 0 || w > t.widths[widest]) {
				widest = i
			}
		}
		t.widths[widest]--
	}
}

// row is one row, in as many lines as its longest cell needs.
func (t *Table) row(cells []string) (lines []string) {
	var columns [][]string
	height := 1
	for i, cell := range cells {
		text := []string{cell}
		if Width(cell) > t.widths[i] {
			text = strings.Split(Wrap(cell, t.widths[i], ""), "\n")
		}
		columns, height = append(columns, text), max(height, len(text))
	}
	for n := range height {
		var line strings.Builder
		for i, texts := range columns {
			text := ""
			if n < len(texts) {
				text = texts[n]
			}
			line.WriteString(text)
			if i < len(columns)-1 {
				line.WriteString(strings.Repeat(" ", max(t.widths[i]-Width(text), 0)) + t.Gap)
			}
		}
		lines = append(lines, strings.TrimRight(line.String(), " "))
	}
	return lines
}

// Terminal is the terminal that is written to or read from; false: it is none.
func Terminal(stream any) (fd int, is bool) {
	file, is := stream.(*os.File)
	if !is {
		return 0, false
	}
	return int(file.Fd()), term.IsTerminal(int(file.Fd()))
}

// Columns is how wide the terminal is that something is written to; 0: it is none.
func Columns(out io.Writer) int {
	fd, is := Terminal(out)
	if !is {
		return 0
	}
	columns, _, _ := term.GetSize(fd)
	return columns
}

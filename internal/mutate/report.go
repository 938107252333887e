package mutate

import (
	"fmt"
	"io"
	"strings"
)

// Print writes the table of trials, and how many were caught. It returns how many have
// survived without an excuse.
func Print(w io.Writer, trials []Trial) (survivors int) {
	fmt.Fprintln(w, "| place | mistake | caught by |\n| --- | --- | --- |")
	uncompiled, excused, caught := 0, 0, 0
	for _, t := range trials {
		end := t.CaughtBy
		switch {
		case t.Uncompiled:
			uncompiled++
			continue
		case end != "":
			caught++
		case t.Excuse != "":
			excused++
			end = "nothing, rightly: " + t.Excuse
		default:
			survivors++
			end = "**nothing**"
		}
		fmt.Fprintf(w, "| %s:%d | %s: %s | %s |\n", t.File, t.Line, t.Operator, cell(t.shown()), cell(end))
	}
	fmt.Fprintf(w, "\n%d mistakes: %d caught, %d that change nothing, %d survivors (%d more did not compile)\n",
		caught+excused+survivors, caught, excused, survivors, uncompiled)
	return survivors
}

// shown is the change, with its line where the change alone says too little.
func (t Trial) shown() string {
	if len(t.Was) <= 6 {
		return fmt.Sprintf("`%s` in `%s`", t.Change(), oneLine(t.Text))
	}
	return "`" + t.Change() + "`"
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

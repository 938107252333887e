package testbed

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/lifepod/lifepod/bench/times"
)

// figure is a row of the table. lifepod is to take at most a part of what the kubelet takes.
type figure struct {
	what   string
	of     func(Load) float64
	part   float64 // 0: nothing is to be reached
	format string
}

// Print writes the table of both sides. Of CPU and memory lifepod is to take that part of
// the kubelet's; 0: nothing is to be reached.
func (l *Loads) Print(out io.Writer, pods int, cpuPart, memoryPart float64) {
	figures := []figure{
		{"CPU", func(l Load) float64 { return l.CPU }, cpuPart, "%.2f %%"},
		{"memory", func(l Load) float64 { return l.Resident }, memoryPart, "%.1f MiB"},
		{"anonymous", func(l Load) float64 { return l.Anonymous }, 0, "%.1f MiB"},
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(w, "\n%d idle pods\tn\tkubelet\tlifepod\tless\tto reach\t\t\n", pods)
	for _, f := range figures {
		theirs, ours := l.Median(Kubelet, f.of), l.Median(Lifepod, f.of)
		text, answer := "", ""
		if f.part > 0 {
			text, answer = fmt.Sprintf("1/%g", f.part), times.Verdict(theirs > 0 && ours > 0, ours*f.part <= theirs)
		}
		_, _ = fmt.Fprintf(w, "%s\t%d\t"+f.format+"\t"+f.format+"\t%s\t%s\t%s\t\n",
			f.what, l.Len(Lifepod), theirs, ours, times.Ratio(theirs, ours), text, answer)
	}
	_ = w.Flush() // to the terminal
}

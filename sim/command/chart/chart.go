// Package chart writes a simulated life as a chart.
package chart

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/lifepod/lifepod/sim"
	"github.com/lifepod/lifepod/timeline"
	"github.com/lifepod/lifepod/timeline/gantt"
	"github.com/lifepod/lifepod/timeline/picture"
)

// Formats of charts.
var Formats = []string{"timeline", "svg", "html"}

// Check refuses a format that is not for where it goes.
func Check(format string, out io.Writer) error {
	if (format == "svg" || format == "html") && isTerminal(out) {
		return fmt.Errorf("-o %s is not for a terminal: write it to a file, and open that with a browser", format)
	}
	return nil
}

func isTerminal(out io.Writer) bool {
	file, is := out.(*os.File)
	return is && term.IsTerminal(int(file.Fd()))
}

// Write writes a life in a format.
func Write(out io.Writer, format string, life *sim.Life) error {
	charts := []*timeline.Chart{timeline.Of(life.Record(), sim.Began.Add(life.Until))}
	switch format {
	case "svg":
		return picture.WriteSVG(out, charts)
	case "html":
		return picture.WritePage(out, charts)
	}
	const width = 80
	return gantt.Write(out, charts, gantt.Options{Width: width})
}

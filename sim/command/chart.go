package command

import (
	"fmt"
	"io"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/sim"
	"github.com/lifepod/lifepod/timeline"
	"github.com/lifepod/lifepod/timeline/draw"
)

var ChartFormats = []string{"timeline", "svg", "html"}

// CheckChart refuses a format that is not for where it goes.
func CheckChart(format string, out io.Writer) error {
	if _, is := plain.Terminal(out); is && (format == "svg" || format == "html") {
		return fmt.Errorf("-o %s is not for a terminal: write it to a file, and open that with a browser", format)
	}
	return nil
}

func WriteChart(out io.Writer, format string, life *sim.Life) error {
	charts := []*timeline.Chart{timeline.Of(life.Record(), sim.Began.Add(life.Until))}
	switch format {
	case "svg":
		return draw.WriteSVG(out, charts)
	case "html":
		return draw.WritePage(out, charts)
	}
	const width = 80
	return draw.WriteText(out, charts, draw.TextOptions{Width: width})
}

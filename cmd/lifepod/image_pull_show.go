package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/worker/images"
)

// pullDisplay shows how far a pull is.
type pullDisplay interface {
	report(images.Progress)
	finish()
}

// pullLines shows it on standard error: on a terminal a line and one for each layer, which are
// drawn anew each time, elsewhere a line every few seconds.
type pullLines struct {
	// immutable
	out   io.Writer
	image string
	size  func() (columns, rows int) // of a terminal; nil: it is none

	shown time.Duration // the elapsed time of what was shown last, 0 before that
	drawn int           // lines that stand there
}

const (
	quietStart   = time.Second
	plainSpacing = 5 * time.Second
)

func newPullLines(out io.Writer, image string) *pullLines {
	lines := &pullLines{out: out, image: image}
	if fd, is := plain.Terminal(out); is {
		lines.size = func() (columns, rows int) {
			columns, rows, err := term.GetSize(fd)
			if err != nil || columns < 1 || rows < 1 {
				return 80, 24
			}
			return columns, rows
		}
	}
	return lines
}

func (l *pullLines) report(p images.Progress) {
	if p.Elapsed < quietStart {
		return
	}
	text := plain.Line(p.Pulling(l.image, fmt.Sprintf))
	switch {
	case l.size != nil:
		columns, rows := l.size()
		lines := append([]string{text}, layerLines(p.Layers, rows-2)...)
		for i, line := range lines {
			all := []rune(line)
			lines[i] = string(all[:min(len(all), columns-1)])
		}
		l.erase()
		fmt.Fprint(l.out, strings.Join(lines, "\n"))
		l.drawn = len(lines)
	case l.shown == 0 || p.Elapsed-l.shown >= plainSpacing:
		fmt.Fprintln(l.out, text)
	default:
		return
	}
	l.shown = p.Elapsed
}

// erase takes away what is drawn.
func (l *pullLines) erase() {
	if l.drawn > 0 {
		fmt.Fprint(l.out, "\r\x1b[K", strings.Repeat("\x1b[A\x1b[K", l.drawn-1))
	}
	l.drawn = 0
}

func (l *pullLines) finish() { l.erase() }

// layerLines has a line for each layer. If they are too many, only those are told that
// something happens to, and the others are counted.
func layerLines(layers []images.Layer, most int) (lines []string) {
	counted := map[images.LayerState]int{}
	for i, l := range layers {
		if idle := l.State == images.LayerWaiting || l.State == images.LayerUnpacked; len(layers) > most && (idle || len(lines) >= most-1) {
			counted[l.State]++
			continue
		}
		size := images.Size(l.TotalBytes)
		if l.State == images.LayerDownloading {
			size = images.Share(l.DoneBytes, l.TotalBytes, fmt.Sprintf) + " at " + images.Size(l.BytesPerSecond) + "/s"
		}
		lines = append(lines, fmt.Sprintf("%3d  %-12s  %-11s  %s", i+1, plain.Line(l.ShortDigest()), l.State, size))
	}
	var others []string
	for _, state := range []images.LayerState{images.LayerUnpacked, images.LayerUnpacking, images.LayerDownloaded, images.LayerDownloading, images.LayerWaiting} {
		if n := counted[state]; n > 0 {
			others = append(others, fmt.Sprintf("%d %s", n, state))
		}
	}
	if len(others) > 0 && most > 0 {
		lines = append(lines, "     and "+strings.Join(others, ", "))
	}
	return lines
}

// pullObjects writes an object of JSON per report.
type pullObjects struct {
	out   io.Writer
	image string
}

type pullProgress struct {
	Type           string         `json:"type"` // progress
	Image          string         `json:"image"`
	Elapsed        float64        `json:"elapsedSeconds"`
	Phase          images.Phase   `json:"phase"`
	DoneBytes      int64          `json:"doneBytes"`
	TotalBytes     int64          `json:"totalBytes"`
	BytesPerSecond int64          `json:"bytesPerSecond"`
	Layers         []images.Layer `json:"layers,omitempty"`
}

func (o *pullObjects) report(p images.Progress) {
	// who doesn't read it gets the image all the same
	_ = printJSONLine(o.out, pullProgress{
		Type: "progress", Image: o.image, Elapsed: p.Elapsed.Round(time.Millisecond).Seconds(), Phase: p.Phase(),
		DoneBytes: p.DoneBytes, TotalBytes: p.TotalBytes, BytesPerSecond: p.BytesPerSecond, Layers: p.Layers,
	})
}

func (*pullObjects) finish() {}

// printPulled writes the last object of a pull: the image that has come.
func printPulled(out io.Writer, image string, pulled *images.Pulled) error {
	return printJSONLine(out, struct {
		Type      string  `json:"type"` // pulled
		Image     string  `json:"image"`
		Elapsed   float64 `json:"elapsedSeconds"`
		ID        string  `json:"id"`
		Ref       string  `json:"ref"`
		SizeBytes int64   `json:"sizeBytes"`
	}{"pulled", images.FullName(image), pulled.TotalDuration.Round(time.Millisecond).Seconds(), pulled.ID, pulled.Ref, pulled.SizeBytes})
}

func printJSONLine(out io.Writer, object any) error {
	text, err := json.Marshal(object)
	if err == nil {
		_, err = fmt.Fprintf(out, "%s\n", plain.JSON(text))
	}
	return err
}

package run

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/images"
)

func pullAt(seconds int, done int64) images.Progress {
	const mebi = 1 << 20
	return images.Progress{
		Elapsed: time.Duration(seconds) * time.Second, DoneBytes: done * mebi, TotalBytes: 120 * mebi, BytesPerSecond: 4*mebi + mebi/2,
		Layers: []images.Layer{{State: images.LayerUnpacked}, {State: images.LayerDownloading}, {State: images.LayerWaiting}},
	}
}

// TestPullLines: without a terminal there is a line every five seconds for each pull.
func TestPullLines(t *testing.T) {
	for output, want := range map[string]string{
		"": `s pod pulling app:1 for 5s, 22.0 of 120.0 MiB at 4.5 MiB/s, layer 2 of 3
s pod pulling other:1 for 5s
s pod pulling app:1 for 10s, 120.0 MiB downloaded, unpacking
`,
		"json": `"subject":"pod","what":"pulling app:1 for 5s, 22.0 of 120.0 MiB at 4.5 MiB/s, layer 2 of 3","rule":"A-IMG-4"}
"subject":"pod","what":"pulling other:1 for 5s","rule":"A-IMG-4"}
"subject":"pod","what":"pulling app:1 for 10s, 120.0 MiB downloaded, unpacking","rule":"A-IMG-4"}
`,
	} {
		var out bytes.Buffer
		p := newPrinter(Options{Stdout: &out, Stderr: &out, Output: output, Began: time.Now()}, podOf("a"))
		for second := range 9 {
			p.pullProgress(nil, "app:1", pullAt(second, int64(17+second)))
		}
		p.pullProgress(nil, "other:1", images.Progress{Elapsed: 5 * time.Second})
		p.pullProgress(nil, "app:1", pullAt(10, 120))
		p.pullProgress(nil, "app:1", images.Progress{})
		p.close()
		var got strings.Builder
		for line := range strings.Lines(out.String()) {
			_, text, found := strings.Cut(line, `"lifecycle",`)
			if !found {
				_, text, _ = strings.Cut(line, ".")
				text = strings.TrimLeft(text, "0123456789")
			}
			got.WriteString(text)
		}
		assert.Deep(t, fmt.Sprintf("output %q", output), want, got.String())
	}
}

// TestPullsOnATerminal: pulls under way stand side by side, a line each, until they end or
// something else is reported.
func TestPullsOnATerminal(t *testing.T) {
	var stderr bytes.Buffer
	p := newPrinter(Options{Stdout: io.Discard, Stderr: &stderr, Began: time.Now()}, podOf("a"))
	p.terminal = true
	shown := func() string { // each draws what it finds
		for written := false; !written; runtime.Gosched() {
			p.stderr.mu.Lock()
			written = len(p.stderr.queue) == 0 && !p.stderr.writing
			p.stderr.mu.Unlock()
		}
		defer stderr.Reset()
		return stderr.String()
	}
	const app, other = "pulling app:1 for 2s, 22.0 of 120.0 MiB at 4.5 MiB/s, layer 2 of 3", "pulling other:1 for 3s"
	for _, step := range []struct {
		image string
		is    images.Progress
		want  string
	}{
		{"app:1", images.Progress{Elapsed: time.Second / 2}, ""},
		{"app:1", pullAt(2, 22), app},
		{"other:1", images.Progress{Elapsed: 3 * time.Second}, eraseLine + app + "\n" + other},
		{"never:1", images.Progress{}, ""},
		{"app:1", images.Progress{}, eraseLine + eraseAbove + other},
		{"other:1", images.Progress{}, eraseLine},
	} {
		p.pullProgress(nil, step.image, step.is)
		assert.Deep(t, fmt.Sprintf("%s at %v", step.image, step.is.Elapsed), step.want, shown())
	}
	p.counter = &countdown{}
	p.pullProgress(nil, "app:1", pullAt(3, 22))
	assert.Equal(t, "", shown(), "while it is being stopped")
	p.close()
}

func TestFitPull(t *testing.T) {
	const long = "registry.example.com:5000/team/project/application@sha256:0123456789abcdef"
	for width, want := range map[int]string{
		160: "pulling " + long + " for 2s, 22.0 of 120.0 MiB at 4.5 MiB/s, layer 2 of 3",
		80:  "pulling …:0123456789abcdef for 2s, 22.0 of 120.0 MiB at 4.5 MiB/s, layer 2 of 3",
		40:  "pulling …456789abcdef for 2s, 22.0 of 1",
	} {
		assert.Equal(t, want, fitPull(long, pullAt(2, 22), width, fmt.Sprintf), "%d columns", width)
	}
	got := fitPull("evil\x1b[2J\n:1", images.Progress{Elapsed: time.Second}, 80, fmt.Sprintf)
	assert.True(t, got == "pulling evil^[[2J :1 for 1s", "%q", got)
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/images"
)

const mebi = 1 << 20

var pullReports = []images.Progress{
	{Elapsed: 500 * time.Millisecond},
	{Elapsed: time.Second},
	{Elapsed: 2 * time.Second, DoneBytes: 25, TotalBytes: 100},
	{
		Elapsed: 6 * time.Second, DoneBytes: 50 * mebi, TotalBytes: 100 * mebi, BytesPerSecond: 8 * mebi,
		Layers: []images.Layer{
			{Digest: "sha256:0123456789abcdef", DoneBytes: 20 * mebi, TotalBytes: 20 * mebi, State: images.LayerUnpacking},
			{Digest: "sha256:123456789abcdef0", DoneBytes: 30 * mebi, TotalBytes: 50 * mebi, BytesPerSecond: 7 * mebi, State: images.LayerDownloading},
			{Digest: "sha256:\x1b[2J", TotalBytes: 30 * mebi, State: images.LayerWaiting},
		},
	},
	{Elapsed: 11 * time.Second, DoneBytes: 100 * mebi, TotalBytes: 100 * mebi},
}

func TestPullLines(t *testing.T) {
	const erase, above = "\r\x1b[K", "\x1b[A\x1b[K"
	terminal := func() (int, int) { return 40, 24 }
	for _, c := range []struct {
		size func() (int, int)
		want string
	}{
		{nil, "pulling a:1 for 1s\n" +
			"pulling a:1 for 6s, 50.0 of 100.0 MiB at 8.0 MiB/s, layer 2 of 3\n" +
			"pulling a:1 for 11s, 100.0 MiB downloaded, unpacking\n"},
		{terminal, "pulling a:1 for 1s" +
			erase + "pulling a:1 for 2s, 25 of 100 B at 0 B/" +
			erase + "pulling a:1 for 6s, 50.0 of 100.0 MiB a\n" +
			"  1  0123456789ab  unpacking    20.0 Mi\n" +
			"  2  123456789abc  downloading  30.0 of\n" +
			"  3  ^[[2J         waiting      30.0 Mi" +
			erase + above + above + above + "pulling a:1 for 11s, 100.0 MiB download" + erase},
	} {
		var out strings.Builder
		lines := newPullLines(&out, "a:1")
		lines.size = c.size
		for _, report := range pullReports {
			lines.report(report)
		}
		lines.finish()
		assert.Deep(t, fmt.Sprintf("terminal %v", c.size != nil), c.want, out.String())
	}
}

// TestLayerLines: more layers than a terminal has lines are reported in short.
func TestLayerLines(t *testing.T) {
	var layers []images.Layer
	for i, state := range []images.LayerState{"unpacked", "unpacked", "unpacking", "downloaded", "downloading", "waiting"} {
		layers = append(layers, images.Layer{Digest: fmt.Sprint("sha256:", i), TotalBytes: mebi, State: state})
	}
	want := []string{"  3  2             unpacking    1.0 MiB", "  4  3             downloaded   1.0 MiB", "  5  4             downloading  0.0 of 1.0 MiB at 0 B/s"}
	for most, want := range map[int][]string{
		5:  append(want[:3:3], "     and 2 unpacked, 1 waiting"),
		4:  append(want[:3:3], "     and 2 unpacked, 1 waiting"),
		2:  append(want[:1:1], "     and 2 unpacked, 1 downloaded, 1 downloading, 1 waiting"),
		1:  {"     and 2 unpacked, 1 unpacking, 1 downloaded, 1 downloading, 1 waiting"},
		-1: nil,
	} {
		assert.Deep(t, fmt.Sprintf("at most %d", most), want, layerLines(layers, most))
	}
	got := layerLines(layers, 6)
	assert.True(t, len(got) == 6, "six of them: %q", got)
}

func TestPullObjects(t *testing.T) {
	var out bytes.Buffer
	objects := &pullObjects{out: &out, image: "a:1"}
	objects.report(pullReports[3])
	var got pullProgress
	err := json.Unmarshal(out.Bytes(), &got)
	assert.Require(t, err == nil && !strings.Contains(out.String(), "\x1b"), "%v: %q", err, out.String())
	want := pullProgress{
		Type: "progress", Image: "a:1", Elapsed: 6, Phase: "downloading", DoneBytes: 50 * mebi, TotalBytes: 100 * mebi, BytesPerSecond: 8 * mebi,
		Layers: []images.Layer{
			{Digest: "sha256:0123456789abcdef", State: "unpacking", DoneBytes: 20 * mebi, TotalBytes: 20 * mebi, BytesPerSecond: 0},
			{Digest: "sha256:123456789abcdef0", State: "downloading", DoneBytes: 30 * mebi, TotalBytes: 50 * mebi, BytesPerSecond: 7 * mebi},
			{Digest: "sha256:\x1b[2J", State: "waiting", DoneBytes: 0, TotalBytes: 30 * mebi, BytesPerSecond: 0},
		},
	}
	assert.Deep(t, "", want, got)
	text, err := runImage(t, &imageService{}, nil, "pull", "r.io/app", "-o", "json")
	if err != nil || !strings.HasPrefix(text, `{"type":"pulled","image":"r.io/app:latest","elapsedSeconds":`) || !strings.Contains(text, `"id":"sha256:0123456789abcdef"`) {
		t.Errorf("%v: %s", err, text)
	}
}

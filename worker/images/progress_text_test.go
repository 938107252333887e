package images

import (
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestWindow(t *testing.T) {
	second := time.Second
	for name, tc := range map[string]struct {
		samples []sample
		want    []int64
	}{
		"even":               {[]sample{{0, 0}, {second, 100}, {2 * second, 200}}, []int64{0, 100, 100}},
		"the last 5 s count": {[]sample{{0, 0}, {second, 1000}, {2 * second, 1000}, {6 * second, 1000}, {7 * second, 1000}, {8 * second, 1500}}, []int64{0, 1000, 500, 0, 0, 250}},
		"begun again":        {[]sample{{0, 0}, {second, 1000}, {2 * second, 10}, {3 * second, 510}}, []int64{0, 1000, 5, 170}},
		"fewer than before":  {[]sample{{0, 500}, {second, 10}}, []int64{0, 0}},
		"the same moment":    {[]sample{{second, 0}, {second, 10}}, []int64{0, 0}},
		"a long gap":         {[]sample{{0, 0}, {20 * second, 2000}}, []int64{0, 100}},
	} {
		var w window
		var got []int64
		for _, s := range tc.samples {
			got = append(got, w.add(s.elapsed, s.bytes))
		}
		assert.Deep(t, name, tc.want, got)
	}
}

// TestProgressText: what is told of a pull names the layer that it waits for.
func TestProgressText(t *testing.T) {
	const mebi = 1 << 20
	down := func(done, total, rate int64) Layer {
		return Layer{DoneBytes: done * mebi, TotalBytes: total * mebi, BytesPerSecond: rate * mebi, State: LayerDownloading}
	}
	whole := func(state LayerState) Layer { return Layer{DoneBytes: mebi, TotalBytes: mebi, State: state} }
	for _, tc := range []struct {
		p    Progress
		want string
	}{
		{Progress{}, ""},
		{Progress{DoneBytes: 10, TotalBytes: 900, BytesPerSecond: 2000}, "10 of 900 B at 2.0 KiB/s"},
		{Progress{DoneBytes: 10, TotalBytes: 3 << 30, Layers: []Layer{{State: LayerDownloading}}}, "0.0 of 3.0 GiB at 0 B/s"},
		{Progress{DoneBytes: 5, TotalBytes: 10, Layers: []Layer{whole(LayerUnpacking), {State: LayerWaiting}}}, "5 of 10 B at 0 B/s"},
		{
			Progress{DoneBytes: 5, TotalBytes: 10 << 40, Layers: []Layer{whole(LayerUnpacked), down(1, 100, 50), down(1, 10, 1), down(9, 10, 1)}},
			"0.0 of 10.0 TiB at 0 B/s, layer 3 of 4",
		},
		{
			Progress{DoneBytes: 45*mebi + mebi/5, TotalBytes: 120*mebi + mebi/2, BytesPerSecond: 4*mebi + mebi/2, Layers: []Layer{down(1, 9, 0), down(2, 100, 0), down(1, 100, 1)}},
			"45.2 of 120.5 MiB at 4.5 MiB/s, layer 2 of 3",
		},
		{Progress{DoneBytes: 7, TotalBytes: 7, Layers: []Layer{whole(LayerUnpacked), whole(LayerUnpacking), whole(LayerDownloaded)}}, "7 B downloaded, unpacking layer 2 of 3"},
		{Progress{DoneBytes: 7, TotalBytes: 7, Layers: []Layer{whole(LayerUnpacking)}}, "7 B downloaded, unpacking"},
		{Progress{DoneBytes: 7, TotalBytes: 7}, "7 B downloaded, unpacking"},
	} {
		if got := tc.p.String(); got != tc.want {
			t.Errorf("%+v:\ngot  %s\nwant %s", tc.p, got, tc.want)
		}
	}
}

func TestShortDigest(t *testing.T) {
	for digest, want := range map[string]string{"sha256:0123456789abcdef": "0123456789ab", "sha256:01": "01", "none": "", "": ""} {
		assert.Equal(t, want, (&Layer{Digest: digest}).ShortDigest(), "%q", digest)
	}
}

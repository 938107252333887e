package timeline_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/timeline"
	"github.com/lifepod/lifepod/timeline/draw"
	"github.com/lifepod/lifepod/timeline/timelinetest"
)

func lives() map[string][]*timeline.Chart {
	one := func(c *timeline.Chart) []*timeline.Chart { return []*timeline.Chart{c} }
	var workers []*timeline.Chart
	for i, pull := range []time.Duration{1200 * time.Millisecond, 1500 * time.Millisecond, 11 * time.Second, 1300 * time.Millisecond} {
		workers = append(workers, timeline.Of(timelinetest.Worker(fmt.Sprintf("train-%d", i), pull), timelinetest.At(15*time.Second)))
	}
	return map[string][]*timeline.Chart{
		"web": one(timeline.Of(timelinetest.Web(), time.Time{})), "crashing": one(timeline.Of(timelinetest.Crashing())),
		"unpullable": one(timeline.Of(timelinetest.Unpullable())), "resumed": one(timeline.Of(timelinetest.Resumed())),
		"malicious": one(timeline.Of(timelinetest.Malicious())), "workers": workers, "group": one(group(sentence.English)),
		"chinese": one(timeline.In(sentence.Chinese, timelinetest.Web(), time.Time{})), "chinese-group": one(group(sentence.Chinese)),
	}
}

func group(language sentence.Language) *timeline.Chart {
	records, now := timelinetest.Train()
	return timeline.OfGroup(timeline.NameOf("default", "train"), records, now, 0, language)
}

func TestGolden(t *testing.T) {
	for name, charts := range lives() {
		for _, width := range []int{60, 80, 120} {
			var text bytes.Buffer
			assert.Must(t, draw.WriteText(&text, charts, draw.TextOptions{Width: width}))
			timelinetest.Golden(t, fmt.Sprintf("%s-%d.txt", name, width), text.Bytes())
		}
	}
}

// A label does not stand over the mark of a cut, at any width.
func TestCutIsSeen(t *testing.T) {
	at := timelinetest.At
	bar := func(from, to time.Duration) timeline.Bar {
		return timeline.Bar{Begin: at(from), End: at(to), Step: timeline.Ready}
	}
	late := 6*time.Minute + 22*time.Second
	c := &timeline.Chart{Begin: at(0), End: at(late + 900*time.Millisecond), Rows: []timeline.Row{
		{Kind: timeline.ContainerRow, Bars: []timeline.Bar{bar(0, 900*time.Millisecond), bar(late, late+900*time.Millisecond)}},
	}}
	for width := draw.MinWidth; width < 220; width++ {
		var text bytes.Buffer
		assert.Must(t, draw.WriteText(&text, []*timeline.Chart{c}, draw.TextOptions{Width: width}))
		assert.True(t, strings.Count(text.String(), "⫽") == 1, "%d columns:\n%s", width, text.String())
	}
}

var escapes = regexp.MustCompile("\x1b\\[[0-9]+m")

// Every line fits at any width, nothing is left that a terminal obeys, and colours only add escapes.
func TestEveryWidth(t *testing.T) {
	for name, charts := range lives() {
		for width := range 220 {
			var text, coloured bytes.Buffer
			for _, err := range []error{draw.WriteText(&text, charts, draw.TextOptions{Width: width}), draw.WriteText(&coloured, charts, draw.TextOptions{Width: width, Colour: true})} {
				assert.Must(t, err)
			}
			for line := range strings.Lines(text.String()) {
				columns := len([]rune(line)) - 1
				assert.True(t, columns <= max(width, draw.MinWidth), "%s at %d: %d columns: %s", name, width, columns, line)
			}
			assert.True(t, !strings.ContainsFunc(text.String(), func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) }),
				"%s at %d has control characters: %q", name, width, text.String())
			assert.Equal(t, text.String(), escapes.ReplaceAllString(coloured.String(), ""), "%s at %d in colours says", name, width)
		}
	}
}

func TestComparison(t *testing.T) {
	all := lives()
	for name, c := range map[string]timeline.Comparison{
		"compare":           timeline.Compare(all["workers"][0], all["workers"][2]),
		"compare-different": timeline.Compare(all["web"][0], all["crashing"][0]),
		"compare-malicious": timeline.Compare(all["web"][0], all["malicious"][0]),
	} {
		for _, width := range []int{60, 120} {
			var text, coloured bytes.Buffer
			for _, err := range []error{draw.WriteComparison(&text, &c, draw.TextOptions{Width: width}), draw.WriteComparison(&coloured, &c, draw.TextOptions{Width: width, Colour: true})} {
				assert.Must(t, err)
			}
			for line := range strings.Lines(text.String()) {
				columns := len([]rune(line)) - 1
				assert.True(t, columns <= width, "%s at %d: %d columns: %s", name, width, columns, line)
			}
			assert.Equal(t, text.String(), escapes.ReplaceAllString(coloured.String(), ""), "%s at %d in colours says", name, width)
			timelinetest.Golden(t, fmt.Sprintf("%s-%d.txt", name, width), text.Bytes())
		}
	}
}

package timeline_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
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

func pictureLives() map[string][]*timeline.Chart {
	one := func(c *timeline.Chart) []*timeline.Chart { return []*timeline.Chart{c} }
	var workers []*timeline.Chart
	for i, pull := range []time.Duration{1200 * time.Millisecond, 11 * time.Second} {
		workers = append(workers, timeline.Of(timelinetest.Worker(fmt.Sprintf("train-%d", i), pull), timelinetest.At(15*time.Second)))
	}
	return map[string][]*timeline.Chart{
		"web": one(timeline.Of(timelinetest.Web(), time.Time{})), "crashing": one(timeline.Of(timelinetest.Crashing())),
		"resumed": one(timeline.Of(timelinetest.Resumed())), "malicious": one(timeline.Of(timelinetest.Malicious())), "workers": workers,
		"group": one(pictureGroup()),
	}
}

func pictureGroup() *timeline.Chart {
	records, now := timelinetest.Train()
	return timeline.OfGroup(timeline.NameOf("default", "train"), records, now, 0, sentence.English)
}

// drawn are all pictures and pages of all lives.
func drawn(t *testing.T) (svgs, pages map[string]string) {
	t.Helper()
	svgs, pages = map[string]string{}, map[string]string{}
	for name, charts := range pictureLives() {
		var svg, page bytes.Buffer
		for _, err := range []error{draw.WriteSVG(&svg, charts), draw.WritePage(&page, charts)} {
			assert.Must(t, err)
		}
		svgs[name], pages[name] = svg.String(), page.String()
	}
	return svgs, pages
}

func TestPictureGolden(t *testing.T) {
	svgs, pages := drawn(t)
	for _, name := range []string{"web", "workers", "group"} {
		timelinetest.Golden(t, name+".svg", []byte(svgs[name]))
		timelinetest.Golden(t, name+".html", []byte(pages[name]))
	}
}

// A picture is well-formed XML.
func TestWellFormed(t *testing.T) {
	svgs, _ := drawn(t)
	for name, text := range svgs {
		d := xml.NewDecoder(strings.NewReader(text))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}

var (
	quoted   = regexp.MustCompile(`"[^"]*"`)
	handlers = regexp.MustCompile(`<[^>]*\son[a-z]+=`)
)

var outside = regexp.MustCompile(`(?i)(src|href|action|data)\s*=|url\(|@import|<(link|iframe|object|embed|img|base|form)\b`)

// Pictures and pages need nothing else, and what pods say is neither markup nor script there, nor turns
// the direction of what is read.
func TestHarmless(t *testing.T) {
	svgs, pages := drawn(t)
	for name, scripts := range map[*map[string]string]int{&svgs: 0, &pages: 1} {
		for life, text := range *name {
			assert.Equal(t, "", outside.FindString(strings.ReplaceAll(text, "data-zoom=", "")), "%s needs something else", life)
			n := strings.Count(text, "<script")
			assert.True(t, n == scripts, "%s has %d scripts, want %d", life, n, scripts)
			assert.Equal(t, "", handlers.FindString(quoted.ReplaceAllString(text, "")), "%s", life)
			assert.True(t, !strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) }),
				"%s has characters that nobody sees", life)
		}
	}
	assert.True(t, strings.Contains(html.UnescapeString(pages["malicious"]), "<script>alert(1)</script>"), "the page does not say what the pod says")
}

// The page's policy allows its own style and script, byte by byte.
func TestPolicy(t *testing.T) {
	_, pages := drawn(t)
	for name, text := range pages {
		text = strings.ReplaceAll(text, "\r\n", "\n")
		for _, element := range []string{"style", "script"} {
			_, rest, _ := strings.Cut(text, "<"+element+">")
			inside, _, _ := strings.Cut(rest, "</"+element+">")
			sum := sha256.Sum256([]byte(inside))
			want := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
			assert.True(t, strings.Contains(html.UnescapeString(text), element+"-src "+want), "%s: the policy does not allow its %s", name, element)
		}
		assert.True(t, strings.Contains(html.UnescapeString(text), "default-src 'none'"), "%s: the policy allows more", name)
	}
}

// The table has every bar and mark that the chart has.
func TestTable(t *testing.T) {
	_, pages := drawn(t)
	for name, charts := range pictureLives() {
		want := 0
		for _, c := range charts {
			for _, r := range c.Rows {
				want += len(r.Bars) + len(r.Marks)
			}
		}
		got := strings.Count(pages[name], `<th scope="row">`)
		assert.True(t, got == want, "%s: the table has %d steps, want %d", name, got, want)
	}
}

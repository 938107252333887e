package run

import (
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestLayout(t *testing.T) {
	a, aErr, b := &source{container: "a"}, &source{container: "a"}, &source{container: "b"}
	own := func(text string) item { return item{text: text} }
	count := item{text: "5s left", redraw: true}
	prefixed, raw := layout{prefixed: true}, layout{}
	for _, test := range []struct {
		name   string
		layout layout
		items  []item
		want   string
	}{
		{"lines", prefixed, []item{{text: "1\n", source: a}, {text: "2\n", source: b}}, "a | 1\nb | 2\n"},
		{"pieces of a line", prefixed, []item{{text: "1", source: a}, {text: "2", source: a}, {text: "3\n", source: a}}, "a | 123\n"},
		{"between pieces", prefixed, []item{{text: "1", source: a}, {text: "x\n", source: b}, {text: "2\n", source: a}}, "a | 1\nb | x\na | 2\n"},
		{"other stream", prefixed, []item{{text: "1", source: a}, {text: "x\n", source: aErr}}, "a | 1\na | x\n"},
		{"own line", prefixed, []item{{text: "1", source: a}, own("x\n"), {text: "2\n", source: a}}, "a | 1\nx\na | 2\n"},
		{"raw", raw, []item{{text: "1", source: a}, {text: "\x00\xff", source: a}, {text: "\n2", source: a}}, "1\x00\xff\n2"},
		{"raw, other stream", raw, []item{{text: "1", source: a}, {text: "2", source: aErr}, own("x\n"), {text: "3\n", source: a}}, "1\n2\nx\n3\n"},
		{"raw, next instance", raw, []item{{text: "1", source: a}, own("x\n"), {text: "2", source: &source{container: "a"}}, {text: "3", source: &source{container: "a"}}}, "1\nx\n2\n3"},
		{"countdown", raw, []item{{text: "1", source: a}, count, count, {text: "2\n", source: a}},
			"1\n5s left" + eraseLine + "5s left" + eraseLine + "2\n"},
		{"two pulls, then one", raw, []item{{text: "a\nb", redraw: true}, {text: "b", redraw: true}, own("x\n")},
			"a\nb" + eraseLine + eraseAbove + "b" + eraseLine + "x\n"},
		{"end of the countdown", raw, []item{count, {}, own("x\n")}, "5s left" + eraseLine + "x\n"},
		{"no countdown to end", raw, []item{{text: "1", source: a}, {}, {text: "2", source: a}}, "12"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []byte
			for _, it := range test.items {
				got = test.layout.add(got, it)
			}
			assert.Deep(t, "", test.want, string(got))
		})
	}
}

package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLayout(t *testing.T) {
	a, aErr, b := &source{container: "a"}, &source{container: "a"}, &source{container: "b"}
	own := func(text string) item { return item{text: text} }
	count := item{text: "5s left", redraw: true}
	prefixed, raw, terminal := layout{prefixed: true}, layout{}, layout{terminal: true}
	tests := []struct {
		name   string
		layout layout
		items  []item
		want   string
	}{
		{"lines", prefixed, []item{{"1\n", a, false}, {"2\n", b, false}}, "a | 1\nb | 2\n"},
		{"pieces of a line", prefixed, []item{{"1", a, false}, {"2", a, false}, {"3\n", a, false}}, "a | 123\n"},
		{"between pieces", prefixed, []item{{"1", a, false}, {"x\n", b, false}, {"2\n", a, false}}, "a | 1\nb | x\na | 2\n"},
		{"other stream", prefixed, []item{{"1", a, false}, {"x\n", aErr, false}}, "a | 1\na | x\n"},
		{"own line", prefixed, []item{{"1", a, false}, own("x\n"), {"2\n", a, false}}, "a | 1\nx\na | 2\n"},
		{"raw", raw, []item{{"1", a, false}, {"\x00\xff", aErr, false}, own("x\n")}, "1\x00\xffx\n"},
		{"raw on a terminal", terminal, []item{{"1", a, false}, {"2", aErr, false}, own("x\n"), {"3\n", a, false}}, "12\nx\n3\n"},
		{"countdown", terminal, []item{{"1", a, false}, count, count, {"2\n", a, false}},
			"1\n5s left" + eraseLine + "5s left" + eraseLine + "2\n"},
		{"end of the countdown", terminal, []item{count, {}, own("x\n")}, "5s left" + eraseLine + "x\n"},
		{"no countdown to end", terminal, []item{{"1", a, false}, {}, {"2", a, false}}, "12"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []byte
			for _, it := range test.items {
				got = test.layout.add(got, it)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

package podlog

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	const stamp = "2026-01-02T03:04:05.000000006Z "
	tests := []struct {
		line string
		want Record
		none bool
	}{
		{line: stamp + "stdout F a b c\n", want: Record{Time: at, Stream: "stdout", Text: "a b c\n"}},
		{line: stamp + "stderr F \n", want: Record{Time: at, Stream: "stderr", Text: "\n"}},
		{line: stamp + "stdout P a\n", want: Record{Time: at, Stream: "stdout", Partial: true, Text: "a"}},
		{line: stamp + "stdout P a\r\n", want: Record{Time: at, Stream: "stdout", Partial: true, Text: "a\r"}},
		{line: stamp + "stdout P:T2 a\n", want: Record{Time: at, Stream: "stdout", Partial: true, Text: "a"}},
		{line: stamp + "stdout F:P a\n", want: Record{Time: at, Stream: "stdout", Text: "a\n"}},
		{line: stamp + "stdout F  a", want: Record{Time: at, Stream: "stdout", Text: " a"}},
		{line: "06Z stdout F torn\n", want: Record{Stream: "stdout", Text: "torn\n"}},
		{line: "the end of P text\n", none: true},
		{line: stamp + "stdout F\n", none: true},
		{line: "\n", none: true},
		{none: true},
	}
	for _, test := range tests {
		got, ok := Parse(test.line)
		if diff := cmp.Diff(test.want, got); diff != "" || ok == test.none {
			t.Errorf("Parse(%q): %v (-want +got):\n%s", test.line, ok, diff)
		}
	}
}

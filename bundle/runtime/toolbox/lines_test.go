package toolbox

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

// zeros is a line of length left without an end.
type zeros struct{ left int }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), z.left)
	clear(p[:n])
	z.left -= n
	return n, nil
}

// largest notes the longest write.
type largest struct{ n, total int }

func (l *largest) Write(p []byte) (int, error) {
	l.n, l.total = max(l.n, len(p)), l.total+len(p)
	return len(p), nil
}

func TestCopyLinesKeepsOnlyABuffer(t *testing.T) {
	out := &largest{}
	assert.Must(t, copyLines(out, &zeros{left: 10 << 20}, 1))
	assert.True(t, out.n <= 64<<10 && out.total == 10<<20, "%d bytes, %d of them at once", out.total, out.n)
}

func TestCopyLines(t *testing.T) {
	for _, tt := range []struct {
		in    string
		count int
		want  string
	}{{"a\nb\nc\n", 2, "a\nb\n"}, {"a\nb", 2, "a\nb"}, {"a\n", 0, ""}, {"", 1, ""}} {
		var out strings.Builder
		if err := copyLines(&out, strings.NewReader(tt.in), tt.count); err != nil || out.String() != tt.want {
			t.Errorf("%q, %d: %q, %v; want %q", tt.in, tt.count, out.String(), err, tt.want)
		}
	}
}

func TestLastLines(t *testing.T) {
	last, err := lastLines(strings.NewReader("a\nb\nc"), 2)
	if diff := cmp.Diff([]string{"b\n", "c"}, last); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	assert.Fails(t, assert.ErrorOf(lastLines(&zeros{left: longestLine + 1}, 2)), "a line longer than the limit is kept")
}

func TestParseDuration(t *testing.T) {
	for in, want := range map[string]string{
		"5": "5s", "0.5": "500ms", "1m30s": "1m30s", "infinity": forever.String(), "1e30": forever.String(),
		"-1": "", "": "", "soon": "", "NaN": "",
	} {
		got, err := parseDuration(in)
		assert.True(t, (err != nil) == (want == "") && (err != nil || got.String() == want), "%q: %v, %v; want %q", in, got, err, want)
	}
}

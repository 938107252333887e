package prove_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/prove/counts"
)

type log struct{ strings.Builder }

func (*log) Helper() {}

func (l *log) Logf(format string, args ...any) {
	fmt.Fprintf(l, "    walk_test.go:1: "+format+"\n", args...)
}

func TestCountsComeBackFromALog(t *testing.T) {
	sum := map[string]int{}
	for range 2 {
		l := &log{}
		counts.Log(l, map[string]int{counts.Lives: 3, counts.Steps: 40, counts.Fault + "lost event": 2, counts.State + "ready": 5, "A-INIT-2": 1, "unasked": 9}, []string{"A-INIT-2", "never"})
		assert.Must(t, counts.Add(sum, strings.NewReader("=== RUN TestWalks\n"+l.String()+"PASS\n")))
	}
	want := map[string]int{counts.Lives: 6, counts.Steps: 80, counts.Fault + "lost event": 4, counts.State + "ready": 10, "A-INIT-2": 2, "never": 0}
	assert.Deep(t, "sum", want, sum)
	assert.Deep(t, "unreached", []string{"never"}, counts.Unreached(sum))
	var out strings.Builder
	counts.Print(&out, "lifecycle", sum)
	assert.Equal(t, "lifecycle: 6 lives, 80 steps\n  1 faults: lost event 4\n  1 states: ready 10\n", out.String(), "got")
}

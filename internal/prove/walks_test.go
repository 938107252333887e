package prove_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/prove/walks"
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
		walks.Log(l, map[string]int{walks.Lives: 3, walks.Steps: 40, walks.Fault + "lost event": 2, walks.State + "ready": 5, "A-INIT-2": 1, "unasked": 9}, []string{"A-INIT-2", "never"})
		assert.Must(t, walks.Add(sum, strings.NewReader("=== RUN TestWalks\n"+l.String()+"PASS\n")))
	}
	want := map[string]int{walks.Lives: 6, walks.Steps: 80, walks.Fault + "lost event": 4, walks.State + "ready": 10, "A-INIT-2": 2, "never": 0}
	assert.Deep(t, "sum", want, sum)
	assert.Deep(t, "unreached", []string{"never"}, walks.Unreached(sum))
	var out strings.Builder
	walks.Print(&out, "lifecycle", sum)
	assert.Equal(t, "lifecycle: 6 lives, 80 steps\n  1 faults: lost event 4\n  1 states: ready 10\n", out.String(), "got")
}

package handler

import (
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/pidfd"
)

// TestHeldBy: A-HOOK-2: a command is held if another process has its output, and its own, known by its arguments or
// not, is not there any more.
func TestHeldBy(t *testing.T) {
	c := &running{Command: Command{Args: []string{"hook"}}}
	orphan := process{ID: pidfd.ID{PID: 41}, session: 40, writes: []string{"c"}}
	leader := process{ID: pidfd.ID{PID: 40}, session: 40, entered: true, args: c.Args, writes: []string{"c"}}
	became := leader
	became.args = []string{"sleep", "60"}
	silent := leader
	silent.writes = nil
	for _, tc := range []struct {
		name   string
		recent []process
		want   int // 0: it is not
	}{
		{"another process has its output", []process{{ID: pidfd.ID{PID: 42}, session: 42}, orphan}, 41},
		{"it runs", []process{leader, orphan}, 0},
		{"it has become another program", []process{became, orphan}, 0},
		{"it runs without its output", []process{silent, orphan}, 0},
		{"nothing has its output", nil, 0},
		{"of several commands", []process{orphan, {ID: pidfd.ID{PID: 51}, session: 50, writes: []string{"d"}}}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &processView{sessions: map[int]bool{}, recent: tc.recent}
			s.meet([]*running{c}, false, nil)
			got := 0
			if by := s.heldBy(c); by != nil {
				got = by.PID
			}
			assert.Equal(t, tc.want, got, "held by")
		})
	}
}

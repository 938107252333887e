package prove

import (
	"context"
	"fmt"
	"os/exec"
	"sync"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/prove/counts"
)

// coursed is a course of runs with ten lives each, of which the even ones end after the odd ones.
func coursed(ctx context.Context, share, fails int) *course {
	return newCourse(ctx, Walks{Folder: "machine", Tests: "Walks$", Share: share}, func(ctx context.Context, i int) *exec.Cmd {
		script := "echo 'walk_test.go:1: counted 10 lives'"
		if i%2 == 0 {
			script = "sleep 0.05; " + script
		}
		if i == fails {
			script += "; exit 1"
		}
		return exec.CommandContext(ctx, "sh", "-c", script)
	})
}

func (l *leader) leadBy(processors int) {
	var group sync.WaitGroup
	for range processors {
		group.Go(l.lead)
	}
	group.Wait()
}

// TestSameLives: a number of lives is that of the first runs, however many are led at the same time and whichever ends first; one beyond
// them counts for nothing, even if it fails.
func TestSameLives(t *testing.T) {
	few, many := coursed(t.Context(), 100, 2), coursed(t.Context(), 900, -1)
	l := &leader{limit: Limit{Lives: 150}, courses: []*course{few, many}}
	l.leadBy(4)
	for c, want := range map[*course]int{few: 20, many: 140} {
		if err := c.verdict(1); err != nil || c.sum[counts.Lives] != want {
			t.Errorf("%d lives, %v; want %d", c.sum[counts.Lives], err, want)
		}
	}
}

// TestFirstFailure: the run that fails is named by its seed, and ends its own course alone.
func TestFirstFailure(t *testing.T) {
	fails, other := coursed(t.Context(), 500, 3), coursed(t.Context(), 500, -1)
	l := &leader{limit: Limit{Lives: 200}, courses: []*course{fails, other}}
	l.leadBy(4)
	assert.ErrorContains(t, fmt.Sprintf("-rapid.seed=%d ", 7+3), fails.verdict(7), "the verdict is")
	if fails.sum[counts.Lives] != 30 || other.sum[counts.Lives] != 100 || other.verdict(7) != nil {
		t.Errorf("%d lives before the failure, %d in the other course", fails.sum[counts.Lives], other.sum[counts.Lives])
	}
}

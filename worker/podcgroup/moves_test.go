package podcgroup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

// moved is a Moves that writes to a file of a test, and how often it has.
func moved(t *testing.T) (m *Moves, times func() int64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cgroup.procs")
	assert.Must(t, os.WriteFile(path, nil, 0o600))
	return &Moves{file: func() (string, error) { return path, nil }}, func() int64 {
		synctest.Wait()
		info := assert.Get(os.Stat(path)).Must(t)
		return info.Size()
	}
}

func TestMovesWhileExpected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, times := moved(t)
		first := m.Expect()
		assert.True(t, times() == 1, "the kernel is not asked at once")
		second := m.Expect()
		time.Sleep(5 * renewal)
		n := times()
		assert.True(t, n >= 5 && n <= 6, "moved %d times in %s", n, 5*renewal)
		first()
		first() // counts once
		before := times()
		time.Sleep(5 * renewal)
		assert.True(t, times() >= before+4, "another one is still expected")
		second()
		time.Sleep(renewal)
		before = times()
		time.Sleep(5 * renewal)
		n = times()
		assert.True(t, n == before, "moved %d times more than expected", n-before)
		third := m.Expect()
		assert.True(t, times() == before+1, "what is expected anew is not asked for")
		third()
		time.Sleep(renewal)
	})
}

// A runtime that takes long does not have this process move for as long.
func TestMovesEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, times := moved(t)
		end := m.Expect()
		time.Sleep(longestExpected + renewal)
		before := times()
		time.Sleep(longestExpected)
		n := times()
		assert.True(t, n == before, "moved %d times after %s", n-before, longestExpected)
		end()
		assert.True(t, m.expected == 0, "%d are expected", m.expected)
	})
}

func TestMovesWithoutFile(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]*Moves{
		"no cgroup": {file: func() (string, error) { return "", errors.New("no cgroup") }},
		"no file":   {file: func() (string, error) { return "/nowhere/cgroup.procs", nil }},
		"full":      {file: func() (string, error) { return "/dev/full", nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(*testing.T) {
				end := m.Expect()
				time.Sleep(10 * renewal)
				end()
				time.Sleep(renewal)
			})
		})
	}
}

// This process is in the cgroup to which it would be moved.
func TestOwnProcs(t *testing.T) {
	t.Parallel()
	path := assert.Get(ownProcs()).Must(t)
	text := assert.Get(os.ReadFile(path)).Must(t)
	assert.True(t, slices.Contains(strings.Fields(string(text)), strconv.Itoa(os.Getpid())), "%s lacks this process", path)
}

package internal_test

import (
	"os"
	"os/exec"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/garbage"
	"github.com/lifepod/lifepod/internal/garbage/atstart"
)

// limit is what holds now.
func limit() int {
	percent := debug.SetGCPercent(garbage.Usual)
	debug.SetGCPercent(percent)
	return percent
}

// A command that takes long gets Go's usual limit, and one that has allowed another keeps it.
func TestGarbageAtStartOver(t *testing.T) {
	const (
		variable = "LIFEPOD_TEST_ATSTART"
		long     = 5 * time.Second
	)
	if os.Getenv(variable) == "" { // what a process has allowed stays allowed
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestGarbageAtStartOver$")
		cmd.Env = append(os.Environ(), variable+"=yes", "GOGC=")
		out, err := cmd.CombinedOutput()
		assert.True(t, err == nil, "%v: %s", err, out)
		return
	}
	for _, test := range []struct {
		allows bool
		want   int
	}{{false, garbage.Usual}, {true, garbage.Seldom}} {
		synctest.Test(t, func(t *testing.T) {
			garbage.Suppose(garbage.Seldom)
			atstart.Over()
			if test.allows {
				garbage.Allow(garbage.Seldom)
			}
			time.Sleep(long - time.Second)
			got := limit()
			assert.True(t, got == garbage.Seldom, "at first %d %% are allowed, want %d", got, garbage.Seldom)
			time.Sleep(2 * time.Second)
			synctest.Wait()
			got = limit()
			assert.True(t, got == test.want, "later %d %% are allowed, want %d (allowed by the command: %v)", got, test.want, test.allows)
		})
	}
}

// As the process begins much garbage is allowed, unless the user says otherwise.
func TestGarbageAtStart(t *testing.T) {
	const variable, fine = "LIFEPOD_TEST_GARBAGE", 7
	if os.Getenv(variable) != "" {
		if limit() != garbage.Seldom {
			os.Exit(fine)
		}
		os.Exit(0)
	}
	for _, test := range []struct {
		gogc string
		want int
	}{{"", 0}, {"50", fine}} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestGarbageAtStart$")
		cmd.Env = append(os.Environ(), variable+"=yes", "GOGC="+test.gogc)
		_ = cmd.Run()
		assert.Equal(t, test.want, cmd.ProcessState.ExitCode(), "with GOGC=%q the exit code is", test.gogc)
	}
}

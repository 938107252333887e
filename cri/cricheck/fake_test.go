package cricheck_test

import (
	"testing"
	"testing/synctest"

	"github.com/lifepod/lifepod/cri/cricheck"
	"github.com/lifepod/lifepod/cri/crifake"
)

// The fake behaves as real runtimes do.
func TestFake(t *testing.T) {
	for _, check := range cricheck.Checks {
		t.Run(check.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := crifake.New("app")
				check.Run(t, cricheck.Target{Runtime: r, Image: "app", CgroupParent: "/checks", Command: program})
			})
		})
	}
}

func program(p cricheck.Program) []string {
	words := map[cricheck.Program]string{
		cricheck.Succeeds: "exit=0", cricheck.Fails: "exit=3 after=1s",
		cricheck.Ends: "says=ready term-code=7", cricheck.IgnoresEnd: "says=ready term=ignore",
		cricheck.Absent: "start-error=no_such_file",
		cricheck.Speaks: "exit=3 out=out err=err", cricheck.Hangs: "hang",
	}
	if p == cricheck.Speaks || p == cricheck.Hangs {
		return []string{"command", words[p]}
	}
	return []string{"program", words[p]}
}

package crifake_test

import (
	"testing"
	"testing/synctest"

	"github.com/lifepod/lifepod/cri/crifake"
)

// The fake behaves as real runtimes do.
func TestFake(t *testing.T) {
	for _, check := range crifake.Checks {
		t.Run(check.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := crifake.New("app")
				check.Run(t, crifake.Target{Runtime: r, Image: "app", CgroupParent: "/checks", Command: program})
			})
		})
	}
}

func program(p crifake.CricheckProgram) []string {
	words := map[crifake.CricheckProgram]string{
		crifake.Succeeds: "exit=0", crifake.Fails: "exit=3 after=1s",
		crifake.Ends: "says=ready term-code=7", crifake.IgnoresEnd: "says=ready term=ignore",
		crifake.Absent: "start-error=no_such_file",
		crifake.Speaks: "exit=3 out=out err=err", crifake.Hangs: "hang",
	}
	if p == crifake.Speaks || p == crifake.Hangs {
		return []string{"command", words[p]}
	}
	return []string{"program", words[p]}
}

//go:build testmachine

package checks

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lifepod/lifepod/e2e/testmachine"
	"github.com/lifepod/lifepod/internal/assert"
)

var (
	architecture  = flag.String("testmachine.architecture", runtime.GOARCH, "the machine's: amd64 or arm64")
	debianPackage = flag.String("testmachine.package", "", "path of lifepod's Debian package")
	selected      = flag.String("testmachine.checks", "", "regular expression of the checks to run; all of them without")
	suite         = flag.String("testmachine.suite", "", "Debian's release: bookworm without, or trixie")
	cgroupV1      = flag.Bool("testmachine.cgroupv1", false, "boot with cgroup v1, and leave out the checks of what only v2 has")
)

// checks are in an order in which one leaves the machine as the next one needs it.
var checks = []struct {
	name string
	run  func(c check)
	only version // of cgroups
}{
	{"hello", hello, both},
	{"detached", detached, both},
	{"ml-worker", mlWorker, both},
	{"oom", oom, v2},
	{"resources", resources, v2},
	{"apparmor", appArmor, both},
	{"crun", crun, v2},
	{"agent", agent, both},
	{"fork-bomb", forkBomb, both},
	{"memory-qos", memoryQoS, v2},
	{"reserved", reserved, v2},
	{"systemd-driver", systemdDriver, v2},
	{"up", up, both},
	{"up-reboot", upReboot, both},
	{"power-cut", powerCut, both},
	{"swap", swap, v2},
	{"memory-pressure", memoryPressure, both},
	{"disk-pressure", diskPressure, both},
	{"pid-pressure", pidPressure, both},
	{"join", join, both},
	{"down", down, both},
	{"reboot", reboot, both},
	{"poweroff", poweroff, both},
}

// version is one of cgroups, or both of them.
type version int

const (
	both version = iota
	v2
)

type check struct {
	*testing.T
	machine *testmachine.Machine
	network string // that of the second machine, too
}

func TestMachine(t *testing.T) {
	only, err := regexp.Compile("^(" + *selected + ")$")
	assert.Require(t, err == nil, "-testmachine.checks: %v", err)
	c := start(t, 1, t.TempDir())
	began := time.Now()
	for _, one := range checks {
		if (*selected == "" || only.MatchString(one.name)) && !(*cgroupV1 && one.only == v2) {
			t.Run(one.name, func(t *testing.T) { one.run(check{t, c.machine, c.network}) })
		}
	}
	t.Logf("the checks took %v", time.Since(began).Round(time.Second))
}

// start boots a machine, which runs until the test ends.
func start(t *testing.T, number testmachine.Number, network string) check {
	t.Helper()
	repository := assert.Get(filepath.Abs("../../..")).Must(t)
	work := assert.Get(os.MkdirTemp("", "lp-machine-")).Must(t)
	t.Cleanup(func() { _ = os.RemoveAll(work) })
	m := assert.Get(testmachine.Start(t.Context(), testmachine.Config{
		Number: number, Repository: repository, Architecture: *architecture, Package: *debianPackage, Work: work, Network: network,
		CgroupV1: *cgroupV1, Suite: *suite, Log: t.Output(),
	})).Must(t)
	assert.AtEnd(t, m.Stop)
	return check{t, m, network}
}

// run returns the output of a script, which has to end with 0 within a minute of a real
// machine.
func (c check) run(script string) string {
	c.Helper()
	result, err := c.try(script)
	assert.Require(c, err == nil && result.Exit == 0, "exit %d, %v, of\n%s\n%s", result.Exit, err, script, result.Output)
	return result.Output
}

func (c check) try(script string) (testmachine.Result, error) {
	return c.machine.Run(context.WithoutCancel(c.Context()), time.Minute, script)
}

// await runs a script until it ends with 0; it is one that says what is awaited.
func (c check) await(patience time.Duration, condition string) {
	c.Helper()
	seconds := int(c.machine.Slack(patience).Seconds())
	script := fmt.Sprintf("end=$((SECONDS+%d))\nuntil out=$( { %s\n} 2>&1 ); do\n  [ $SECONDS -lt $end ] || { echo \"$out\"; exit 1; }\n  sleep 0.5\ndone\necho \"$out\"", seconds, condition)
	result, err := c.machine.Run(context.WithoutCancel(c.Context()), patience+time.Minute, script)
	assert.Require(c, err == nil && result.Exit == 0, "not within %d s (%v): %s\n%s", seconds, err, condition, result.Output)
}

// write makes a file of the machine.
func (c check) write(path, text string) {
	c.Helper()
	c.run("mkdir -p $(dirname " + path + ")\ncat > " + path + " <<'END-OF-FILE'\n" + text + "\nEND-OF-FILE")
}

// expect fails unless text has all of the parts.
func (c check) expect(text string, parts ...string) {
	c.Helper()
	var missing error
	for _, part := range parts {
		if !strings.Contains(text, part) {
			missing = errors.Join(missing, fmt.Errorf("without %q", part))
		}
	}
	assert.True(c, missing == nil, "%v:\n%s", missing, text)
}

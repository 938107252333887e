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
	"strings"
	"testing"
	"time"

	"github.com/lifepod/lifepod/e2e/testmachine"
)

var (
	debianPackage = flag.String("testmachine.package", "", "path of lifepod's Debian package")
	selected      = flag.String("testmachine.checks", "", "regular expression of the checks to run; all of them without")
)

// checks are in an order in which one leaves the machine as the next one needs it.
var checks = []struct {
	name string
	run  func(c check)
}{
	{"hello", hello},
	{"ml-worker", mlWorker},
	{"oom", oom},
	{"resources", resources},
	{"apparmor", appArmor},
	{"agent", agent},
	{"fork-bomb", forkBomb},
	{"memory-qos", memoryQoS},
	{"reserved", reserved},
	{"systemd-driver", systemdDriver},
	{"reboot", reboot},
	{"poweroff", poweroff},
}

// check is one that runs.
type check struct {
	*testing.T
	machine *testmachine.Machine
}

func TestMachine(t *testing.T) {
	only, err := regexp.Compile("^(" + *selected + ")$")
	if err != nil {
		t.Fatalf("-testmachine.checks: %v", err)
	}
	m := start(t)
	began := time.Now()
	for _, one := range checks {
		if *selected == "" || only.MatchString(one.name) {
			t.Run(one.name, func(t *testing.T) { one.run(check{t, m}) })
		}
	}
	t.Logf("the checks took %v", time.Since(began).Round(time.Second))
}

func start(t *testing.T) *testmachine.Machine {
	repository, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	work, err := os.MkdirTemp("", "lp-machine-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(work) })
	m, err := testmachine.Start(t.Context(), testmachine.Config{
		Repository: repository, Package: *debianPackage, Work: work, Log: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Stop(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// run returns the output of a script, which has to end with 0 within a minute of a real
// machine.
func (c check) run(script string) string {
	c.Helper()
	result, err := c.try(script)
	if err != nil || result.Exit != 0 {
		c.Fatalf("exit %d, %v, of\n%s\n%s", result.Exit, err, script, result.Output)
	}
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
	if err != nil || result.Exit != 0 {
		c.Fatalf("not within %d s (%v): %s\n%s", seconds, err, condition, result.Output)
	}
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
	if missing != nil {
		c.Errorf("%v:\n%s", missing, text)
	}
}

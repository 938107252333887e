package controlplane_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// manyPorts makes the test binary another process that is given that many ports, and prints them.
const manyPorts = "LIFEPOD_TEST_MANY_PORTS"

// TestPortsOfTwoProcesses: what one process has been given, another one that runs meanwhile is not.
func TestPortsOfTwoProcesses(t *testing.T) {
	if count, err := strconv.Atoi(os.Getenv(manyPorts)); err == nil {
		for range count {
			port := assert.Get(machine.FreePort()).Must(t)
			fmt.Println("port", port)
		}
		return
	}
	const each = 150 // of 1250 there are
	mine := map[string]bool{}
	for range each {
		port := assert.Get(machine.FreePort()).Must(t)
		assert.True(t, !mine[strconv.Itoa(port)], "port %d was given twice", port)
		mine[strconv.Itoa(port)] = true
	}
	other := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPortsOfTwoProcesses$")
	other.Env = append(os.Environ(), manyPorts+"="+strconv.Itoa(each))
	out, err := other.CombinedOutput()
	assert.Require(t, err == nil, "%v\n%s", err, out)
	theirs := 0
	for line := range strings.Lines(string(out)) {
		if port, is := strings.CutPrefix(strings.TrimSpace(line), "port "); is {
			if theirs++; mine[port] {
				t.Errorf("port %s was given to both", port)
			}
		}
	}
	assert.True(t, theirs == each, "the other process was given %d ports, want %d:\n%s", theirs, each, out)
}

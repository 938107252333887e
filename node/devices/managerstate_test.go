package devices_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/node/managerstate"
)

// A-NUMA-15: a file with which a manager can't go on is an error that says what to do.
func TestManagerStateUnusable(t *testing.T) {
	for _, test := range []struct{ cpus, memory, want string }{
		{cpus: `{"policyName":"none","defaultCpuSet":"","checksum":1353318690}`, want: `configured policy "static" differs from state checkpoint policy "none", please drain this node and delete the CPU manager checkpoint file`},
		{cpus: `{"policyName":"static","defaultCpuSet":"0-1","checksum":7}`, want: "checkpoint is corrupted"},
		{cpus: `{"policyName":"static","defaultCpuSet":"0-x","checksum":0}`, want: `could not parse default cpu set "0-x"`},
		{cpus: `{"policyName":"static","defaultCpuSet":"0","entries":{"u":{"c":"-"}},"checksum":0}`, want: `could not parse cpuset "-" for container "c" in pod "u"`},
		{cpus: `{"policyName":`, want: "unexpected end of JSON input"},
		{memory: `{"policyName":"None","machineState":{},"checksum":0}`, want: `[memorymanager] configured policy "Static" differs from state checkpoint policy "None", please drain this node and delete the memory manager checkpoint file`},
		{memory: `{"policyName":"Static","machineState":{},"checksum":7}`, want: "checkpoint is corrupted"},
	} {
		dir, text, name := t.TempDir(), test.cpus+test.memory, "cpu_manager_state"
		if test.memory != "" {
			name = "memory_manager_state"
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := managerstate.ReadCPUs(dir, "static")
		if test.memory != "" {
			_, err = managerstate.ReadMemory(dir, "Static")
		}
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), filepath.Join(dir, name)) {
			t.Errorf("A-NUMA-15: %s: error %v, want %q", text, err, test.want)
		}
	}
}

// A-NUMA-14: nothing kept is nothing given.
func TestManagerStateMissing(t *testing.T) {
	cpus, err := managerstate.ReadCPUs(t.TempDir(), "static")
	if err != nil || !cpus.Shared.IsEmpty() || len(cpus.Given) > 0 {
		t.Errorf("state %v, error %v", cpus, err)
	}
}

package managerstate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A-NUMA-15: a file with which a manager can't go on is an error that says what to do.
func TestUnusable(t *testing.T) {
	for _, test := range []struct{ cpus, memory, want string }{
		{cpus: `{"policyName":"none","defaultCpuSet":"","checksum":1353318690}`, want: `configured policy "static" differs from state checkpoint policy "none", please drain this node and delete the CPU manager checkpoint file`},
		{cpus: `{"policyName":"static","defaultCpuSet":"0-1","checksum":7}`, want: "checkpoint is corrupted"},
		{cpus: `{"policyName":"static","defaultCpuSet":"0-x","checksum":0}`, want: `could not parse default cpu set "0-x"`},
		{cpus: `{"policyName":"static","defaultCpuSet":"0","entries":{"u":{"c":"-"}},"checksum":0}`, want: `could not parse cpuset "-" for container "c" in pod "u"`},
		{cpus: `{"policyName":`, want: "unexpected end of JSON input"},
		{memory: `{"policyName":"None","machineState":{},"checksum":0}`, want: `[memorymanager] configured policy "Static" differs from state checkpoint policy "None", please drain this node and delete the memory manager checkpoint file`},
		{memory: `{"policyName":"Static","machineState":{},"checksum":7}`, want: "checkpoint is corrupted"},
	} {
		dir, text, name := t.TempDir(), test.cpus+test.memory, cpuFile
		if test.memory != "" {
			name = memoryFile
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadCPUs(dir, "static")
		if test.memory != "" {
			_, err = ReadMemory(dir, "Static")
		}
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), filepath.Join(dir, name)) {
			t.Errorf("A-NUMA-15: %s: error %v, want %q", text, err, test.want)
		}
	}
}

// A-NUMA-14: nothing kept is nothing given.
func TestMissing(t *testing.T) {
	cpus, err := ReadCPUs(t.TempDir(), "static")
	if err != nil || !cpus.Shared.IsEmpty() || len(cpus.Given) > 0 {
		t.Errorf("state %v, error %v", cpus, err)
	}
}

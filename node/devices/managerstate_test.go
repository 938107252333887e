package devices_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/devices/checkpoint"
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
		{cpus: `{"policyName":"static","defaultCpuSet":"0","checksum":0,"data":"{}","dataChecksum":1234}`, want: "checkpoint is corrupted"},
		{cpus: `{"policyName":"static","defaultCpuSet":"0","checksum":0,"dataChecksum":1234}`, want: "data: unexpected end of JSON input"},
		{memory: `{"policyName":"Static","machineState":{},"checksum":0,"data":"{}"}`, want: "checkpoint is corrupted"},
	} {
		dir, text, name := t.TempDir(), test.cpus+test.memory, "cpu_manager_state"
		if test.memory != "" {
			name = "memory_manager_state"
		}
		assert.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		_, err := managerstate.ReadCPUs(dir, "static")
		if test.memory != "" {
			_, err = managerstate.ReadMemory(dir, "Static")
		}
		assert.True(t, err != nil && strings.Contains(err.Error(), test.want) && strings.Contains(err.Error(), filepath.Join(dir, name)),
			"A-NUMA-15: %s: error %v, want %q", text, err, test.want)
	}
}

// What the kubelet's own tests of 1.37.2 have.
const (
	cpusOf137 = `{"policyName": "other", "defaultCPUSet": "1-9", "checksum": 1234,
		"data": "{\"policyName\":\"static\",\"defaultCPUSet\":\"7-9\",\"entries\":{\"pod\":{\"container1\":\"4-6\",\"container2\":\"1-3\"}}}",
		"dataChecksum": 1420829534}`
	memoryOf137 = `{"policyName": "other", "machineState": {}, "checksum": 1234,
		"data": "{\"policyName\":\"static\",\"machineState\":{\"0\":{\"numberOfAssignments\":0,\"memoryMap\":{\"memory\":{\"total\":2048,\"systemReserved\":512,\"allocatable\":1536,\"reserved\":512,\"free\":1024}},\"cells\":[]}},\"entries\":{\"pod\":{\"container1\":[{\"numaAffinity\":[0],\"type\":\"memory\",\"size\":512}]}}}",
		"dataChecksum": 1849615440}`
)

// A-NUMA-14: of a file of Kubernetes 1.37 what is in its envelope counts.
func TestManagerStateEnvelope(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"cpu_manager_state": cpusOf137, "memory_manager_state": memoryOf137} {
		assert.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	cpus := assert.Get(managerstate.ReadCPUs(dir, "static")).Must(t)
	memory := assert.Get(managerstate.ReadMemory(dir, "static")).Must(t)
	got, free := cpus.Given["pod"]["container2"].String(), memory.Nodes[0].MemoryMap["memory"].Free
	assert.True(t, cpus.Shared.String() == "7-9" && got == "1-3" && free == 1024, "A-NUMA-14 shared %s, given %s, free memory %d", cpus.Shared, got, free)
	assert.Must(t, errors.Join(managerstate.WriteCPUs(dir, "static", cpus), managerstate.WriteMemory(dir, "static", memory)))
	for _, name := range []string{"cpu_manager_state", "memory_manager_state"} { // as a kubelet of before reads it
		text := assert.Get(os.ReadFile(filepath.Join(dir, name))).Must(t)
		before, _, sealed := strings.Cut(string(text), `,"data":`)
		err := os.WriteFile(filepath.Join(dir, name), []byte(before+"}"), 0o600)
		assert.Require(t, err == nil && sealed && !strings.Contains(before, `"checksum":0`), "A-NUMA-14 wrote %s, %v", text, err)
	}
	again, err := managerstate.ReadCPUs(dir, "static")
	assert.True(t, err == nil && reflect.DeepEqual(again, cpus), "A-NUMA-14 %v, %v", again, err)
	if again, err := managerstate.ReadMemory(dir, "static"); err != nil || !reflect.DeepEqual(again, memory) {
		t.Errorf("A-NUMA-14 %v, %v", again, err)
	}
}

// A-NUMA-14: nothing kept is nothing given.
func TestManagerStateMissing(t *testing.T) {
	cpus, err := managerstate.ReadCPUs(t.TempDir(), "static")
	assert.True(t, err == nil && cpus.Shared.IsEmpty() && len(cpus.Given) == 0, "state %v, error %v", cpus, err)
}

// A-DEV-10: a kubelet of 1.36.3 has written the file, which is read, and written the same to the byte.
func TestCheckpointOfTheKubelet(t *testing.T) {
	const path = "testdata/" + checkpoint.File
	content := assert.Get(checkpoint.Read(path)).Must(t)
	want := checkpoint.Content{
		PodDeviceEntries: []checkpoint.PodDevicesEntry{
			{PodUID: "7a1d0d8e-0f8c-4f3e-9d6a-2c6f1f0b9a11", ContainerName: "trainer", ResourceName: "example.com/gpu", DeviceIDs: checkpoint.DevicesPerNUMA{0: {"gpu-0"}, 1: {"gpu-2", "gpu-3"}}, AllocResp: []byte{10, 8, 10, 3, 71, 80, 85, 18, 1, 48}},
			{PodUID: "7a1d0d8e-0f8c-4f3e-9d6a-2c6f1f0b9a11", ContainerName: "log", ResourceName: "example.com/nic", DeviceIDs: checkpoint.DevicesPerNUMA{-1: {"nic-0"}}, AllocResp: []byte{}},
		},
		RegisteredDevices: map[string][]string{"example.com/gpu": {"gpu-0", "gpu-1"}, "example.com/nic": {}},
	}
	assert.Deep(t, "A-DEV-10 content", want, content)
	again := filepath.Join(t.TempDir(), checkpoint.File)
	assert.Must(t, checkpoint.Write(again, content))
	was, _ := os.ReadFile(path)
	now, err := os.ReadFile(again)
	assert.True(t, err == nil && bytes.Equal(was, now), "A-DEV-10: written as\n%s\n(%v), want\n%s", now, err, was)
}

// A damaged file is an error, and says which one it is.
func TestCheckpointDamaged(t *testing.T) {
	was := assert.Get(os.ReadFile("testdata/" + checkpoint.File)).Must(t)
	for name, text := range map[string][]byte{
		"cut off": was[:len(was)/2], "changed": bytes.Replace(was, []byte("gpu-3"), []byte("gpu-9"), 1), "empty": nil,
	} {
		path := filepath.Join(t.TempDir(), checkpoint.File)
		assert.Must(t, os.WriteFile(path, text, 0o600))
		content, err := checkpoint.Read(path)
		assert.True(t, err != nil && len(content.PodDeviceEntries) == 0, "%s: %v, error %v", name, content, err)
	}
}

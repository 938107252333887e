package managerstate

import (
	"fmt"
	"path/filepath"

	"github.com/lifepod/lifepod/internal/wholefile"
	"github.com/lifepod/lifepod/roster/numa"
)

// memoryState is the state in its envelope.
type memoryState struct {
	PolicyName   string                          `json:"policyName"`
	MachineState numa.NUMANodeMap                `json:"machineState"`
	Entries      numa.ContainerMemoryAssignments `json:"entries,omitempty"`
}

// MemoryManagerCheckpoint is the file of a kubelet before 1.37. Its name is a part of the checksum, as are
// those of its fields.
type MemoryManagerCheckpoint struct {
	PolicyName   string                          `json:"policyName"`
	MachineState numa.NUMANodeMap                `json:"machineState"`
	Entries      numa.ContainerMemoryAssignments `json:"entries,omitempty"`
	Checksum     Checksum                        `json:"checksum"`
}

// ReadMemory reads the state of a policy; that of a node that has none yet is empty. The
// state of another policy is an error (A-NUMA-15).
func ReadMemory(dir, policy string) (state numa.MemoryState, err error) {
	file := filepath.Join(dir, memoryFile)
	is, err := read(file, memoryState{MachineState: numa.NUMANodeMap{}, Entries: numa.ContainerMemoryAssignments{}}, &MemoryManagerCheckpoint{})
	if err == nil && is != nil {
		state = numa.MemoryState{Nodes: is.MachineState, Given: is.Entries}
		if is.PolicyName != policy {
			err = fmt.Errorf("[memorymanager] configured policy %q differs from state checkpoint policy %q", policy, is.PolicyName)
		}
	}
	if err != nil {
		return numa.MemoryState{}, unusable("memory manager", file, err)
	}
	return state, nil
}

func (c *MemoryManagerCheckpoint) check() (memoryState, error) {
	if c.Entries == nil {
		c.Entries = numa.ContainerMemoryAssignments{} // as the kubelet has it when it computes the checksum
	}
	if c.MachineState == nil {
		c.MachineState = numa.NUMANodeMap{}
	}
	sum := c.Checksum
	if c.Checksum = 0; sum != 0 && sum != checksumOf(c) {
		return memoryState{}, errCorrupt
	}
	return memoryState{c.PolicyName, c.MachineState, c.Entries}, nil
}

// WriteMemory keeps the state of a policy.
func WriteMemory(dir, policy string, state numa.MemoryState) error {
	c := memoryState{PolicyName: policy, MachineState: state.Nodes, Entries: state.Given}
	if c.MachineState == nil {
		c.MachineState = numa.NUMANodeMap{}
	}
	if c.Entries == nil {
		c.Entries = numa.ContainerMemoryAssignments{}
	}
	before := MemoryManagerCheckpoint{PolicyName: c.PolicyName, MachineState: c.MachineState, Entries: c.Entries}
	before.Checksum = checksumOf(&before)
	sealed, err := seal(c)
	if err != nil {
		return err
	}
	return wholefile.WriteJSON(filepath.Join(dir, memoryFile), struct {
		MemoryManagerCheckpoint
		envelope
	}{before, sealed})
}

package managerstate

import (
	"fmt"
	"path/filepath"

	"github.com/lifepod/lifepod/roster/memory"
)

// MemoryManagerCheckpoint is the kubelet's file. Its name is a part of the checksum, as are
// those of its fields.
type MemoryManagerCheckpoint struct {
	PolicyName   string                            `json:"policyName"`
	MachineState memory.NUMANodeMap                `json:"machineState"`
	Entries      memory.ContainerMemoryAssignments `json:"entries,omitempty"`
	Checksum     Checksum                          `json:"checksum"`
}

// ReadMemory reads the state of a policy; that of a node that has none yet is empty. The
// state of another policy is an error (A-NUMA-15).
func ReadMemory(dir, policy string) (memory.State, error) {
	file := filepath.Join(dir, memoryFile)
	var c MemoryManagerCheckpoint
	found, err := read(file, &c)
	if err == nil && found {
		if err = c.check(policy); err == nil {
			return memory.State{Nodes: c.MachineState, Given: c.Entries}, nil
		}
	}
	if err != nil {
		err = unusable("memory manager", file, err)
	}
	return memory.State{}, err
}

func (c *MemoryManagerCheckpoint) check(policy string) error {
	if c.Entries == nil {
		c.Entries = memory.ContainerMemoryAssignments{} // as the kubelet has it when it computes the checksum
	}
	if c.MachineState == nil {
		c.MachineState = memory.NUMANodeMap{}
	}
	sum := c.Checksum
	if c.Checksum = 0; sum != 0 && sum != checksumOf(c) {
		return errCorrupt
	}
	if c.PolicyName != policy {
		return fmt.Errorf("[memorymanager] configured policy %q differs from state checkpoint policy %q", policy, c.PolicyName)
	}
	return nil
}

// WriteMemory keeps the state of a policy.
func WriteMemory(dir, policy string, state memory.State) error {
	c := MemoryManagerCheckpoint{PolicyName: policy, MachineState: state.Nodes, Entries: state.Given}
	if c.MachineState == nil {
		c.MachineState = memory.NUMANodeMap{}
	}
	if c.Entries == nil {
		c.Entries = memory.ContainerMemoryAssignments{}
	}
	c.Checksum = checksumOf(&c)
	return write(filepath.Join(dir, memoryFile), c)
}

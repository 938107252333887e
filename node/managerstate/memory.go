package managerstate

import (
	"fmt"
	"path/filepath"

	"github.com/lifepod/lifepod/roster/numa"
)

// MemoryManagerCheckpoint is the kubelet's file. Its name is a part of the checksum, as are
// those of its fields.
type MemoryManagerCheckpoint struct {
	PolicyName   string                          `json:"policyName"`
	MachineState numa.NUMANodeMap                `json:"machineState"`
	Entries      numa.ContainerMemoryAssignments `json:"entries,omitempty"`
	Checksum     Checksum                        `json:"checksum"`
}

// ReadMemory reads the state of a policy; that of a node that has none yet is empty. The
// state of another policy is an error (A-NUMA-15).
func ReadMemory(dir, policy string) (numa.MemoryState, error) {
	file := filepath.Join(dir, memoryFile)
	var c MemoryManagerCheckpoint
	found, err := read(file, &c)
	if err == nil && found {
		if err = c.check(policy); err == nil {
			return numa.MemoryState{Nodes: c.MachineState, Given: c.Entries}, nil
		}
	}
	if err != nil {
		err = unusable("memory manager", file, err)
	}
	return numa.MemoryState{}, err
}

func (c *MemoryManagerCheckpoint) check(policy string) error {
	if c.Entries == nil {
		c.Entries = numa.ContainerMemoryAssignments{} // as the kubelet has it when it computes the checksum
	}
	if c.MachineState == nil {
		c.MachineState = numa.NUMANodeMap{}
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
func WriteMemory(dir, policy string, state numa.MemoryState) error {
	c := MemoryManagerCheckpoint{PolicyName: policy, MachineState: state.Nodes, Entries: state.Given}
	if c.MachineState == nil {
		c.MachineState = numa.NUMANodeMap{}
	}
	if c.Entries == nil {
		c.Entries = numa.ContainerMemoryAssignments{}
	}
	c.Checksum = checksumOf(&c)
	return write(filepath.Join(dir, memoryFile), c)
}

package managerstate

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/cpuset"
	"k8s.io/utils/dump"

	"github.com/lifepod/lifepod/internal/wholefile"
	"github.com/lifepod/lifepod/roster/numa"
)

// cpuState is the state in its envelope.
type cpuState struct {
	PolicyName    string                       `json:"policyName"`
	DefaultCPUSet string                       `json:"defaultCpuSet"`
	Entries       map[string]map[string]string `json:"entries,omitempty"`
}

// CPUManagerCheckpoint is the file of a kubelet before 1.37. Its name is a part of the checksum, as are
// those of its fields.
type CPUManagerCheckpoint struct {
	PolicyName    string                       `json:"policyName"`
	DefaultCPUSet string                       `json:"defaultCpuSet"`
	Entries       map[string]map[string]string `json:"entries,omitempty"`
	Checksum      Checksum                     `json:"checksum"`
}

// ReadCPUs reads the state of a policy; that of a node that has none yet is empty. The state
// of another policy is an error (A-NUMA-15).
func ReadCPUs(dir, policy string) (state numa.CPUState, err error) {
	file := filepath.Join(dir, cpuFile)
	is, err := read(file, cpuState{}, &CPUManagerCheckpoint{})
	if err == nil && is != nil {
		state, err = is.state(policy)
	}
	if err != nil {
		return numa.CPUState{}, unusable("CPU manager", file, err)
	}
	return state, nil
}

func (c *CPUManagerCheckpoint) check() (cpuState, error) {
	sum := c.Checksum
	if c.Checksum = 0; c.Entries == nil {
		c.Entries = map[string]map[string]string{} // as the kubelet has it when it computes the checksum
	}
	if sum != 0 && sum != checksumOf(c) {
		return cpuState{}, errCorrupt
	}
	return cpuState{c.PolicyName, c.DefaultCPUSet, c.Entries}, nil
}

func (c cpuState) state(policy string) (numa.CPUState, error) {
	if c.PolicyName != policy {
		return numa.CPUState{}, fmt.Errorf("configured policy %q differs from state checkpoint policy %q", policy, c.PolicyName)
	}
	state := numa.CPUState{Given: map[types.UID]map[string]cpuset.CPUSet{}}
	var err error
	if state.Shared, err = cpuset.Parse(c.DefaultCPUSet); err != nil {
		return state, fmt.Errorf("could not parse default cpu set %q: %w", c.DefaultCPUSet, err)
	}
	for uid, of := range c.Entries {
		state.Given[types.UID(uid)] = map[string]cpuset.CPUSet{}
		for name, text := range of {
			set, err := cpuset.Parse(text)
			if err != nil {
				return state, fmt.Errorf("could not parse cpuset %q for container %q in pod %q: %w", text, name, uid, err)
			}
			state.Given[types.UID(uid)][name] = set
		}
	}
	return state, nil
}

// WriteCPUs keeps the state of a policy.
func WriteCPUs(dir, policy string, state numa.CPUState) error {
	c := cpuState{PolicyName: policy, DefaultCPUSet: state.Shared.String(), Entries: map[string]map[string]string{}}
	for uid, of := range state.Given {
		c.Entries[string(uid)] = map[string]string{}
		for name, set := range of {
			c.Entries[string(uid)][name] = set.String()
		}
	}
	before := CPUManagerCheckpoint{PolicyName: c.PolicyName, DefaultCPUSet: c.DefaultCPUSet, Entries: c.Entries}
	before.Checksum = checksumOf(&before)
	sealed, err := seal(c)
	if err != nil {
		return err
	}
	return wholefile.WriteJSON(filepath.Join(dir, cpuFile), struct {
		CPUManagerCheckpoint
		envelope
	}{before, sealed})
}

const (
	cpuFile    = "cpu_manager_state"
	memoryFile = "memory_manager_state"
)

var errCorrupt = errors.New("checkpoint is corrupted: its checksum is not that of what it says")

// unusable says what to do about a file with which a manager can't go on.
func unusable(manager, file string, err error) error {
	return fmt.Errorf("could not restore state from checkpoint: %w, please drain this node and delete the %s checkpoint file %q before restarting lifepod", err, manager, file)
}

// Unusable is the error for a state that is as it was written, but not of this machine or of
// its reservations.
func Unusable(manager, dir string, err error) error {
	file := map[string]string{"CPU manager": cpuFile, "memory manager": memoryFile}[manager]
	return unusable(manager, filepath.Join(dir, file), err)
}

// read reads a file whose envelope has a state like empty, and the rest one as of before; nil: there is none.
func read[S any](file string, empty S, before interface{ check() (S, error) }) (*S, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 {
		return nil, nil
	}
	var e envelope
	if err == nil {
		err = json.Unmarshal(data, &e)
	}
	if err == nil && e == (envelope{}) {
		if err = json.Unmarshal(data, before); err == nil {
			empty, err = before.check()
		}
		return &empty, err
	}
	if err == nil {
		if err = json.Unmarshal([]byte(e.Data), &empty); err != nil {
			err = fmt.Errorf("data: %w", err)
		} else if e.DataChecksum != checksumOfText(e.Data) {
			err = errCorrupt
		}
	}
	return &empty, err
}

// Checksum protects a state against changes by hand.
type Checksum uint64

// kubeletsTypes replaces the names of this program's types by the kubelet's, of which its
// checksums are made.
var kubeletsTypes = strings.NewReplacer(
	"(managerstate.Checksum)", "(checksum.Checksum)",
	"(*managerstate.", "(*state.",
	"(numa.", "(state.",
	"*numa.", "*state.",
	"]numa.", "]state.",
)

// checksumOf is the kubelet's checksum of a state whose checksum is zero.
func checksumOf(state any) Checksum {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(kubeletsTypes.Replace(dump.ForHash(state)))) // never fails
	return Checksum(hash.Sum32())
}

// envelope is what a file has since Kubernetes 1.37: the state as a text of its own, with its checksum. Beside it the file says the
// same as before, for a kubelet of before (A-NUMA-14).
type envelope struct {
	Data         string   `json:"data"`
	DataChecksum Checksum `json:"dataChecksum"`
}

func seal(state any) (envelope, error) {
	text, err := json.Marshal(state)
	return envelope{Data: string(text), DataChecksum: checksumOfText(string(text))}, err
}

func checksumOfText(text string) Checksum {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(dump.ForHash(text))) // never fails
	return Checksum(hash.Sum32())
}

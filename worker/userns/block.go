package userns

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/wholefile"
)

const (
	// Length is the size of a block, Kubernetes' default.
	Length = 65536
	// The blocks are within the IDs that systemd sets aside for containers,
	// 524288 to 1879048191, clear of people, services and /etc/subuid.
	firstBlock, endBlock = 8, 28672

	recordName = "userns" // in the pod's folder, in the kubelet's form
)

// record is a pod's block on disk.
type record struct {
	UIDs []mapping `json:"uidMappings"`
	GIDs []mapping `json:"gidMappings"`
}

type mapping struct {
	HostID      uint32 `json:"hostId"`
	ContainerID uint32 `json:"containerId"`
	Length      uint32 `json:"length"`
}

// Of is the user namespace of a pod whose folder is below podsDir: the one on
// record, else a free block that is then recorded durably. Container ID 0 is the
// first of the block, for users and groups alike. Of makes the pod's folder if it is
// missing: the sandbox is made beside the volumes.
func Of(podsDir string, uid types.UID) (*runtimeapi.UserNamespace, error) {
	podDir := filepath.Join(podsDir, string(uid))
	if err := os.MkdirAll(podDir, 0o750); err != nil {
		return nil, fmt.Errorf("user namespace: %w", err)
	}
	lock, err := os.Open(podsDir)
	if err != nil {
		return nil, fmt.Errorf("user namespace: %w", err)
	}
	defer func() { _ = lock.Close() }() // which unlocks
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return nil, fmt.Errorf("user namespace: lock %s: %w", podsDir, err)
	}
	path := filepath.Join(podDir, recordName)
	first, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		first, err = allocate(podsDir, path)
	}
	if err != nil {
		return nil, fmt.Errorf("user namespace: %w", err)
	}
	ids := func() []*runtimeapi.IDMapping {
		return []*runtimeapi.IDMapping{{HostId: first, ContainerId: 0, Length: Length}}
	}
	return &runtimeapi.UserNamespace{Mode: runtimeapi.NamespaceMode_POD, Uids: ids(), Gids: ids()}, nil
}

// allocate takes the next block that no pod of the folder has, beginning at one
// that depends on the folder: lifepods with other roots begin elsewhere.
func allocate(podsDir, path string) (uint32, error) {
	taken, err := takenBlocks(podsDir)
	if err != nil {
		return 0, err
	}
	const blocks = endBlock - firstBlock
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(podsDir)) // never fails
	start := hash.Sum32() % blocks
	for i := range uint32(blocks) {
		first := (firstBlock + (start+i)%blocks) * Length
		if !taken[first] {
			return first, write(path, first)
		}
	}
	return 0, errors.New("could not find an empty slot to allocate a user namespace")
}

// takenBlocks are those of all pods. A record that can't be read makes it
// impossible to tell what is free.
func takenBlocks(podsDir string) (map[uint32]bool, error) {
	pods, err := os.ReadDir(podsDir)
	if err != nil {
		return nil, err
	}
	taken := map[uint32]bool{}
	for _, pod := range pods {
		first, err := read(filepath.Join(podsDir, pod.Name(), recordName))
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR): // it has none, or has just gone
		case err != nil:
			return nil, err
		default:
			taken[first] = true
		}
	}
	return taken, nil
}

func read(path string) (uint32, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return 0, fmt.Errorf("read %s: %w", path, err)
	}
	if len(r.UIDs) != 1 || len(r.GIDs) != 1 || r.UIDs[0] != r.GIDs[0] || r.UIDs[0].ContainerID != 0 || r.UIDs[0].Length != Length || r.UIDs[0].HostID == 0 {
		return 0, fmt.Errorf("read %s: want one mapping of %d IDs from 0, the same for users and groups", path, Length)
	}
	return r.UIDs[0].HostID, nil
}

// write records a block durably: what runs with these IDs may outlive lifepod.
func write(path string, first uint32) error {
	ids := []mapping{{HostID: first, Length: Length}}
	text, err := json.Marshal(record{UIDs: ids, GIDs: ids})
	if err != nil {
		return err
	}
	return wholefile.Write(path, text)
}

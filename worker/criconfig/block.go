package criconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/wholefile"
)

const (
	// UserNamespaceLength is the size of a block, Kubernetes' default, and what each is a multiple of.
	UserNamespaceLength = 65536
	// By default blocks are within the IDs that systemd sets aside for containers,
	// clear of people, services and /etc/subuid.
	firstID, endID = 524_288, 1_879_048_192

	recordName = "userns" // in the pod's folder, in the kubelet's form
)

// UserNamespaceBlocks are the IDs of which pods get theirs. The zero value has blocks of 65536 IDs
// in the default range.
type UserNamespaceBlocks struct {
	Length     uint32 // a multiple of 65536
	First, End uint32 // multiples of Length; End is no longer of the range
}

// UserNamespaceBlocksOf are blocks of a length in the default range, none if it is too long for that.
func UserNamespaceBlocksOf(length uint32) UserNamespaceBlocks {
	first := (firstID + length - 1) / length * length
	return UserNamespaceBlocks{Length: length, First: first, End: max(first, endID/length*length)}
}

// block is a pod's.
type block struct{ first, length uint32 }

func (b block) overlaps(other block) bool {
	return b.first < other.first+other.length && other.first < b.first+b.length
}

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
func (b UserNamespaceBlocks) Of(podsDir string, uid types.UID) (*runtimeapi.UserNamespace, error) {
	if b.Length == 0 {
		b = UserNamespaceBlocksOf(UserNamespaceLength)
	}
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
	got, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		got, err = b.allocate(podsDir, path)
	}
	if err != nil {
		return nil, fmt.Errorf("user namespace: %w", err)
	}
	ids := func() []*runtimeapi.IDMapping {
		return []*runtimeapi.IDMapping{{HostId: got.first, ContainerId: 0, Length: got.length}}
	}
	return &runtimeapi.UserNamespace{Mode: runtimeapi.NamespaceMode_POD, Uids: ids(), Gids: ids()}, nil
}

// allocate takes the next block that no pod of the folder has, beginning at one
// that depends on the folder: lifepods with other roots begin elsewhere.
func (b UserNamespaceBlocks) allocate(podsDir, path string) (block, error) {
	taken, err := takenBlocks(podsDir)
	if err != nil {
		return block{}, err
	}
	blocks := (b.End - b.First) / b.Length
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(podsDir)) // never fails
	start := hash.Sum32() % blocks
	for i := range blocks {
		free := block{first: b.First + (start+i)%blocks*b.Length, length: b.Length}
		if !slices.ContainsFunc(taken, free.overlaps) {
			return free, write(path, free)
		}
	}
	return block{}, errors.New("could not find an empty slot to allocate a user namespace")
}

// takenBlocks are those of all pods. A record that can't be read makes it
// impossible to tell what is free.
func takenBlocks(podsDir string) ([]block, error) {
	pods, err := os.ReadDir(podsDir)
	if err != nil {
		return nil, err
	}
	var taken []block
	for _, pod := range pods {
		one, err := read(filepath.Join(podsDir, pod.Name(), recordName))
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR): // it has none, or has just gone
		case err != nil:
			return nil, err
		default:
			taken = append(taken, one)
		}
	}
	return taken, nil
}

func read(path string) (block, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return block{}, err
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return block{}, fmt.Errorf("read %s: %w", path, err)
	}
	wrong := fmt.Errorf("read %s: want one mapping of a multiple of %d IDs from 0, the same for users and groups", path, UserNamespaceLength)
	if len(r.UIDs) != 1 || len(r.GIDs) != 1 || r.UIDs[0] != r.GIDs[0] {
		return block{}, wrong
	}
	m := r.UIDs[0]
	if m.ContainerID != 0 || m.Length == 0 || m.Length%UserNamespaceLength != 0 || m.HostID == 0 {
		return block{}, wrong
	}
	return block{first: m.HostID, length: m.Length}, nil
}

// write records a block durably: what runs with these IDs may outlive lifepod.
func write(path string, b block) error {
	ids := []mapping{{HostID: b.first, Length: b.length}}
	text, err := json.Marshal(record{UIDs: ids, GIDs: ids})
	if err != nil {
		return err
	}
	return wholefile.Write(path, text)
}

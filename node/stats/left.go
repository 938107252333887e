package stats

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/fscommon"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
)

// Memory is what a cgroup uses of memory, in bytes. It is read from few files, because it
// is read often when memory runs short.
type Memory struct {
	At           time.Time
	Usage        uint64
	InactiveFile uint64 // part of the usage that can be taken back
	Limit        uint64 // the machine's memory, for / without huge pages, if the cgroup has no lower one
	Limited      bool
}

// WorkingSet is what can't be taken back without swapping or killing.
func (m Memory) WorkingSet() uint64 { return minus(m.Usage, m.InactiveFile) }

// ReadMemory reads a cgroup, / being the machine.
func ReadMemory(name string) (Memory, error) {
	machine, err := machineMemory()
	if err != nil {
		return Memory{}, err
	}
	m, dir := Memory{At: time.Now(), Limit: machine.limitOf(name, meminfo)}, dirOf(name, "memory")
	if cgroups.IsCgroup2UnifiedMode() {
		err = m.readV2(dir, name == "/")
	} else {
		err = m.readV1(dir)
	}
	if err != nil {
		return Memory{}, fmt.Errorf("read memory of cgroup %s: %w", name, err)
	}
	return m, nil
}

func (m *Memory) readV1(dir string) (err error) {
	if m.Usage, err = fscommon.GetCgroupParamUint(dir, "memory.usage_in_bytes"); err != nil {
		return err
	}
	if err := m.limit(dir, "memory.limit_in_bytes"); err != nil {
		return err
	}
	m.InactiveFile, err = fscommon.GetValueByKey(dir, "memory.stat", "total_inactive_file")
	return err
}

// readV2 takes the usage of the machine from its parts, as the kubelet does: its cgroup
// tells no sum.
func (m *Memory) readV2(dir string, machine bool) (err error) {
	if m.InactiveFile, err = fscommon.GetValueByKey(dir, "memory.stat", "inactive_file"); err != nil {
		return err
	}
	if machine {
		for _, part := range []string{"anon", "file"} {
			bytes, err := fscommon.GetValueByKey(dir, "memory.stat", part)
			if err != nil {
				return err
			}
			m.Usage += bytes
		}
		return nil
	}
	if m.Usage, err = fscommon.GetCgroupParamUint(dir, "memory.current"); err != nil {
		return err
	}
	return m.limit(dir, "memory.max")
}

// limit takes the limit of a cgroup if it is lower than the machine's memory.
func (m *Memory) limit(dir, file string) error {
	limit, err := fscommon.GetCgroupParamUint(dir, file)
	if err == nil && limit > 0 && limit < m.Limit {
		m.Limit, m.Limited = limit, true
	}
	return err
}

// MemoryFolder is the folder of a cgroup's files of memory.
func MemoryFolder(cgroup string) string { return dirOf(cgroup, "memory") }

// ImageFolders are where the runtime has images and writable layers.
func (s *Stats) ImageFolders(ctx context.Context) (images, layers string, err error) {
	answer, err := s.imageFsInfo(ctx)
	if err != nil {
		return "", "", fmt.Errorf("ask the runtime where images are: %w", err)
	}
	images = answer.ImageFilesystems[0].GetFsId().GetMountpoint()
	layers = images
	if len(answer.ContainerFilesystems) > 0 {
		layers = answer.ContainerFilesystems[0].GetFsId().GetMountpoint()
	}
	return images, layers, nil
}

// imageFsInfo names a file system of images at least.
func (s *Stats) imageFsInfo(ctx context.Context) (*runtimeapi.ImageFsInfoResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answer, err := s.Images.ImageFsInfo(ctx, &runtimeapi.ImageFsInfoRequest{})
	if err != nil {
		return nil, errors.New(cri.Text(err))
	}
	if len(answer.ImageFilesystems) == 0 {
		return nil, errors.New("it names no file system")
	}
	return answer, nil
}

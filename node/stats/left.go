package stats

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/opencontainers/cgroups"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

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

func (m *Memory) readV1(dir string) error {
	usage, err := readNumber(path.Join(dir, "memory.usage_in_bytes"))
	if err != nil {
		return err
	}
	limit, err := os.ReadFile(path.Join(dir, "memory.limit_in_bytes"))
	if err != nil {
		return err
	}
	m.Usage = uint64(usage)
	m.limit(string(limit))
	m.InactiveFile, err = lineOf(path.Join(dir, "memory.stat"), "total_inactive_file")
	return err
}

// readV2 takes the usage of the machine from its parts, as the kubelet does: its cgroup
// tells no sum.
func (m *Memory) readV2(dir string, machine bool) (err error) {
	if m.InactiveFile, err = lineOf(path.Join(dir, "memory.stat"), "inactive_file"); err != nil {
		return err
	}
	if machine {
		for _, part := range []string{"anon", "file"} {
			bytes, err := lineOf(path.Join(dir, "memory.stat"), part)
			if err != nil {
				return err
			}
			m.Usage += bytes
		}
		return nil
	}
	usage, err := readNumber(path.Join(dir, "memory.current"))
	if err != nil {
		return err
	}
	m.Usage = uint64(usage)
	limit, err := os.ReadFile(path.Join(dir, "memory.max"))
	m.limit(string(limit))
	return err
}

// limit takes the limit of a cgroup if it is lower than the machine's memory.
func (m *Memory) limit(text string) {
	limit, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	if err == nil && limit > 0 && limit < m.Limit { // "max" is none
		m.Limit, m.Limited = limit, true
	}
}

// lineOf is the number behind a name in a file of names and numbers.
func lineOf(file, name string) (uint64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) > 1 && fields[0] == name {
			return strconv.ParseUint(fields[1], 10, 64)
		}
	}
	return 0, fmt.Errorf("%s: no line of %s", file, name)
}

// FileSystem is the state of the file system that a path is on.
func FileSystem(path string) (*statsapi.FsStats, error) { return fileSystem(path) }

// Processes are how many processes there may be and are.
func Processes() (*statsapi.RlimitStats, error) { return processLimits() }

// MemoryFolder is the folder of a cgroup's files of memory.
func MemoryFolder(cgroup string) string { return dirOf(cgroup, "memory") }

// ImageFolders are where the runtime has images and writable layers.
func (s *Stats) ImageFolders(ctx context.Context) (images, layers string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answer, err := s.Images.ImageFsInfo(ctx, &runtimeapi.ImageFsInfoRequest{})
	if err != nil {
		return "", "", fmt.Errorf("ask the runtime where images are: %s", cri.Text(err))
	}
	if len(answer.ImageFilesystems) == 0 {
		return "", "", fmt.Errorf("ask the runtime where images are: it names no file system")
	}
	images = answer.ImageFilesystems[0].GetFsId().GetMountpoint()
	layers = images
	if len(answer.ContainerFilesystems) > 0 {
		layers = answer.ContainerFilesystems[0].GetFsId().GetMountpoint()
	}
	return images, layers, nil
}

package space

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/lifepod/lifepod/node/stats"
	"github.com/lifepod/lifepod/roster/pressure"
)

// places are the folders whose file systems are measured.
type places struct {
	node, images, layers string // images and layers are empty until the runtime has reported
	disks                pressure.Disks
}

// askRetry is the pause between attempts to learn where the runtime has its images.
const askRetry = time.Second

// askPlaces asks the runtime where it has images, until it answers.
func (n *Pressure) askPlaces(ctx context.Context) {
	for {
		images, layers, err := n.Stats.ImageFolders(ctx)
		if err == nil {
			found := places{node: n.Folder, images: images, layers: layers}
			found.disks = pressure.Disks{Images: !sameDisk(images, n.Folder), Containers: !sameDisk(layers, images)}
			n.places.Store(&found)
			n.Measure()
			return
		}
		n.Log.Debug("the file systems of images and containers are not watched yet", "err", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(askRetry):
		}
	}
}

// sameDisk says whether two folders are on one file system; folders that can't be seen
// from here count as being where everything else is.
func sameDisk(a, b string) bool {
	var one, other unix.Stat_t
	if unix.Stat(a, &one) != nil || unix.Stat(b, &other) != nil {
		return true
	}
	return one.Dev == other.Dev
}

// observe measures everything. What can't be measured is left out.
func (n *Pressure) observe(at *places) pressure.Observations {
	seen := pressure.Observations{}
	n.observeMemory(seen)
	n.observeDisk(seen, at.node, pressure.NodeFs, pressure.NodeFsInodes)
	if at.images != "" {
		n.observeDisk(seen, at.images, pressure.ImageFs, pressure.ImageFsInodes)
		n.observeDisk(seen, at.layers, pressure.ContainerFs, pressure.ContainerFsInodes)
	}
	limits, err := stats.Processes()
	switch {
	case err != nil:
		n.complain(pressure.PIDs, err)
	case limits.MaxPID != nil && limits.NumOfRunningProcesses != nil:
		seen[pressure.PIDs] = pressure.Observation{Available: *limits.MaxPID - *limits.NumOfRunningProcesses, Capacity: *limits.MaxPID, At: limits.Time.Time}
	}
	return seen
}

func (n *Pressure) observeMemory(seen pressure.Observations) {
	machine, err := stats.ReadMemory("/")
	if err != nil {
		n.complain(pressure.Memory, err)
		return
	}
	seen[pressure.Memory] = left(machine)
	pods, err := stats.ReadMemory(n.PodsCgroup)
	if err == nil && pods.Limited { // without pods there may be no cgroup of theirs
		seen[pressure.AllocatableMemory] = left(pods)
	}
}

func left(m stats.Memory) pressure.Observation {
	return pressure.Observation{Available: int64(m.Limit - min(m.Limit, m.WorkingSet())), Capacity: int64(m.Limit), At: m.At}
}

func (n *Pressure) observeDisk(seen pressure.Observations, folder string, bytes, inodes pressure.Signal) {
	fs, err := stats.FileSystem(folder)
	if err != nil {
		n.complain(bytes, err)
		return
	}
	seen[bytes] = of(fs, fs.AvailableBytes, fs.CapacityBytes)
	if *fs.Inodes > 0 { // some file systems have as many as they need
		seen[inodes] = of(fs, fs.InodesFree, fs.Inodes)
	}
}

func of(fs *statsapi.FsStats, available, capacity *uint64) pressure.Observation {
	return pressure.Observation{Available: int64(*available), Capacity: int64(*capacity), At: fs.Time.Time}
}

// complain tells once that a signal can't be measured.
func (n *Pressure) complain(signal pressure.Signal, err error) {
	if _, logged := n.complaints.LoadOrStore(signal, true); !logged {
		n.Log.Warn("can't measure what the node has left", "signal", signal, "err", err)
	}
}

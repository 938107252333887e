package podcgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/manager"
	"github.com/opencontainers/cgroups/systemd"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
)

const podPrefix = "pod"

// Driver makes and removes the cgroups of pods. It has no state of them: several
// processes may use the same Parent at once.
type Driver struct {
	// Parent is the cgroup below which everything lives, such as "kubepods", or
	// "on/this/kubepods" below one that is there (cgroupRoot). It belongs to lifepod: RemoveParents removes it.
	Parent string
	// Systemd makes slices through systemd, which the runtime must do too
	// (A-CRI-6). Otherwise cgroups are made as folders.
	Systemd bool
	// PidsLimit is the number of processes a pod may have; 0 means no limit.
	PidsLimit int64
	CPULimits CPULimits
	MemoryQoS MemoryQoS
	Batches   Batches
	*Moves    // nil: runtimes wait for the kernel
}

// Root is the path of the cgroup of all pods, as of Path.
func (d Driver) Root() string { return d.path(levels(d.Parent)) }

// Path is the pod's cgroup in cgroupfs form, the cgroup_parent of its sandbox
// (A-CRI-6).
func (d Driver) Path(pod *v1.Pod) string {
	return d.path(d.names(lifecycle.QOSClass(pod), pod.UID))
}

// Ensure makes the pod's cgroup with its values; what is there already is
// brought to these values. A failure is reported as the event
// FailedCreatePodContainer (A-SYNC-7).
func (d Driver) Ensure(pod *v1.Pod) error {
	class := lifecycle.QOSClass(pod)
	resources := ResourcesOf(pod, d.CPULimits)
	resources.PidsLimit, resources.Unified = d.PidsLimit, d.MemoryQoS.OfPod(pod)
	names := d.names(class, pod.UID)
	m, err := d.create(names, resources)
	if errors.Is(err, fs.ErrNotExist) {
		// Another lifepod has just removed an empty parent.
		m, err = d.create(names, resources)
	}
	if err != nil {
		return fmt.Errorf("create cgroup %s: %w", d.path(names), err)
	}
	return errors.Join(d.setLevelShares(class, weightFolder(m, filepath.Dir)), d.setLevelMemory())
}

func (d Driver) create(names []string, resources Resources) (cgroups.Manager, error) {
	m, err := d.manager(names, resources)
	if err != nil {
		return nil, err
	}
	if err := m.Apply(-1); err != nil {
		return nil, err
	}
	set := resources.cgroup()
	if !countsHugePages(m) {
		set.HugetlbLimit = nil
	}
	return m, m.Set(set)
}

// countsHugePages says whether the machine limits huge pages by cgroup; where
// it does not, pods run without that limit, as under Kubernetes.
func countsHugePages(m cgroups.Manager) bool {
	if !cgroups.IsCgroup2UnifiedMode() {
		return m.Path("hugetlb") != ""
	}
	controllers, err := cgroups.ReadFile(m.Path(""), "cgroup.controllers")
	return err == nil && slices.Contains(strings.Fields(controllers), "hugetlb")
}

// levels are those of a Parent.
func levels(parent string) []string { return strings.Split(strings.Trim(parent, "/"), "/") }

// names are the levels of a pod's cgroup.
func (d Driver) names(class v1.PodQOSClass, uid types.UID) []string {
	names := levels(d.Parent)
	if class != v1.PodQOSGuaranteed {
		names = d.level(class)
	}
	return append(names, podPrefix+string(uid))
}

// path is the cgroupfs form of a cgroup's levels. Systemd repeats the outer
// names in each slice, joined by -, so a - in a name becomes _.
func (d Driver) path(names []string) string {
	if !d.Systemd {
		return "/" + path.Join(names...)
	}
	full, prefix := "/", ""
	for _, name := range names {
		prefix += strings.ReplaceAll(name, "-", "_")
		full = path.Join(full, prefix+".slice")
		prefix += "-"
	}
	return full
}

func (d Driver) manager(names []string, resources Resources) (cgroups.Manager, error) {
	if slices.Contains(names, "") {
		return nil, fmt.Errorf("cgroup parent %q: must be names with single slashes between them", d.Parent)
	}
	config := &cgroups.Cgroup{Resources: resources.cgroup(), Systemd: d.Systemd}
	if d.Systemd {
		if !systemd.IsRunningSystemd() {
			return nil, errors.New("the runtime uses the systemd cgroup driver but systemd does not run here")
		}
		dir, base := path.Split(d.path(names))
		config.Name, config.Parent = base, path.Base(dir)
		if len(names) == 1 {
			config.Parent = "-.slice"
		}
	} else {
		config.Path = d.path(names)
	}
	return manager.New(config)
}

// Batches has the levels of one process settled in batches: once for all pods that have come or changed before the batch began. A look
// at all pods of a level for each of thousands that begin would take longer than all else. The zero value looks for each.
type Batches struct{ burstable, besteffort, protected *batch }

// NewBatches are for a process with many pods.
func NewBatches() Batches { return Batches{&batch{}, &batch{}, &batch{}} }

func (r Batches) shares(class v1.PodQOSClass) *batch {
	if class == v1.PodQOSBurstable {
		return r.burstable
	}
	return r.besteffort
}

// batch is what is done once for all who ask for it before it begins. A nil one does it for each.
type batch struct {
	asked atomic.Int64 // how many have

	mu     sync.Mutex
	served int64 // how many of them the last one was for
	err    error // of the last one
}

// together returns once do has run that was begun after the call, whoever has begun it.
func (r *batch) together(do func() error) error {
	if r == nil {
		return do()
	}
	mine := r.asked.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.served < mine {
		r.served = r.asked.Load()
		r.err = do()
	}
	return r.err
}

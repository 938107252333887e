package csi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/internal/keylock"
	"github.com/lifepod/lifepod/worker/volumes"
)

// Config is what Volumes needs.
type Config struct {
	Drivers *Registry
	Client  kubernetes.Interface
	// Token is one for a driver that wants to act as the pod.
	Token func(ctx context.Context, pod *v1.Pod, request storagev1.TokenRequest) (authenticationv1.TokenRequestStatus, error)
	Node  string
	// PodsDir has the pods' folders; PluginsDir is the kubelet's folder of plugins.
	PodsDir, PluginsDir string
	Boot                string // of the machine; see keyDone
	// Changed is called when InUse has changed.
	Changed func()
	// Event records an event.
	Event func(object v1.ObjectReference, kind, reason, message string)
	// Again asks for Publish with Again, of a pod.
	Again func(pod types.UID)
	// Labels are nil without SELinux. LabelAllModes: not only volumes of the access mode
	// ReadWriteOncePod are mounted with a label (A-CSI-18).
	Labels        Labels
	LabelAllModes bool
	CountLabel    func(what volumes.LabelCount, labels ...string)
	// Operation is told what was done for a volume (A-VOL-7).
	Operation func(volumes.Operation)
	Log       *slog.Logger
}

// Volumes are those of CSI drivers on a node. Use New.
type Volumes struct {
	config Config
	layout layout
	locks  keylock.Locks[key]

	inUse  *inUse
	sizes  sizes
	labels labels

	mu        sync.Mutex
	republish map[podVolume]bool // what is looked at again and again: to publish it anew, or expand it
}

var _ volumes.CSI = (*Volumes)(nil)

// key says which volume something is done for.
type key struct{ driver, handle string }

// podVolume is a volume of a pod, by its name.
type podVolume struct {
	pod  types.UID
	name string
}

// New finds what the node has of volumes. A record that can't be read, such as a kubelet may leave
// when the power fails, holds up its own volume and not the node.
func New(c Config) *Volumes {
	v := &Volumes{
		config: c, layout: layout{pods: c.PodsDir, plugins: c.PluginsDir},
		republish: map[podVolume]bool{}, sizes: sizes{known: map[key]resource.Quantity{}}, labels: labels{of: map[key]*wanted{}},
	}
	v.inUse = &inUse{
		changed: func() { v.config.Changed() }, // which Connect sets
		kept:    map[key]bool{}, waiting: map[podVolume]key{}, listed: map[key]bool{}, heard: make(chan struct{}),
	}
	uses, usesErr := v.layout.allUses()
	stays, staysErr := v.layout.allStays()
	if err := errors.Join(usesErr, staysErr); err != nil {
		c.Log.Warn("not all volumes of before are known", "err", err)
	}
	for _, u := range uses {
		if u.record[keyMode] != string(storagev1.VolumeLifecycleEphemeral) {
			v.inUse.kept[key{u.driver(), u.handle()}] = true
		}
	}
	for _, s := range stays {
		v.inUse.kept[key{s.driver(), s.handle()}] = true
	}
	return v
}

// Connect sets what of Config is made after the Volumes; before anything is published.
func (v *Volumes) Connect(set func(*Config)) { set(&v.config) }

// InUse are the volumes that must not be detached from the node (A-CSI-5), as the Node's status is
// to say. It is for who writes that, one status after the other.
func (v *Volumes) InUse() []v1.UniqueVolumeName {
	return v.inUse.list(func(driver string) bool { return attaches(v.config.Drivers.Known(driver)) })
}

// NodeChanged takes a newer version of the Node, for those who wait for a volume to be attached.
func (v *Volumes) NodeChanged(node *v1.Node) { v.inUse.hear(node) }

// Publish makes a volume available to a pod (volumes.CSI).
func (v *Volumes) Publish(ctx context.Context, r volumes.CSIRequest) (volumes.CSIVolume, error) {
	p := publishing{on: v, want: volumeOf(r), own: r.Own}
	path, err := makeAvailable(ctx, &p, r.Again)
	out := volumes.CSIVolume{Path: path}
	if err == nil {
		out.Relabel, err = relabel(&p)
	}
	return out, err
}

func makeAvailable(ctx context.Context, p *publishing, again bool) (path string, err error) {
	v, wanted := p.on, p.want
	there, err := p.there()
	if err != nil {
		return "", wanted.failed(wanted.setUpStep(), err)
	}
	if !there || again {
		if err := p.prepare(ctx, there); err != nil { // which may take long: others have their turn
			return p.path(), err
		}
	}
	done, err := v.locks.Take(ctx, wanted.key())
	if err != nil {
		return "", wanted.failed(wanted.setUpStep(), err)
	}
	defer done()
	switch {
	case !there:
		began := time.Now()
		err := p.run(ctx)
		v.config.Operation(ended(wanted.driver, operation("volume_mount", "map_volume", wanted.device), began, err))
		return p.path(), err
	case again:
		return p.path(), wanted.failed(wanted.setUpStep(), p.again(ctx))
	}
	p.setRepublished(true) // an agent before knew whether; we ask in a minute
	return p.path(), nil
}

// Unpublish takes all volumes of a pod back (volumes.CSI).
func (v *Volumes) Unpublish(ctx context.Context, pod types.UID) error {
	v.forgetRepublished(pod)
	v.labels.left(pod)
	v.inUse.left(func(of podVolume) bool { return of.pod == pod })
	uses, err := v.layout.usesOf(pod)
	if err != nil {
		return err
	}
	errs := make([]error, len(uses))
	var beside sync.WaitGroup
	for i, u := range uses { // one that hangs holds up no other
		beside.Go(func() { errs[i] = v.unpublish(ctx, u) })
	}
	beside.Wait()
	return errors.Join(errs...)
}

func (v *Volumes) unpublish(ctx context.Context, u use) error {
	k := key{u.driver(), u.handle()}
	done, err := v.locks.Take(ctx, k)
	if err != nil {
		return err
	}
	defer done()
	began := time.Now()
	driver, err := takeBack(ctx, v, u)
	v.config.Operation(ended(u.driver(), operation("volume_unmount", "unmap_volume", u.device), began, err))
	if err != nil {
		return err
	}
	return v.release(ctx, driver, k, u)
}

// takeBack has the driver take a volume back from a pod.
func takeBack(ctx context.Context, v *Volumes, u use) (*Driver, error) {
	driver, err := v.config.Drivers.Driver(u.driver())
	if err != nil {
		return nil, fmt.Errorf("%s: Unmounter.TearDownAt failed to get CSI client: %w", pluginName, err)
	}
	dir, path := filepath.Join(v.layout.ofPod(u.uid), u.name), v.layout.published(u)
	if u.device {
		dir = v.layout.deviceOf(u.uid, u.name)
		if err := releaseKept(keptDevice(v.layout, u.uid, u.name)); err != nil {
			return nil, err
		}
	}
	if err := doubt(dir); err != nil {
		return nil, err
	}
	if _, err := driver.node().NodeUnpublishVolume(ctx, &csi.NodeUnpublishVolumeRequest{VolumeId: u.handle(), TargetPath: path}); err != nil {
		return nil, fmt.Errorf("%s: Unmounter.TearDownAt failed: %w", pluginName, err)
	}
	return driver, v.forget(u)
}

// ended is what was done for a volume of a driver, with the names of Kubernetes (A-VOL-7).
func ended(driver, name string, began time.Time, err error) volumes.Operation {
	return volumes.Ended(pluginName+":"+driver, name, began, err)
}

// operation is what is done for a file system, or for a device.
func operation(fileSystem, ofDevice string, device bool) string {
	if device {
		return ofDevice
	}
	return fileSystem
}

package volumes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/internal/wholefile"
	"github.com/lifepod/lifepod/lifecycle"
)

// claim makes a persistentVolumeClaim, or the claim of an ephemeral volume,
// available: what it is bound to or, without an API server, a folder.
func (p preparer) claim(ctx context.Context, volume *v1.Volume) (mounted, error) {
	if p.sources.API == nil {
		return p.claimFolder(volume.PersistentVolumeClaim)
	}
	bound := p.found[volume.Name]
	if bound == nil {
		var err error
		if bound, err = p.bound(ctx, volume); err != nil {
			return mounted{}, err
		}
	}
	if err := p.checkMode(volume.Name, bound); err != nil {
		return mounted{}, &ClaimError{Volume: volume.Name, Err: err}
	}
	readOnly := volume.PersistentVolumeClaim != nil && volume.PersistentVolumeClaim.ReadOnly
	return p.persistent(ctx, bound, readOnly)
}

// claimFolder makes the folder of a claim, which all pods that name it share and
// which outlives them. One that is there is taken as it is, a link to a folder
// elsewhere too.
func (p preparer) claimFolder(source *v1.PersistentVolumeClaimVolumeSource) (mounted, error) {
	if p.sources.ClaimsDir == "" {
		return mounted{}, errors.New("there is no folder for persistentVolumeClaims")
	}
	dir := filepath.Join(p.sources.ClaimsDir, p.pod.Namespace, source.ClaimName)
	if err := newDiskDir(dir, nil); err != nil {
		return mounted{}, err
	}
	if source.ReadOnly {
		return mounted{path: dir, readOnly: true}, nil
	}
	return mounted{path: dir, relabel: true}, p.ownUnless(dir)
}

// keepsOwners says that fsGroupChangePolicy OnRootMismatch spares the walk
// through a volume whose top is the group's already.
func (p preparer) keepsOwners(dir string) bool {
	group := p.fsGroup()
	if group == nil || ptr.Deref(p.pod.Spec.SecurityContext.FSGroupChangePolicy, v1.FSGroupChangeAlways) != v1.FSGroupChangeOnRootMismatch {
		return false
	}
	return ownedBy(dir, *group)
}

func isBlock(bound *v1.PersistentVolume) bool {
	return ptr.Deref(bound.Spec.VolumeMode, v1.PersistentVolumeFilesystem) == v1.PersistentVolumeBlock
}

// checkMode refuses a device that a container mounts, and a file system that it
// wants as a device.
func (p preparer) checkMode(volume string, bound *v1.PersistentVolume) error {
	wrong := func(field string) error {
		return fmt.Errorf("volume %s has volumeMode %s, but is specified in %s", volume, modeOf(bound), field)
	}
	for _, c := range lifecycle.AllContainers(p.pod) {
		switch {
		case isBlock(bound) && slices.ContainsFunc(c.VolumeMounts, func(m v1.VolumeMount) bool { return m.Name == volume }):
			return wrong("volumeMounts")
		case !isBlock(bound) && slices.ContainsFunc(c.VolumeDevices, func(d v1.VolumeDevice) bool { return d.Name == volume }):
			return wrong("volumeDevices")
		}
	}
	return nil
}

// find looks up what the claims are bound to, up to the first that is bound to nothing that this
// node may use; its failure is told when it is its turn to be made.
func (p preparer) find(ctx context.Context, list []*v1.Volume) map[string]*v1.PersistentVolume {
	found := map[string]*v1.PersistentVolume{}
	var groups []*int64
	for _, volume := range list {
		if p.sources.API == nil || volume.PersistentVolumeClaim == nil && volume.Ephemeral == nil {
			continue
		}
		bound, err := p.bound(ctx, volume)
		if err != nil {
			return found
		}
		found[volume.Name] = bound
		groups = append(groups, groupOf(bound))
	}
	if p.sources.Found != nil {
		p.sources.Found(distinct(groups))
	}
	return found
}

// distinct leaves out what is nil, or there twice, in ascending order.
func distinct(groups []*int64) (list []int64) {
	for _, group := range groups {
		if group != nil {
			list = append(list, *group)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// bound is what the claim of a volume is bound to, which never changes, if this
// node may use it. It is remembered in the pod's folder: a lifepod that comes after
// this one may find no API server to ask, and containers that end while it is away
// start again.
func (p preparer) bound(ctx context.Context, volume *v1.Volume) (*v1.PersistentVolume, error) {
	memory := p.memoryOf(volume)
	found, err := p.sources.API.PersistentVolume(ctx, p.pod, volume)
	if err == nil {
		if err := p.sources.API.Reachable(found); err != nil {
			return nil, &MountError{Volume: found.Name, Step: "MountVolume.NodeAffinity check failed", Err: err}
		}
		return found, remember(memory, found)
	}
	if !unanswered(err) {
		return nil, &ClaimError{Volume: volume.Name, Err: err}
	}
	before := p.remembered(volume)
	if before == nil {
		return nil, &ClaimError{Volume: volume.Name, Err: err}
	}
	return before, nil
}

func (p preparer) memoryOf(volume *v1.Volume) string {
	return filepath.Join(p.podDir, "claims", volume.Name+".json")
}

// remembered is what the claim was bound to when it was looked at; nil: nobody knows.
func (p preparer) remembered(volume *v1.Volume) *v1.PersistentVolume {
	before := &v1.PersistentVolume{}
	content, missing := os.ReadFile(p.memoryOf(volume))
	if missing != nil || json.Unmarshal(content, before) != nil {
		return nil
	}
	return before
}

// unanswered says that the API server could not be asked, or could not tell.
func unanswered(err error) bool {
	var transport *url.Error
	return errors.As(err, &transport) || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err)
}

// remember writes what a volume is made of, unless that is on disk already.
func remember(path string, found *v1.PersistentVolume) error {
	content, err := json.Marshal(&v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: found.Name, Annotations: found.Annotations}, Spec: found.Spec})
	if before, missing := os.ReadFile(path); err == nil && missing == nil && bytes.Equal(before, content) {
		return nil
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o750)
	}
	if err == nil {
		err = wholefile.Write(path, content)
	}
	return err
}

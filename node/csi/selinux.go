package csi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/volumes"
)

// Labels are those of a machine with SELinux.
type Labels interface {
	// FileLabel is the label of the files of a container with these options.
	FileLabel(options v1.SELinuxOptions) (string, error)
	// Relabels says whether each file at a path can have a label of its own.
	Relabels(path string) (bool, error)
}

// errManyLabels: containers of the pod that mount the volume have different labels.
type errManyLabels []string

func (e errManyLabels) Error() string {
	return "multiple SELinux labels found: " + strings.Join(e, ",")
}

// chooseLabel decides with which label the volume is mounted for the pod (A-CSI-18).
func chooseLabel(p *publishing) error {
	if p.on.config.Labels == nil || p.want.inline || p.want.device {
		return nil
	}
	before, err := readRecord(p.recordDir())
	if err != nil {
		return err
	}
	if done := before[keyDone]; before != nil && (done == "" || done == p.on.config.Boot) {
		keepLabel(p, before) // as it may be mounted
		return nil
	}
	label, err := containersLabel(p)
	if err != nil {
		if err := labelFailed(p, err); err != nil {
			return err
		}
		label = ""
	}
	mounts := p.object != nil && ptr.Deref(p.object.Spec.SELinuxMount, false)
	if !mounts || p.want.relabels() {
		label = ""
	}
	if err := agree(p, label, mounts); err != nil {
		return err
	}
	if labelCounts(p) {
		p.label = label
	}
	return nil
}

// keepLabel has the volume stay with the label that the pod has it with.
func keepLabel(p *publishing, r record) {
	if p.label = r[keyLabel]; p.label == "" {
		return
	}
	if _, news := p.on.labels.ask(p.want, p.label, false); news == newVolume {
		p.on.config.CountLabel(volumes.LabelsAdmitted, p.want.key().plugin(), p.want.shortMode())
	}
}

// containersLabel is the label that the files have for all containers that mount the volume;
// empty: they ask for none, or only the runtime will know it.
func containersLabel(p *publishing) (string, error) {
	var found []string
	for _, c := range lifecycle.AllContainers(p.want.pod) {
		if !slices.ContainsFunc(c.VolumeMounts, func(m v1.VolumeMount) bool { return m.Name == p.want.inPod }) {
			continue
		}
		options := optionsOf(p.want.pod, &c)
		if options == nil {
			continue
		}
		label := ""
		if options.Level != "" {
			var err error
			if label, err = p.on.config.Labels.FileLabel(*options); err != nil {
				return "", fmt.Errorf("failed to construct SELinux label from context %q: %w", options, err)
			}
		}
		found = append(found, label)
	}
	slices.Sort(found)
	found = slices.Compact(found)
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	return "", errManyLabels(found)
}

func optionsOf(pod *v1.Pod, c *v1.Container) *v1.SELinuxOptions {
	if c.SecurityContext != nil && c.SecurityContext.SELinuxOptions != nil {
		return c.SecurityContext.SELinuxOptions
	}
	if pod.Spec.SecurityContext != nil {
		return pod.Spec.SecurityContext.SELinuxOptions
	}
	return nil
}

// relabels: the pod wants the runtime to label each file, although the volume could be mounted with
// the label.
func (v volume) relabels() bool {
	sc := v.pod.Spec.SecurityContext
	return sc != nil && ptr.Deref(sc.SELinuxChangePolicy, v1.SELinuxChangePolicyMountOption) == v1.SELinuxChangePolicyRecursive
}

// labelCounts says whether volumes with such access modes are mounted with a label.
func labelCounts(p *publishing) bool {
	return p.on.config.LabelAllModes || len(p.want.modes) == 1 && p.want.modes[0] == v1.ReadWriteOncePod
}

// labelFailed counts that there is no one label. It is an error where that would count.
func labelFailed(p *publishing, err error) error {
	failures, warnings := volumes.LabelContainerErrors, volumes.LabelContainerWarnings
	if _, many := errors.AsType[errManyLabels](err); many {
		failures, warnings = volumes.LabelPodMismatchErrors, volumes.LabelPodMismatchWarnings
	}
	if labelCounts(p) {
		p.on.config.CountLabel(failures, p.want.shortMode())
		return &volumes.ClaimError{Volume: p.want.inPod, Err: err}
	}
	if !p.on.labels.knows(p.want) {
		p.on.config.CountLabel(warnings, p.want.shortMode())
	}
	return nil
}

// agree has the pod have the same label as those that want the volume already. mounts: the
// driver mounts with labels.
func agree(p *publishing, label string, mounts bool) error {
	plugin, mode := p.want.key().plugin(), p.want.shortMode()
	strict := mounts && labelCounts(p)
	first, news := p.on.labels.ask(p.want, label, strict)
	switch {
	case news == newVolume && label != "":
		p.on.config.CountLabel(volumes.LabelsAdmitted, plugin, mode)
	case news == newPod && mounts && first != label && strict:
		p.on.config.CountLabel(volumes.LabelVolumeMismatchErrors, plugin, mode)
		return &volumes.ClaimError{
			Volume: p.want.inPod, Err: fmt.Errorf("conflicting SELinux labels of volume %s: %q and %q", p.want.name, first, label),
		}
	case news == newPod && mounts && first != label:
		p.on.config.CountLabel(volumes.LabelVolumeMismatchWarnings, plugin, mode)
	}
	return nil
}

// plugin is the driver as metrics of labels have it.
func (k key) plugin() string { return pluginName + "/" + k.driver }

// otherLabel refuses a volume that another pod still has with another label: it has to be unmounted
// first.
func otherLabel(p *publishing) error {
	if p.on.config.Labels == nil || p.want.inline || p.want.device {
		return nil
	}
	uses, err := p.on.layout.allUses()
	for _, u := range uses {
		mayBe := u.record[keyDone] == "" || u.record[keyDone] == p.on.config.Boot // else it ended with the boot
		if mayBe && u.uid != p.want.pod.UID && u.driver() == p.want.driver && u.handle() == p.want.handle && u.record[keyLabel] != p.label {
			return &volumes.ClaimError{Volume: p.want.inPod, Waits: true, Err: fmt.Errorf(
				"waiting for unmount of volume %q, because it is already mounted to a different pod with a different SELinux label", p.want.key().uniqueName())}
		}
	}
	return err
}

// shortMode is the access mode as metrics have it: of several, the one that most can share.
func (v volume) shortMode() string {
	for _, mode := range []struct {
		mode v1.PersistentVolumeAccessMode
		word string
	}{{v1.ReadWriteMany, "RWX"}, {v1.ReadOnlyMany, "ROX"}, {v1.ReadWriteOnce, "RWO"}, {v1.ReadWriteOncePod, "RWOP"}} {
		if slices.Contains(v.modes, mode.mode) {
			return mode.word
		}
	}
	return ""
}

// labels are those that pods want volumes to have, from when they ask until they are unmounted.
type labels struct {
	mu sync.Mutex
	of map[key]*wanted
}

type wanted struct {
	first string // that was asked for
	pods  map[types.UID]bool
}

// What ask has learnt.
type labelNews int

const (
	nothingNew labelNews = iota
	newVolume
	newPod
)

// ask notes what a pod wants, and returns the label with which the volume is wanted already. strict:
// a pod that wants another one is not noted.
func (l *labels) ask(v volume, label string, strict bool) (first string, news labelNews) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.of[v.key()]
	if of == nil {
		l.of[v.key()] = &wanted{first: label, pods: map[types.UID]bool{v.pod.UID: true}}
		return label, newVolume
	}
	if of.pods[v.pod.UID] {
		return of.first, nothingNew
	}
	if !strict || of.first == label {
		of.pods[v.pod.UID] = true
	}
	return of.first, newPod
}

func (l *labels) knows(v volume) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.of[v.key()]
	return of != nil && of.pods[v.pod.UID]
}

// left: a pod wants no volume any more.
func (l *labels) left(pod types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, of := range l.of {
		delete(of.pods, pod)
	}
	maps.DeleteFunc(l.of, func(_ key, of *wanted) bool { return len(of.pods) == 0 })
}

// relabel says whether the runtime may label the files of the volume.
func relabel(p *publishing) (bool, error) {
	if p.on.config.Labels == nil || p.want.device || p.want.readOnly || p.label != "" {
		return false, nil
	}
	can, err := p.on.config.Labels.Relabels(p.path())
	if err != nil {
		return false, p.want.failed(p.want.setUpStep(), fmt.Errorf("error checking for SELinux support: %w", err))
	}
	return can, nil
}

// takeBackOtherLabel unstages a volume that no pod has and that is staged with another label.
func takeBackOtherLabel(ctx context.Context, p *publishing) error {
	if p.want.device {
		return nil
	}
	staged, err := readRecord(p.on.layout.staged(p.want.driver, p.want.handle))
	if err != nil || staged == nil || staged[keyLabel] == p.label {
		return err
	}
	return p.on.unmountStaged(ctx, p.driver, p.want.key())
}

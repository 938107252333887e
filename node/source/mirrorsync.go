package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/manifest"
)

// WithoutDataAnnotation of a mirror pod names the fields that the static pod has from ConfigMaps and Secrets
// beside it; an API server takes no mirror pod with such fields, and there they are empty.
const WithoutDataAnnotation = "mirror.lifepod.dev/without"

// mirrorTimeout bounds one look at a mirror pod, with all its requests.
const mirrorTimeout = 30 * time.Second

// errNoNode is not told to anybody: registration is under way, or the Node was deleted.
var errNoNode = errors.New("the Node isn't registered")

// sync brings the mirror pod of a name nearer to what it should be.
func (m *Mirrors) sync(ctx context.Context, name types.NamespacedName) error {
	ctx, cancel := context.WithTimeout(ctx, mirrorTimeout)
	defer cancel()
	m.mu.Lock()
	var static, mirror *v1.Pod
	if p := m.pods[name]; p != nil {
		static, mirror = p.static(), p.mirror
	}
	heard := m.heard
	m.mu.Unlock()

	if mirrors(mirror, static) || static == nil && (mirror == nil || !heard) {
		return m.tried(ctx, name, static, nil)
	}
	if mirror != nil {
		// Admission of the API server finds no pod that its informer has not seen yet: an
		// orphan is tried again until the watch shows its end.
		if err := m.delete(ctx, mirror); err != nil && (static == nil || !apierrors.IsNotFound(err)) {
			return m.tried(ctx, name, static, err)
		}
		m.forget(mirror)
	}
	if static == nil {
		m.Log.Info("mirror pod deleted: no static pod of this node has its name", "pod", name.String(), "uid", mirror.UID)
		return nil
	}
	return m.tried(ctx, name, static, m.create(ctx, static))
}

// delete removes one mirror pod, and none that has come in its place. One that the API
// server does not find is a NotFound.
func (m *Mirrors) delete(ctx context.Context, mirror *v1.Pod) error {
	err := m.Client.CoreV1().Pods(mirror.Namespace).Delete(ctx, mirror.Name, metav1.DeleteOptions{
		GracePeriodSeconds: ptr.To[int64](0), Preconditions: metav1.NewUIDPreconditions(string(mirror.UID)),
	})
	if err == nil || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("delete mirror pod %s: %w", nameOf(mirror), err)
}

// forget drops a mirror pod that was deleted, before the API source sees it go.
func (m *Mirrors) forget(mirror *v1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.pods[nameOf(mirror)]
	if p == nil || p.mirror == nil || p.mirror.UID != mirror.UID {
		return
	}
	p.mirror = nil
	if p.static() == nil {
		delete(m.pods, nameOf(mirror))
	}
}

// counts says whether a static pod is still the one of its name.
func (m *Mirrors) counts(static *v1.Pod) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.pods[nameOf(static)]
	return p != nil && p.static() == static
}

// create makes the mirror pod, which the API source will see.
func (m *Mirrors) create(ctx context.Context, static *v1.Pod) error {
	node, err := m.Client.CoreV1().Nodes().Get(ctx, m.NodeName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && node.DeletionTimestamp != nil {
		return errNoNode
	}
	if err != nil {
		return fmt.Errorf("look up node %q: %w", m.NodeName, err)
	}
	if !m.counts(static) {
		return nil // while the API server was away, another has taken its place and is next
	}
	mirror := mirrorOf(static, node)
	pods := m.Client.CoreV1().Pods(mirror.Namespace)
	_, err = pods.Create(ctx, mirror, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		if err != nil {
			return fmt.Errorf("create mirror pod %s: %w", nameOf(mirror), err)
		}
		m.Log.Info("mirror pod created", "pod", nameOf(mirror).String(), "hash", static.Annotations[HashAnnotation])
		return nil
	}
	other, err := pods.Get(ctx, mirror.Name, metav1.GetOptions{})
	switch {
	case err != nil:
		return fmt.Errorf("look at mirror pod %s: %w", nameOf(mirror), err)
	case mirrors(other, static):
		return nil
	case !IsMirror(other) || other.Spec.NodeName != m.NodeName:
		return apierrors.NewAlreadyExists(v1.Resource("pods"), fmt.Sprintf("%s, which is no mirror pod of this node,", mirror.Name))
	}
	if err := m.delete(ctx, other); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return fmt.Errorf("create mirror pod %s: another one was in its place", nameOf(mirror))
}

// mirrorOf is what stands for a static pod in the API server (B-STA-3).
func mirrorOf(static *v1.Pod, node *v1.Node) *v1.Pod {
	mirror, without := manifest.WithoutData(static)
	mirror.Annotations = maps.Clone(static.Annotations)
	mirror.Annotations[v1.MirrorPodAnnotationKey] = static.Annotations[HashAnnotation]
	if len(without) > 0 {
		mirror.Annotations[WithoutDataAnnotation] = strings.Join(without, ", ")
	}
	mirror.UID, mirror.ResourceVersion, mirror.Status = "", "", v1.PodStatus{}
	mirror.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: v1.SchemeGroupVersion.String(), Kind: "Node", Name: node.Name, UID: node.UID, Controller: new(true),
	}}
	return mirror
}

// patientTries is how often a try fails in the same way before that is reported: an API server that has just
// started, or has just heard of the Node, may refuse a moment long.
const patientTries = 5

// tried tells of a failure that lasts, once, and gives it back.
func (m *Mirrors) tried(ctx context.Context, name types.NamespacedName, static *v1.Pod, err error) error {
	if errors.Is(err, errNoNode) || errors.Is(ctx.Err(), context.Canceled) || !m.lasts(name, err) {
		return err
	}
	m.Log.Warn("the API server doesn't show a static pod as it is: trying again", "pod", name.String(), "err", err)
	if m.Refused != nil && static != nil && isRefusal(err) {
		m.Refused(static, err)
	}
	return err
}

// lasts counts failures of one kind in a row, and says when there are enough to tell.
func (m *Mirrors) lasts(name types.NamespacedName, err error) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.pods[name]
	if p == nil {
		return false
	}
	if err == nil {
		p.failed, p.tries = "", 0
		return false
	}
	if reason := string(apierrors.ReasonForError(err)); reason != p.failed {
		p.failed, p.tries = reason, 0
	}
	p.tries++
	return p.tries == patientTries
}

// isRefusal says whether the API server has understood and will not.
func isRefusal(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsAlreadyExists(err) || apierrors.IsBadRequest(err)
}

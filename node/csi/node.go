package csi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
)

// nodeIDs is the annotation of a Node with what its drivers call it.
const nodeIDs = "csi.volume.kubernetes.io/nodeid"

// apiTimeout bounds the requests of one change of an object.
const apiTimeout = 10 * time.Second

// nodeAPI changes what the API says of this node.
type nodeAPI struct {
	client kubernetes.Interface
	name   string
}

// refusal is why what a driver says can't be told.
type refusal string

func (r refusal) Error() string { return string(r) }

// isRefusal says whether trying again changes nothing, unless somebody does something about it.
func isRefusal(err error) bool {
	_, ours := errors.AsType[refusal](err)
	return ours || apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err)
}

// install has Node and CSINode say what a driver says (A-CSI-2).
func (a nodeAPI) install(ctx context.Context, node types.UID, driver string, about *DriverOnNode) error {
	err := a.editNode(ctx, node, func(now *v1.Node) (metadata, error) {
		ids, err := withNodeID(now, driver, about.NodeID)
		if err != nil {
			return metadata{}, err
		}
		labels, err := newLabels(now, about.Topology)
		return metadata{Annotations: ids, Labels: labels}, err
	})
	if err != nil {
		return fmt.Errorf("error updating Node object with CSI driver node info: %w", err)
	}
	if err := a.editCSINode(ctx, node, func(now drivers) drivers { return now.with(driver, about) }); err != nil {
		return fmt.Errorf("error updating CSINode object with CSI driver node info: %w", err)
	}
	return nil
}

// uninstall has neither say anything of a driver; the labels stay, as others may rely on them.
func (a nodeAPI) uninstall(ctx context.Context, node types.UID, driver string) error {
	if err := a.editCSINode(ctx, node, func(now drivers) drivers { return now.without(driver) }); err != nil {
		return fmt.Errorf("error uninstalling CSI driver from CSINode object %w", err)
	}
	err := a.editNode(ctx, node, func(now *v1.Node) (metadata, error) {
		ids, err := withNodeID(now, driver, "")
		return metadata{Annotations: ids}, err
	})
	if err != nil {
		return fmt.Errorf("error removing CSI driver node info from Node object %w", err)
	}
	return nil
}

// metadata is what to change of an object's: a key without a value is removed.
type metadata struct {
	UID         types.UID          `json:"uid"` // a Node that has come in its place is not changed
	Annotations map[string]*string `json:"annotations,omitempty"`
	Labels      map[string]*string `json:"labels,omitempty"`
}

// editNode changes the Node's metadata, as the rest of it is changed: by its status.
func (a nodeAPI) editNode(ctx context.Context, node types.UID, change func(*v1.Node) (metadata, error)) error {
	return edit(ctx, func(ctx context.Context) error {
		nodes := a.client.CoreV1().Nodes()
		now, err := nodes.Get(ctx, a.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		changed, err := change(now)
		if err != nil || len(changed.Annotations)+len(changed.Labels) == 0 {
			return err
		}
		changed.UID = node
		patch, err := json.Marshal(map[string]metadata{"metadata": changed})
		if err != nil {
			return err
		}
		_, err = nodes.Patch(ctx, a.name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	})
}

// edit changes an object, anew if somebody else has changed it meanwhile.
func edit(ctx context.Context, once func(context.Context) error) error {
	ctx, done := context.WithTimeout(ctx, apiTimeout)
	defer done()
	again := wait.Backoff{Steps: 4, Duration: 10 * time.Millisecond, Factor: 5, Jitter: 0.1}
	changedMeanwhile := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	return retry.OnError(again, changedMeanwhile, func() error { return once(ctx) })
}

// withNodeID is the annotation with what a driver calls the node, nil if it is so already; id is
// empty if the driver is gone.
func withNodeID(now *v1.Node, driver, id string) (map[string]*string, error) {
	ids := map[string]string{}
	if text := now.Annotations[nodeIDs]; text != "" {
		if err := json.Unmarshal([]byte(text), &ids); err != nil {
			return nil, refusal(fmt.Sprintf("failed to parse node's %q annotation value (%q) err=%v", nodeIDs, text, err))
		}
	}
	if ids[driver] == id {
		return nil, nil
	}
	ids[driver] = id
	if id == "" {
		delete(ids, driver)
	}
	if len(ids) == 0 {
		return map[string]*string{nodeIDs: nil}, nil
	}
	text, err := json.Marshal(ids)
	return map[string]*string{nodeIDs: new(string(text))}, err
}

// newLabels are those of a topology that the Node does not have yet.
func newLabels(now *v1.Node, topology map[string]string) (map[string]*string, error) {
	labels := map[string]*string{}
	for key, value := range topology {
		current, has := now.Labels[key]
		if has && current != value {
			return nil, refusal(fmt.Sprintf("detected topology value collision: driver reported %q:%q but existing label is %q:%q", key, value, key, current))
		}
		if !has {
			labels[key] = &value
		}
	}
	return labels, nil
}

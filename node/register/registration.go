package register

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletapis "k8s.io/kubelet/pkg/apis"

	"github.com/lifepod/lifepod/roster/admit"
)

// writeTimeout bounds one write to the API server.
const writeTimeout = 10 * time.Second

// register creates the Node, or takes over the one that there is; it tries until
// that is done. It is false when ctx ended before.
func (r *reporter) register(ctx context.Context) bool {
	attempts := backoff{log: r.log, what: "registering the node"}
	for unanswered := 0; ; {
		r.look(ctx)
		now := time.Now()
		node := r.object.initial.DeepCopy()
		events := r.config.describe(node, &r.facts, now)
		registered, created, err := r.createOrTakeOver(ctx, node)
		if err == nil {
			attempts.succeeded()
			r.log.Info("node registered", "node", node.Name, "new", created)
			r.tell(events)
			r.object.publish(registered, false)
			if created {
				r.patches.wrote(registered, node)
				r.wasReported(now, true)
			}
			return true
		}
		if unanswered++; isAnswer(err) {
			unanswered = 0
		} else if unanswered > 1 && ctx.Err() == nil {
			r.config.API.Broken()
		}
		if ctx.Err() != nil || !sleep(ctx, attempts.failed(err)) {
			return false
		}
	}
}

func (r *reporter) createOrTakeOver(ctx context.Context, node *v1.Node) (registered *v1.Node, created bool, err error) {
	ctx, done := context.WithTimeout(ctx, writeTimeout)
	defer done()
	nodes := r.config.API.Client.CoreV1().Nodes()
	registered, err = nodes.Create(ctx, node, metav1.CreateOptions{})
	if err == nil {
		return registered, true, nil
	}
	// A node that may not create itself may still find itself.
	if !apierrors.IsAlreadyExists(err) && !apierrors.IsForbidden(err) {
		return nil, false, fmt.Errorf("create node %q: %w", node.Name, err)
	}
	existing, getErr := nodes.Get(ctx, node.Name, metav1.GetOptions{})
	if getErr != nil {
		return nil, false, fmt.Errorf("create node %q: %w; look for an existing one: %w", node.Name, err, getErr)
	}
	wanted := existing.DeepCopy()
	if !takeOver(wanted, node, r.config.Resources.KeepExtended) {
		return existing, false, nil
	}
	registered, err = patchStatus(ctx, r.config.API.Client, existing, wanted)
	if err != nil {
		return nil, false, fmt.Errorf("take over node %q: %w", node.Name, err)
	}
	return registered, false, nil
}

// takeOver makes an existing Node into one of this machine as it would be
// registered now, and says whether that changed it. Taints and other labels
// are the cluster's by now and stay.
func takeOver(existing, initial *v1.Node, keepExtended bool) (changed bool) {
	for key, value := range initial.Annotations {
		if existing.Annotations[key] != value {
			metav1.SetMetaDataAnnotation(&existing.ObjectMeta, key, value)
			changed = true
		}
	}
	changed = takeOverLabels(existing, initial) || changed
	changed = takeOverResources(&existing.Status, &initial.Status) || changed
	return !keepExtended && zeroExtended(&existing.Status) || changed
}

// ownLabels are set again on an existing Node.
var ownLabels = []string{
	v1.LabelHostname,
	v1.LabelTopologyZone, v1.LabelTopologyRegion,
	v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion,
	v1.LabelInstanceTypeStable, v1.LabelInstanceType,
	v1.LabelOSStable, v1.LabelArchStable,
	kubeletapis.LabelOS, kubeletapis.LabelArch,
}

func takeOverLabels(existing, initial *v1.Node) (changed bool) {
	for _, key := range ownLabels {
		want, has := initial.Labels[key]
		if !has || existing.Labels[key] == want {
			continue
		}
		metav1.SetMetaDataLabel(&existing.ObjectMeta, key, want)
		if want == "" {
			delete(existing.Labels, key)
		}
		changed = true
	}
	return changed
}

// takeOverResources makes the sizes of huge pages those of the machine.
func takeOverResources(existing, initial *v1.NodeStatus) (changed bool) {
	if existing.Capacity == nil {
		existing.Capacity, changed = initial.Capacity.DeepCopy(), true
	}
	if existing.Allocatable == nil {
		existing.Allocatable, changed = initial.Allocatable.DeepCopy(), true
	}
	for name := range existing.Capacity {
		_, known := initial.Capacity[name]
		if isHugePages(name) && !known {
			delete(existing.Capacity, name)
			delete(existing.Allocatable, name)
			changed = true
		}
	}
	for name := range initial.Capacity {
		if isHugePages(name) {
			changed = setQuantity(existing.Capacity, initial.Capacity, name) || changed
			changed = setQuantity(existing.Allocatable, initial.Allocatable, name) || changed
		}
	}
	return changed
}

// zeroExtended zeroes extended resources: the machine is new, and their device plugins are not
// there yet.
func zeroExtended(status *v1.NodeStatus) (changed bool) {
	for name, has := range status.Capacity {
		if admit.IsExtended(name) {
			allocatable := status.Allocatable[name]
			changed = changed || !has.IsZero() || !allocatable.IsZero()
			status.Capacity[name] = *resource.NewQuantity(0, resource.DecimalSI)
			status.Allocatable[name] = *resource.NewQuantity(0, resource.DecimalSI)
		}
	}
	return changed
}

func setQuantity(to, from v1.ResourceList, name v1.ResourceName) (changed bool) {
	has, known := to[name]
	want := from[name]
	if known && has.Cmp(want) == 0 {
		return false
	}
	to[name] = want.DeepCopy()
	return true
}

// tell records events, those about a reboot only once.
func (r *reporter) tell(events []event) {
	for _, e := range slices.Clone(events) {
		if e.reason == "Rebooted" {
			if r.rebootReported {
				continue
			}
			r.rebootReported = true
		}
		r.config.Senses.tell(e)
	}
}

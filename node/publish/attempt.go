package publish

import (
	"bytes"
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// try is one attempt to tell the API server a pod's next status.
type try struct {
	pods    typedv1.PodInterface
	wanted  *v1.PodStatus
	kept    transitions
	notes   map[string]string // the node's annotations
	last    bool              // the pod can be deleted afterwards; never a mirror pod (B-STA-5)
	ask     bool              // what the API has is in doubt
	began   time.Time
	outcome // what is known so far
}

// outcome is what came of it.
type outcome struct {
	pod     *v1.Pod // the newest that is known of the object
	asked   bool    // the API server has answered
	untaken []byte  // the patch that it does not take over
	over    bool    // the object is no longer there, or another's
	err     error
}

// attempt makes one attempt for an entry that was taken off the work list.
func (w *Writer) attempt(ctx context.Context, e *entry) {
	if w.Slots != nil { // what is set meanwhile is written, and not what was
		select {
		case w.Slots <- struct{}{}:
			defer func() { <-w.Slots }()
		case <-ctx.Done():
			w.end(ctx, e, nil)
			return
		}
	}
	t := w.begin(e)
	if t != nil {
		limited, cancel := context.WithTimeout(ctx, w.Timeout)
		t.err = t.carryOut(limited)
		cancel()
	}
	w.end(ctx, e, t)
}

// begin takes what the attempt needs; nil if there is nothing to do any more.
func (w *Writer) begin(e *entry) *try {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.hasWork(e) {
		return nil
	}
	base := w.base(e)
	t := &try{
		pods: w.Client.CoreV1().Pods(base.Namespace), wanted: e.wanted, notes: e.sent.notes.all,
		last: e.last && len(e.queue) <= 1 && e.ref.Static == "", ask: e.doubt, began: time.Now(),
		outcome: outcome{pod: base, untaken: e.untaken},
	}
	if len(e.queue) > 0 {
		e.flight = e.queue[0]
		t.wanted, t.notes = e.flight.status, e.flight.notes
	}
	e.sent.last = t.wanted
	if e.kept == nil {
		e.kept = keepTransitions(base.Status.Conditions, t.wanted.Conditions)
	}
	t.kept = e.kept
	return t
}

// carryOut brings the API's status up to date and deletes the object when that
// is due.
func (t *try) carryOut(ctx context.Context) error {
	if t.ask {
		if done, err := t.took(t.pods.Get(ctx, t.pod.Name, metav1.GetOptions{})); done {
			return err
		}
	}
	patch, err := t.patch()
	if err != nil {
		return err
	}
	if len(patch) > 0 && !bytes.Equal(patch, t.untaken) {
		done, err := t.took(t.pods.Patch(ctx, t.pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"))
		if done {
			return err
		}
		if err := t.verify(patch); err != nil {
			return err
		}
	}
	if t.last && mayDelete(t.pod) {
		return t.remove(ctx)
	}
	return nil
}

// took takes an answer over; done says that the attempt ends with it.
func (t *try) took(pod *v1.Pod, err error) (done bool, _ error) {
	switch {
	case apierrors.IsNotFound(err):
		t.asked, t.over = true, true
		return true, nil
	case err != nil:
		return true, err
	}
	t.asked = true
	if pod.UID != t.pod.UID { // a successor of the same name (B-FIN-10)
		t.over = true
		return true, nil
	}
	t.pod = pod
	return false, nil
}

// verify holds the answer to a patch against what was wanted. What the API server
// has not taken over although it was told is not told again; anything else was
// computed from an object that was not the newest.
func (t *try) verify(sent []byte) error {
	rest, err := t.patch()
	if err != nil || len(rest) == 0 {
		return err
	}
	if !bytes.Equal(rest, sent) {
		return errOutdated
	}
	t.untaken = rest
	return nil
}

// patch is what has to be sent so that the object says what is wanted.
func (t *try) patch() ([]byte, error) {
	return patchStatus(t.pod, merge(t.pod, t.wanted, t.kept, time.Now()), t.notes)
}

// remove deletes the object for good (B-DEL-9).
func (t *try) remove(ctx context.Context) error {
	now := int64(0)
	err := t.pods.Delete(ctx, t.pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &now,
		Preconditions:      metav1.NewUIDPreconditions(string(t.pod.UID)),
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	t.asked, t.over = true, true
	return nil
}

// mayDelete says whether an object of whose pod nothing is left can be deleted
// for good (B-DEL-10).
func mayDelete(pod *v1.Pod) bool {
	return pod.DeletionTimestamp != nil && lifecycle.Terminal(pod.Status.Phase)
}

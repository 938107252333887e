package operator

import (
	"context"
	"fmt"
	"strconv"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Annotations of a worker, which is a ConfigMap here so that no CustomResourceDefinition is needed.
const (
	attemptAnnotation = "example.com/attempt" // of its pod; none: 0
	stateAnnotation   = "example.com/state"   // what has become of it
)

// reconciler gives each worker a pod, and another one when that has failed.
type reconciler struct{ client.Client }

// SetupWithManager has the manager call the reconciler when a worker or its pod changes.
func (r *reconciler) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).For(&v1.ConfigMap{}).Owns(&v1.Pod{}).Complete(r)
}

// Reconcile brings one worker closer to a pod that is ready.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var worker v1.ConfigMap
	if err := r.Get(ctx, request.NamespacedName, &worker); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	attempt, _ := strconv.Atoi(worker.Annotations[attemptAnnotation])
	if err := r.deleteBefore(ctx, &worker, attempt); err != nil {
		return ctrl.Result{}, err
	}
	pod := r.podOf(&worker, attempt)
	if err := controllerutil.SetControllerReference(&worker, pod, r.Scheme()); err != nil {
		return ctrl.Result{}, err
	}
	switch err := r.Get(ctx, client.ObjectKeyFromObject(pod), pod); {
	case apierrors.IsNotFound(err):
		return ctrl.Result{}, client.IgnoreAlreadyExists(r.Create(ctx, pod))
	case err != nil:
		return ctrl.Result{}, err
	case pod.Status.Phase == v1.PodFailed: // the next attempt is noted before this one's pod is deleted, so that it is not made again
		return ctrl.Result{}, r.note(ctx, &worker, attempt+1, "replaced")
	}
	return ctrl.Result{}, r.note(ctx, &worker, attempt, stateOf(pod))
}

// deleteBefore deletes a worker's pod of the attempt before this one.
func (r *reconciler) deleteBefore(ctx context.Context, worker *v1.ConfigMap, attempt int) error {
	if attempt == 0 {
		return nil
	}
	return client.IgnoreNotFound(r.Delete(ctx, r.podOf(worker, attempt-1)))
}

func (r *reconciler) note(ctx context.Context, worker *v1.ConfigMap, attempt int, state string) error {
	number := strconv.Itoa(attempt)
	if worker.Annotations[attemptAnnotation] == number && worker.Annotations[stateAnnotation] == state {
		return nil
	}
	before := worker.DeepCopy()
	metav1.SetMetaDataAnnotation(&worker.ObjectMeta, attemptAnnotation, number)
	metav1.SetMetaDataAnnotation(&worker.ObjectMeta, stateAnnotation, state)
	return r.Patch(ctx, worker, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

func stateOf(pod *v1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodReady && c.Status == v1.ConditionTrue {
			return fmt.Sprintf("ready after %d restarts", pod.Status.ContainerStatuses[0].RestartCount)
		}
	}
	return "not ready"
}

func (r *reconciler) podOf(worker *v1.ConfigMap, attempt int) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: worker.Namespace, Name: fmt.Sprintf("%s-%d", worker.Name, attempt)},
		Spec: v1.PodSpec{
			RestartPolicy:                 v1.RestartPolicy(worker.Data["restartPolicy"]),
			SchedulerName:                 "none", // the test binds pods, and not the cluster
			TerminationGracePeriodSeconds: new(int64(1)),
			AutomountServiceAccountToken:  new(false),
			Containers:                    []v1.Container{{Name: "main", Image: "lifepod.dev/toolbox:1"}},
		},
	}
}

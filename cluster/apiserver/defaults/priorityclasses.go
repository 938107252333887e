package defaults

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	scheduling "k8s.io/kubernetes/pkg/apis/scheduling/v1"
)

// makePriorityClasses makes the classes of the system that there are not yet.
func makePriorityClasses(ctx context.Context, client kubernetes.Interface) error {
	classes := client.SchedulingV1().PriorityClasses()
	for _, class := range scheduling.SystemPriorityClasses() {
		_, err := classes.Get(ctx, class.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = classes.Create(ctx, class, metav1.CreateOptions{})
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("make PriorityClass %s: %w", class.Name, err)
		}
	}
	return nil
}

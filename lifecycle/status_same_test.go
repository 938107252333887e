package lifecycle

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A status is the same if the API can't tell the difference, and else another one.
func TestSameStatus(t *testing.T) {
	status := func(change func(*v1.PodStatus)) *v1.PodStatus {
		s := &v1.PodStatus{
			Phase: v1.PodRunning, StartTime: &metav1.Time{Time: time.Unix(1000, 0)},
			Conditions:        []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}},
			ContainerStatuses: []v1.ContainerStatus{{Name: "main", AllocatedResources: v1.ResourceList{"cpu": resource.MustParse("1")}, Started: new(true)}},
		}
		change(s)
		return s
	}
	for name, c := range map[string]struct {
		change func(*v1.PodStatus)
		same   bool
	}{
		"nothing":               {func(*v1.PodStatus) {}, true},
		"an empty list":         {func(s *v1.PodStatus) { s.InitContainerStatuses = []v1.ContainerStatus{} }, true},
		"the form of an amount": {func(s *v1.PodStatus) { s.ContainerStatuses[0].AllocatedResources["cpu"] = resource.MustParse("1000m") }, true},
		"another amount":        {func(s *v1.PodStatus) { s.ContainerStatuses[0].AllocatedResources["cpu"] = resource.MustParse("2") }, false},
		"not started":           {func(s *v1.PodStatus) { s.ContainerStatuses[0].Started = new(false) }, false},
		"started is not known":  {func(s *v1.PodStatus) { s.ContainerStatuses[0].Started = nil }, false},
		"a second later":        {func(s *v1.PodStatus) { s.StartTime = &metav1.Time{Time: time.Unix(1001, 0)} }, false},
		"a condition":           {func(s *v1.PodStatus) { s.Conditions[0].Message = "because" }, false},
	} {
		if got := sameStatus(status(func(*v1.PodStatus) {}), status(c.change)); got != c.same {
			t.Errorf("%s: same %t, want %t", name, got, c.same)
		}
	}
}

package roster

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// TestStandIn: a pod of which only the runtime knows is ended within a second, and each of its containers is one, however many
// instances there were (B-WRK-21).
func TestStandIn(t *testing.T) {
	found := Found{UID: "u", Namespace: "n", Name: "p", Seen: lifecycle.Observed{Containers: []lifecycle.ObservedContainer{{Name: "a"}, {Name: "b"}, {Name: "a", Attempt: 1}}}}
	want := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p", UID: "u"},
		Spec: v1.PodSpec{
			RestartPolicy: v1.RestartPolicyNever, TerminationGracePeriodSeconds: new(int64(1)), Containers: []v1.Container{{Name: "a"}, {Name: "b"}},
		},
	}
	assert.Deep(t, "pod", want, found.StandIn())
}

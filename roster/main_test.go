package roster

import (
	"flag"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/prove/walks"
	"github.com/lifepod/lifepod/lifecycle"
)

// compareEvery is after how many steps of a walk everything is compared: the machine with a clone, and its books with its pods.
var compareEvery = flag.Int("compare", 1, "compare a machine with its clone after every so many steps of a walk")

// TestMain has walks for less than two seconds in a usual run of the tests.
func TestMain(m *testing.M) {
	walks.Main(m, map[string]string{"rapid.checks": "300", "rapid.nofailfile": "true", "rapid.shrinktime": "5s"})
}

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

package lifecycle

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// A rule of one container may restart any of them; without rules each is judged by its policy (A-RST-1, A-RST-2).
func TestMayRestart(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	pod := &v1.Pod{Spec: v1.PodSpec{
		RestartPolicy:  v1.RestartPolicyOnFailure,
		InitContainers: []v1.Container{{Name: "init"}, {Name: "sidecar", RestartPolicy: &always}},
		Containers:     []v1.Container{{Name: "main"}, {Name: "other"}},
	}}
	may := func(name string, code int32, want bool) {
		t.Helper()
		got := MayRestart(pod, name, code)
		assert.True(t, got == want, "%s after exit code %d: %t", name, code, got)
	}
	may("init", 0, false)
	may("init", 1, true)
	may("sidecar", 0, true)
	may("main", 0, false)
	may("main", 1, true)
	may("debug", 1, false)
	pod.Spec.Containers[1].RestartPolicyRules = []v1.ContainerRestartRule{{Action: v1.ContainerRestartRuleActionRestart}}
	may("main", 0, true)
	may("init", 0, true)
}

// The API server lets any container of a pod with a rule that restarts all run again, and others by their policy (A-API-4).
func TestAPIAllowsRestart(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{{Name: "main"}, {Name: "other"}}}}
	assert.True(t, !APIAllowsRestart(pod, "main", 1), "Never")
	pod.Spec.RestartPolicy = v1.RestartPolicyOnFailure
	assert.True(t, APIAllowsRestart(pod, "main", 1) && !APIAllowsRestart(pod, "main", 0), "OnFailure")
	pod.Spec.RestartPolicy = v1.RestartPolicyNever
	pod.Spec.Containers[1].RestartPolicyRules = []v1.ContainerRestartRule{{Action: v1.ContainerRestartRuleActionRestartAllContainers}}
	assert.True(t, APIAllowsRestart(pod, "main", 1), "a rule restarts all containers")
}

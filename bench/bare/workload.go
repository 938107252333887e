package bare

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// NewPod is what is measured: one container that ends at once on its stop signal.
func NewPod(name string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: uuid.NewUUID(), Generation: 1},
		Spec: v1.PodSpec{
			RestartPolicy:                 v1.RestartPolicyAlways,
			TerminationGracePeriodSeconds: new(int64(30)),
			DNSPolicy:                     v1.DNSDefault,
			EnableServiceLinks:            new(true),
			SecurityContext:               &v1.PodSecurityContext{},
			Containers: []v1.Container{{
				Name: "main", Image: "lifepod.dev/toolbox:1", Command: []string{"sleep", "infinity"},
				ImagePullPolicy: v1.PullIfNotPresent, TerminationMessagePath: "/dev/termination-log",
				TerminationMessagePolicy: v1.TerminationMessageReadFile,
			}},
		},
		Status: v1.PodStatus{QOSClass: v1.PodQOSBestEffort},
	}
}

// Worker makes a pod of one container a training pod in small: a set-up that ends at once, a sidecar,
// and a main container whose death by a signal restarts all of them.
func Worker(pod *v1.Pod) *v1.Pod {
	container := func(name string, command ...string) v1.Container {
		c := *pod.Spec.Containers[0].DeepCopy()
		c.Name, c.Command = name, command
		return c
	}
	setup, watcher, main := container("setup", "true"), container("watcher", "sleep", "infinity"), container("main", "sleep", "infinity")
	always, never := v1.ContainerRestartPolicyAlways, v1.ContainerRestartPolicyNever
	watcher.RestartPolicy, main.RestartPolicy = &always, &never
	main.RestartPolicyRules = []v1.ContainerRestartRule{{
		Action:    v1.ContainerRestartRuleActionRestartAllContainers,
		ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{137}},
	}}
	pod.Spec.RestartPolicy = v1.RestartPolicyNever
	pod.Spec.InitContainers, pod.Spec.Containers = []v1.Container{setup, watcher}, []v1.Container{main}
	return pod
}

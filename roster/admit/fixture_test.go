package admit

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// list reads "cpu=1 memory=1Gi".
func list(text string) v1.ResourceList {
	out := v1.ResourceList{}
	for field := range strings.FieldsSeq(text) {
		name, quantity, _ := strings.Cut(field, "=")
		out[v1.ResourceName(name)] = resource.MustParse(quantity)
	}
	return out
}

func testNode() *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"disk": "ssd"}},
		Status: v1.NodeStatus{
			Allocatable:      list("cpu=2 memory=1Gi pods=3 ephemeral-storage=10Gi hugepages-2Mi=4Mi example.com/gpu=2"),
			DeclaredFeatures: []string{"RestartAllContainersOnContainerExits"},
		},
	}
}

type change func(*v1.Pod)

// testPod is Burstable with requests, else BestEffort.
func testPod(name, requests string, changes ...change) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Annotations: map[string]string{}, Labels: map[string]string{}},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{Requests: list(requests)}}}},
	}
	for _, c := range changes {
		c(pod)
	}
	return pod
}

func guaranteed(p *v1.Pod) {
	p.Spec.Containers[0].Resources.Limits = p.Spec.Containers[0].Resources.Requests
}

func withPriority(n int32) change { return func(p *v1.Pod) { p.Spec.Priority = new(n) } }

func static(p *v1.Pod) { p.Annotations["kubernetes.io/config.source"] = "file" }

func withPort(ip string, protocol v1.Protocol, port int32) change {
	return func(p *v1.Pod) {
		p.Spec.Containers[0].Ports = append(p.Spec.Containers[0].Ports, v1.ContainerPort{HostIP: ip, Protocol: protocol, HostPort: port})
	}
}

func sidecar(name, requests string) v1.Container {
	c := initContainer(name, requests)
	c.RestartPolicy = ptr.To(v1.ContainerRestartPolicyAlways)
	return c
}

func initContainer(name, requests string) v1.Container {
	return v1.Container{Name: name, Resources: v1.ResourceRequirements{Requests: list(requests)}}
}

func names(pods []*v1.Pod) []string {
	var out []string
	for _, p := range pods {
		out = append(out, p.Name)
	}
	return out
}

// systemCritical is the least priority of a critical pod.
const systemCritical = 2_000_000_000

package criconfig

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/internal/assert"
)

func testPod() *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web", Namespace: "ns", UID: "uid-1",
			Labels: map[string]string{"app": "shop"}, Annotations: map[string]string{"note": "hi"},
		},
		Spec: v1.PodSpec{NodeName: "n1", TerminationGracePeriodSeconds: ptr.To[int64](30), SecurityContext: &v1.PodSecurityContext{}},
	}
}

// TestHash compares with the value that Kubernetes' own test fixes.
func TestHash(t *testing.T) {
	got := Hash(&v1.Container{Name: "test_container", Image: "foo/image:v1", Command: []string{"/bin/testcmd"}})
	want := uint64(0x8e45cbd0)
	assert.True(t, got == want, "A-CRI-2 Hash = %x, want %x", got, want)
}

func TestContainerAnnotations(t *testing.T) {
	pod := testPod()
	pod.DeletionGracePeriodSeconds = ptr.To[int64](0)
	container := &v1.Container{
		Name: "main", Image: "i:1", TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: v1.TerminationMessageReadFile,
		Lifecycle: &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"bye"}}}},
		Ports:     []v1.ContainerPort{{Name: "http", ContainerPort: 80}},
	}
	annotations := containerAnnotations(ContainerInput{Pod: pod, Container: container, RestartCount: 3})
	wantAnnotations := map[string]string{
		"io.kubernetes.container.hash":                     "b6f4f1fa",
		"io.kubernetes.container.restartCount":             "3",
		"io.kubernetes.container.terminationMessagePath":   "/dev/termination-log",
		"io.kubernetes.container.terminationMessagePolicy": "File",
		"io.kubernetes.container.preStopHandler":           `{"exec":{"command":["bye"]}}`,
		"io.kubernetes.container.ports":                    `[{"name":"http","containerPort":80}]`,
		"io.kubernetes.pod.terminationGracePeriod":         "30",
		"io.kubernetes.pod.deletionGracePeriod":            "0",
	}
	assert.Deep(t, "A-CRI-2 annotations", wantAnnotations, annotations)
}

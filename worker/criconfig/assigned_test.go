package criconfig

import (
	"testing"

	"google.golang.org/protobuf/testing/protocmp"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// A-DEV-1: what was assigned to a container is part of its config, before what volumes bring.
func TestAssigned(t *testing.T) {
	pod := testPod()
	container := &v1.Container{Name: "main", Image: "app:1"}
	pod.Spec.Containers = []v1.Container{*container}
	got := assert.Get(Container(ContainerInput{
		Pod: pod, Container: container, RestartCount: 2, ImageRef: "sha256:abc",
		Mounts:  []*runtimeapi.Mount{{HostPath: "/pods/v", ContainerPath: "/v"}},
		Devices: []*runtimeapi.Device{{HostPath: "/dev/loop7", ContainerPath: "/dev/block", Permissions: "mrw"}},
		Assigned: Assigned{
			Mounts:      []*runtimeapi.Mount{{HostPath: "/usr/lib/gpu", ContainerPath: "/gpu", Readonly: true}},
			Devices:     []*runtimeapi.Device{{HostPath: "/dev/gpu0", ContainerPath: "/dev/gpu0", Permissions: "rw"}},
			Annotations: map[string]string{"gpu": "0", restartCountAnnotation: "7"},
			CDIDevices:  []string{"vendor.com/gpu=0"},
			CPUs:        "2-3", MemoryNodes: "0",
		},
	})).Must(t)
	type part struct {
		Mounts               []*runtimeapi.Mount
		Devices              []*runtimeapi.Device
		CDI                  []*runtimeapi.CDIDevice
		Annotation, Restarts string
		CPUs, MemoryNodes    string
	}
	want := part{
		Mounts: []*runtimeapi.Mount{
			{HostPath: "/usr/lib/gpu", ContainerPath: "/gpu", Readonly: true}, {HostPath: "/pods/v", ContainerPath: "/v"},
		},
		Devices: []*runtimeapi.Device{
			{HostPath: "/dev/gpu0", ContainerPath: "/dev/gpu0", Permissions: "rw"},
			{HostPath: "/dev/loop7", ContainerPath: "/dev/block", Permissions: "mrw"},
		},
		CDI:        []*runtimeapi.CDIDevice{{Name: "vendor.com/gpu=0"}},
		Annotation: "0", Restarts: "2", CPUs: "2-3", MemoryNodes: "0",
	}
	has := part{
		got.Mounts, got.Devices, got.CDIDevices, got.Annotations["gpu"], got.Annotations[restartCountAnnotation],
		got.Linux.Resources.CpusetCpus, got.Linux.Resources.CpusetMems,
	}
	assert.Deep(t, "A-DEV-1 config", want, has, protocmp.Transform())
}

// A-DEV-1: where two say something of the same, the first counts.
func TestAdd(t *testing.T) {
	var all Assigned
	all.Add(Assigned{CDIDevices: []string{"v/c=1"}})
	all.Add(Assigned{
		Env: []KeyValue{{Name: "GPU", Value: "0"}}, Annotations: map[string]string{"a": "1"},
		CDIDevices: []string{"v/g=0", "v/c=1"}, CPUs: "1",
	})
	all.Add(Assigned{
		Env: []KeyValue{{Name: "GPU", Value: "9"}, {Name: "NIC", Value: "2"}}, Annotations: map[string]string{"a": "2", "b": "3"},
		CPUs: "7", MemoryNodes: "0,1",
	})
	want := Assigned{
		Env: []KeyValue{{Name: "GPU", Value: "0"}, {Name: "NIC", Value: "2"}}, Annotations: map[string]string{"a": "1", "b": "3"},
		CDIDevices: []string{"v/c=1", "v/g=0"}, CPUs: "1", MemoryNodes: "0,1",
	}
	assert.Deep(t, "assigned", want, all)
}

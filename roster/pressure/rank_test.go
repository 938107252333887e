package pressure

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/lifepod/lifepod/internal/assert"
)

func ranked(name string, priority int32, request string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	pod.Spec.Priority = &priority
	pod.Spec.Containers = []v1.Container{{Name: "main"}}
	pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{
		v1.ResourceMemory: resource.MustParse(request), v1.ResourceEphemeralStorage: resource.MustParse(request),
	}
	pod.Spec.Volumes = []v1.Volume{
		{Name: "disk", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
		{Name: "memory", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory}}},
	}
	return pod
}

func fs(bytes uint64) *statsapi.FsStats {
	inodes := 1000 - bytes
	return &statsapi.FsStats{UsedBytes: &bytes, InodesUsed: &inodes}
}

func uses(memory, layer, logs, volume uint64) *statsapi.PodStats {
	return &statsapi.PodStats{
		Memory: &statsapi.MemoryStats{WorkingSetBytes: &memory}, ProcessStats: &statsapi.ProcessStats{ProcessCount: &memory},
		Containers:  []statsapi.ContainerStats{{Name: "main", Rootfs: fs(layer), Logs: fs(logs)}},
		VolumeStats: []statsapi.VolumeStats{{Name: "disk", FsStats: *fs(volume)}, {Name: "memory", FsStats: *fs(900)}},
	}
}

// B-EVI-7: who goes first, by what is short and by where it is.
func TestRank(t *testing.T) {
	usage := Usage{
		"below":  uses(90, 10, 10, 10),
		"above":  uses(150, 40, 40, 40),
		"more":   uses(300, 200, 1, 1),
		"valued": uses(500, 1, 1, 300),
	}
	for name, test := range map[string]struct {
		signal Signal
		disks  Disks
		want   string
	}{
		"memory":                          {Memory, Disks{}, "unknown more above valued below"},
		"memory of all pods":              {AllocatableMemory, Disks{}, "unknown more above valued below"},
		"one disk":                        {NodeFs, Disks{}, "unknown more above valued below"},
		"disk of pods and logs":           {NodeFs, Disks{Images: true}, "unknown valued above below more"},
		"disk of images and layers":       {ImageFs, Disks{Images: true}, "unknown more above below valued"},
		"disk of layers, which is images": {ContainerFs, Disks{Images: true}, "unknown more above below valued"},
		"disk of layers and pods":         {ContainerFs, Disks{Images: true, Containers: true}, "unknown more above valued below"},
		"disk of images alone":            {ImageFs, Disks{Images: true, Containers: true}, "unknown below above more valued"},
		"inodes":                          {NodeFsInodes, Disks{}, "unknown below above more valued"},
		"processes":                       {PIDs, Disks{}, "unknown more above below valued"},
	} {
		t.Run(name, func(t *testing.T) {
			pods := []*v1.Pod{ranked("below", 0, "100"), ranked("valued", 7, "100"), ranked("above", 0, "100"), ranked("more", 0, "100"), ranked("unknown", 0, "100")}
			Rank(pods, usage, test.signal, test.disks)
			var names []string
			for _, pod := range pods {
				names = append(names, pod.Name)
			}
			got := strings.Join(names, " ")
			assert.True(t, got == test.want, "%s, want %s", got, test.want)
		})
	}
}

// B-EVI-9: with a request of the pod's own, and a container that used more.
func TestEvictionMessage(t *testing.T) {
	pod := ranked("p", 0, "100")
	pod.Spec.Resources = &v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceMemory: resource.MustParse("1Ki")}}
	used := uses(4096, 1, 1, 1)
	used.Containers[0].Memory = used.Memory
	acts := []Threshold{{Signal: Memory, Value: Value{Part: .5}}}
	e := (&Config{}).Evict(pod, used, acts, Observations{Memory: {Available: 1 << 20, Capacity: 4 << 20}})
	const want = "The node was low on resource: memory. Threshold quantity: 2Mi, available: 1Mi. " +
		"Pod p was using 4Ki, request is 1Ki, has larger consumption of memory. " +
		"Container main was using 4Ki, request is 100, has larger consumption of memory. "
	assert.True(t, e.Message == want && e.GraceSeconds == 1, "grace %d, message %q, want 1 and %q", e.GraceSeconds, e.Message, want)
	annotations := e.Blame.Annotations()
	for key, want := range map[string]string{
		"offending_containers": "main", "offending_containers_usage": "4Ki", "starved_resource": "memory", "offending_pod": "p", "offending_pod_usage": "4Ki",
	} {
		assert.Equal(t, want, annotations[key], "annotation %s", key)
	}
}

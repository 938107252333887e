package criconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/internal/assert"
)

// A container's part of the swap is that of its request of the memory (A-CRI-11).
func TestLimitedSwap(t *testing.T) {
	limited := Node{CgroupV2: true, SwapLimit: true, LimitedSwap: true, MemoryBytes: 8 << 30, SwapBytes: 4 << 30}
	off, cgroup1, uncounted := limited, limited, limited
	off.LimitedSwap, cgroup1.CgroupV2, uncounted.SwapLimit = false, false, false
	assert.True(t, limited.Swaps() && !off.Swaps() && !cgroup1.Swaps() && !uncounted.Swaps(),
		"a node says that its containers swap: %v, without %v, %v, %v", limited.Swaps(), off.Swaps(), cgroup1.Swaps(), uncounted.Swaps())
	burstable := v1.ResourceRequirements{Requests: resources("", "1Gi"), Limits: resources("", "2Gi")}
	request := v1.ResourceRequirements{Requests: resources("", "1Gi")}
	static := metav1.ObjectMeta{Annotations: map[string]string{"kubernetes.io/config.source": "file"}}
	for name, test := range map[string]struct {
		node Node
		meta metav1.ObjectMeta
		spec v1.PodSpec
		in   v1.ResourceRequirements
		want string
	}{
		"Burstable":             {node: limited, in: burstable, want: "536870912"},
		"a request":             {node: limited, in: request, want: "536870912"},
		"no swap":               {node: off, in: burstable, want: "0"},
		"nothing limits it":     {node: uncounted, in: burstable},
		"cgroup v1":             {node: cgroup1, in: burstable},
		"as much as requested":  {node: limited, in: v1.ResourceRequirements{Requests: resources("", "1Gi"), Limits: resources("", "1Gi")}, want: "0"},
		"BestEffort":            {node: limited, want: "0"},
		"Burstable by its CPU":  {node: limited, in: v1.ResourceRequirements{Requests: resources("1", "")}, want: "0"},
		"static":                {node: limited, meta: static, in: burstable, want: "0"},
		"of critical priority":  {node: limited, spec: v1.PodSpec{Priority: ptr.To[int32](2_000_000_000)}, in: burstable, want: "0"},
		"more than the machine": {node: limited, in: v1.ResourceRequirements{Requests: resources("", "9Gi")}, want: "0"},
	} {
		t.Run(name, func(t *testing.T) {
			container := v1.Container{Name: "main", Resources: test.in}
			test.spec.Containers = []v1.Container{container}
			got := Resources(test.node, &v1.Pod{ObjectMeta: test.meta, Spec: test.spec}, &container)
			assert.Equal(t, test.want, got.Unified["memory.swap.max"], "A-CRI-11 memory.swap.max")
		})
	}
}

// memory.high and its siblings go to the runtime beside what else it is told (A-RES-7).
func TestMemoryQoSOfContainer(t *testing.T) {
	node := Node{CgroupV2: true}
	node.MemoryQoS.On, node.MemoryQoS.ThrottlingFactor = true, 0.5
	container := v1.Container{Name: "main", Resources: v1.ResourceRequirements{Requests: resources("", "1Gi"), Limits: resources("", "2Gi")}}
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{container}}}
	got := Resources(node, pod, &container).Unified
	assert.True(t, got["memory.high"] == "1610612736" && got["memory.min"] == "0" && got["memory.oom.group"] == "1", "A-RES-7 %v", got)
	node.CgroupV2 = false
	got = Resources(node, pod, &container).Unified
	assert.True(t, got == nil, "A-RES-7 cgroup v1: %v", got)
}

// A folder of logs that can't exist is gone, or its pod would never be (A-ADM-9).
func TestRemovePodLogs(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	assert.Must(t, os.WriteFile(file, nil, 0o600))
	for _, tc := range []struct{ name, root, pod string }{
		{"the name is too long", dir, strings.Repeat("p", 253)}, {"no folder", file, "p"}, {"nothing there", dir, "p"},
	} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: tc.pod, UID: "u"}}
		assert.NoError(t, (Node{LogRoot: tc.root}).RemovePodLogs(pod), tc.name)
	}
}

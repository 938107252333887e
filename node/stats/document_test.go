package stats

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/pods/counts"
	"github.com/lifepod/lifepod/worker/podcgroup"
)

// documented is a row of the table of docs/metrics.md.
var documented = regexp.MustCompile("(?m)^\\| `(lifepod_[a-z_]+)` \\| ([a-z]+) \\|([^|]*)\\|")

// lifepod's own metrics are those that docs/metrics.md has, with its types and labels.
func TestDocument(t *testing.T) {
	text := assert.Get(os.ReadFile("../../docs/metrics.md")).Must(t)
	var want []string
	for _, row := range documented.FindAllStringSubmatch(string(text), -1) {
		labels := strings.FieldsFunc(row[3], func(c rune) bool { return strings.ContainsRune("`, ", c) })
		slices.Sort(labels)
		want = append(want, fmt.Sprint(row[1], " ", row[2], " ", labels))
	}
	slices.Sort(want)
	diff := cmp.Diff(want, own(t))
	assert.True(t, diff == "", "docs/metrics.md has other metrics than there are (-docs +code):\n%s", diff)
}

// own are lifepod's own metrics of a node and of lifepod run: each with its type and its labels.
func own(t *testing.T) (list []string) {
	t.Helper()
	m, pod := newMetrics(), newPod()
	m.Census(func() []MetricsPod {
		return []MetricsPod{{Status: &v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}}}}}
	})
	m.Register(counts.NewUsage(pod, func(*v1.Pod) (podcgroup.Used, error) { return podcgroup.Used{MemoryPeak: 1}, nil }))
	running := v1.PodStatus{Phase: v1.PodPending, ContainerStatuses: []v1.ContainerStatus{{Name: "main", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}}}
	m.Status(pod, &v1.PodStatus{}, &running)
	m.Carried(pod, lifecycle.CreateContainer{Container: "main"}, lifecycle.ContainerCreated{}, time.Second)
	families := assert.Get(m.all.Gather()).Must(t)
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "lifepod_") {
			continue
		}
		var labels []string
		for _, l := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		list = append(list, fmt.Sprint(family.GetName(), " ", strings.ToLower(dto.MetricType_name[int32(family.GetType())]), " ", labels))
	}
	slices.Sort(list)
	return list
}

package agent

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/lifepod/lifepod/internal/assert"
)

// busy is a pod with something to tell of each figure.
const busy = `
metadata: {name: busy}
spec:
  terminationGracePeriodSeconds: 1
  volumes:
  - {name: data, emptyDir: {}}
  - {name: memory, emptyDir: {medium: Memory, sizeLimit: 8Mi}}
  - {name: host, hostPath: {path: /}}
  containers:
  - {name: main, image: TOOLBOX, command: [sh, -c, "seq 1 15000 >/data/file; serve --port 8080"],
     resources: {requests: {cpu: 50m}, limits: {cpu: 500m, memory: 64Mi}},
     volumeMounts: [{name: data, mountPath: /data}, {name: memory, mountPath: /memory}, {name: host, mountPath: /host, readOnly: true}],
     readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}}
  - {name: side, image: TOOLBOX, command: [sleep, "1000000"], resources: {limits: {memory: 32Mi}}}
`

// nodeAPI asks the node's API through the API server, as kubectl get --raw does.
func (c *cluster) nodeAPI(path string) string {
	c.t.Helper()
	return c.kubectl("get", "--raw", "/api/v1/nodes/"+c.node.Name+"/proxy/"+path)
}

// TestSummary: /stats/summary tells of the node and of everything that a pod uses
// (KEP-2371), also what counts against its ephemeral storage.
func TestSummary(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	c.create(busy)
	c.awaitReady("busy")
	var summary statsapi.Summary
	assert.Must(t, json.Unmarshal([]byte(c.nodeAPI("stats/summary")), &summary))
	checkNodeStats(t, summary.Node)
	pod := podStats(t, summary, c.namespace)
	names := containerNames(pod)
	assert.Require(t, cmp.Equal(names, []string{"main", "side"}), "containers %q", names)
	for _, used := range pod.Containers {
		positive(t, used.Name+" cpu", used.CPU.UsageCoreNanoSeconds)
		positive(t, used.Name+" memory", used.Memory.WorkingSetBytes)
		positive(t, used.Name+" memory left", used.Memory.AvailableBytes)
		positive(t, used.Name+" rootfs capacity", used.Rootfs.CapacityBytes)
		assert.True(t, !used.StartTime.IsZero() && used.Logs != nil, "%s: start %v, logs %v", used.Name, used.StartTime, used.Logs)
	}
	positive(t, "pod cpu", pod.CPU.UsageCoreNanoSeconds)
	positive(t, "pod memory", pod.Memory.WorkingSetBytes)
	positive(t, "pod network", pod.Network.RxBytes)
	volumes := map[string]statsapi.VolumeStats{}
	for _, v := range pod.VolumeStats {
		volumes[strings.TrimRight(v.Name, "bcdfghjklmnpqrstvwxz2456789")] = v // kube-api-access-xxxxx
	}
	data := volumes["data"]
	assert.True(t, data.UsedBytes != nil && *data.UsedBytes >= 60000 && *data.UsedBytes <= 200000 && *data.InodesUsed == 2, "volume data: %+v", data.FsStats)
	memory := volumes["memory"]
	assert.True(t, memory.CapacityBytes != nil && *memory.CapacityBytes == 8<<20, "volume memory: %+v", memory.FsStats)
	_, found := volumes["host"]
	assert.True(t, !found && len(pod.VolumeStats) == 3, "volumes %+v", pod.VolumeStats)
	all := pod.EphemeralStorage
	assert.True(t, all.UsedBytes != nil && *all.UsedBytes >= *volumes["data"].UsedBytes, "ephemeral storage: %+v", all)

	var little statsapi.Summary
	assert.Must(t, json.Unmarshal([]byte(c.nodeAPI("stats/summary?only_cpu_and_memory=true")), &little))
	pod = podStats(t, little, c.namespace)
	assert.True(t, pod.CPU != nil && pod.Memory != nil && pod.Network == nil && pod.VolumeStats == nil && little.Node.Fs == nil,
		"only CPU and memory: %+v", pod)
}

func checkNodeStats(t *testing.T, node statsapi.NodeStats) {
	t.Helper()
	assert.True(t, node.NodeName == shared.Name && !node.StartTime.IsZero() && *node.Rlimit.NumOfRunningProcesses > 0, "node %+v", node)
	for what, figure := range map[string]*uint64{
		"cpu": node.CPU.UsageCoreNanoSeconds, "memory": node.Memory.WorkingSetBytes, "memory left": node.Memory.AvailableBytes,
		"file system": node.Fs.UsedBytes, "images": node.Runtime.ImageFs.CapacityBytes, "layers": node.Runtime.ContainerFs.CapacityBytes,
	} {
		positive(t, "the node's "+what, figure)
	}
	assert.True(t, slices.ContainsFunc(node.SystemContainers, func(s statsapi.ContainerStats) bool { return s.Name == statsapi.SystemContainerPods }),
		"system containers %+v", node.SystemContainers)
}

func positive(t *testing.T, what string, figure *uint64) {
	t.Helper()
	assert.True(t, figure != nil && *figure != 0, "%s: no figure", what)
}

func podStats(t *testing.T, summary statsapi.Summary, namespace string) statsapi.PodStats {
	t.Helper()
	i := slices.IndexFunc(summary.Pods, func(p statsapi.PodStats) bool { return p.PodRef.Namespace == namespace })
	assert.Require(t, i >= 0, "no pod of namespace %s: %+v", namespace, summary.Pods)
	return summary.Pods[i]
}

func containerNames(pod statsapi.PodStats) []string {
	var names []string
	for _, c := range pod.Containers {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return names
}

// TestMetrics: what Prometheus and metrics-server scrape has the kubelet's names and
// labels (B-WRK-26), and nothing of a pod stays when it is gone.
func TestMetrics(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	before := c.scrape("metrics")
	c.create(busy)
	pod := c.awaitReady("busy")

	resource := c.scrape("metrics/resource")
	assert.Deep(t, "resource_scrape_error", float64(0), value(resource, "resource_scrape_error"))
	for _, name := range []string{"container_cpu_usage_seconds_total", "container_memory_working_set_bytes", "container_start_time_seconds"} {
		for _, container := range []string{"main", "side"} {
			c.checkFigure(resource, name, "pod", "busy", "container", container)
		}
	}
	c.checkFigure(resource, "pod_cpu_usage_seconds_total", "pod", "busy")
	c.checkFigure(resource, "pod_memory_working_set_bytes", "pod", "busy")
	assert.Require(t, !t.Failed(), "metrics/resource: %v", resource)
	assert.True(t, resource["container_cpu_usage_seconds_total"].Metric[0].TimestampMs != nil && resource["container_start_time_seconds"].Metric[0].TimestampMs == nil,
		"metrics/resource: CPU has no time stamp, or the start has one")

	cadvisor := c.scrape("metrics/cadvisor")
	id := pod.Status.ContainerStatuses[0].ContainerID
	of := []string{"pod", "busy", "container", "main", "image", "lifepod.dev/toolbox:1", "name", id[strings.LastIndex(id, "/")+1:]}
	for _, name := range []string{"container_memory_rss", "container_spec_memory_limit_bytes", "container_spec_cpu_quota", "container_threads"} {
		c.checkFigure(cadvisor, name, of...)
	}
	c.checkFigure(cadvisor, "container_cpu_usage_seconds_total", append(of, "cpu", "total")...)
	c.checkFigure(cadvisor, "container_network_receive_bytes_total", "pod", "busy", "container", "", "interface", "eth0")
	c.checkFigure(cadvisor, "container_memory_working_set_bytes", "pod", "busy", "container", "", "image", "")

	c.checkFigure(c.scrape("metrics/probes"), "prober_probe_total",
		"pod", "busy", "container", "main", "probe_type", "Readiness", "result", "successful", "pod_uid", string(pod.UID))

	after := c.scrape("metrics")
	for name, least := range map[string]float64{
		"kubelet_started_pods_total": 1, "kubelet_started_containers_total": 2, "kubelet_runtime_operations_total": 5,
		"kubelet_http_requests_total": 3, "rest_client_requests_total": 2,
	} {
		grown := value(after, name) - value(before, name)
		assert.True(t, grown >= least, "%s has grown by %v, want at least %v", name, grown, least)
	}
	for _, name := range []string{
		"kubelet_running_pods", "kubelet_running_containers", "kubelet_desired_pods", "kubelet_active_pods", "kubelet_working_pods",
		"kubelet_node_name", "kubelet_certificate_manager_client_ttl_seconds", "process_resident_memory_bytes", "lifepod_build_info",
	} {
		assert.True(t, value(after, name) > 0, "%s: %v", name, value(after, name))
	}
	c.delete("busy")
	// The object goes before the node has removed the sandbox's record.
	for _, path := range []string{"metrics", "metrics/resource", "metrics/cadvisor", "metrics/probes"} {
		for began := time.Now(); strings.Contains(c.nodeAPI(path), c.namespace); time.Sleep(50 * time.Millisecond) {
			assert.Require(t, time.Since(began) <= time.Minute, "%s tells of a pod that is gone", path)
		}
	}
}

type families map[string]*dto.MetricFamily

// scrape reads metrics as Prometheus does.
func (c *cluster) scrape(path string) families {
	c.t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	parsed, err := parser.TextToMetricFamilies(strings.NewReader(c.nodeAPI(path)))
	assert.Require(c.t, err == nil, "%s: %v", path, err)
	return parsed
}

// checkFigure wants a metric of the namespace with those labels to have a value.
func (c *cluster) checkFigure(all families, name string, labels ...string) {
	c.t.Helper()
	want := map[string]string{"namespace": c.namespace}
	for i := 0; i < len(labels); i += 2 {
		want[labels[i]] = labels[i+1]
	}
	for _, metric := range all[name].GetMetric() {
		has := map[string]string{}
		for _, label := range metric.Label {
			has[label.GetName()] = label.GetValue()
		}
		if contains(has, want) && number(metric) > 0 {
			return
		}
	}
	c.t.Errorf("no %s of %v", name, want)
}

func contains(has, want map[string]string) bool {
	for name, value := range want {
		if got, found := has[name]; !found || got != value {
			return false
		}
	}
	return true
}

// value is the sum of a metric's values.
func value(all families, name string) float64 {
	sum := 0.0
	for _, metric := range all[name].GetMetric() {
		sum += number(metric)
	}
	return sum
}

func number(m *dto.Metric) float64 { return m.GetCounter().GetValue() + m.GetGauge().GetValue() }

package e2e

import (
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/telemetry/otlptest"
)

// A collector that the environment names has the pod's figures, the last ones when it is gone.
func TestMetricsOfRun(t *testing.T) {
	t.Parallel()
	collector := otlptest.New(t)
	manifest := `
apiVersion: v1
kind: Pod
metadata: {name: counted}
spec:
  restartPolicy: OnFailure
  volumes: [{name: data, emptyDir: {}}]
  containers:
  - name: main
    image: ` + toolbox + `
    command: [sh, -c, 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; [ -e /data/again ] || { touch /data/again; exit 3; }']
    volumeMounts: [{name: data, mountPath: /data}]
`
	r := shared.startWith(t, []string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=" + collector.URL + "/v1/metrics"}, manifest, "run", "-").wait()
	assert.Require(t, r.code == 0 && !strings.Contains(r.stderr, "warning"), "exit code %d:\n%s", r.code, r.stderr)
	sent := collector.Metrics()
	for name, want := range map[string]float64{
		"lifepod_container_restarts_total": 1, "lifepod_pods": 1, "lifepod_pod_oom_kills_total": 0,
	} {
		got, there := sent[name]
		assert.True(t, there && got.Value == want, "%s is %+v, want %v", name, got, want)
	}
	for _, name := range []string{"lifepod_pod_cpu_seconds_total", "lifepod_journal_entries_total", "lifepod_pod_step_duration_seconds", "lifepod_pod_start_duration_seconds", "lifepod_container_restart_duration_seconds"} {
		if m := sent[name]; m.Value <= 0 || m.Resource["k8s.pod.name"] != "counted" || m.Resource["service.name"] != "lifepod" || m.Resource["k8s.pod.uid"] == "" {
			t.Errorf("%s is %+v", name, m)
		}
	}
	assert.True(t, len(collector.Spans()) == 0, "spans are sent as well, which nobody has asked for")
}

package agent

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/e2e/machine"
)

// dashboard is what is read of docs/grafana.json.
type dashboard struct {
	Templating struct {
		List []struct{ Name, Definition string }
	}
	Panels []struct {
		Title, Type string
		GridPos     struct{ X, Y, W, H int }
		Targets     []struct{ Expr, LegendFormat string }
	}
}

// restarted is a pod whose container is restarted, and whose pod is Ready in between.
const restarted = `
apiVersion: v1
kind: Pod
metadata: {name: restarted}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: TOOLBOX
    command: [sh, -c, sleep 1; exit 3]
`

// TestDashboard: a real Prometheus scrapes a node while pods live, and each expression of docs/grafana.json has
// data there.
func TestDashboard(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../docs/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(content, &d); err != nil {
		t.Fatal(err)
	}
	prometheus := startPrometheus(t)
	prometheus.await("up", "count(up == 1) == 2", nil)
	c := newCluster(t, shared)
	c.create(busy)
	c.create(restarted)
	c.awaitReady("busy")
	variables := strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*")
	asked := 0
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			prometheus.await(p.Title, variables.Replace(target.Expr), labelsOf(target.LegendFormat))
			asked++
		}
		if (len(p.Targets) == 0) != (p.Type == "row") {
			t.Errorf("%s has %d expressions", p.Title, len(p.Targets))
		}
	}
	if asked == 0 {
		t.Error("the dashboard asks for nothing")
	}
	for _, v := range d.Templating.List {
		if metric, found := strings.CutPrefix(v.Definition, "label_values("); found {
			metric, label, _ := strings.Cut(strings.TrimSuffix(metric, ")"), ", ")
			prometheus.await("variable "+v.Name, metric, []string{label})
		}
	}
}

// labelsOf are those that a legend names.
func labelsOf(legend string) (labels []string) {
	for _, part := range strings.Split(legend, "{{")[1:] {
		name, _, _ := strings.Cut(part, "}}")
		labels = append(labels, name)
	}
	return labels
}

// prometheus is one that runs.
type prometheus struct {
	t   *testing.T
	url string
}

// startPrometheus scrapes the shared node for as long as the test.
func startPrometheus(t *testing.T) *prometheus {
	t.Helper()
	program := plane.Binary("prometheus")
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v: run `make prometheus` first", err)
	}
	port, err := machine.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	dir, config := t.TempDir(), plane.RESTConfig()
	var jobs []any
	for name, path := range map[string]string{"lifepod": "/metrics", "lifepod-probes": "/metrics/probes"} {
		jobs = append(jobs, map[string]any{
			"job_name": name, "metrics_path": path, "scheme": "https", "scrape_interval": "1s", "scrape_timeout": "1s",
			"tls_config":     map[string]any{"insecure_skip_verify": true, "cert": string(config.CertData), "key": string(config.KeyData)},
			"static_configs": []any{map[string]any{"targets": []string{fmt.Sprintf("%s:%d", nodeAddress(t), shared.Port)}}},
		})
	}
	text, err := yaml.Marshal(map[string]any{"scrape_configs": jobs})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "prometheus.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	address := "127.0.0.1:" + strconv.Itoa(port)
	process, err := machine.StartProcess(exec.Command(program,
		"--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address, "--log.level=warn",
	), filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of Prometheus' log:\n%s", process.LastLines(30))
		}
		if err := process.Kill(); err != nil {
			t.Error(err)
		}
	})
	return &prometheus{t, "http://" + address}
}

// await waits until an expression has data, with the labels that its legend shows.
func (p *prometheus) await(what, expression string, labels []string) {
	p.t.Helper()
	var got string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) { // it tells nobody
		has, answer := p.ask(expression, labels)
		if has {
			return
		}
		got = answer
		if strings.Contains(answer, `"ErrorType":"bad_data"`) {
			break
		}
	}
	p.t.Errorf("%s has no data: %s\n%s", what, expression, got)
}

// ask asks for the present value of an expression: whether it has one that is a number, with these labels.
func (p *prometheus) ask(expression string, labels []string) (has bool, answer string) {
	response, err := http.Get(p.url + "/api/v1/query?query=" + url.QueryEscape(expression))
	if err != nil {
		return false, err.Error()
	}
	defer func() { _ = response.Body.Close() }() // only read
	var reply struct {
		Status, ErrorType, Error string
		Data                     struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&reply); err != nil {
		return false, err.Error()
	}
	text, _ := json.Marshal(reply)
	for _, series := range reply.Data.Result {
		value, err := strconv.ParseFloat(fmt.Sprint(series.Value[1]), 64)
		if err == nil && !math.IsNaN(value) && (hasAll(series.Metric, labels) || len(series.Metric) == 0 && strings.HasSuffix(expression, "or on() vector(0)")) {
			return true, ""
		}
	}
	return false, string(text)
}

func hasAll(metric map[string]string, labels []string) bool {
	for _, label := range labels {
		if _, has := metric[label]; !has {
			return false
		}
	}
	return true
}

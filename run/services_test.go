package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/worker"
	"github.com/lifepod/lifepod/worker/criconfig"
)

const withServices = `
apiVersion: v1
kind: Service
metadata: {name: db}
spec: {selector: {app: db}, clusterIP: None, ports: [{port: 5432}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: LoadBalancer, sessionAffinity: ClientIP, selector: {app: web}, ports: [{name: http, port: 80, targetPort: http}, {name: own, port: 9090}, {name: taken, port: 8080, targetPort: 9090}]}
---
apiVersion: v1
kind: Service
metadata: {name: web-external}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: http}]}
---
apiVersion: v1
kind: Service
metadata: {name: outside}
spec: {type: ExternalName, externalName: example.com}
---
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec: {containers: [{name: c, image: "i:1", ports: [{name: http, containerPort: 8080}]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: db-0, labels: {app: db}}
spec: {hostname: db-0, subdomain: db, containers: [{name: c, image: "i:1"}]}
`

// TestServices: the names of Services are in the hosts files of all pods of the run, as long as the pods behind them are Ready; what a
// cluster would do beyond that is said.
func TestServices(t *testing.T) {
	t.Chdir(t.TempDir())
	o := Options{Files: []string{"-"}, Stdin: strings.NewReader(withServices), Ports: []string{"8000:80"}}
	group := assert.Get(readManifests(o)).Must(t)
	want := []string{
		"<stdin>:10: document 2: spec: the Service web is for the pods of this run alone; ignored: type LoadBalancer (-p publishes a port), sessionAffinity",
		"<stdin>:10: document 2: spec.ports[2].targetPort: port 8080 of the Service web is 9090 at its pods, which have another port 8080: pods reach it at web:9090",
		"<stdin>:17: document 4: passed over: Service outside: without pods of this run",
	}
	assert.Deep(t, "warnings", want, group.Warnings)
	web, db := group.Sets[0].Pod, group.Sets[1].Pod
	port := web.Spec.Containers[0].Ports[0]
	assert.True(t, port.ContainerPort == 8080 && port.HostPort == 8000, "-p 8000:80: %+v", port)

	list, _ := manifest.Translations(group.Services, web)
	const rules = `add table ip lifepod_services
delete table ip lifepod_services
table ip lifepod_services {
	chain prerouting {
		type nat hook prerouting priority -100
		ip daddr 10.0.0.2 tcp dport 80 dnat to 10.0.0.2:8080
	}
	chain output {
		type nat hook output priority -100
		ip daddr 10.0.0.2 tcp dport 80 dnat to 10.0.0.2:8080
	}
}
`
	assert.Equal(t, rules, assert.Get(portRules(list, []string{"10.0.0.2"})).Must(t), "rules")
	zoned := assert.Get(portRules(list, []string{"fe80::2%0 drop;"})).Must(t)
	assert.True(t, !strings.Contains(zoned, "drop"), "an address brings a rule of its own: %s", zoned)

	node := &worker.Engine{Folders: worker.Folders{Pods: t.TempDir()}, DNS: worker.DNS{Cluster: criconfig.ClusterDNS{Domain: "cluster.local"}}}
	s := newServices(group.Services, node, t.Errorf)
	is := func(pod *v1.Pod, ip string, ready v1.ConditionStatus) {
		s.isNow(pod, &v1.PodStatus{PodIPs: []v1.PodIP{{IP: ip}}, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: ready}}})
	}
	behind := s.selecting(web)
	assert.True(t, len(behind) == 2 && behind[0].Name == "web" && behind[1].Name == "web-external", "the pod stands behind %+v", behind)
	is(web, "10.0.0.2", v1.ConditionTrue)
	dir := filepath.Join(node.Folders.Pods, string(web.UID))
	assert.Must(t, os.Mkdir(dir, 0o700))
	assert.Must(t, assert.ErrorOf(criconfig.WriteHosts(dir, web, criconfig.Hostname{Name: "web"}, []string{"10.0.0.2"}, node.Services)))
	const own = "10.0.0.2\tweb\tweb.default\tweb.default.svc\tweb.default.svc.cluster.local\tweb-external\tweb-external.default\tweb-external.default.svc\tweb-external.default.svc.cluster.local\n"
	const others = "10.0.0.3\tdb\tdb.default\tdb.default.svc\tdb.default.svc.cluster.local\tdb-0.db\tdb-0.db.default\tdb-0.db.default.svc\tdb-0.db.default.svc.cluster.local\n"
	has := func(what string, services ...string) {
		t.Helper()
		s.writeAll(t.Context())
		content := assert.Get(os.ReadFile(filepath.Join(dir, criconfig.HostsName))).Must(t)
		_, got, _ := strings.Cut(string(content), "# Services of this run.\n")
		lines := strings.SplitAfter(got, "\n")
		for _, line := range services {
			assert.True(t, strings.Contains(got, line), "%s: no %q in\n%s", what, line, got)
		}
		assert.True(t, len(lines)-1 == len(services), "%s: %q", what, lines)
	}
	has("alone", own)
	is(db, "10.0.0.3", v1.ConditionFalse)
	has("not Ready", own)
	is(db, "10.0.0.3", v1.ConditionTrue)
	has("Ready", own, others)
	is(db, "10.0.0.4", v1.ConditionTrue)
	has("another address", own, strings.ReplaceAll(others, "10.0.0.3", "10.0.0.4"))
	s.isNow(db, &v1.PodStatus{Phase: v1.PodFailed, PodIPs: []v1.PodIP{{IP: "10.0.0.4"}}})
	has("ended", own)
}

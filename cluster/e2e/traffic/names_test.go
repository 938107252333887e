package traffic

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// answers are the data of a name's records, sorted; the code if it is an error's.
func answers(t *testing.T, server, kind, name string) []string {
	t.Helper()
	resolver := dns.Client{Timeout: time.Minute}
	m, _, err := resolver.ExchangeContext(t.Context(), new(dns.Msg).SetQuestion(name, dns.StringToType[kind]), net.JoinHostPort(server, "53"))
	assert.Require(t, err == nil, "%s %s: %v", kind, name, err)
	if m.Rcode != dns.RcodeSuccess {
		return []string{dns.RcodeToString[m.Rcode]}
	}
	all := []string{}
	for _, r := range m.Answer {
		all = append(all, strings.Join(strings.Fields(strings.TrimPrefix(r.String(), r.Header().String())), " "))
	}
	slices.Sort(all)
	return all
}

// Pods of a StatefulSet have names of their own, and all records are those of the
// Kubernetes DNS specification 1.1.0.
func TestNames(t *testing.T) {
	t.Parallel()
	apply(t, `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  podManagementPolicy: Parallel
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: db, image: lifepod.dev/toolbox:1, command: [serve, --port, "8080"], ports: [{name: http, containerPort: 8080}],
         resources: {limits: {memory: 64Mi}}}
`+service("db", "db", "clusterIP: None")+service("front", "db", "")+`
---
apiVersion: v1
kind: Service
metadata: {name: away}
spec: {type: ExternalName, externalName: front.default.svc.cluster.local}
`)
	kubectl(t, "", "rollout", "status", "statefulset/db", "--timeout", patience.String())
	list := assert.Get(client.CoreV1().Pods("default").List(t.Context(), meta.ListOptions{LabelSelector: "app=db"})).Must(t)
	addresses := map[string]string{}
	for _, pod := range list.Items {
		addresses[pod.Name] = pod.Status.PodIP
	}
	each := []string{addresses["db-0"], addresses["db-1"]}
	slices.Sort(each)
	server := strings.TrimSpace(kubectl(t, "", "get", "service", "kube-dns", "-n", "kube-system", "-o", "jsonpath={.spec.clusterIP}"))
	for end := time.Now().Add(patience); !slices.Equal(answers(t, server, "A", "db.default.svc.cluster.local."), each); {
		if time.Now().After(end) {
			t.Fatalf("the headless service never has both pods: %v", answers(t, server, "A", "db.default.svc.cluster.local."))
		}
	}
	front := clusterIP(t, "front")
	reverse := assert.Get(dns.ReverseAddr(front)).Must(t)
	for _, test := range []struct {
		kind, name string
		want       []string
	}{
		{"A", "front.default.svc.cluster.local.", []string{front}},
		{"AAAA", "front.default.svc.cluster.local.", []string{}},
		{"A", "db-0.db.default.svc.cluster.local.", []string{addresses["db-0"]}},
		{"SRV", "_http._tcp.front.default.svc.cluster.local.", []string{"0 100 80 front.default.svc.cluster.local."}},
		{"SRV", "_http._tcp.db.default.svc.cluster.local.", []string{"0 50 8080 db-0.db.default.svc.cluster.local.", "0 50 8080 db-1.db.default.svc.cluster.local."}},
		{"PTR", reverse, []string{"front.default.svc.cluster.local."}},
		{"A", "away.default.svc.cluster.local.", []string{front, "front.default.svc.cluster.local."}},
		{"A", "none.default.svc.cluster.local.", []string{"NXDOMAIN"}},
		{"TXT", "dns-version.cluster.local.", []string{`"1.1.0"`}},
	} {
		assert.Deep(t, fmt.Sprintf("%s %s", test.kind, test.name), test.want, answers(t, server, test.kind, test.name))
	}
}

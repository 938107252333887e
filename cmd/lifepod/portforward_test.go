package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/rootfolder"
)

func TestForwardedPort(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{}, {Ports: []v1.ContainerPort{{Name: "http", ContainerPort: 8080}}}}}}
	for spec, want := range map[string]string{
		"80":       "80 80",
		"8080:80":  "8080 80",
		":http":    "0 8080",
		"0:80":     "0 80",
		"http":     "8080 8080",
		"1:htp":    `port 1:htp: "htp" is neither a port from 1 to 65535 nor one of the pod's: http`,
		"80:":      `port 80:: "" is neither a port from 1 to 65535 nor one of the pod's: http`,
		"65536:80": `port 65536:80: "65536" is not a port of this machine, want a number up to 65535, or nothing for a free one`,
	} {
		local, remote, err := forwardedPort(pod, nil, spec)
		got := fmt.Sprint(local, " ", remote)
		if err != nil {
			got = err.Error()
		}
		assert.Equal(t, want, got, "%s", spec)
	}
	_, _, err := forwardedPort(&v1.Pod{}, nil, "0")
	assert.Error(t, `port 0: "0" is no port from 1 to 65535, and the pod's ports have no names`, err)
}

// TestServicePort: REMOTE is a port of the Service, which is another one at the pod; LOCAL is the Service's.
func TestServicePort(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0"}, Spec: v1.PodSpec{
		Containers:     []v1.Container{{Ports: []v1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: v1.ProtocolTCP}}}},
		InitContainers: []v1.Container{{RestartPolicy: &always, Ports: []v1.ContainerPort{{Name: "proxy", ContainerPort: 8443, Protocol: v1.ProtocolTCP}}}},
	}}
	of := func(name string, port int32, target intstr.IntOrString) v1.ServicePort {
		return v1.ServicePort{Name: name, Port: port, TargetPort: target, Protocol: v1.ProtocolTCP}
	}
	service := &v1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.ServiceSpec{Ports: []v1.ServicePort{
		{Name: "dns", Port: 53, TargetPort: intstr.FromInt32(53), Protocol: v1.ProtocolUDP},
		of("web", 80, intstr.FromString("http")), of("tls", 443, intstr.FromString("proxy")), of("admin", 81, intstr.FromInt32(9000)), of("lost", 82, intstr.FromString("none")),
	}}}
	for spec, want := range map[string]string{
		"80":       "80 8080",
		"web":      "80 8080",
		":web":     "0 8080",
		"8443:443": "8443 8443",
		"9:admin":  "9 9000",
		"82":       `port 82: its targetPort is "none", which no port of pod web-0 is called`,
		"53":       `port 53: "53" is no TCP port of Service web: it has 80 web, 443 tls, 81 admin, 82 lost`,
	} {
		local, remote, err := forwardedPort(pod, service, spec)
		got := fmt.Sprint(local, " ", remote)
		if err != nil {
			got = err.Error()
		}
		assert.Equal(t, want, got, "%s", spec)
	}
	service.Spec.ClusterIP = v1.ClusterIPNone
	own, target, err := servicePort(service, pod, "80")
	assert.True(t, own == 80 && target == 80 && err == nil, "of a headless one: %d, %d, %v", own, target, err)
}

// TestReadyBehind: the first pod that is Ready is taken, of those that are selected; why there is none is said.
func TestReadyBehind(t *testing.T) {
	pod := func(namespace, name, app string, phase v1.PodPhase, ready v1.ConditionStatus) *client.Pod {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": app}}}
		p.Status = v1.PodStatus{Phase: phase, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: ready}}}
		return &client.Pod{Pod: p}
	}
	ending := pod("shop", "web-2", "web", v1.PodRunning, v1.ConditionTrue)
	ending.DeletionTimestamp = new(metav1.Now())
	pods := []*client.Pod{
		pod("other", "web-0", "web", v1.PodRunning, v1.ConditionTrue), pod("shop", "db-0", "db", v1.PodRunning, v1.ConditionTrue),
		pod("shop", "web-1", "web", v1.PodPending, v1.ConditionFalse), ending, pod("shop", "web-3", "web", v1.PodRunning, v1.ConditionTrue),
	}
	web := selectingService(&v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}, Spec: v1.ServiceSpec{Selector: map[string]string{"app": "web"}}})
	got := assert.Get(web.ready(pods)).Must(t)
	assert.Equal(t, "web-3", got.Name, "ready")
	_, err := web.ready(pods[:4])
	assert.Error(t, "none of its pods on this machine is Ready: web-1 is Pending, web-2 is Terminating (lifepod why says why)", err)
	_, err = web.ready(pods[:2])
	assert.Error(t, `no pod of this machine is behind it (selector "app=web")`, err)
	assert.Error(t, `no pod of this machine is behind it (selector "")`, assert.ErrorOf(selectingService(&v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}}).ready(pods)))
}

// TestSelectingOfCluster: the API server is asked for the object of that name, in the namespace or in all.
func TestSelectingOfCluster(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		object := map[string]string{
			"/api/v1/services":                          `{"metadata": {"namespace": "shop", "name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}`,
			"/apis/apps/v1/namespaces/shop/deployments": `{"metadata": {"namespace": "shop", "name": "web"}, "spec": {"selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}}}`,
		}[r.URL.Path]
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"items": [%s]}`, map[bool]string{true: object}[r.URL.Query().Get("fieldSelector") == "metadata.name=web"]) // the client looks at it
	}))
	defer server.Close()
	g := &global{root: t.TempDir()}
	assert.Must(t, os.Mkdir(rootfolder.Cluster.In(g.root), 0o700))
	config := api.NewConfig()
	config.Clusters["c"], config.Contexts["c"], config.CurrentContext = &api.Cluster{Server: server.URL}, &api.Context{Cluster: "c"}, "c"
	assert.Must(t, clientcmd.WriteToFile(*config, filepath.Join(rootfolder.Cluster.In(g.root), "kubeconfig")))
	for _, test := range []struct{ namespace, resource, selector string }{{"", "services", "app=web"}, {"shop", "deployments", "app in (web)"}} {
		found := assert.Get((&onPod{global: g, namespace: test.namespace}).ofCluster(t.Context(), test.resource, "web")).Must(t)
		assert.True(t, len(found) == 1 && found[0].namespace == "shop" && found[0].labels.String() == test.selector && (found[0].service != nil) == (test.resource == "services"), "%s: %+v", test.resource, found)
	}
}

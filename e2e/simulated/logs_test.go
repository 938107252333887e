package simulated

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/sim/live"
	"github.com/lifepod/lifepod/sim/nodes"
	"github.com/lifepod/lifepod/sim/scenario/file"
)

// talks is a pod whose first instance crashes. What the second one writes never ends within the test.
const talks = `
containers:
  main:
    runs:
    - {run: 1s, exit: 3, output: [{text: "first"}, {text: "about to crash", stream: stderr, at: 500ms}]}
    - run: forever
      output: [{text: "second"}, {text: "later", at: 4s}]`

// logOf is what the API server gives out.
func logOf(t *testing.T, client kubernetes.Interface, ns, pod string, o v1.PodLogOptions) string {
	t.Helper()
	text, err := client.CoreV1().Pods(ns).GetLogs(pod, &o).DoRaw(t.Context())
	assert.True(t, err == nil, "logs %+v: %v", o, err)
	return string(text)
}

// What containers of simulated pods write the API server gives out, as of any node; exec, attach and port-forward are
// refused at once with the reason.
func TestNodesAPI(t *testing.T) {
	scenarios := assert.Get(file.ScenariosOf(file.Named{Scenario: scenarioOf(t, talks)})).Must(t)
	client := admin(t)
	join(t, client, nodes.Options{Count: 3, Prefix: "api-", Pods: &live.Pods{Scenarios: scenarios}})
	ns := namespace(t, client)
	for _, node := range []string{"api-0", "api-2"} {
		create(t, client, ns, podOf("on-"+node, node))
	}
	awaitAll(t, client, ns, "restarted and Ready", 2, func(pod *v1.Pod) bool { return machine.IsReady(pod) && crashed(pod) })

	const pod = "on-api-2"
	testFollow(t, client, ns, pod)
	for _, tc := range []struct {
		options v1.PodLogOptions
		want    string
	}{
		{v1.PodLogOptions{}, "second\nlater\n"},
		{v1.PodLogOptions{Container: "main", TailLines: new(int64(1))}, "later\n"},
		{v1.PodLogOptions{Previous: true}, "first\nabout to crash\n"},
		{v1.PodLogOptions{SinceSeconds: new(int64(3600))}, "second\nlater\n"},
		{v1.PodLogOptions{SinceTime: &metav1.Time{Time: time.Now().Add(time.Hour)}}, ""},
	} {
		assert.Deep(t, fmt.Sprintf("logs %+v", tc.options), tc.want, logOf(t, client, ns, pod, tc.options))
	}
	line := logOf(t, client, ns, pod, v1.PodLogOptions{Timestamps: true, TailLines: new(int64(1))})
	at, text, _ := strings.Cut(line, " ")
	_, err := time.Parse(time.RFC3339Nano, at)
	assert.True(t, err == nil && text == "later\n", "with its time: %q (%v)", line, err)
	if _, err := client.CoreV1().Pods(ns).GetLogs(pod, &v1.PodLogOptions{Container: "absent"}).DoRaw(t.Context()); err == nil {
		t.Error("a container that is not there has a log")
	}
	testRefused(t, client, ns, pod)
	testCertificate(t, client)
	deleteAll(t, client, ns)
}

// testFollow follows a log until what comes later comes.
func testFollow(t *testing.T, client kubernetes.Interface, ns, pod string) {
	t.Helper()
	ctx := assert.Context(t, patience)
	stream := assert.Get(client.CoreV1().Pods(ns).GetLogs(pod, &v1.PodLogOptions{Follow: true}).Stream(ctx)).Must(t)
	defer func() { _ = stream.Close() }() // it has no end
	lines := bufio.NewReader(stream)
	for _, want := range []string{"second\n", "later\n"} {
		line, err := lines.ReadString('\n')
		assert.Require(t, err == nil && line == want, "followed: %q, want %q (%v)", line, want, err)
	}
}

// testRefused asks for what needs processes.
func testRefused(t *testing.T, client kubernetes.Interface, ns, pod string) {
	t.Helper()
	ctx := assert.Context(t, patience)
	config := plane.RESTConfig()
	for _, what := range []string{"exec", "attach"} {
		to := client.CoreV1().RESTClient().Post().Namespace(ns).Resource("pods").Name(pod).SubResource(what).
			Param("container", "main").Param("command", "true").Param("stdout", "true").URL()
		executor := assert.Get(remotecommand.NewWebSocketExecutor(config, http.MethodGet, to.String())).Must(t)
		began := time.Now()
		err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: io.Discard})
		assert.True(t, err != nil && strings.Contains(err.Error(), "pods on simulated nodes have no processes"), "%s: %v", what, err)
		t.Logf("%s is refused after %v: %v", what, time.Since(began).Round(time.Millisecond), err)
	}
	to := client.CoreV1().RESTClient().Post().Namespace(ns).Resource("pods").Name(pod).SubResource("portforward").URL()
	dialer := assert.Get(portforward.NewSPDYOverWebsocketDialerForStreaming(to, config)).Must(t)
	forwarder := assert.Get(portforward.NewForStreaming(dialer, []string{"0:80"}, make(chan struct{}), make(chan struct{}), io.Discard, io.Discard)).Must(t)
	assert.ErrorContains(t, "pods on simulated nodes have no network", forwarder.ForwardPorts(), "port-forward")
}

// testCertificate: the cluster has signed the certificate, so that API servers that verify it take it, and nobody else may ask.
func testCertificate(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	requests, err := client.CertificatesV1().CertificateSigningRequests().List(t.Context(), metav1.ListOptions{
		FieldSelector: "spec.signerName=" + certificatesv1.KubeletServingSignerName,
	})
	assert.Require(t, err == nil && len(requests.Items) != 0, "requests of certificates: %+v, %v", requests, err)
	for _, r := range requests.Items {
		assert.True(t, len(r.Status.Certificate) != 0, "request %s: %+v", r.Name, r.Status)
	}
	node := assert.Get(client.CoreV1().Nodes().Get(t.Context(), "api-1", metav1.GetOptions{})).Must(t)
	pods, err := client.CoreV1().RESTClient().Get().Resource("nodes").Name("api-1").SubResource("proxy").Suffix("pods").DoRaw(t.Context())
	assert.True(t, err == nil && strings.Contains(string(pods), "on-api-2"),
		"the pods of all nodes, at %+v: %.200s, %v", node.Status.Addresses, pods, err)
}

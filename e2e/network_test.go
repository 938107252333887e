package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestHostsAndResolver: /etc/hosts, host name and resolv.conf.
func TestHostsAndResolver(t *testing.T) {
	t.Parallel()
	got := shared.run(t, pod("web", `
restartPolicy: Never
hostname: front
subdomain: shop
hostAliases: [{ip: 192.0.2.7, hostnames: [db, db.local]}]
dnsPolicy: None
dnsConfig: {nameservers: [192.0.2.53], searches: [example.org], options: [{name: ndots, value: "2"}]}
containers:
`+shell("main", `hostname; cat /etc/hostname; echo "$HOSTNAME"; cat /etc/hosts /etc/resolv.conf`)))
	want := `front
front
front
# Kubernetes-managed hosts file.
127.0.0.1	localhost
::1	localhost ip6-localhost ip6-loopback
fe00::0	ip6-localnet
fe00::0	ip6-mcastprefix
fe00::1	ip6-allnodes
fe00::2	ip6-allrouters
ADDRESS	front.shop.default.svc.cluster.local	front

# Entries added by HostAliases.
192.0.2.7	db	db.local
search example.org
nameserver 192.0.2.53
options ndots:2
`
	got.wantCode(t, 0)
	checkLines(t, "output", got.stdout, want)
}

// TestDefaultResolver: without a cluster's DNS the pod has the machine's.
func TestDefaultResolver(t *testing.T) {
	t.Parallel()
	got := shared.run(t, script("resolver", "cat /etc/resolv.conf"))
	host := assert.Get(os.ReadFile("/etc/resolv.conf")).Must(t)
	for line := range strings.Lines(string(host)) {
		assert.True(t, !strings.HasPrefix(line, "nameserver ") || strings.Contains(line, "127.") || strings.Contains(got.stdout, line),
			"no %q in\n%s", line, got.stdout)
	}
}

// TestPublish: -p makes a pod's port one of the host.
func TestPublish(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	c := shared.startRun(t, pod("published", `
restartPolicy: Never
containers:
- {name: main, image: TOOLBOX, command: [serve, --port=8080, --on-term=0]}`), "-p", fmt.Sprintf("127.0.0.1:%d:8080", port))
	c.await(c.stdout, "serving on")
	address := hostAddress(t)
	assert.Deep(t, "the published port answered", "published\n", get(t, fmt.Sprintf("http://127.0.0.1:%d/hostname", port)))
	_, err := http.Get("http://" + net.JoinHostPort(address, fmt.Sprint(port)) + "/hostname")
	assert.True(t, err != nil, "port %d was published on 127.0.0.1 only, but answers on %s", port, address)
	c.await(c.stderr, "pod Ready")
	c.signal(syscall.SIGINT)
	c.wait()
	if conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
		t.Error("the port still answers after the pod's end")
		_ = conn.Close()
	}
}

// TestPortForward: a port of the machine is one of the pod's, for as long as the pod is there.
func TestPortForward(t *testing.T) {
	t.Parallel()
	pods := shared.startRun(t, pod("forwarded", `
restartPolicy: Never
containers:
- {name: main, image: TOOLBOX, command: [serve, --port=8080, --on-term=0], ports: [{name: http, containerPort: 8080}]}`))
	pods.await(pods.stdout, "serving on")
	c := shared.start(t, "", "port-forward", "forwarded", ":http", ":9")
	address := func(port string) string {
		line := strings.Fields(c.await(c.stdout, "^Forwarding from .* -> "+port+"$"))
		return line[2]
	}
	if conn, err := net.Dial("tcp", address("9")); err == nil { // nobody listens there
		_, _ = io.ReadAll(conn) // how the connection ends is the system's affair
		_ = conn.Close()
	}
	c.await(c.stderr, "^warning: port 9: dial tcp 127.0.0.1:9: connect: connection refused$")
	for range 3 {
		assert.Deep(t, "the pod answered", "forwarded\n", get(t, "http://"+address("8080")+"/hostname"))
	}
	_, port, _ := strings.Cut(address("8080"), ":")
	for args, want := range map[string]string{
		"forwarded " + port + ":80":            "port " + port + ":80: listen tcp 127.0.0.1:" + port + ": bind: address already in use",
		"forwarded --address 192.0.2.1 :80":    "port :80: listen tcp 192.0.2.1:0: bind: cannot assign requested address",
		"forwarded --address eth0 :80":         `port :80: --address "eth0": want an IP address of this machine, such as 127.0.0.1, or 0.0.0.0 for all`,
		"svc/forwarded :80":                    `no service "forwarded" in the cluster or in a lifepod run of the state folder ` + shared.dir + "; --root names another folder",
		"forwarded 8080:web --address 0.0.0.0": `port 8080:web: "web" is neither a port from 1 to 65535 nor one of the pod's: http`,
	} {
		got := shared.lifepod(t, "", append([]string{"port-forward"}, strings.Fields(args)...)...)
		assert.Deep(t, args, result{125, "", "lifepod: " + want + "\n"}, got, cmp.AllowUnexported(result{}))
	}
	pods.signal(syscall.SIGINT)
	pods.wait()
	got := c.wait()
	assert.True(t, got.code == 125 && strings.HasSuffix(got.stderr, "lifepod: pod default/forwarded is gone\n"), "%+v", got)
}

// TestPodToPod: pods reach each other, and the host reaches them, at their addresses.
func TestPodToPod(t *testing.T) {
	t.Parallel()
	server := shared.startRun(t, pod("server", `
restartPolicy: Never
containers:
- {name: main, image: TOOLBOX, command: [serve, --port=8081, --on-term=0]}`))
	server.await(server.stdout, "serving on")
	ip := strings.TrimPrefix(server.await(server.stderr, `address 10[0-9.]+`), "address ")
	assert.Deep(t, "the host", "server\n", get(t, "http://"+ip+":8081/hostname"))
	got := shared.run(t, script("client", "fetch http://"+ip+":8081/hostname"))
	assert.True(t, got.stdout == "server\n", "the other pod got %q\n%s", got.stdout, got.stderr)
}

// TestHostNetwork: the pod has the machine's network and address.
func TestHostNetwork(t *testing.T) {
	t.Parallel()
	listener := assert.Get(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "the host")
	})}
	go func() { _ = server.Serve(listener) }() // until Close
	t.Cleanup(func() { _ = server.Close() })
	result := shared.runStory(t, 0, pod("host-network", `
restartPolicy: Never
hostNetwork: true
containers:
`+shell("main", "fetch http://"+listener.Addr().String())))
	assert.Deep(t, "output", "the host\n", result.output("main"))
	last := result.last(t)
	assert.True(t, last.PodIP == last.HostIP, "pod IP %s, host IP %s", last.PodIP, last.HostIP)
}

func freePort(t *testing.T) int {
	t.Helper()
	listener := assert.Get(net.Listen("tcp", ":0")).Must(t)
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port
}

// hostAddress is an address of the machine other than loopback. Nothing is sent.
func hostAddress(t *testing.T) string {
	t.Helper()
	conn := assert.Get(net.Dial("udp", "192.0.2.1:9")).Must(t)
	defer func() { _ = conn.Close() }()
	return conn.LocalAddr().(*net.UDPAddr).IP.String()
}

func get(t *testing.T, url string) string {
	t.Helper()
	answer := assert.Get(http.Get(url)).Must(t)
	defer func() { _ = answer.Body.Close() }()
	body := assert.Get(io.ReadAll(answer.Body)).Must(t)
	return string(body)
}

// stopSandbox takes its sandbox from a pod.
func (r *root) stopSandbox(t *testing.T, pod string) {
	t.Helper()
	client := assert.Get(cri.Dial("unix://" + r.runDir() + "/containerd.sock")).Must(t)
	defer func() { _ = client.Close() }()
	of := &runtimeapi.PodSandboxFilter{LabelSelector: map[string]string{"io.kubernetes.pod.name": pod}}
	list := assert.Get(client.Runtime.ListPodSandbox(t.Context(), &runtimeapi.ListPodSandboxRequest{Filter: of})).Must(t)
	assert.Require(t, len(list.Items) == 1, "sandboxes of %s: %v", pod, list)
	assert.Must(t, assert.ErrorOf(client.Runtime.StopPodSandbox(t.Context(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: list.Items[0].Id})))
}

// TestServiceNames: the pods of a run find each other by the names of their Services, as long as what is behind a name is Ready; -p
// takes the port of a Service, and so do they, and port-forward.
func TestServiceNames(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	c := shared.startRun(t, script("asks", "until fetch http://named.default.svc.cluster.local/hostname; do sleep 0.1; done; while grep -q named /etc/hosts; do sleep 0.1; done; echo gone")+
		"\n---\napiVersion: v1\nkind: Service\nmetadata: {name: named}\nspec: {selector: {app: named}, ports: [{port: 80, targetPort: 8081}]}\n---\n"+
		strings.Replace(pod("answers", `
containers:
- {name: main, image: TOOLBOX, command: [serve, --port=8081, --on-term=0],
   readinessProbe: {httpGet: {path: /readyz, port: 8081}, periodSeconds: 1, failureThreshold: 1}}`), "name: answers", "name: answers\n  labels: {app: named}", 1),
		"-p", fmt.Sprintf("127.0.0.1:%d:80", port))
	c.await(c.stdout, `asks \| answers\n`)
	published := fmt.Sprintf("http://127.0.0.1:%d", port)
	assert.Equal(t, "answers\n", get(t, published+"/hostname"), "the host")
	forward := shared.start(t, "", "port-forward", "svc/named", ":80")
	address := strings.Fields(forward.await(forward.stdout, "^Forwarding from .* -> 8081$"))[2]
	assert.Equal(t, "answers\n", get(t, "http://"+address+"/hostname"), "port-forward")
	answer := assert.Get(http.Post(published+"/fail", "", nil)).Must(t)
	_ = answer.Body.Close()
	c.await(c.stdout, `asks \| gone\n`)
	none := shared.lifepod(t, "", "port-forward", "service/named", ":80")
	assert.Equal(t, "lifepod: service/named: none of its pods on this machine is Ready: answers is Running (lifepod why says why)\n", none.stderr, "port-forward to none")
	shared.stopSandbox(t, "answers") // the next one has the same address, and a network without the rules of ports
	address = shared.lifepod(t, "", "ps", "-l", "app=named", "-o", "jsonpath={.items[0].status.podIP}").stdout
	machine.Until(t, "the pod at the port of its Service", func() bool {
		answer, err := http.Get("http://" + address + ":80/healthz")
		return err == nil && answer.Body.Close() == nil
	})
	c.signal(syscall.SIGINT)
	got := c.wait()
	assert.True(t, got.code == 130, "exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	forward.wait()
}

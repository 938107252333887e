package server

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"

	"github.com/lifepod/lifepod/internal/assert"
)

// secured is a server on which every request is authenticated and authorised.
func secured(t *testing.T, change func(*kubeletconfig.KubeletConfiguration)) (*Server, *authority, *reviewer, string) {
	t.Helper()
	return securedWith(t, func(c *Config) {
		if change != nil {
			change(c.Kubelet)
		}
	})
}

// securedWith is secured for more than its configuration.
func securedWith(t *testing.T, change func(*Config)) (*Server, *authority, *reviewer, string) {
	t.Helper()
	ca, api := newAuthority(t), newReviewer()
	file := filepath.Join(t.TempDir(), "ca.crt")
	ca.write(t, file)
	c := testConfig(t, &fakeNode{})
	yes, no := true, false
	k := c.Kubelet
	k.Authentication.Anonymous.Enabled, k.Authentication.Webhook.Enabled = &no, &yes
	k.Authentication.Webhook.CacheTTL = metav1.Duration{Duration: time.Hour}
	k.Authentication.X509.ClientCAFile = file
	k.Authorization.Mode = kubeletconfig.KubeletAuthorizationModeWebhook
	k.Authorization.Webhook.CacheAuthorizedTTL = metav1.Duration{Duration: time.Hour}
	change(&c)
	c.Client = api
	c.TLS = serving(t, ca)
	return serveTest(t, c), ca, api, file
}

func get(t *testing.T, client *http.Client, s *Server, path, token string) string {
	t.Helper()
	request := assert.Get(http.NewRequest(http.MethodGet, "https://"+s.Addr().String()+path, nil)).Must(t)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response := assert.Get(client.Do(request)).Must(t)
	defer response.Body.Close()
	text := assert.Get(io.ReadAll(response.Body)).Must(t)
	return fmt.Sprintf("%d %s", response.StatusCode, text)
}

func TestGuard(t *testing.T) {
	t.Parallel()
	s, ca, api, _ := secured(t, nil)
	api.tokens["good"], api.tokens["broken"] = "bob", "broken"
	for _, may := range []string{"alice get proxy", "bob get healthz", "bob get metrics"} {
		api.allowed[may] = true
	}
	const groups = " of nodes n1 system:authenticated"
	tests := []struct {
		name, path, token string
		certificate       bool // alice's
		want              string
		asked             []string
	}{
		{name: "nobody", path: "/pods", want: "401 Unauthorized"},
		{name: "a token that is none", path: "/pods", token: "bad", want: "401 Unauthorized", asked: []string{"token bad"}},
		{
			name: "a certificate, not the fine but nodes/proxy", path: "/healthz", certificate: true, want: "200 ok",
			asked: []string{"alice get healthz of nodes n1 dev,system:authenticated", "alice get proxy of nodes n1 dev,system:authenticated"},
		},
		{name: "only nodes/proxy, which is known", path: "/flags", certificate: true, want: "404 404: Page Not Found"},
		{name: "a token, the fine one", path: "/healthz", token: "good", want: "200 ok", asked: []string{"token good", "bob get healthz" + groups}},
		{name: "both are known", path: "/healthz/ping", token: "good", want: "200 ok"},
		{
			name: "neither", path: "/pods", token: "good", want: "403 Forbidden (user=bob, verb=get, resource=nodes, subresource(s)=[pods proxy])\n",
			asked: []string{"bob get pods" + groups, "bob get proxy" + groups},
		},
		{
			name: "metrics have no nodes/proxy", path: "/metrics", token: "good", want: "501 lifepod does not serve /metrics",
			asked: []string{"bob get metrics" + groups},
		},
		{
			name: "no answer", path: "/stats/summary", token: "broken",
			want:  "500 Authorization error (user=broken, verb=get, resource=nodes, subresource=stats)",
			asked: []string{"token broken", "broken get stats" + groups},
		},
	}
	nobody, alice := ca.client(t), ca.client(t, ca.sign(t, "alice", "dev"))
	for _, test := range tests {
		client := nobody
		if test.certificate {
			client = alice
		}
		assert.Deep(t, test.name, test.want, get(t, client, s, test.path, test.token))
		assert.Deep(t, fmt.Sprintf("%s: questions to the API server", test.name), test.asked, api.questions())
	}
}

func TestAnswersAreNotKeptWithoutTTL(t *testing.T) {
	t.Parallel()
	s, ca, api, _ := secured(t, func(k *kubeletconfig.KubeletConfiguration) {
		k.Authorization.Webhook.CacheAuthorizedTTL = metav1.Duration{}
	})
	api.allowed["alice get healthz"] = true
	client := ca.client(t, ca.sign(t, "alice"))
	for range 2 {
		get(t, client, s, "/healthz", "")
		assert.Equal(t, 1, len(api.questions()), "questions to the API server")
	}
}

// TestManyConnections: clients that don't show who they are keep only so many connections, and no user from the API.
func TestManyConnections(t *testing.T) {
	s, ca, api, _ := secured(t, nil)
	api.allowed["ann get healthz"] = true
	first := assert.Get(net.Dial("tcp", s.Addr().String())).Must(t)
	defer first.Close()
	for range 1100 {
		silent := assert.Get(net.Dial("tcp", s.Addr().String())).Must(t)
		defer silent.Close()
	}
	assert.Equal(t, "200 ok", get(t, ca.client(t, ca.sign(t, "ann")), s, "/healthz", ""), "a user beside many silent connections")
	n, err := first.Read(make([]byte, 1))
	assert.True(t, err != nil, "the first of too many connections has %d bytes, want its end", n)
}

func TestAnonymous(t *testing.T) {
	t.Parallel()
	s, ca, api, _ := secured(t, func(k *kubeletconfig.KubeletConfiguration) {
		yes := true
		k.Authentication.Anonymous.Enabled = &yes
	})
	api.allowed["system:anonymous get healthz"] = true
	want := "403 Forbidden (user=system:anonymous, verb=get, resource=nodes, subresource(s)=[pods proxy])\n"
	assert.Deep(t, "", want, get(t, ca.client(t), s, "/pods", ""))
	assert.Deep(t, "", "200 ok", get(t, ca.client(t), s, "/healthz", ""))
	assert.Deep(t, "a bad token is not anonymous", "401 Unauthorized", get(t, ca.client(t), s, "/healthz", "bad"))
}

func TestClientCAIsReadAgain(t *testing.T) {
	t.Parallel()
	s, ca, api, file := secured(t, nil)
	api.allowed["alice get healthz"] = true
	other := newAuthority(t)
	old, fresh := ca.client(t, ca.sign(t, "alice")), ca.client(t, other.sign(t, "alice"))
	expect := func(when, wantOld, wantFresh string) {
		t.Helper()
		got := []string{get(t, old, s, "/healthz", ""), get(t, fresh, s, "/healthz", "")}
		assert.Deep(t, fmt.Sprintf("%s: old and fresh certificate", when), []string{wantOld, wantFresh}, got)
	}
	const yes, no = "200 ok", "401 Unauthorized"
	expect("first", yes, no)
	other.write(t, file)
	expect("another CA", no, yes)
	replace(t, file, "nonsense")
	expect("a broken file", no, yes)
	ca.write(t, file)
	expect("the first again", yes, no)
}

func TestConfigurationIsChecked(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*kubeletconfig.KubeletConfiguration)
		want   string
	}{
		{"no mode", func(k *kubeletconfig.KubeletConfiguration) { k.Authorization.Mode = "" }, "no authorization mode specified"},
		{"unknown mode", func(k *kubeletconfig.KubeletConfiguration) { k.Authorization.Mode = "Maybe" }, "unknown authorization mode Maybe"},
		{"webhook without client", func(k *kubeletconfig.KubeletConfiguration) { k.Authorization.Mode = "Webhook" }, "cannot use webhook authorization"},
		{"tokens without client", func(k *kubeletconfig.KubeletConfiguration) { k.Authentication.Webhook.Enabled = nil }, "cannot use webhook authentication"},
		{"nobody", func(k *kubeletconfig.KubeletConfiguration) { k.Authentication.Anonymous.Enabled = nil }, "no authentication method configured"},
		{"no file", func(k *kubeletconfig.KubeletConfiguration) { k.Authentication.X509.ClientCAFile = "/none" }, "clientCAFile: stat /none"},
		{"no PEM", func(k *kubeletconfig.KubeletConfiguration) { k.Authentication.X509.ClientCAFile = "guard.go" }, "guard.go has no certificate in PEM"},
	} {
		c := testConfig(t, &fakeNode{})
		test.change(c.Kubelet)
		assert.ErrorContains(t, test.want, assert.ErrorOf(New(c)), test.name)
	}
}

// TestSubresources: the paths of KEP-2862 and all others.
func TestSubresources(t *testing.T) {
	for path, want := range map[string]string{
		"/pods": "[pods proxy]", "/pods/": "[pods proxy]", "/podsies": "[proxy]", "/runningpods/": "[pods proxy]", "/runningpods": "[pods proxy]",
		"/healthz": "[healthz proxy]", "/healthz/ping": "[healthz proxy]", "/configz": "[configz proxy]",
		"/stats": "[stats]", "/stats/summary": "[stats]", "/metrics": "[metrics]", "/metrics/cadvisor": "[metrics]",
		"/logs/": "[log]", "/logs/a/b": "[log]", "/checkpoint/a/b/c": "[checkpoint]", "/statusz": "[statusz]", "/flagz": "[configz]",
		"/exec/a/b/c": "[proxy]", "/containerLogs/a/b/c": "[proxy]", "/": "[proxy]", "/debug/pprof/": "[proxy]", "/run/pods": "[proxy]",
	} {
		assert.Equal(t, want, fmt.Sprint(subresourcesOf(path)), "%s", path)
	}
}

// A server of several nodes asks about the node of the pod that is meant, and for anything else about all nodes.
func TestGuardOfSeveralNodes(t *testing.T) {
	t.Parallel()
	s, ca, api, _ := securedWith(t, func(c *Config) {
		c.Access.NodeOf = func(namespace, pod string) string {
			if namespace == "default" {
				return "node-of-" + pod
			}
			return ""
		}
	})
	api.tokens["good"] = "bob"
	api.allowed["bob get proxy"], api.allowed["bob get pods"] = true, true
	for path, want := range map[string]string{
		"/containerLogs/default/web/main":     "bob get proxy of nodes node-of-web system:authenticated",
		"/containerLogs/default/we%62/main":   "bob get proxy of nodes node-of-web system:authenticated",
		"/containerLogs/default%2Fweb/x/main": "bob get proxy of nodes  system:authenticated",
		"/portForward/other/web":              "bob get proxy of nodes  system:authenticated",
		"/pods":                               "bob get pods of nodes  system:authenticated",
		"/metrics/resource/sim-7":             "bob get metrics of nodes sim-7 system:authenticated",
		"/metrics/resource/":                  "bob get metrics of nodes  system:authenticated",
	} {
		get(t, ca.client(t), s, path, "good")
		asked := api.questions()
		if len(asked) == 0 { // it was answered before
			continue
		}
		assert.Deep(t, path, want, asked[len(asked)-1])
	}
}

// peers says whom it has served.
type peers struct{}

func (peers) ServePeer(w http.ResponseWriter, _ *http.Request, node string) {
	_, _ = fmt.Fprint(w, "serves ", node)
}

// TestPeers: what is for other nodes serves those that show their own certificate, and nobody else, whatever he may do.
func TestPeers(t *testing.T) {
	t.Parallel()
	s, ca, api, _ := securedWith(t, func(c *Config) { c.Peers = peers{} })
	api.tokens["node"], api.tokens["admin"] = "system:node:b", "admin"
	api.allowed["admin get proxy"] = true
	other := newAuthority(t)
	const no = "403 only nodes, by their client certificates"
	for name, test := range map[string]struct {
		token       string
		certificate []tls.Certificate
		want        string
	}{
		"a node":                       {"", []tls.Certificate{ca.sign(t, "system:node:b", "system:nodes")}, "200 serves b"},
		"nobody":                       {"", nil, no},
		"a user":                       {"", []tls.Certificate{ca.sign(t, "alice")}, no},
		"a user in the nodes' group":   {"", []tls.Certificate{ca.sign(t, "alice", "system:nodes")}, no},
		"a node's name, another group": {"", []tls.Certificate{ca.sign(t, "system:node:b", "dev")}, no},
		"another authority":            {"", []tls.Certificate{other.sign(t, "system:node:b", "system:nodes")}, no},
		"another authority, a token":   {"node", []tls.Certificate{other.sign(t, "system:node:b", "system:nodes")}, no},
		"a node by a token":            {"node", nil, no},
		"an administrator":             {"admin", nil, no},
	} {
		assert.Deep(t, name, test.want, get(t, ca.client(t, test.certificate...), s, "/lifepod/groups/n1/join", test.token))
	}
	assert.Empty(t, api.questions(), "the API server is asked")
}

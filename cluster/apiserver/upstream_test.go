package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"

	"github.com/lifepod/lifepod/cluster/apiserver/defaults"
	"github.com/lifepod/lifepod/cluster/etcd"
	"github.com/lifepod/lifepod/cluster/pki"
	"github.com/lifepod/lifepod/cluster/state"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// startEtcd is where the servers of a test have their objects.
func startEtcd(t *testing.T) state.Place {
	t.Helper()
	dir, err := os.MkdirTemp("", "lpa") // its sockets' names are short
	assert.Must(t, err)
	store := assert.Get(etcd.Start(t.Context(), etcd.Config{Dir: filepath.Join(dir, "etcd"), RunDir: dir, Log: slog.New(slog.DiscardHandler)})).Must(t)
	t.Cleanup(func() {
		store.Close()
		assert.NoError(t, os.RemoveAll(dir))
	})
	assert.Must(t, store.AwaitReady(t.Context()))
	return state.Place{Endpoints: []string{store.Endpoint()}}
}

// testConfig is that of a server with objects of its own.
func testConfig(t *testing.T, place state.Place, prefix string) Config {
	t.Helper()
	address := net.IPv4(127, 0, 0, 1)
	keys := assert.Get(pki.Open(pki.Config{Dir: t.TempDir(), Addresses: []net.IP{address}})).Must(t)
	port := assert.Get(machine.FreePort()).Must(t)
	place.Prefix = prefix
	return Config{Keys: keys, Etcd: place, Listen: address, Port: port, Advertise: net.IPv4(192, 0, 2, 1), ServiceRange: "10.99.0.0/16"}
}

// upstream is a server as kube-apiserver makes it.
func upstream(ctx context.Context, c Config) (*Server, error) {
	completed, err := c.options().Complete(ctx)
	if err != nil {
		return nil, err
	}
	config, err := app.NewConfig(completed)
	if err != nil {
		return nil, err
	}
	s := &Server{loopback: config.KubeAPIs.ControlPlane.Generic.LoopbackClientConfig}
	whole, err := config.Complete()
	if err != nil {
		return nil, err
	}
	chain, err := app.CreateServerChain(whole)
	if err != nil {
		return nil, err
	}
	chain.GenericAPIServer.ShutdownTimeout = endConnections
	s.prepared, err = chain.PrepareRun()
	return s, err
}

// serving is a server that serves until the end of the test.
type serving struct{ kubernetes.Interface }

// serve returns when it is ready.
func serve(t *testing.T, c Config, create func(context.Context, Config) (*Server, error)) serving {
	t.Helper()
	s := begin(t, c, create)
	s.await(t, "ready", func() error { _, err := s.ask(t, "/readyz", ""); return err })
	return s
}

func begin(t *testing.T, c Config, create func(context.Context, Config) (*Server, error)) serving {
	t.Helper()
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	server, err := create(ctx, c)
	if err != nil {
		end()
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() {
		end()
		assert.NoError(t, <-ended)
	})
	client := assert.Get(kubernetes.NewForConfig(server.Loopback())).Must(t)
	return serving{client}
}

func (s serving) await(t *testing.T, what string, works func() error) {
	t.Helper()
	for patience := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		err := works()
		if err == nil {
			return
		}
		assert.Require(t, !time.Now().After(patience), "%s: %v", what, err)
	}
}

func (s serving) ask(t *testing.T, path, accept string) (string, error) {
	t.Helper()
	answer, err := s.Discovery().RESTClient().Get().RequestURI(path).SetHeader("Accept", accept).DoRaw(t.Context())
	return string(answer), err
}

// said is a page that both servers have to have alike.
func (s serving) said(t *testing.T, path, accept string) string {
	t.Helper()
	answer, err := s.ask(t, path, accept)
	assert.Require(t, err == nil, "%s: %v", path, err)
	return answer
}

const definition = `{
	"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "lamps.test.lifepod.dev"},
	"spec": {"group": "test.lifepod.dev", "scope": "Namespaced", "names": {"plural": "lamps", "singular": "lamp", "kind": "Lamp"},
		"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
			"properties": {"spec": {"type": "object", "properties": {"bright": {"type": "boolean", "description": "whether it is on"}}}}}}}]}
}`

// define returns when both descriptions of the APIs have a new resource.
func (s serving) define(t *testing.T) {
	t.Helper()
	assert.Must(t, s.Discovery().RESTClient().Post().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").
		SetHeader("Content-Type", "application/json").Body([]byte(definition)).Do(t.Context()).Error())
	for path, has := range map[string]string{"/openapi/v2": "dev.lifepod.test.v1.Lamp", "/openapi/v3": "apis/test.lifepod.dev/v1"} {
		s.await(t, path, func() error {
			answer, err := s.ask(t, path, "application/json")
			if err == nil && !strings.Contains(answer, has) {
				err = fmt.Errorf("it has no %s", has)
			}
			return err
		})
	}
}

// defaults are the objects that every cluster has.
func (s serving) defaults(t *testing.T) map[string]any {
	t.Helper()
	all, rbac := metav1.ListOptions{}, s.RbacV1()
	found := map[string]any{}
	var err error
	note := func(kind string, list any, e error) {
		found[kind] = list
		err = errors.Join(err, e)
	}
	roles, e := rbac.ClusterRoles().List(t.Context(), all)
	note("ClusterRoles", roles.Items, e)
	bindings, e := rbac.ClusterRoleBindings().List(t.Context(), all)
	note("ClusterRoleBindings", bindings.Items, e)
	own, e := rbac.Roles("").List(t.Context(), all)
	note("Roles", own.Items, e)
	ownBindings, e := rbac.RoleBindings("").List(t.Context(), all)
	note("RoleBindings", ownBindings.Items, e)
	classes, e := s.SchedulingV1().PriorityClasses().List(t.Context(), all)
	note("PriorityClasses", classes.Items, e)
	assert.Must(t, err)
	return found
}

// passing are fields of objects that no two servers have alike.
var passing = cmp.Options{
	cmpopts.IgnoreFields(metav1.ObjectMeta{}, "UID", "ResourceVersion", "CreationTimestamp"),
	cmpopts.IgnoreFields(metav1.ManagedFieldsEntry{}, "Time"),
}

// TestAsUpstream: what the server makes earlier or later than upstream's is the same in
// the end, and its readiness waits for the same.
func TestAsUpstream(t *testing.T) {
	place := startEtcd(t)
	ours, theirs := serve(t, testConfig(t, place, "/ours"), New), serve(t, testConfig(t, place, "/theirs"), upstream)
	want, got := theirs.defaults(t), ours.defaults(t)
	for kind, items := range want {
		assert.True(t, fmt.Sprint(items) != "[]", "upstream's server makes no %s: nothing is compared", kind)
	}
	assert.Deep(t, "default objects, -upstream +ours", want, got, passing)
	checks := func(s serving) []string {
		lines := strings.Split(s.said(t, "/readyz?verbose", ""), "\n")
		slices.Sort(lines)
		return lines
	}
	assert.Deep(t, "checks of readiness, -upstream +ours", checks(theirs), checks(ours))
	assert.Deep(t, "paths, -upstream +ours", theirs.said(t, "/", ""), ours.said(t, "/", ""))
	ours.define(t)
	theirs.define(t)
	for _, accept := range []string{"application/json", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"} {
		ours, theirs := ours.said(t, "/openapi/v2", accept), theirs.said(t, "/openapi/v2", accept)
		assert.True(t, len(theirs) >= 1<<20 && ours == theirs,
			"/openapi/v2 as %s: %d bytes that differ from upstream's, which are %d", accept, len(ours), len(theirs))
	}
	compareV3(t, ours, theirs)
}

// compareV3 holds the descriptions of all groups and versions against upstream's. Their hashes are
// not upstream's, but as good: the same for the same, and whoever has another one gets the right one.
func compareV3(t *testing.T, ours, theirs serving) {
	t.Helper()
	want, got := theirs.listV3(t), ours.listV3(t)
	diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
	assert.True(t, diff == "" && len(want) >= 20, "/openapi/v3 has %d, -upstream +ours:\n%s", len(want), diff)
	for path, at := range got {
		for _, accept := range []string{"application/json", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"} {
			ours, theirs := ours.said(t, at.ServerRelativeURL, accept), theirs.said(t, want[path].ServerRelativeURL, accept)
			assert.True(t, ours == theirs,
				"%s as %s: %d bytes that differ from upstream's, which are %d: %.1000s", path, accept, len(ours), len(theirs), cmp.Diff(theirs, ours))
		}
	}
	const path = "/openapi/v3/apis/apps/v1"
	right, plain := ours.said(t, path+"?hash=1", "application/json"), ours.said(t, path, "application/json")
	assert.True(t, right == plain, "with another hash: %d bytes, without one %d", len(right), len(plain))
}

func (s serving) listV3(t *testing.T) map[string]handler3.OpenAPIV3DiscoveryGroupVersion {
	t.Helper()
	var list handler3.OpenAPIV3Discovery
	assert.Must(t, json.Unmarshal([]byte(s.said(t, "/openapi/v3", "")), &list))
	return list.Paths
}

// TestHooksOff: the hook of an API that is off would never succeed, and there is
// none. (With this one off no server gets ready, upstream's neither.)
func TestHooksOff(t *testing.T) {
	c := testConfig(t, startEtcd(t), "/registry")
	c.RuntimeConfig = map[string]string{"scheduling.k8s.io/v1": "false"}
	s := begin(t, c, New)
	s.await(t, "the other hooks", func() error { // all of them: one that is cut off by the end of the test would end its process
		checks, _ := s.ask(t, "/readyz?verbose", "")
		assert.Require(t, !strings.Contains(checks, defaults.Checks()[1]), "checks of readiness:\n%s", checks)
		if !strings.Contains(checks, "[+]"+defaults.Checks()[0]) || strings.Contains(checks, "[-]poststarthook/") {
			return errors.New(checks)
		}
		return nil
	})
}

// TestRolesAreReconciled: roles and bindings that users have changed get what they lack,
// and keep what they have; those that they protect stay.
func TestRolesAreReconciled(t *testing.T) {
	place := startEtcd(t)
	s := serve(t, testConfig(t, place, "/registry"), New)
	roles := s.RbacV1().ClusterRoles()
	change := func(name string, change func(*rbacv1.ClusterRole)) {
		role := assert.Get(roles.Get(t.Context(), name, metav1.GetOptions{})).Must(t)
		change(role)
		assert.Must(t, assert.ErrorOf(roles.Update(t.Context(), role, metav1.UpdateOptions{})))
	}
	extra := rbacv1.PolicyRule{APIGroups: []string{"test.lifepod.dev"}, Resources: []string{"lamps"}, Verbs: []string{"get"}}
	change("system:discovery", func(role *rbacv1.ClusterRole) { role.Rules = []rbacv1.PolicyRule{extra} })
	change("system:basic-user", func(role *rbacv1.ClusterRole) {
		role.Rules = nil
		role.Annotations = map[string]string{rbacv1.AutoUpdateAnnotationKey: "false"}
	})
	assert.Must(t, s.RbacV1().ClusterRoleBindings().Delete(t.Context(), "cluster-admin", metav1.DeleteOptions{}))
	serve(t, testConfig(t, place, "/registry"), New) // another server, of the same cluster
	role, err := roles.Get(t.Context(), "system:discovery", metav1.GetOptions{})
	assert.True(t, err == nil && len(role.Rules) >= 2 && slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return cmp.Equal(r, extra) }),
		"a role that lacked its rules: %v, %v", role.Rules, err)
	role, err = roles.Get(t.Context(), "system:basic-user", metav1.GetOptions{})
	assert.True(t, err == nil && len(role.Rules) == 0, "a role that is protected: %v, %v", role.Rules, err)
	assert.NoError(t, assert.ErrorOf(s.RbacV1().ClusterRoleBindings().Get(t.Context(), "cluster-admin", metav1.GetOptions{})), "a binding that was deleted")
}

package upgrade

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// mark is in the environment of this test's containers.
var mark = fmt.Sprintf("UPGRADE=%d-", os.Getpid())

// What a cluster has; pods are restarted once.
const (
	container = `{
    name: c, image: "lifepod.dev/toolbox:1", resources: {limits: {memory: 32Mi}}, env: [{name: UPGRADE, value: "MARK-NAME"}],
    command: [sh, -c, "[ -e /data/begun ] || { touch /data/begun; exit 1; }; echo runs; touch /data/again; exec sleep --on-term 0 1h"],
    readinessProbe: {periodSeconds: 1, exec: {command: [sh, -c, "[ -e /data/again ]"]}},
    volumeMounts: [{name: data, mountPath: /data}]}`
	podOf = `
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  nodeName: NODE
  terminationGracePeriodSeconds: 1
  tolerations: [{operator: Exists}]
  containers: [` + container + `]
  volumes: [{name: data, emptyDir: {}}]
---`
	workloads = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: &template
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {kubernetes.io/hostname: n1}
      containers: [` + container + `]
      volumes: [{name: data, emptyDir: {}}]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  updateStrategy: {type: OnDelete} # the other one has fields with other defaults in other versions
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {kubernetes.io/hostname: n1}
      containers: [` + container + `]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.upgrade.example}
spec:
  group: upgrade.example
  names: {plural: widgets, kind: Widget}
  scope: Namespaced
  versions:
  - &version {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {
      type: object, properties: {size: {type: integer}}}}}}}
  - {<<: *version, name: v1, storage: true}
`
	widget = `
apiVersion: upgrade.example/v1beta1
kind: Widget
metadata: {name: NAME}
spec: {size: 3}
`
)

func named(text, name, node string) string {
	return strings.NewReplacer("NAME", name, "NODE", node, "MARK-", strings.TrimPrefix(mark, "UPGRADE=")).Replace(text)
}

func pod(name, node string) string { return named(podOf, name, node) }

type cluster struct {
	*instance.Instance
	t      *testing.T
	ctx    context.Context
	client kubernetes.Interface
}

// start starts one, which ends with the test.
func start(ctx context.Context, t *testing.T, config instance.Config) *cluster {
	t.Helper()
	port := assert.Get(machine.FreePort()).Must(t)
	config.Args = []string{"--listen", fmt.Sprintf("0.0.0.0:%d", port)}
	i := assert.Get(instance.Start(ctx, config)).Must(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(i.Log())
		}
		assert.NoError(t, i.Close(context.WithoutCancel(ctx)))
	})
	c := &cluster{Instance: i, t: t, ctx: ctx}
	c.client = assert.Get(i.Client()).Must(t)
	return c
}

// file writes one that goes with the test.
func (c *cluster) file(name, text string) string {
	c.t.Helper()
	file := filepath.Join(c.t.TempDir(), name)
	assert.Must(c.t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func (c *cluster) kubectl(args ...string) string {
	c.t.Helper()
	out := assert.Get(c.Kubectl(c.ctx, "", args...)).Must(c.t)
	return strings.TrimSpace(out)
}

func (c *cluster) apply(manifest string) {
	c.t.Helper()
	assert.Must(c.t, assert.ErrorOf(c.Kubectl(c.ctx, manifest, "apply", "-f", "-")))
}

// awaitNode waits until a node is ready and of that version.
func (c *cluster) awaitNode(name, version string) {
	c.t.Helper()
	c.kubectl("wait", "node/"+name, "--for=create", "--timeout=60s")
	c.kubectl("wait", "node/"+name, "--for=jsonpath={.status.nodeInfo.kubeletVersion}="+version, "--timeout=60s")
	c.kubectl("wait", "node/"+name, "--for=condition=Ready", "--timeout=60s")
}

// make makes what the cluster is to have on its three nodes, and waits until it is.
func (c *cluster) make() {
	c.t.Helper()
	version := c.kubectl("get", "node", instance.Node, "-o", "jsonpath={.status.nodeInfo.kubeletVersion}")
	c.awaitNode("n2", version)
	c.awaitNode("n3", version)
	c.apply(pod("on-n1", "n1") + pod("on-n2", "n2") + pod("on-n3", "n3") + named(workloads, "worker", ""))
	c.kubectl("wait", "crd/widgets.upgrade.example", "--for=condition=Established", "--timeout=60s")
	c.apply(named(widget, "first", ""))
	c.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
	c.kubectl("wait", "pod/db-0", "--for=create", "--timeout=60s")
	c.kubectl("wait", "pods", "--all", "--for=condition=Ready", "--timeout=60s")
	for name, life := range c.lives() {
		assert.True(c.t, !strings.HasSuffix(life, " 0 restarts"), "pod %s: %s, want one", name, life)
	}
}

// works: what controllers, scheduler, node and API server do, they do.
func (c *cluster) works() {
	c.t.Helper()
	assert.Equal(c.t, "upgrade.example/v1 3", c.kubectl("get", "widget", "first", "-o", "jsonpath={.apiVersion} {.spec.size}"), "the custom object has")
	assert.Equal(c.t, `["v1"]`, c.kubectl("get", "crd", "widgets.upgrade.example", "-o", "jsonpath={.status.storedVersions}"), "custom objects are stored as")
	c.apply(named(widget, "second", ""))
	c.kubectl("scale", "deployment/web", "--replicas=3")
	c.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
}

// lives are the containers of the pods: their identities, restarts and processes.
func (c *cluster) lives() map[string]string {
	c.t.Helper()
	pods := assert.Get(c.client.CoreV1().Pods("default").List(c.ctx, metav1.ListOptions{})).Must(c.t)
	lives := map[string]string{}
	for _, p := range pods.Items {
		for _, s := range p.Status.ContainerStatuses {
			lives[p.Name] = fmt.Sprintf("%s %s %d restarts", p.UID, s.ContainerID, s.RestartCount)
		}
	}
	for _, pid := range machine.AllProcesses() {
		environment, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // it may have ended
		command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.Contains(string(environment), mark) && strings.Contains(string(command), "--on-term") { // no probe
			lives[fmt.Sprintf("process %d", pid)] = "runs"
		}
	}
	return lives
}

// objects are the UIDs of a cluster's objects by their kinds and names, with their contents if they are this test's.
type objects map[string]string

// passing are objects that come and go by themselves, or with the versions that are served.
var passing = []string{"events", "leases", "certificatesigningrequests", "csistoragecapacities", "endpointslices", "apiservices"}

func (c *cluster) objects() objects {
	c.t.Helper()
	config := assert.Get(c.RESTConfig()).Must(c.t)
	config.WarningHandler = rest.NoWarnings{}
	client := assert.Get(dynamic.NewForConfig(config)).Must(c.t)
	all, seen := objects{}, map[schema.GroupResource]bool{}
	c.resources(func(of schema.GroupVersion, r metav1.APIResource) {
		resource := of.WithResource(r.Name).GroupResource()
		if !slices.Contains(r.Verbs, "list") || slices.Contains(passing, r.Name) || seen[resource] {
			return
		}
		seen[resource] = true // in the preferred version, which comes first
		list := assert.Get(client.Resource(of.WithResource(r.Name)).List(c.ctx, metav1.ListOptions{})).Must(c.t)
		for _, o := range list.Items {
			text := string(o.GetUID())
			if o.GetNamespace() == "default" || strings.HasSuffix(o.GetName(), ".upgrade.example") {
				o.SetManagedFields(nil)
				o.SetResourceVersion("")
				delete(o.Object, "status")
				content := assert.Get(json.Marshal(o.Object)).Must(c.t)
				text = string(content)
			}
			all[fmt.Sprintf("%s %s/%s", resource, o.GetNamespace(), o.GetName())] = text
		}
	})
	return all
}

// same: what was there is.
func (c *cluster) same(was objects) {
	c.t.Helper()
	is := c.objects()
	for key, text := range was {
		assert.Deep(c.t, fmt.Sprintf("%s (-before +after)", key), text, is[key])
	}
}

// resources calls each with all that the API server serves.
func (c *cluster) resources(each func(schema.GroupVersion, metav1.APIResource)) {
	c.t.Helper()
	_, lists, err := c.client.Discovery().WithLegacy().ServerGroupsAndResources() // only this one tells how they are stored
	assert.Must(c.t, err)
	for _, list := range lists {
		of := assert.Get(schema.ParseGroupVersion(list.GroupVersion)).Must(c.t)
		for _, r := range list.APIResources {
			each(of, r)
		}
	}
}

// storage says by hashes of group, version and kind in which version each resource is stored, and which are served.
type storage struct {
	as     map[schema.GroupResource]string
	served map[string]bool
}

func (c *cluster) stored() storage {
	c.t.Helper()
	s := storage{as: map[schema.GroupResource]string{}, served: map[string]bool{}}
	c.resources(func(of schema.GroupVersion, r metav1.APIResource) {
		if r.StorageVersionHash != "" {
			s.as[of.WithResource(r.Name).GroupResource()] = r.StorageVersionHash
			s.served[discovery.StorageVersionHash(of.Group, of.Version, r.Kind)] = true
		}
	})
	return s
}

// storesAlike: what is written is in versions that the server of before reads, too: another server of the same etcd may be one
// still.
func (c *cluster) storesAlike(was storage) {
	c.t.Helper()
	is := c.stored()
	assert.True(c.t, len(was.as) != 0, "the API server does not say how resources are stored")
	for resource, hash := range was.as {
		assert.True(c.t, is.as[resource] == hash || was.served[is.as[resource]], "%s is stored in a version that was not served before", resource)
	}
}

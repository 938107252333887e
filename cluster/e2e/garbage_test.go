package e2e

import (
	"fmt"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
)

// configMap makes one that belongs to owners.
func (s space) configMap(name string, finalizers []string, owners ...*core.ConfigMap) *core.ConfigMap {
	s.t.Helper()
	object := &core.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: name, Finalizers: finalizers}}
	blocks := true
	for _, o := range owners {
		object.OwnerReferences = append(object.OwnerReferences, meta.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: o.Name, UID: o.UID, BlockOwnerDeletion: &blocks})
	}
	made := assert.Get(client.CoreV1().ConfigMaps(s.name).Create(s.t.Context(), object, meta.CreateOptions{})).Must(s.t)
	return made
}

// held is a finalizer of these tests.
const held = "lifepod.dev/held"

// release takes the finalizer off.
func (s space) release(configMap string) {
	s.t.Helper()
	assert.Must(s.t, assert.ErrorOf(client.CoreV1().ConfigMaps(s.name).Patch(s.t.Context(), configMap, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), meta.PatchOptions{})))
}

// What belongs to what was deleted goes after it, before it, or stays as nobody's; what
// belongs to somebody who never was goes, too.
func TestGarbageCollection(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	for _, cascade := range []string{"background", "foreground", "orphan"} {
		owner := s.configMap(cascade, nil)
		s.configMap(cascade+"-below", []string{held}, owner)
		s.kubectl("delete", "configmap", cascade, "--cascade="+cascade, "--wait=false")
	}
	await(s, "configmaps", "metadata.name=foreground", "wait for what belongs to it", func(c *core.ConfigMap) bool {
		return c.DeletionTimestamp != nil && fmt.Sprint(c.Finalizers) == "[foregroundDeletion]"
	})
	for _, cascade := range []string{"background", "foreground"} {
		await(s, "configmaps", "metadata.name="+cascade+"-below", "be deleted", func(c *core.ConfigMap) bool { return c.DeletionTimestamp != nil })
	}
	for _, name := range []string{"configmap/background", "configmap/orphan"} {
		s.wait(name, "delete")
	}
	s.release("background-below")
	s.release("foreground-below")
	for _, name := range []string{"configmap/background-below", "configmap/foreground-below", "configmap/foreground"} {
		s.wait(name, "delete")
	}
	await(s, "configmaps", "metadata.name=orphan-below", "belong to nobody", func(c *core.ConfigMap) bool {
		return c.DeletionTimestamp == nil && len(c.OwnerReferences) == 0
	})
	s.release("orphan-below")
	s.configMap("astray", nil, &core.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: "nobody", UID: "0d9c1f2e-0000-4000-8000-000000000000"}})
	s.wait("configmap/astray", "delete")
}

// A namespace goes with all that is in it, and says what it waits for.
func TestNamespaceDeletion(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	inner := s
	inner.name = s.name + "-gone"
	s.kubectl("create", "namespace", inner.name)
	await(inner, "serviceaccounts", "metadata.name=default", "be there", func(*core.ServiceAccount) bool { return true })
	inner.configMap("stays", []string{held})
	inner.create(podOf("runs", podSpec("exec sleep --on-term 0 1h")))
	inner.pod("runs", "run", isReady)
	s.kubectl("delete", "namespace", inner.name, "--wait=false")
	s.wait("namespace/"+inner.name, "condition=NamespaceFinalizersRemaining")
	why := s.kubectl("get", "namespace", inner.name, "-o", `jsonpath={.status.conditions[?(@.type=="NamespaceFinalizersRemaining")].message}`)
	assert.True(t, strings.Contains(why, held+" in 1 resource instances"), "the namespace waits: %s", why)
	why = inner.refused(podOf("late", podSpec("exit 0")))
	assert.True(t, strings.Contains(why, "because it is being terminated"), "a pod in it is refused because %s", why)
	inner.release("stays")
	s.wait("namespace/"+inner.name, "delete")
}

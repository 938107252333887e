package objects

import (
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// read is the value of key a of a ConfigMap, or the error's text.
func read(w *world, name string) string {
	c, err := w.ConfigMap("ns", name)
	if err != nil {
		return err.Error()
	}
	return c.Data["a"]
}

func (w *world) update(t *testing.T, c *v1.ConfigMap) {
	t.Helper()
	synctest.Wait() // the fake has no resource versions: what comes between list and watch is lost
	assert.Must(t, assert.ErrorOf(w.client.CoreV1().ConfigMaps("ns").Update(t.Context(), c, metav1.UpdateOptions{})))
	synctest.Wait()
}

func (w *world) create(t *testing.T, c *v1.ConfigMap) {
	t.Helper()
	synctest.Wait() // the fake has no resource versions: what comes between list and watch is lost
	assert.Must(t, assert.ErrorOf(w.client.CoreV1().ConfigMaps("ns").Create(t.Context(), c, metav1.CreateOptions{})))
	synctest.Wait()
}

// TestChangesAreReported: A-VOL-5, each pod that uses an object hears of its changes at once.
func TestChangesAreReported(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Register(newPod("p1", inConfigMap("conf"), inSecret("cred")))
		w.Register(newPod("p2", inConfigMap("conf")))
		w.Register(newPod("p3", inConfigMap("other")))
		assert.Equal(t, "1", read(w, "conf"), "conf")
		c, _ := w.ConfigMap("ns", "conf")
		assert.True(t, c.ManagedFields == nil, "managedFields are kept")
		s, err := w.Secret("ns", "cred")
		assert.True(t, err == nil && string(s.Data["k"]) == "s", "cred = %v, %v", s, err)
		synctest.Wait()
		begun, _ := w.opened()
		assert.True(t, begun == 3, "%d watches for three objects", begun)
		w.update(t, newConfigMap("conf", "a", "2"))
		assert.Deep(t, "told", []string{"p1: ConfigMap conf changed", "p2: ConfigMap conf changed"}, w.hears())
		assert.Equal(t, "2", read(w, "conf"), "conf")
		labelled := newConfigMap("conf", "a", "2")
		labelled.Labels = map[string]string{"x": "y"}
		w.update(t, labelled)
		changes := w.hears()
		assert.True(t, changes == nil, "a label is nothing that containers see, but told %q", changes)
	}, newConfigMap("conf", "a", "1"), newConfigMap("other", "a", "x"), newSecret("cred", "k", "s"))
}

// TestMissing: a pod that waits for a missing object hears when it is there.
func TestMissing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Register(withVariable("p1", "conf"))
		_, err := w.ConfigMap("ns", "conf")
		assert.True(t, apierrors.IsNotFound(err) && err.Error() == `configmap "conf" not found`, "A-ENV-5 error = %v", err)
		w.create(t, newConfigMap("conf", "a", "1"))
		assert.Deep(t, "told", []string{"p1: ConfigMap conf is there"}, w.hears())
		assert.Equal(t, "1", read(w, "conf"), "conf")
		assert.Must(t, w.client.CoreV1().ConfigMaps("ns").Delete(t.Context(), "conf", metav1.DeleteOptions{}))
		synctest.Wait()
		assert.Deep(t, "told", []string{"p1: ConfigMap conf was deleted"}, w.hears())
		assert.Equal(t, `object "ns"/"none" not registered`, read(w, "none"), "of an object that no pod names")
	})
}

// TestAway: while the API server is away, what was known is given out; what was
// not is an error, and the pod hears when it is over.
func TestAway(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Register(newPod("p1", inConfigMap("conf")))
		assert.Equal(t, "1", read(w, "conf"), "conf")
		w.setAway(true)
		w.Register(newPod("p2", inConfigMap("late")))
		began := time.Now()
		want := "failed to sync configmap cache: connection refused"
		assert.Equal(t, want, read(w, "late"), "late")
		assert.Equal(t, firstAnswerWithin, time.Since(began), "waited")
		time.Sleep(5 * time.Hour)
		began = time.Now()
		got := read(w, "late")
		assert.True(t, got == want && time.Since(began) == 0, "asked again: %q after %v, want %q at once", got, time.Since(began), want)
		assert.Equal(t, "1", read(w, "conf"), "conf")
		w.setAway(false)
		time.Sleep(time.Minute + time.Second) // the longest pause between two attempts, with its jitter
		assert.Deep(t, "told", []string{"p2: ConfigMap late is there"}, w.hears())
		assert.Equal(t, "2", read(w, "late"), "late")
	}, newConfigMap("conf", "a", "1"), newConfigMap("late", "a", "2"))
}

// TestWatchesEnd: with the last pod that uses the object, with an immutable one,
// and when only variables use it and nobody has asked for five minutes.
func TestWatchesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fixed := newConfigMap("fixed", "a", "f")
		fixed.Immutable = new(true)
		w := newWorld(t, newConfigMap("conf", "a", "1"), newConfigMap("vars", "a", "v"), fixed)
		w.Register(newPod("p1", inConfigMap("conf")))
		w.Register(newPod("p2", inConfigMap("conf"), inConfigMap("fixed")))
		w.Register(withVariable("p3", "vars"))
		assert.True(t, read(w, "conf") == "1" && read(w, "fixed") == "f" && read(w, "vars") == "v", "not all can be read")
		synctest.Wait()
		_, open := w.opened()
		assert.True(t, open == 2, "%d open watches, want 2: none for the immutable one", open)
		time.Sleep(idleAfter + time.Second)
		_, open = w.opened()
		assert.True(t, open == 1, "%d open watches after %v, want 1: none for variables", open, idleAfter)
		w.update(t, newConfigMap("vars", "a", "v2"))
		assert.Equal(t, "v2", read(w, "vars"), "asked after the end of the watch")
		assert.Equal(t, "f", read(w, "fixed"), "fixed")
		w.Unregister("p3")
		w.Unregister("p1")
		synctest.Wait()
		_, open = w.opened()
		assert.True(t, open == 1, "%d open watches, want 1 as p2 still uses conf", open)
		w.Unregister("p2")
		synctest.Wait()
		_, open = w.opened()
		assert.True(t, open == 0 && len(w.entries()) == 0, "%d open watches and %d objects kept, want none", open, len(w.entries()))
	})
}

func (w *world) entries() map[objectName]*entry { return w.Objects.watches.entries }

// TestIdleAndAway: a container that starts again while the API server is away gets
// the variables that were known.
func TestIdleAndAway(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Register(withVariable("p1", "vars"))
		assert.Equal(t, "v", read(w, "vars"), "vars")
		time.Sleep(idleAfter + time.Second)
		w.setAway(true)
		assert.Equal(t, "v", read(w, "vars"), "vars")
	}, newConfigMap("vars", "a", "v"))
}

// TestRegisterAgain: a debug container brings references, and a pod that changed loses some.
func TestRegisterAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Register(newPod("p1", inConfigMap("conf")))
		w.Register(newPod("p1", inConfigMap("debug")))
		assert.Equal(t, "2", read(w, "debug"), "debug")
		assert.Equal(t, `object "ns"/"conf" not registered`, read(w, "conf"), "conf")
	}, newConfigMap("conf", "a", "1"), newConfigMap("debug", "a", "2"))
}

func TestReferences(t *testing.T) {
	named := func(name string) v1.LocalObjectReference { return v1.LocalObjectReference{Name: name} }
	pod := newPod("p1", inConfigMap("both"), v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{
		{ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: named("kube-root-ca.crt")}}, {Secret: &v1.SecretProjection{LocalObjectReference: named("projected")}},
	}}})
	pod.Spec.ImagePullSecrets = []v1.LocalObjectReference{named("pull"), named("")}
	pod.Spec.InitContainers = []v1.Container{{EnvFrom: []v1.EnvFromSource{{ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: named("both")}}, {SecretRef: &v1.SecretEnvSource{LocalObjectReference: named("from")}}}}}
	pod.Spec.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{Env: []v1.EnvVar{
		{Name: "X", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{LocalObjectReference: named("key")}}}, {Name: "Y", Value: "1"},
	}}}}
	got := map[string]bool{}
	for r, inVolume := range references(pod) {
		got[r.kind.name+" "+r.namespace+"/"+r.name] = inVolume
	}
	want := map[string]bool{
		"ConfigMap ns/both": true, "ConfigMap ns/kube-root-ca.crt": true, "Secret ns/projected": true,
		"Secret ns/pull": false, "Secret ns/from": false, "Secret ns/key": false,
	}
	assert.Deep(t, "", want, got)
}

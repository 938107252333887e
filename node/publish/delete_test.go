package publish

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestDelete: the last status, then the final delete with the UID (A-STAT-10,
// B-FIN-6, B-DEL-9), tried until it is done; then nothing of the pod is kept.
func TestDelete(t *testing.T) {
	for name, c := range map[string]struct {
		faults []fault
		want   string
	}{
		"well":             {nil, "PATCH DELETE"},
		"patch lost":       {[]fault{{verb: "PATCH", times: 1, lose: true}}, "PATCH GET DELETE"},
		"delete lost":      {[]fault{{verb: "DELETE", times: 1, lose: true}}, "PATCH DELETE GET"},
		"delete refused":   {[]fault{{verb: "DELETE", times: 1, err: apierrors.NewForbidden(podResource, "web", errors.New("not yet"))}}, "PATCH DELETE GET DELETE"},
		"delete conflicts": {[]fault{{verb: "DELETE", times: 1, err: apierrors.NewConflict(podResource, "web", errors.New("changed"))}}, "PATCH DELETE GET DELETE"},
		"gone already":     {[]fault{{verb: "PATCH", times: 1, err: apierrors.NewNotFound(podResource, "web")}}, "PATCH"},
	} {
		named(t, name, WriterConfig{}, func(t *testing.T, s *setup) {
			web := s.pod("web", deleted)
			s.api.fail(c.faults...)
			s.Delete(web, phased(v1.PodFailed, "end"))
			after(5 * time.Second)
			assert.Equal(t, c.want, strings.ReplaceAll(strings.Join(s.api.requests, " "), " web", ""), "requests")
			assert.True(t, len(s.entries) == 0, "%d pods are remembered", len(s.entries))
			assert.True(t, name == "gone already" || s.api.get("web") == nil, "the object is still there")
		})
	}
}

// TestDeleteInOrder: a delete does not overtake statuses that wait to be seen, nor
// replace them.
func TestDeleteInOrder(t *testing.T) {
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		var result seen
		web := s.pod("web", deleted)
		s.api.fail(fault{times: 1, delay: time.Second})
		s.set(web, running("1"), nil)
		s.Set(web, running("2"), result.by("2"))
		s.Delete(web, phased(v1.PodSucceeded, "end"))
		after(time.Second)
		assert.Deep(t, "written", []string{"1", "2", "end"}, s.messages("web"))
		assert.Deep(t, "told", []string{"2: <nil>"}, result.all())
	})
}

// TestDeleteWaits: a pod that has ended by itself stays until somebody deletes it
// (B-DEL-10, B-WRK-24); with finalizers the node deletes it once (B-DEL-7, B-DEL-11).
func TestDeleteWaits(t *testing.T) {
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		web := s.pod("web", func(p *v1.Pod) { p.Finalizers = []string{"example.com/keep"} })
		s.Delete(web, phased(v1.PodSucceeded, "end"))
		after(time.Hour)
		assert.True(t, s.api.count("DELETE") == 0, "a pod was deleted that nobody wanted to be deleted")
		s.change("web", deleted)
		synctest.Wait()
		n := s.api.count("DELETE")
		assert.True(t, n == 1, "%d deletes", n)
		s.change("web", func(p *v1.Pod) { p.Labels = map[string]string{"a": "b"} })
		after(time.Hour)
		assert.Equal(t, 1, s.api.count("DELETE"), "deletes")
		s.Gone(s.api.get("web"))
		assert.True(t, len(s.entries)+len(s.objects) == 0, "something is remembered: %v %v", s.entries, s.objects)
	})
}

// TestStaticPod: a static pod's status goes to its mirror pod, to each new one,
// and the mirror is not the Writer's to delete (B-STA-5).
func TestStaticPod(t *testing.T) {
	mirror := func(uid string) func(p *v1.Pod) {
		return func(p *v1.Pod) {
			p.UID = types.UID("mirror-" + uid)
			p.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "static"}
		}
	}
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		ref := Ref{Namespace: "default", Name: "etcd-node-1", UID: "static", Static: "static"}
		s.Set(ref, running("up"), nil)
		after(time.Minute)
		n := s.api.count("")
		assert.True(t, n == 0, "requests before there is a mirror: %q", s.api.requests)
		s.pod("etcd-node-1", mirror("a"))
		synctest.Wait()
		assert.Equal(t, "up", s.api.get("etcd-node-1").Status.Message, "the mirror")
		s.Gone(s.api.get("etcd-node-1"))
		s.pod("etcd-node-1", mirror("b"))
		synctest.Wait()
		assert.Equal(t, "up", s.api.get("etcd-node-1").Status.Message, "the next mirror")
		s.change("etcd-node-1", deleted)
		s.Delete(ref, phased(v1.PodFailed, "end"))
		after(time.Minute)
		got := s.api.get("etcd-node-1")
		assert.True(t, got != nil && got.Status.Message == "end", "the mirror is %v", got)
		assert.True(t, len(s.entries) == 0, "it is remembered")
	})
}

// TestForget: nothing is kept, and nobody waits for ever.
func TestForget(t *testing.T) {
	bubble(t, WriterConfig{Patience: time.Hour}, func(t *testing.T, s *setup) {
		var result seen
		s.Set(Ref{Namespace: "default", Name: "orphan", UID: "1"}, running(""), result.by("orphan"))
		s.Forget("1")
		s.Forget("2")
		assert.Deep(t, "told", []string{"orphan: " + ErrGone.Error()}, result.all())
		assert.True(t, len(s.entries) == 0, "it is remembered")
	})
}

// TestForgedMirror: a pod with the annotation of a mirror pod is nobody else's object,
// whatever the annotation says: a pod of the API has its status written and is deleted,
// and a static pod waits for the mirror pod of its own name and hash (B-STA-3).
func TestForgedMirror(t *testing.T) {
	forged := func(uid types.UID, hash string) func(*v1.Pod) {
		return func(p *v1.Pod) {
			p.UID, p.Finalizers = uid, []string{"example.com/keep"}
			p.Annotations = map[string]string{v1.MirrorPodAnnotationKey: hash}
		}
	}
	for name, hash := range map[string]string{"of the UID": "uid-web", "of the static pod": "hash", "empty": ""} {
		named(t, name, WriterConfig{}, func(t *testing.T, s *setup) {
			etcd := Ref{Namespace: "default", Name: "etcd-node-1", UID: "static", Static: "hash"}
			s.Set(etcd, running("etcd"), nil)
			web := s.pod("web")
			s.Set(web, running("up"), nil)
			s.pod("attacker", forged("attacker", hash))
			s.Set(web, running("probe failed"), nil)
			after(time.Second)
			s.Gone(s.api.get("attacker"))
			s.pod("attacker", forged("attacker-2", hash))
			s.change("web", deleted)
			s.Delete(web, phased(v1.PodFailed, "end"))
			after(time.Second)
			assert.Empty(t, s.messages("attacker"), "the attacker's pod has the statuses")
			got, want := s.messages("web"), "end"
			assert.True(t, len(got) != 0 && got[len(got)-1] == want, "the pod's statuses are %q, want %q at last", got, want)
			assert.True(t, s.api.get("web") == nil, "the pod was not deleted")
			s.pod("etcd-node-1", forged("mirror", "hash"))
			after(time.Second)
			assert.Equal(t, "etcd", s.api.get("etcd-node-1").Status.Message, "the static pod's mirror")
		})
	}
}

// TestMirrorOfAnotherHash: an object of the static pod's name that stands for another
// manifest, or for no static pod, has not its status (B-STA-4).
func TestMirrorOfAnotherHash(t *testing.T) {
	for name, annotations := range map[string]map[string]string{
		"another hash": {v1.MirrorPodAnnotationKey: "before"}, "its UID": {v1.MirrorPodAnnotationKey: "static"}, "no mirror": nil,
	} {
		named(t, name, WriterConfig{}, func(t *testing.T, s *setup) {
			s.Set(Ref{Namespace: "default", Name: "etcd-node-1", UID: "static", Static: "hash"}, running("up"), nil)
			s.pod("etcd-node-1", func(p *v1.Pod) { p.UID, p.Annotations = "static", annotations })
			after(time.Minute)
			n := s.api.count("")
			assert.True(t, n <= 0, "requests: %q", s.api.requests)
		})
	}
}

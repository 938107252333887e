package publish

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
)

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
		t.Run(name, func(t *testing.T) {
			bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
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
		})
	}
}

// TestMirrorOfAnotherHash: an object of the static pod's name that stands for another
// manifest, or for no static pod, has not its status (B-STA-4).
func TestMirrorOfAnotherHash(t *testing.T) {
	for name, annotations := range map[string]map[string]string{
		"another hash": {v1.MirrorPodAnnotationKey: "before"}, "its UID": {v1.MirrorPodAnnotationKey: "static"}, "no mirror": nil,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
				s.Set(Ref{Namespace: "default", Name: "etcd-node-1", UID: "static", Static: "hash"}, running("up"), nil)
				s.pod("etcd-node-1", func(p *v1.Pod) { p.UID, p.Annotations = "static", annotations })
				after(time.Minute)
				n := s.api.count("")
				assert.True(t, n <= 0, "requests: %q", s.api.requests)
			})
		})
	}
}

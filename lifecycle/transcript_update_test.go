package lifecycle

import (
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/internal/assert"
)

// playUpdate carries out the verbs of pods that have a source:
//
//	update [delete=SECONDS [ago=SECONDS]]   the source has the pod as in the YAML; deleted with that grace
//	overtaken                  an object of generation 1 without labels comes
//	again-deleted              the same deletion comes once more, with another change of the object
//	evict reason=R message=M [disruption=D] [grace=N]
//	adopt [unshown]            another agent's pod: there is no checkpoint, only status, if that is shown anywhere, and runtime
//	resting                    whether the pod rests
func (tr *transcript) playUpdate(t *testing.T, d *datadriven.TestData) {
	switch d.Cmd {
	case "update":
		tr.update(t, d)
	case "overtaken":
		pod := tr.m.Pod().DeepCopy()
		pod.Labels, pod.Generation = nil, 1
		tr.feed(PodUpdated{Pod: pod})
	case "again-deleted":
		pod := tr.m.Pod().DeepCopy()
		pod.Generation, pod.DeletionTimestamp = pod.Generation+1, &tr.m.deletion
		tr.feed(PodUpdated{Pod: pod})
	case "evict":
		f := EvictionRequested{Reason: stringArg(d, "reason"), Message: stringArg(d, "message"), Disruption: stringArg(d, "disruption")}
		if d.HasArg("grace") {
			f.GraceSeconds = new(intArg(t, d, "grace"))
		}
		tr.feed(f)
	case "adopt":
		pod := tr.m.RequestedPod()
		if pod.Status = tr.m.Status(); d.HasArg("unshown") {
			pod.Status = v1.PodStatus{}
		}
		withAttempt(pod, tr.m)
		tr.adopts(pod, tr.runtime.snapshot(Result{}, tr.now))
	case "resting":
		tr.printf("%t\n", tr.m.Resting())
	case "fact", "adopt-seen":
		tr.playFact(t, d)
	default:
		t.Fatalf("%s: unknown verb %q", d.Pos, d.Cmd)
	}
}

// adopts has the next lifepod go on without a checkpoint.
func (tr *transcript) adopts(pod *v1.Pod, seen Observed) {
	tr.m, tr.accepted, tr.saved = Adopt(pod, tr.m.options, seen), pod, nil
	tr.pending, tr.wakeAt = nil, time.Time{}
}

func (tr *transcript) update(t *testing.T, d *datadriven.TestData) {
	pod := &v1.Pod{}
	assert.Must(t, yaml.UnmarshalStrict([]byte(d.Input), pod))
	if d.Input == "" {
		pod = tr.m.RequestedPod()
	}
	defaults(pod)
	pod.Generation = tr.m.pod.Generation + 1
	if d.HasArg("delete") {
		grace := intArg(t, d, "delete")
		pod.DeletionGracePeriodSeconds = &grace
		pod.DeletionTimestamp = &metav1.Time{Time: tr.now.Add(time.Duration(grace) * time.Second)}
		if d.HasArg("ago") {
			pod.DeletionTimestamp.Time = pod.DeletionTimestamp.Add(-time.Duration(intArg(t, d, "ago")) * time.Second)
		}
	}
	tr.feed(PodUpdated{Pod: pod})
}

// ephemeral adds an ephemeral container, given as YAML.
func (tr *transcript) ephemeral(t *testing.T, text string) {
	c := v1.EphemeralContainer{}
	assert.Must(t, yaml.UnmarshalStrict([]byte(text), &c))
	tr.feed(EphemeralContainerAdded{Container: withDefaults(c)})
}

func namedEphemeral(name, target string) v1.EphemeralContainer {
	return withDefaults(v1.EphemeralContainer{
		EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: name}, TargetContainerName: target,
	})
}

func withDefaults(c v1.EphemeralContainer) v1.EphemeralContainer {
	if c.Image == "" {
		c.Image = "debug:1"
	}
	if c.ImagePullPolicy == "" {
		c.ImagePullPolicy = v1.PullIfNotPresent
	}
	return c
}

package roster

import (
	"errors"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster/admit"
)

// factOfPod is the fact of a verb about one pod.
func (tr *transcript) factOfPod() Fact {
	uid := tr.uid()
	switch tr.d.Cmd {
	case "wanted":
		d := tr.describe()
		return Wanted{Source: d.source, Pod: d.pod}
	case "unwanted":
		return Unwanted{UID: uid}
	case "looked":
		return tr.looked(uid)
	case "resumed":
		return Resumed{UID: uid, Status: tr.status()}
	case "not-resumed":
		return NotResumed{UID: uid, Err: errUnreadable}
	case "recalled":
		if tr.has("nothing") {
			return Recalled{UID: uid}
		}
		return Recalled{UID: uid, Remembered: tr.pods[uid].remembered(tr.has("ends"))}
	case "read":
		if tr.has("failed") {
			return NodeRead{UID: uid}
		}
		return NodeRead{UID: uid, Node: tr.nodeArg()}
	case "allocated":
		return tr.allocated(uid)
	case "published":
		return Published{UID: uid, Status: tr.status()}
	case "rested":
		return Rested{UID: uid}
	case "nothing-left":
		return NothingLeft{UID: uid}
	case "ended":
		return Ended{UID: uid}
	case "panicked":
		return Panicked{UID: uid, Err: errPanic}
	case "resize":
		tr.resizes++
		return ResizeAsked{ID: tr.resizes, Pod: tr.describe().pod}
	case "objects-changed":
		return ObjectsChanged{UID: uid, Because: lifecycle.Because{Kind: lifecycle.BecauseChanged, Text: "ConfigMap c"}}
	}
	tr.t.Fatalf("%s: there is no verb %q", tr.d.Pos, tr.d.Cmd)
	return nil
}

var (
	errUnreadable = errors.New("it can't be read")
	errPanic      = errors.New("the pod's worker has panicked")
)

// remembered is what an agent of lifepod has kept of a pod.
func (d *described) remembered(ends bool) *Remembered {
	return &Remembered{Source: d.source, Pod: d.pod, Checkpoint: checkpointOf(d.pod, 0, ends)}
}

func (tr *transcript) uid() types.UID { return types.UID(tr.d.CmdArgs[0].Key) }

// describe is the pod of a verb, with what the verb says of it.
func (tr *transcript) describe() *described {
	uid := tr.uid()
	d := tr.pods[uid]
	if d == nil {
		source := Source(tr.text("source", "api"))
		d = &described{source: source, pod: podOf(source, tr.text("name", string(uid)), uid)}
	}
	d = &described{source: Source(tr.text("from", string(d.source))), pod: d.pod.DeepCopy()}
	for _, arg := range tr.d.CmdArgs[1:] {
		tr.change(d.pod, arg.Key)
	}
	tr.pods[uid] = d
	return d
}

// change is what one argument says of a pod.
func (tr *transcript) change(pod *v1.Pod, key string) {
	switch key {
	case "cpu":
		pod.Spec.Containers[0].Resources.Requests = cpus(tr.text(key, ""))
	case "memory":
		pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceMemory: resource.MustParse(tr.text(key, ""))}
	case "gpus":
		pod.Spec.Containers[0].Resources.Limits = v1.ResourceList{gpu: resource.MustParse(tr.text(key, ""))}
		pod.Spec.Containers[0].Resources.Requests = pod.Spec.Containers[0].Resources.Limits
	case "pod-cpu":
		pod.Spec.Resources = &v1.ResourceRequirements{Requests: cpus(tr.text(key, ""))}
	case "overhead":
		pod.Spec.Overhead = cpus(tr.text(key, ""))
	case "critical":
		pod.Spec.Priority = new(int32(2000001000))
	case "priority":
		pod.Spec.Priority = new(int32(tr.number(key)))
	case "age":
		pod.CreationTimestamp = metav1.Time{Time: start.Add(-tr.duration(key))}
	case "grace":
		pod.Spec.TerminationGracePeriodSeconds = new(tr.number(key))
	case "needs":
		pod.Spec.NodeSelector = map[string]string{tr.text(key, ""): ""}
	case "never":
		pod.Spec.RestartPolicy = v1.RestartPolicyNever
	case "deleted":
		seconds := tr.number(key)
		pod.DeletionTimestamp = &metav1.Time{Time: tr.now.Add(time.Duration(seconds) * time.Second)}
		pod.DeletionGracePeriodSeconds = &seconds
	case "phase":
		pod.Status.Phase = v1.PodPhase(tr.text(key, ""))
	case "generation":
		pod.Generation = tr.number(key)
	case "ran":
		pod.Status = statusOf(v1.PodRunning, "")
	case "source", "from", "name", "attempt", "foreign", "ends", "terminated", "published":
	default:
		tr.t.Fatalf("%s: nothing is known of %q", tr.d.Pos, key)
	}
}

// status is that of a verb.
func (tr *transcript) status() v1.PodStatus {
	allocated := ""
	if tr.has("cpu") {
		allocated = tr.text("cpu", "")
	}
	status := statusOf(v1.PodPhase(tr.text("phase", "Running")), allocated)
	if tr.has("pod-cpu") {
		status.AllocatedResources = cpus(tr.text("pod-cpu", ""))
		status.Resources = &v1.ResourceRequirements{Requests: cpus(tr.text("has", tr.text("pod-cpu", "")))}
	}
	if tr.has("generation") {
		status.ObservedGeneration = tr.number("generation")
	}
	if tr.has("resizing") {
		status.Conditions = append(status.Conditions, v1.PodCondition{Type: v1.PodResizeInProgress, Status: v1.ConditionTrue})
	}
	if tr.has("pending") {
		status.Conditions = append(status.Conditions, v1.PodCondition{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: tr.text("pending", "")})
	}
	return status
}

func (tr *transcript) looked(uid types.UID) Looked {
	f := Looked{UID: uid}
	if tr.has("there") {
		f.Has = seenOf(0)
	}
	if tr.has("mirror") {
		mirror := tr.pods[uid].pod.DeepCopy()
		mirror.Status = statusOf(v1.PodPhase(tr.text("mirror", "")), "")
		f.Mirror = mirror
	}
	return f
}

func (tr *transcript) nodeArg() *v1.Node {
	if tr.has("unknown") {
		return nil
	}
	labels := map[string]string{}
	if tr.has("labels") {
		for _, label := range tr.list("labels", "") {
			key, value, _ := strings.Cut(label, "=")
			labels[key] = value
		}
	}
	node := nodeOf(tr.text("cpu", "4"), labels)
	if tr.has("gpus") {
		node.Status.Allocatable[gpu] = resource.MustParse(tr.text("gpus", ""))
	}
	return node
}

// allocated is the answer of the node's devices; short: others have them.
func (tr *transcript) allocated(uid types.UID) Allocated {
	f := Allocated{UID: uid}
	switch {
	case tr.has("short"):
		f.Lacks = gpu
		fallthrough
	case tr.has("failed"):
		f.Refusal = &admit.Refusal{Reason: "UnexpectedAdmissionError", Message: "Allocate failed due to it, which is unexpected"}
	default:
		f.Given = []v1.ResourceName{gpu}
	}
	return f
}

func (tr *transcript) attemptArg() uint32 {
	if !tr.has("attempt") {
		return 0
	}
	return uint32(tr.number("attempt"))
}

func (tr *transcript) number(key string) int64 {
	n, err := strconv.ParseInt(tr.text(key, ""), 10, 64)
	assert.Require(tr.t, err == nil, "%s: %s: %v", tr.d.Pos, key, err)
	return n
}

func (tr *transcript) duration(key string) time.Duration {
	d, err := time.ParseDuration(tr.text(key, ""))
	assert.Require(tr.t, err == nil, "%s: %s: %v", tr.d.Pos, key, err)
	return d
}

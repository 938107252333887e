package lifecycle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestTranscripts plays testdata/*: each file shows one behaviour as verbs and the
// machine's answers. transcript.play documents the verbs.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		tr := &transcript{}
		datadriven.RunTest(t, path, tr.said)
	})
}

// said is what a verb leads to.
func (tr *transcript) said(t *testing.T, d *datadriven.TestData) string {
	tr.out.Reset()
	tr.play(t, d)
	if tr.out.Len() == 0 {
		return "(nothing)\n"
	}
	return tr.out.String()
}

// transcript is a machine and a pretended runtime around it. The runtime does
// nothing by itself: effects wait in pending until a verb answers them.
type transcript struct {
	m        *Machine
	accepted *v1.Pod  // what m began with
	saved    *Machine // as it was when its checkpoint was written last
	start    time.Time
	now      time.Time
	wakeAt   time.Time
	pending  []Effect
	runtime  *pretendedRuntime
	out      strings.Builder

	endpoints map[string]Probed // "container kind" → what each attempt of that probe is answered with

	written *v1.PodStatus     // "pod statuses": what the API has been told
	notes   map[string]string // the pod's annotations that are the node's
}

// play carries out one verb:
//
//	pod [rejected=R message=M] a Pod as YAML; Accepted is its first event, or Rejected
//	settle [hold=Effect,…]    answer all pending effects with success, until none is left but those held back
//	answer Effect [container] [error=text] [reason=R] [class=uncertain|unavailable|cancelled|notfound] [done] [absent] [quiet] [late] [untrue]
//	exit container code=N [reason=R] [message=M] [unseen]
//	loop container code=N times=N   settle, exit; waits for the next start each time
//	again container           the exit event comes a second time
//	running container         the runtime's word that it runs
//	sandbox-exit [unreported=ID]  the sandbox is not ready any more, which the machine may not be told
//	advance D                 let time pass, timers fire at their moment
//	stop [grace=N] [force] [because=text]
//	restart [container] [graceful]   somebody asks for it; without a container for all
//	observe [empty]           a snapshot of what the pretended runtime has
//	unknown container         the pretended runtime does not know whether the container runs
//	forget container          the pretended runtime loses the container
//	addresses out|back        new sandboxes get no address; they get one again
//	addresses lost            the newest sandbox has no address any more
//	sandbox-again [unready]   the runtime has another sandbox of the pod
//	clock by=DURATION         somebody sets the wall clock; what is printed goes on as before
//	storage …                 what the pod uses, see there
//	objects-changed           ConfigMaps or Secrets have changed
//	volumes-found             what the claims are bound to is known to the MountVolumes under way
//	group [current=N] [previous=N] [alone=why] [unknown=why] [mode=N] [leader=node] [behind=(name:N …)]   how far the pod's group is
//	driver-registered         a driver of resource claims has registered
//	ephemeral                 an ephemeral container as YAML is added
//	status                    phase, conditions and containers
//	tell                      a status that may wait has waited for long enough
//	why                       what the pod and its containers wait for
//	mounts                    the first container's mounts in the status
//	pending                   the effects that wait for an answer
//	crash [done=Effect,…]     lifepod is killed; of what is pending only done is carried out
//	reboot                    so is the machine: the runtime has nothing of the pod any more
//	resume                    another lifepod goes on with the checkpoint
//
// and those of playProbe, playResize, playUpdate and playFact. "pod keep" keeps records, "pod statuses" shows which statuses
// are reported at once.
func (tr *transcript) play(t *testing.T, d *datadriven.TestData) {
	switch d.Cmd {
	case "pod":
		tr.newPod(t, d)
	case "settle":
		tr.settle(t, holdArg(d))
	case "answer":
		tr.answer(t, d)
	case "exit":
		tr.exit(t, d)
	case "again":
		tr.feed(*tr.runtime.newest(t, d.CmdArgs[0].Key).Exit)
	case "running":
		id := tr.runtime.newest(t, d.CmdArgs[0].Key).ID
		tr.feed(ContainerRunning{ContainerID: id, StartedAt: tr.now, Image: "docker.io/library/x:1", ImageRef: "x@sha256:1"})
	case "sandbox-exit":
		tr.sandboxExits(d)
	case "advance":
		tr.advance(t, d.CmdArgs[0].Key)
	case "clock":
		by, err := time.ParseDuration(stringArg(d, "by"))
		assert.Require(t, err == nil, "%s: %v", d.Pos, err)
		tr.now, tr.start = tr.now.Add(by), tr.start.Add(by)
		tr.feed(ClockChanged{By: by})
	case "stop":
		tr.feed(stopArg(t, d))
	case "loop":
		tr.loop(t, d)
	case "restart":
		f := RestartRequested{Graceful: d.HasArg("graceful"), Because: Because{Text: "asked for"}}
		if len(d.CmdArgs) > 0 && d.CmdArgs[0].Key != "graceful" {
			f.Container = d.CmdArgs[0].Key
		}
		tr.feed(f)
	case "observe":
		tr.observe(d)
	case "unknown":
		tr.runtime.newest(t, d.CmdArgs[0].Key).State = StateUnknown
	case "forget":
		tr.runtime.Forget(tr.runtime.newest(t, d.CmdArgs[0].Key))
	case "addresses":
		tr.addresses(d)
	case "sandbox-again":
		tr.runtime.Sandboxes = append(tr.runtime.Sandboxes, &ObservedSandbox{ID: "another", Ready: !d.HasArg("unready"), IPs: []string{"10.0.0.3"}})
	case "storage":
		tr.storage(t, d)
	case "objects-changed":
		tr.feed(ObjectsChanged{Because: Because{Kind: BecauseChanged, Text: "ConfigMap c"}})
	case "published-again":
		tr.feed(ObjectsChanged{})
	case "room-freed":
		tr.feed(RoomFreed{})
	case "space-needed":
		tr.feed(SpaceNeeded{})
	case "volumes-found":
		tr.volumesFound(t, d)
	case "driver-registered":
		tr.feed(DriverRegistered{})
	case "devices":
		tr.devices(d)
	case "ephemeral":
		tr.ephemeral(t, d.Input)
	case "resize", "refuse", "used", "actual", "running-with", "resources":
		tr.playResize(t, d)
	case "group":
		tr.group(t, d)
	case "status":
		tr.printStatus()
	case "tell":
		tr.written = new(tr.m.Status())
	case "why":
		tr.printWaits()
	case "mounts":
		for _, m := range tr.m.Status().ContainerStatuses[0].VolumeMounts {
			tr.printf("%s %s readOnly=%t", m.Name, m.MountPath, m.ReadOnly)
			if m.RecursiveReadOnly != nil {
				tr.printf(" recursiveReadOnly=%s", *m.RecursiveReadOnly)
			}
			tr.printf("\n")
		}
	case "pending":
		for _, e := range tr.pending {
			tr.printf("%s\n", effectText(e))
		}
	case "crash":
		tr.crash(t, d)
	case "reboot":
		tr.runtime.Sandboxes, tr.runtime.Containers = nil, nil
	case "resume":
		tr.feed(Resumed{})
	default:
		tr.playProbe(t, d)
	}
}

// newTranscript is one of a pod to which nothing has happened.
func newTranscript(pod *v1.Pod, options Options, at time.Time) *transcript {
	return &transcript{m: New(pod, options), accepted: pod, start: at, now: at, runtime: newPretendedRuntime(), endpoints: map[string]Probed{}}
}

func (tr *transcript) printf(format string, args ...any) { fmt.Fprintf(&tr.out, format, args...) }

func (tr *transcript) newPod(t *testing.T, d *datadriven.TestData) {
	pod := &v1.Pod{}
	assert.Must(t, yaml.UnmarshalStrict([]byte(d.Input), pod))
	defaults(pod)
	*tr = *newTranscript(pod, optionsOf(d.HasArg("keep")), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	if d.HasArg("statuses") {
		tr.written = &v1.PodStatus{Phase: v1.PodPending}
	}
	if reason := stringArg(d, "rejected"); reason != "" {
		tr.feed(Rejected{Reason: reason, Message: stringArg(d, "message")})
		return
	}
	tr.feed(Accepted{})
}

// optionsOf are those of the machines of transcripts and walks.
func optionsOf(keepRecords bool) Options {
	options := DefaultOptions()
	options.HostIPs, options.KeepRecords = []string{"192.0.2.1"}, keepRecords
	return options
}

// defaults sets what manifests in transcripts rely on.
func defaults(pod *v1.Pod) {
	if pod.Spec.RestartPolicy == "" {
		pod.Spec.RestartPolicy = v1.RestartPolicyAlways
	}
	if pod.Spec.TerminationGracePeriodSeconds == nil {
		pod.Spec.TerminationGracePeriodSeconds = new(int64(30))
	}
	pod.Name, pod.Namespace, pod.UID, pod.Generation = "p", "default", "uid", 1
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Image == "" {
				list[i].Image = "img:1"
			}
			if list[i].ImagePullPolicy == "" {
				list[i].ImagePullPolicy = v1.PullIfNotPresent
			}
			probeDefaults(&list[i])
		}
	}
}

// feed gives the machine a fact and prints what it answers.
func (tr *transcript) feed(f Fact) {
	effects := tr.m.Step(Event{At: tr.now, Fact: f})
	if tr.m.ToSave() {
		tr.saved = tr.m.Clone()
	}
	for _, answer := range tr.shows(effects) {
		tr.feed(answer)
	}
}

// shows prints effects, and keeps those that are to be answered. It returns the answers that are given at once.
func (tr *transcript) shows(effects []Effect) (answers []Fact) {
	for _, e := range effects {
		switch e := e.(type) {
		case WakeAt:
			tr.wakeAt = e.At
			if !e.At.IsZero() {
				tr.line("wake at " + tr.clock(e.At))
			}
			continue
		case Publish:
			tr.write(&e.Status)
			tr.tellsAttempt()
			if e.ID == 0 {
				continue
			}
			tr.pending = append(tr.pending, e)
		case Cancel:
			tr.line(fmt.Sprintf("Cancel %s", tr.nameOf(e.ID)))
			continue
		case Tell, RecordEvent, CountEviction, DeleteObject, Finish:
		default:
			if answer, ok := tr.answered(e); ok {
				answers = append(answers, answer)
			} else {
				tr.pending = append(tr.pending, e)
			}
		}
		tr.line(effectText(e))
	}
	return answers
}

// write tells the API a status, if that is to be shown and it may not wait.
func (tr *transcript) write(status *v1.PodStatus) {
	switch {
	case tr.written == nil:
	case OnlyProgress(tr.written, status, tr.m.kept.Deleted) && AwaitsGroup(tr.written, status):
		tr.line("status may wait for the group")
	case OnlyProgress(tr.written, status, tr.m.kept.Deleted):
		tr.line("status may wait")
	default:
		tr.written = status
		tr.line("status at once")
	}
}

func (tr *transcript) line(text string) { tr.printf("%-8s %s\n", tr.clock(tr.now), text) }

func (tr *transcript) clock(t time.Time) string {
	return "+" + strconv.FormatFloat(t.Sub(tr.start).Seconds(), 'f', -1, 64) + "s"
}

func (tr *transcript) nameOf(id EffectID) string {
	for _, e := range tr.pending {
		if e.EffectID() == id {
			return effectText(e)
		}
	}
	return fmt.Sprintf("an effect that is not pending (%d)", id)
}

// settle answers the pending effects in order, and those that follow from them.
func (tr *transcript) settle(t testing.TB, hold []string) {
	for range 1000 {
		i := slices.IndexFunc(tr.pending, func(e Effect) bool { return !slices.Contains(hold, effectName(e)) })
		if i < 0 {
			return
		}
		tr.succeed(i)
	}
	t.Fatal("settle: the machine never comes to rest")
}

// succeed answers pending[i] as a runtime does in which everything works.
func (tr *transcript) succeed(i int) {
	for _, fact := range tr.runtime.carryOut(tr.take(i), tr.now) {
		tr.feed(fact)
	}
}

// take is pending[i], which waits no longer.
func (tr *transcript) take(i int) Effect {
	e := tr.pending[i]
	tr.pending = slices.Delete(tr.pending, i, i+1)
	return e
}

// advance lets time pass; timers fire exactly when they were asked for.
func (tr *transcript) advance(t *testing.T, d string) {
	by := assert.Get(time.ParseDuration(d)).Must(t)
	end := tr.now.Add(by)
	for !tr.wakeAt.IsZero() && !tr.wakeAt.After(end) {
		tr.now, tr.wakeAt = later(tr.now, tr.wakeAt), time.Time{}
		tr.feed(Woke{})
	}
	tr.now = end
}

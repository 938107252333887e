package roster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestTranscripts plays testdata/*: each file is one behaviour, written as verbs and what
// the machine answers. transcript.play documents the verbs. TestMatrix plays the matrix.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if path != matrixFile {
			(&transcript{}).run(t, path)
		}
	})
}

func (tr *transcript) run(t *testing.T, path string) {
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		tr.out.Reset()
		tr.t, tr.d = t, d
		tr.play()
		if tr.out.Len() == 0 {
			return "(nothing)\n"
		}
		return tr.out.String()
	})
}

// transcript is a machine and what its verbs have said of the pods.
type transcript struct {
	t    *testing.T
	d    *datadriven.TestData
	m    *Machine
	now  time.Time
	node *v1.Node
	out  strings.Builder

	pods    map[types.UID]*described
	opened  Opened // as it will be
	wakeAt  time.Time
	resizes int
	looks   int             // at the node: each is newer than the one before
	facts   map[string]bool // types of facts that every-fact has fed
	effects map[string]bool // types of effects
}

// described is a pod as the verbs have said it is.
type described struct {
	source Source
	pod    *v1.Pod
}

// play carries out one verb. A pod is named by its UID, which is its name if there is no
// name=N; what is once said of it holds until it is said anew:
//
//	roster [sources=(api,file,…)] [cpu=N] [alone] [shutdown=(P:S,…)]  a new machine; alone: there is no API server; shutdown: seconds from each priority on
//	       [hard=(SIGNAL=N,…)] [soft=(…)] [soft-grace=(…)] [reclaim=(…)]  thresholds of pressure
//	       [max-grace=N]  the most that a pod gets after a soft one, in seconds; 20 if nothing is said
//	node [cpu=N] [labels=(a=b,…)] [unknown]   the Node is known so
//	remembered P … [attempt=N] [ends] [terminated] [published=PHASE]  an agent before has left a checkpoint; ends: its end was asked for; terminated: by a shutdown;
//	                                published: its status as published last
//	found P … [attempt=N]           the runtime has it
//	found-later P … [attempt=N] [foreign]  the runtime has it, and no worker, after opened; foreign: of another program
//	opened [rebooted]
//	wanted P [source=S] [from=S] [name=N] [cpu=N] [critical] [priority=N] [age=D] [grace=N] [generation=N] [needs=LABEL] [never]
//	         [deleted=N] [phase=P] [ran]     its source has it: ran: its status tells of containers
//	unwanted P
//	heard SOURCE
//	looked P [there] [mirror=PHASE] answers Look
//	resumed P [phase=P] [cpu=N] [generation=N]  answers Resume
//	not-resumed P                   answers Resume
//	recalled P [nothing] [ends]     answers Recall
//	read P [labels=(a=b,…)] [failed]  answers ReadNode
//	published P phase=P [cpu=N] [generation=N] [resizing]   cpu: what is allocated; pod-cpu=N: to the pod as a whole; has=N: that it has
//	rested P
//	nothing-left P
//	ended P
//	panicked P
//	resize P cpu=N [pod-cpu=N] [generation=N]  its worker asks whether there is room
//	objects-changed P
//	advance D                       time passes, the machine is woken when it asked for it
//	measured SIGNAL=N …             the node has that much left, of 10Gi or 1000; images: they have a disk of their own
//	reclaimed [SIGNAL=N …]          answers Reclaim
//	used [P=N …]                    answers MeasurePods: memory, processes or disk
//	woke                            the machine is woken now
//	shutdown | shutdown-cancelled | statuses-flushed
//	pods                            where each stands
//	describe P …                    nothing happens
//	every-fact P                    what each kind of fact would do now
func (tr *transcript) play() {
	switch tr.d.Cmd {
	case "roster":
		tr.newRoster()
	case "node":
		tr.node = tr.nodeArg()
		tr.feed(NodeKnown{Node: tr.node})
	case "remembered":
		d, attempt := tr.describe(), tr.attemptArg()
		checkpoint := checkpointOf(d.pod, attempt, tr.has("ends"))
		if tr.has("terminated") {
			checkpoint.Stop.Reason = terminatedReason
		}
		if tr.has("published") {
			checkpoint.Reported = statusOf(v1.PodPhase(tr.text("published", "")), "")
		}
		tr.opened.Remembered = append(tr.opened.Remembered, Remembered{Source: d.source, Pod: d.pod, Checkpoint: checkpoint})
	case "found":
		pod := tr.describe().pod
		tr.opened.Found = append(tr.opened.Found, Found{UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name, Seen: seenOf(tr.attemptArg())})
	case "found-later":
		pod := tr.describe().pod
		tr.feed(FoundLater{Found{UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name, Ours: !tr.has("foreign"), Seen: seenOf(tr.attemptArg())}})
	case "opened":
		tr.opened.Rebooted = tr.has("rebooted")
		tr.feed(tr.opened)
	case "advance":
		tr.advance()
	case "space-needed":
		tr.feed(SpaceNeeded{})
	case "measured", "reclaimed", "used":
		tr.feed(tr.factOfNode())
	case "woke":
		tr.feed(Woke{})
	case "shutdown":
		tr.feed(ShutdownBegan{})
	case "shutdown-cancelled":
		tr.feed(ShutdownCancelled{})
	case "statuses-flushed":
		tr.feed(StatusesFlushed{})
	case "heard":
		tr.feed(SourceHeard{Source: Source(tr.d.CmdArgs[0].Key)})
	case "pods":
		for _, view := range tr.m.Pods() {
			fmt.Fprintf(&tr.out, "%s from %s: %s\n", view.Pod.UID, view.Source, placeText(tr.m, view.Pod))
		}
	case "describe":
		tr.describe()
	case "every-fact":
		tr.everyFact()
	default:
		tr.feed(tr.factOfPod())
	}
}

func (tr *transcript) newRoster() {
	*tr = transcript{t: tr.t, d: tr.d, now: start, pods: map[types.UID]*described{}, facts: tr.facts, effects: tr.effects}
	options := Options{API: !tr.has("alone"), Pressure: tr.thresholds(), Allocates: asksForDevices}
	for _, source := range tr.list("sources", "api") {
		options.Sources = append(options.Sources, Source(source))
	}
	if tr.has("shutdown") {
		options.Shutdown = tr.periods()
	}
	tr.m = New(options)
	tr.node = tr.nodeArg()
	tr.feed(NodeKnown{Node: tr.node})
}

// periods are those of a shutdown, as PRIORITY:SECONDS.
func (tr *transcript) periods() (list []Period) {
	for _, period := range tr.list("shutdown", "") {
		var p Period
		_, err := fmt.Sscanf(period, "%d:%d", &p.Priority, &p.GraceSeconds)
		assert.Require(tr.t, err == nil, "%s: shutdown=%s: %v", tr.d.Pos, period, err)
		list = append(list, p)
	}
	return list
}

// feed gives the machine a fact and prints what it answers.
func (tr *transcript) feed(fact Fact) {
	for _, e := range tr.m.Step(Event{At: tr.now, Fact: fact}) {
		if wake, is := e.(WakeAt); is {
			tr.wakeAt = wake.At
		}
		tr.saw(e)
		fmt.Fprintf(&tr.out, "%-6s %s\n", clockText(tr.now), effectText(e))
	}
}

// advance lets time pass; the machine is woken exactly when it asked for it.
func (tr *transcript) advance() {
	by := assert.Get(time.ParseDuration(tr.d.CmdArgs[0].Key)).Must(tr.t)
	end := tr.now.Add(by)
	for !tr.wakeAt.IsZero() && !tr.wakeAt.After(end) {
		if tr.wakeAt.After(tr.now) {
			tr.now = tr.wakeAt
		}
		tr.wakeAt = time.Time{}
		tr.feed(Woke{})
	}
	tr.now = end
}

func (tr *transcript) has(key string) bool { return tr.d.HasArg(key) }

// text is the value of an argument.
func (tr *transcript) text(key, otherwise string) string {
	if list := tr.list(key, otherwise); len(list) > 0 {
		return list[0]
	}
	return ""
}

func (tr *transcript) list(key, otherwise string) []string {
	i := slices.IndexFunc(tr.d.CmdArgs, func(a datadriven.CmdArg) bool { return a.Key == key })
	if i < 0 {
		return []string{otherwise}
	}
	return tr.d.CmdArgs[i].Vals
}

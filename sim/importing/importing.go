package importing

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/nearest"
	"github.com/lifepod/lifepod/sim"
	"github.com/lifepod/lifepod/sim/importing/stages"
	"github.com/lifepod/lifepod/sim/scenario"
)

// File is one with Stages.
type File = stages.File

// Options are how Stages are imported.
type Options struct {
	Owner   string   // the kind of the pod's owner, such as Job; empty: it has none
	Without []string // names of Stages that are not to apply
}

// Result is a scenario, and what it does not have.
type Result struct {
	Scenario *scenario.Scenario // nil: no Stage applies to the pod; the notes say why
	Summary  []Summary
	Notes    []stages.Note
}

// life is the pod as the Stages have it.
type life struct {
	pod      *v1.Pod
	way      stages.Way // until nothing more happens, or it repeats itself
	ending   stages.Way // once somebody deletes the pod
	endsFrom *v1.Pod    // as it is then
	scenario *scenario.Scenario
	notes    *stages.Notes
}

// Stages makes the scenario of a pod, which was defaulted and validated. An error is about files that can't be read, or
// Stages that KWOK could not carry out either.
func Stages(files []File, pod *v1.Pod, o Options) (*Result, error) {
	notes := &stages.Notes{}
	set, err := stages.Read(files, notes)
	if err != nil {
		return nil, err
	}
	if err := leave(set, o.Without); err != nil {
		return nil, err
	}
	l := &life{pod: owned(pod, o.Owner), notes: notes, scenario: &scenario.Scenario{APIVersion: "lifepod.dev/v1alpha1", Kind: "Scenario"}}
	if err := l.play(set); err != nil {
		return nil, err
	}
	set.Unused(notes)
	if len(l.way.Taken)+len(l.ending.Taken) == 0 {
		return &Result{Notes: notes.All()}, nil
	}
	l.read()
	l.check(pod)
	return &Result{Scenario: l.scenario, Summary: l.summary(), Notes: notes.All()}, nil
}

func leave(set *stages.Set, names []string) error {
	for _, name := range names {
		known := set.Names()
		if set.Leave(name) {
			continue
		}
		if near := nearest.Name(name, known); near != "" {
			return fmt.Errorf("there is no Stage %s of pods; did you mean %s?", name, near)
		}
		return fmt.Errorf("there is no Stage %s of pods; there are %s", name, strings.Join(known, ", "))
	}
	return nil
}

func owned(pod *v1.Pod, kind string) *v1.Pod {
	pod = pod.DeepCopy()
	if kind != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "owner"}}
	}
	return pod
}

// play plays the Stages on the pod, and again from where its containers run and somebody deletes it.
func (l *life) play(set *stages.Set) (err error) {
	if l.way, err = set.Play(l.pod, sim.Began, l.notes); err != nil {
		return err
	}
	if l.way.Deleted() {
		return nil
	}
	l.endsFrom = l.pod
	for i := range l.way.Taken {
		if pod := l.way.Taken[i].Pod; runs(pod) || i == 0 {
			l.endsFrom = pod
		}
	}
	deleted := l.endsFrom.DeepCopy()
	grace := graceOf(l.pod)
	at := sim.Began.Add(total(l.way.Taken).Most)
	deleted.DeletionTimestamp, deleted.DeletionGracePeriodSeconds = &metav1.Time{Time: at.Add(grace)}, new(int64(grace/time.Second))
	if l.ending, err = set.Play(deleted, at, l.notes); err != nil {
		return err
	}
	if !l.ending.Deleted() && len(l.way.Taken) > 0 {
		l.notes.Say("no Stage deletes the pod when somebody deletes it: with KWOK it would stay; here its containers get their stop signal, and it goes")
	}
	return nil
}

func runs(pod *v1.Pod) bool {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].State.Running != nil {
			return true
		}
	}
	return false
}

func graceOf(pod *v1.Pod) time.Duration {
	if s := pod.Spec.TerminationGracePeriodSeconds; s != nil {
		return time.Duration(*s) * time.Second
	}
	return v1.DefaultTerminationGracePeriodSeconds * time.Second
}

func total(taken []stages.Taken) (sum stages.Delay) {
	for i := range taken {
		sum = sum.And(taken[i].After)
	}
	return sum
}

// between is how long it takes from after so many Stages until after so many.
func (l *life) between(from, to int) stages.Delay {
	if to <= from {
		return stages.Delay{}
	}
	sum := total(l.way.Taken[from:to])
	if sum.Rough {
		l.notes.OfStatus(l.way.Taken[to-1].Stage, "the delays of %d Stages, each drawn, are one uniform(%v,%v)", to-from, sum.Least, sum.Most)
	}
	return sum
}

// Summary are Stages that apply, in their order.
type Summary struct {
	What   string
	Stages []string // a line for each
}

// summary says which Stages apply.
func (l *life) summary() (parts []Summary) {
	if len(l.way.Taken) > 0 {
		part := Summary{"Stages that apply, in this order:", lines(l.way.Taken, l.pod.Status.Phase)}
		if l.way.Repeats {
			part.Stages = append(part.Stages, "and so on")
		}
		parts = append(parts, part)
	}
	if len(l.ending.Taken) > 0 {
		parts = append(parts, Summary{"When somebody deletes the pod:", lines(l.ending.Taken, l.endsFrom.Status.Phase)})
	}
	return parts
}

func lines(taken []stages.Taken, before v1.PodPhase) (list []string) {
	for i := range taken {
		t := &taken[i]
		line := fmt.Sprintf("%s after %v", t.Stage.Name, t.After)
		switch {
		case t.Deleted:
			line += ": the pod is deleted"
		case t.Pod.Status.Phase != before:
			line += ": " + string(t.Pod.Status.Phase)
		}
		before = t.Pod.Status.Phase
		list = append(list, line)
	}
	return list
}

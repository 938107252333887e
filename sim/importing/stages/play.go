package stages

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// most is how many Stages a pod is followed through.
const most = 64

// Taken is a Stage that has applied to the pod.
type Taken struct {
	Stage   *Stage
	After   Delay   // since the Stage before it
	Pod     *v1.Pod // as it is then
	Deleted bool    // the Stage has deleted it
}

// Way is the Stages that a pod goes through.
type Way struct {
	Taken []Taken
	// Repeats says that the pod then is as it was before: KWOK would go on as it did from there.
	Repeats bool
}

// Pod is the pod at the end.
func (w *Way) Pod() *v1.Pod { return w.Taken[len(w.Taken)-1].Pod }

// Deleted says whether the Stages delete the pod.
func (w *Way) Deleted() bool { return len(w.Taken) > 0 && w.Taken[len(w.Taken)-1].Deleted }

// Play takes a pod, which KWOK sees for the first time at now, through the Stages. Notes say which of several Stages was
// taken, and what they do that has no part in a scenario.
func (s *Set) Play(pod *v1.Pod, now time.Time, notes *Notes) (Way, error) {
	w, seen := Way{}, map[string]bool{state(pod): true}
	for range most {
		fields := fieldsOf(pod)
		stage := s.choose(pod, fields, notes)
		if stage == nil {
			return w, nil
		}
		after := stage.delayOf(fields, now)
		now = now.Add(after.Least + (after.Most-after.Least)/2)
		taken, err := stage.apply(pod, now, notes)
		if err != nil {
			return w, err
		}
		taken.After = after
		w.Taken = append(w.Taken, taken)
		if taken.Deleted {
			return w, nil
		}
		pod = taken.Pod
		if is := state(pod); seen[is] {
			w.Repeats = true
			return w, nil
		} else {
			seen[is] = true
		}
	}
	notes.Of(w.Taken[most-1].Stage, nil, "after %d Stages the pod is not at an end: what the last run of each container does counts for all later ones", most)
	w.Repeats = true
	return w, nil
}

// Unused says of each Stage that has never applied why not.
func (s *Set) Unused(notes *Notes) {
	for _, stage := range s.stages {
		if stage.matched {
			continue
		}
		for i := range stage.selects {
			if r := &stage.selects[i]; !r.held {
				notes.Of(stage, r.field, "never applies to this pod: %s", r.text)
				break
			}
		}
		if !slices.ContainsFunc(stage.selects, func(r requirement) bool { return !r.held }) {
			notes.Of(stage, []string{"spec", "selector"}, "never applies to this pod")
		}
	}
}

// choose is the Stage that comes next; nil: there is none. Of several it is the one with the greatest weight, where KWOK
// would draw.
func (s *Set) choose(pod *v1.Pod, fields map[string]any, notes *Notes) *Stage {
	var matching []*Stage
	for _, stage := range s.stages {
		if stage.matches(pod, fields) {
			matching = append(matching, stage)
		}
	}
	if len(matching) < 2 {
		return first(matching)
	}
	chosen, sum := first(matching), int64(0)
	heaviest, weights := int64(-1), make([]int64, len(matching))
	for i, stage := range matching {
		weight, has := stage.weight.numberOf(stage.spec.Weight, fields)
		if !has {
			weight = -1
		}
		weights[i] = weight
		sum += max(weight, 0)
		if weight > heaviest {
			chosen, heaviest = stage, weight
		}
	}
	for i, stage := range matching {
		switch {
		case stage == chosen:
		case sum > 0 && weights[i] > 0:
			notes.Of(stage, []string{"spec", "weight"}, "not taken: %s applies to the pod as well, and has the weight %d of %d; for this one say --without %s",
				chosen.Name, heaviest, sum, chosen.Name)
		case sum == 0 && weights[i] == heaviest:
			notes.Of(stage, nil, "not taken: %s applies to the pod as well, and neither has a weight; for this one say --without %s", chosen.Name, chosen.Name)
		}
	}
	return chosen
}

func first(list []*Stage) *Stage {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// matches says whether a Stage selects the pod. All requirements are looked at: Unused says which has never held.
func (s *Stage) matches(pod *v1.Pod, fields map[string]any) bool {
	of := s.spec.Selector
	all := labels.SelectorFromSet(of.MatchLabels).Matches(labels.Set(pod.Labels)) &&
		labels.SelectorFromSet(of.MatchAnnotations).Matches(labels.Set(pod.Annotations))
	for i := range s.selects {
		r := &s.selects[i]
		holds := r.holds(fields)
		r.held = r.held || holds
		all = all && holds
	}
	s.matched = s.matched || all
	return all
}

// fieldsOf is the pod as its JSON has it.
func fieldsOf(pod *v1.Pod) (fields map[string]any) {
	data, err := json.Marshal(pod)
	if err == nil {
		err = json.Unmarshal(data, &fields)
	}
	if err != nil {
		panic(fmt.Sprintf("a pod is not JSON: %v", err)) // a type of the API always is
	}
	return fields
}

// state is all of a pod but times.
func state(pod *v1.Pod) string {
	fields := fieldsOf(pod)
	withoutTimes(fields)
	data, err := json.Marshal(fields)
	if err != nil {
		panic(fmt.Sprintf("a pod is not JSON: %v", err))
	}
	return string(data)
}

var times = []string{"lastTransitionTime", "lastProbeTime", "startedAt", "finishedAt", "startTime"}

func withoutTimes(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range times {
			delete(value, name)
		}
		for _, below := range value {
			withoutTimes(below)
		}
	case []any:
		for _, below := range value {
			withoutTimes(below)
		}
	}
}

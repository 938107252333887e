package timeline

import (
	"time"

	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/internal/sentence"
)

// Comparison is two pods' charts, step by step.
type Comparison struct {
	A Pod `json:"a"`
	B Pod `json:"b"`
	// Language is what its sentences are in.
	Language sentence.Language `json:"-"`
	Steps    []Compared        `json:"steps"`
}

// Compared is what one step took in each of two pods, all its bars together.
type Compared struct {
	Label string `json:"label"`
	// A and B are how long it took; nil: the pod has no such step.
	A        *time.Duration `json:"aNanoseconds"`
	B        *time.Duration `json:"bNanoseconds"`
	Critical bool           `json:"critical,omitzero"` // on the critical path of either
}

// Difference is how much longer it took in the second.
func (c *Compared) Difference() time.Duration { return ptr.Deref(c.B, 0) - ptr.Deref(c.A, 0) }

// Compare compares two pods. Steps are the same if their labels are: pods of one template have the same
// containers. Last comes how long the critical path is.
func Compare(a, b *Chart) Comparison {
	c := Comparison{A: a.Pod, B: b.Pod, Language: a.Language}
	at := map[string]int{}
	add := func(label string, took time.Duration, second, critical bool) {
		i, known := at[label]
		if !known {
			i = len(c.Steps)
			at[label], c.Steps = i, append(c.Steps, Compared{Label: label})
		}
		one := &c.Steps[i]
		sum := &one.A
		if second {
			sum = &one.B
		}
		if *sum == nil {
			*sum = new(time.Duration)
		}
		**sum += took
		one.Critical = one.Critical || critical
	}
	for i, chart := range []*Chart{a, b} {
		for _, r := range chart.Rows {
			for _, bar := range r.Bars {
				if s := bar.Step; r.Kind != PodRow || s == Scheduling || s == Admission {
					add(compareLabel(a.Language, &r, &bar), bar.Duration(), i == 1, bar.Critical)
				}
			}
		}
	}
	for i, chart := range []*Chart{a, b} {
		add(goalLabel(chart), chart.Path.Duration(), i == 1, false)
	}
	return c
}

// compareLabel tells work apart that gives something back from what made it.
func compareLabel(l sentence.Language, r *Row, b *Bar) string {
	if r.Container == "" && r.Kind != PodRow && b.Step.Class() == Stop {
		return l.Say("%[1]s of %[2]s", l.Word(string(b.Step)), r.In(l))
	}
	return b.Label
}

func goalLabel(c *Chart) string {
	if c.Path.To == "now" {
		return c.Language.Word("not Ready for")
	}
	return c.Language.Say("%s after", c.Language.Word(c.Path.To))
}

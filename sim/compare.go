package sim

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/pmezard/go-difflib/difflib"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/plain"
)

// Comparison is what two lives have in common, and what not.
type Comparison struct {
	A       string           `json:"a"` // the names of the manifests
	B       string           `json:"b"`
	Lines   []ComparedLine   `json:"lines"`
	Figures []ComparedFigure `json:"figures"`
}

// ComparedLine is a milestone, and when it comes; nil: it doesn't.
type ComparedLine struct {
	Text string   `json:"text"`
	A    *float64 `json:"aSeconds"`
	B    *float64 `json:"bSeconds"`
}

// Same says that the line comes in both lives, at the same time.
func (l *ComparedLine) Same() bool { return l.A != nil && l.B != nil && *l.A == *l.B }

// ComparedFigure is something of a life as a whole.
type ComparedFigure struct {
	Name string `json:"name"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// Same says that nothing differs.
func (c *Comparison) Same() bool {
	return !slices.ContainsFunc(c.Lines, func(l ComparedLine) bool { return !l.Same() }) && !slices.ContainsFunc(c.Figures, func(f ComparedFigure) bool { return f.A != f.B })
}

func CompareLives(a, b *Life) Comparison {
	var c Comparison
	textsA, textsB := texts(a), texts(b)
	at := func(l *Life, i int) *float64 { return new(l.Story[i].At.Round(time.Millisecond).Seconds()) }
	for _, code := range difflib.NewMatcherWithJunk(textsA, textsB, false, nil).GetOpCodes() {
		if code.Tag == 'e' {
			for i := range code.I2 - code.I1 {
				c.Lines = append(c.Lines, ComparedLine{textsA[code.I1+i], at(a, code.I1+i), at(b, code.J1+i)})
			}
			continue
		}
		for i := code.I1; i < code.I2; i++ {
			c.Lines = append(c.Lines, ComparedLine{Text: textsA[i], A: at(a, i)})
		}
		for i := code.J1; i < code.J2; i++ {
			c.Lines = append(c.Lines, ComparedLine{Text: textsB[i], B: at(b, i)})
		}
	}
	c.Figures = figures(a, b)
	return c
}

// Assertions compares which of the same assertions, parsed for the pod of each life, hold in them.
func (c *Comparison) Assertions(a, b *Life, ofA, ofB []Assertion) {
	for i := range ofA {
		c.Figures = append(c.Figures, ComparedFigure{fmt.Sprintf("%q", ofA[i].Text), verdict(ofA[i], a), verdict(ofB[i], b)})
	}
}

func verdict(of Assertion, l *Life) string {
	for _, b := range Broken([]Assertion{of}, l) {
		return fmt.Sprintf("fails at +%.3fs: %s", b.At, b.Why)
	}
	return "holds"
}

func texts(l *Life) (list []string) {
	for _, line := range l.Story {
		list = append(list, plain.Line(line.Report.String()))
	}
	return list
}

func figures(a, b *Life) (list []ComparedFigure) {
	add := func(name string, of func(*Life) string) { list = append(list, ComparedFigure{name, of(a), of(b)}) }
	add("end", endOf)
	add("time to Ready", func(l *Life) string {
		if at, ever := l.ReadyAt(); ever {
			return inSeconds(at)
		}
		return "never"
	})
	add("downtime", func(l *Life) string {
		if down, ever := l.Downtime(); ever {
			return inSeconds(down)
		}
		return "-"
	})
	for _, name := range containers(a, b) {
		add("restarts of "+name, func(l *Life) string { return restartsOf(l, name) })
	}
	return list
}

// endOf is how the pod is when the simulation ends.
func endOf(l *Life) string {
	switch phase := l.Phase(); {
	case l.Gone:
		return fmt.Sprintf("%s after %s", phase, inSeconds(l.Until))
	case phase == v1.PodRunning && l.Ready():
		return "Running and Ready"
	case phase == v1.PodRunning:
		return "Running and not Ready"
	default:
		return string(phase)
	}
}

// containers are those of both, in their order.
func containers(lives ...*Life) (names []string) {
	for _, l := range lives {
		for _, c := range slices.Concat(l.Pod.Spec.InitContainers, l.Pod.Spec.Containers) {
			if !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

func restartsOf(l *Life, container string) string {
	if n := len(l.Moments); n > 0 && slices.Contains(containers(l), container) {
		return strconv.Itoa(int(l.Moments[n-1].RestartsOf(container)))
	}
	return "-"
}

func inSeconds(d time.Duration) string { return fmt.Sprintf("%.3fs", d.Seconds()) }

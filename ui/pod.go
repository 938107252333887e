package ui

import (
	"context"
	"errors"
	"io/fs"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/timeline"
	"github.com/lifepod/lifepod/timeline/draw"
	"github.com/lifepod/lifepod/why"
)

// podPage is what the page of one pod shows.
type podPage struct {
	Row        podRow        `json:"row"`
	Headline   string        `json:"headline"`
	Standing   string        `json:"standing,omitempty"`
	Why        []cause       `json:"why,omitempty"`
	Timeline   *draw.Drawing `json:"timeline,omitempty"`
	Containers [][]string    `json:"containers,omitempty"`
	Conditions [][]string    `json:"conditions,omitempty"`
	Events     [][]string    `json:"events,omitempty"`
	Notice     string        `json:"notice,omitempty"` // why it can't be steered
	Can        abilities     `json:"can"`
}

// cause is one of how the pod is.
type cause struct {
	Kind  why.Kind `json:"kind"`
	Text  string   `json:"text"`
	Rules []string `json:"rules,omitempty"`
}

// abilities are what can be done with a pod, by the names of its containers.
type abilities struct {
	Log     []string `json:"log,omitempty"`
	Exec    []string `json:"exec,omitempty"`
	Restart []string `json:"restart,omitempty"`
	Stop    bool     `json:"stop,omitempty"`
}

// podPage looks at one pod. An error is that there is none, or not any more.
func (s *Server) podPage(ctx context.Context, uid string, language sentence.Language) (*podPage, error) {
	p, now := &podPage{}, time.Now()
	pod, err := s.find(ctx, uid)
	switch l := left(err); {
	case l != nil:
		events := l.Events
		if l.Elsewhere && s.Cluster != nil {
			events = s.Cluster.events(ctx, l.Pod.Pod)
		}
		p.describe(l.Pod.Pod, events, now)
		p.Notice = plain.Line(l.Notice(language.Say))
		if !l.Elsewhere {
			p.Can = abilities{Log: control.ContainerNames(l.Pod.Pod)}
		}
	case err == nil:
		events, _ := pod.Events(ctx) // without them the rest is shown
		p.describe(pod.Pod, events, now)
		p.Can = abilities{Log: control.ContainerNames(pod.Pod), Exec: running(pod.Pod), Restart: control.Restartable(pod.Pod), Stop: true}
	}
	record, broken := s.Journal.Read(uid)
	if s.Cluster != nil && errors.Is(broken, fs.ErrNotExist) {
		record, broken = s.Cluster.record(ctx, uid)
	}
	switch {
	case p.Headline == "" && broken == nil:
		return nil, err
	case p.Headline == "":
		return nil, errors.New("this pod is gone, and the journal has nothing of it")
	case errors.Is(broken, fs.ErrNotExist):
		return p, nil
	case broken != nil:
		p.Notice = plain.Line(broken.Error())
		return p, nil
	}
	if !record.Object {
		p.Timeline = new(draw.Draw(timeline.In(language, record, now)))
	}
	explanation := why.Explain(record, now, language)
	p.Standing = explanation.Standing
	for _, s := range explanation.Sentences {
		p.Why = append(p.Why, cause{s.Kind, s.Text, s.Rules})
	}
	return p, nil
}

// describe is what lifepod status shows.
func (p *podPage) describe(pod *v1.Pod, events []v1.Event, now time.Time) {
	const recent = 20
	p.Row, p.Headline = rowOf(pod, now), plain.Line(client.Headline(pod))
	p.Containers = harmless(client.Containers(pod, now))
	p.Conditions = harmless(client.Conditions(pod, now))
	p.Events = harmless(client.Events(events[max(0, len(events)-recent):], now))
}

// harmless are rows without what turns or hides text.
func harmless(rows [][]string) [][]string {
	for _, row := range rows {
		for i := range row {
			row[i] = plain.Line(row[i])
		}
	}
	return rows
}

// running are the containers of a pod in which a command can run.
func running(pod *v1.Pod) (names []string) {
	for _, name := range control.ContainerNames(pod) {
		if status := control.StatusOf(pod, name); status != nil && status.State.Running != nil {
			names = append(names, name)
		}
	}
	return names
}

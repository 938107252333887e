package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/timeline"
	"github.com/lifepod/lifepod/timeline/draw"
	"github.com/lifepod/lifepod/unattended"
	"github.com/lifepod/lifepod/why"
)

// overview is what the list shows.
type overview struct {
	Cluster  string    `json:"cluster,omitempty"` // its API server; empty: there is none
	Pods     []podRow  `json:"pods"`
	Gone     []podRow  `json:"gone,omitempty"` // those that only the journal has, the newest first
	Troubles []trouble `json:"troubles,omitempty"`
	Warnings []string  `json:"warnings,omitempty"`
}

// podRow is a pod in the list, in kubectl's words.
type podRow struct {
	UID       string      `json:"uid"`
	Namespace string      `json:"namespace"`
	Name      string      `json:"name"`
	Ready     string      `json:"ready"`
	Status    string      `json:"status"`
	Restarts  int32       `json:"restarts"`
	Restarted string      `json:"restarted,omitempty"` // when it was, such as 33s ago
	Age       string      `json:"age"`
	IP        string      `json:"ip"`
	Tone      string      `json:"tone"` // good, wait, bad or done
	Labels    string      `json:"labels,omitempty"`
	Of        []string    `json:"of,omitempty"`    // what it belongs to, and what it uses, as "Deployment shop/web"
	Strip     *draw.Scene `json:"strip,omitempty"` // its life in one lane
}

// trouble is what pods have in common that are not as they should be, or what is wrong with another object.
type trouble struct {
	Pods []podName `json:"pods,omitempty"`
	Of   string    `json:"of,omitempty"` // the object, or whose pods they are, as "Deployment shop/web"
	Text string    `json:"text"`
	Tone string    `json:"tone"` // bad or wait
}

type podName struct {
	UID  string `json:"uid"`
	Name string `json:"name"`
}

// Bounds of the list.
const (
	maxStrips = 60 // pods whose life is drawn
	maxGone   = 30
)

// overview looks at all pods.
func (s *Server) overview(ctx context.Context, l sentence.Language) any {
	o := overview{Pods: []podRow{}}
	if s.Cluster != nil {
		o.Cluster = s.Cluster.Server
	}
	pods, silent, err := s.Config.Pods.Pods(ctx)
	if err != nil {
		o.warn("%v", err)
	}
	for _, p := range silent {
		o.warn("the lifepod at %s does not answer: %v", p.Socket, p.Err)
	}
	now, known := time.Now(), map[string]bool{}
	var objects *why.Objects
	var records []*journal.Record
	add := func(pod *v1.Pod, record *journal.Record) {
		row := rowOf(pod, now)
		row.Of = partOf(new(journal.PodOf(pod)), pod.Spec.Volumes, objects)
		if record == nil {
			record, _ = s.Journal.Read(row.UID) // as far as there is one
		}
		if record != nil {
			records = append(records, record)
			if len(records) <= maxStrips && !record.Object {
				row.Strip = draw.DrawRow(timeline.Of(record, now))
			}
		}
		o.Pods = append(o.Pods, row)
	}
	var mine []*v1.Pod
	for _, p := range pods {
		mine = append(mine, p.Pod)
	}
	for _, p := range s.Config.Pods.Unattended(pods) {
		if mine = append(mine, p.Pod); !p.Ended() {
			o.warn("%s", p.Notice(l.Say))
		}
	}
	for _, pod := range mine {
		known[string(pod.UID)] = true
	}
	elsewhere := s.elsewhere(ctx, known, now)
	if objects = elsewhere.objects; elsewhere.err != nil {
		o.warn("the cluster's API server does not tell of everything: %v", elsewhere.err)
	}
	for _, pod := range mine {
		add(pod, nil)
	}
	for _, record := range elsewhere.records {
		if uid := record.Pod.UID; !known[uid] { // by now
			known[uid] = true
			add(elsewhere.listed.Object(uid), record)
		}
	}
	slices.SortStableFunc(o.Pods, func(a, b podRow) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	gone, failed := s.gone.rows(l, s.Journal, known, objects, now)
	o.Gone = gone
	o.tell(l, append(records, failed...), objects, now)
	return o
}

// elsewhere is what the cluster has beside the pods that are known, or that a journal of this machine has.
func (s *Server) elsewhere(ctx context.Context, known map[string]bool, now time.Time) clusterState {
	if s.Cluster == nil {
		return clusterState{objects: &why.Objects{}}
	}
	return s.Cluster.look(ctx, func(uid string) bool {
		_, err := s.Journal.Read(uid)
		return known[uid] || err == nil
	}, now)
}

func (o *overview) warn(format string, args ...any) {
	o.Warnings = append(o.Warnings, plain.Line(fmt.Sprintf(format, args...)))
}

// tell says what is wrong with pods, and with other objects of a cluster.
func (o *overview) tell(l sentence.Language, records []*journal.Record, objects *why.Objects, now time.Time) {
	list, _ := why.Overview(records, now, l)
	at := map[string]int{}
	for i := range o.Pods {
		at[o.Pods[i].UID] = i
	}
	for _, t := range append(list, objects.Troubles(l)...) {
		one := trouble{Text: t.Text(l), Of: t.Object, Tone: "wait"}
		if t.Urgent() {
			one.Tone = "bad"
		}
		if kind, name, owned := strings.Cut(t.Owner, "/"); owned {
			one.Of = plain.Line(kind + " " + t.Pods[0].Namespace + "/" + name)
		}
		for _, p := range t.Pods {
			one.Pods = append(one.Pods, podName{p.UID, plain.Line(p.Namespace + "/" + p.Name)})
			if i, shown := at[p.UID]; shown && o.Pods[i].Tone == "good" {
				o.Pods[i].Tone = "wait"
			}
		}
		o.Troubles = append(o.Troubles, one)
	}
}

// rowOf is a pod's row.
func rowOf(pod *v1.Pod, now time.Time) podRow {
	cells := client.Row(pod, now)
	for i := range cells {
		cells[i] = plain.Line(cells[i])
	}
	row := podRow{
		UID: string(pod.UID), Namespace: cells[0], Name: cells[1], Ready: cells[2], Status: cells[3],
		Age: cells[5], IP: cells[6], Tone: toneOf(pod, cells[3]), Labels: plain.Line(labels.FormatLabels(pod.Labels)),
	}
	row.Restarts, row.Restarted = client.Restarts(pod, now)
	return row
}

// toneOf is how good a pod is, in a word.
func toneOf(pod *v1.Pod, status string) string {
	switch {
	case pod.Status.Phase == v1.PodSucceeded:
		return "done"
	case pod.Status.Phase == v1.PodFailed, pod.Status.Reason == unattended.Reason:
		return "bad"
	case client.IsReady(pod) && status == "Running":
		return "good"
	case status == "Pending", status == "ContainerCreating", status == "PodInitializing", status == "NotReady", status == "Running", status == "Terminating":
		return "wait"
	case len(status) > 6 && status[:6] == "Init:0" || status == "Completed":
		return "wait"
	}
	return "bad"
}

// find is the pod of a UID that a lifepod leads. An error is one line for the user.
func (s *Server) find(ctx context.Context, uid string) (*client.Pod, error) {
	return s.Config.Pods.Find(ctx, uid, "")
}

// left is the pod behind an error of find, if nobody attends to it.
func left(err error) *client.UnattendedError {
	var l *client.UnattendedError
	errors.As(err, &l)
	return l
}

package timeline

import (
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/journal"
)

// source is a journal of pods, of which each began an hour after the one before.
type source []journal.Pod

func (s source) Pods() ([]journal.Pod, error) { return s, nil }

func (s source) Read(uid string) (*journal.Record, error) {
	for i, p := range s {
		if p.UID == uid {
			return &journal.Record{Pod: p, Entries: []journal.Entry{{ID: 1, At: time.Unix(0, 0).Add(time.Duration(i) * time.Hour)}}}, nil
		}
	}
	return nil, fs.ErrNotExist
}

func TestFrom(t *testing.T) {
	pod := func(uid, namespace, name, app string) journal.Pod {
		return journal.Pod{UID: uid, Namespace: namespace, Name: name, Labels: map[string]string{"app": app}}
	}
	all := source{
		pod("1", "default", "web", "a"), pod("2", "default", "web", "a"), pod("3", "default", "worker-0", "b"),
		pod("4", "other", "worker-0", "b"), pod("5", "other", "worker-1", "b"),
	}
	for _, test := range []struct {
		name   string
		wanted Wanted
		uids   string // those that are found
		err    string
	}{
		{name: "newest of a name", wanted: Wanted{Names: []string{"web"}}, uids: "2"},
		{name: "by UID", wanted: Wanted{Names: []string{"1"}}, uids: "1"},
		{name: "twice", wanted: Wanted{Names: []string{"web", "default/web"}}, uids: "2"},
		{name: "several", wanted: Wanted{Names: []string{"other/worker-0", "worker-1", "web"}}, uids: "452"},
		{name: "ambiguous", wanted: Wanted{Names: []string{"worker-0"}}, err: `pod "worker-0" is ambiguous: default/worker-0, other/worker-0; name it so, or with -n`},
		{name: "namespace", wanted: Wanted{Names: []string{"worker-0"}, Namespace: "other"}, uids: "4"},
		{name: "two namespaces", wanted: Wanted{Names: []string{"other/worker-0"}, Namespace: "default"}, err: `pod other/worker-0 is not in namespace "default": leave -n out`},
		{name: "misspelt", wanted: Wanted{Names: []string{"wrker-1"}}, err: `the journal has no pod "wrker-1": did you mean other/worker-1?`},
		{name: "unknown", wanted: Wanted{Names: []string{"something"}, Namespace: "other"}, err: `the journal has no pod "something" in namespace "other"`},
		{name: "labels", wanted: Wanted{Labels: "app=b"}, uids: "345"},
		{name: "labels, newest", wanted: Wanted{Labels: "app in (a)"}, uids: "2"},
		{name: "labels, namespace", wanted: Wanted{Labels: "app=b", Namespace: "default"}, uids: "3"},
		{name: "labels of none", wanted: Wanted{Labels: "app=c"}, err: "no pod in the journal has the labels app=c"},
		{name: "no labels", wanted: Wanted{Labels: "=,"}, err: `-l "=,": `},
	} {
		pods, err := test.wanted.From(all)
		uids, text := "", ""
		for _, p := range pods {
			uids += p.UID
		}
		if err != nil {
			text = err.Error()
		}
		assert.True(t, uids == test.uids && (text == "") == (test.err == "") && strings.HasPrefix(text, test.err),
			"%s: %q, %q", test.name, uids, text)
	}
	assert.Fails(t, assert.ErrorOf((Wanted{Names: []string{"web"}}).From(source{})), "an empty journal has a pod")
}

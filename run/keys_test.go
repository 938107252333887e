package run

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/journal"
)

var colours = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// TestKeys: what keys ask for, of a pod that lives and of one that ends.
func TestKeys(t *testing.T) {
	none := Action{}
	stop, kill, interrupt := Action{Do: Stop}, Action{Do: Kill}, Action{Do: Interrupt}
	for name, tc := range map[string]struct {
		stage, keys string
		want        []Action
	}{
		"restart":                 {"syncing", "r", []Action{{Do: Restart, Container: "main"}}},
		"restart another":         {"syncing", "down r", []Action{none, {Do: Restart, Container: "helper"}}},
		"restart a sidecar":       {"syncing", "up r", []Action{none, {Do: Restart, Container: "proxy"}}},
		"no init container":       {"syncing", "up up r", []Action{none, none, none}},
		"round the containers":    {"syncing", "tab tab r", []Action{none, none, none}},
		"stop":                    {"syncing", "s", []Action{stop}},
		"quit asks":               {"syncing", "q q", []Action{none, stop}},
		"quit and yes":            {"syncing", "q y", []Action{none, stop}},
		"quit and no":             {"syncing", "q esc q", []Action{none, none, none}},
		"quit, and then another":  {"syncing", "q s s", []Action{none, none, stop}},
		"quit leaves a panel":     {"syncing", "l q q q", []Action{none, none, none, stop}},
		"Ctrl-C in a panel":       {"syncing", "w ctrl+c ctrl+\\ ctrl+z", []Action{none, interrupt, kill, {Do: Suspend}}},
		"Ctrl-C when asked":       {"syncing", "q ctrl+c q", []Action{none, interrupt, none}},
		"nothing is ended twice":  {"terminating", "s r", []Action{none, none}},
		"quit when ending":        {"terminating", "q q", []Action{none, kill}},
		"keys that do nothing":    {"syncing", "x f1 é", []Action{none, none, none}},
		"actions in a panel":      {"syncing", "w right r s", []Action{none, none, {Do: Restart, Container: "helper"}, stop}},
		"panels follow the other": {"syncing", "l w ? ? r", []Action{none, none, none, none, {Do: Restart, Container: "main"}}},
	} {
		pod := viewPodOf("set-up:init", "proxy:sidecar", "main", "helper")
		v := NewView(pod, began, false)
		v.Now(pod, journal.Now{Stage: tc.stage})
		var got []Action
		for key := range strings.FieldsSeq(tc.keys) {
			got = append(got, v.Press(key))
		}
		assert.Deep(t, name, tc.want, got)
	}
}

// TestScrolling: a log follows its end, until the user scrolls; then what is read stays where it is.
func TestScrolling(t *testing.T) {
	v := NewView(viewPodOf("main"), began, false)
	v.Resize(40, 10)
	write := func(from, to int) {
		for i := from; i < to; i++ {
			v.Wrote("main", "stdout", "line "+strconv.Itoa(i)+"\n")
		}
	}
	shows := func(when, first, last string) {
		t.Helper()
		rows := strings.Split(v.Screen(at(1)), "\n")
		assert.True(t, rows[2] == first && rows[8] == last, "%s: from %q to %q, want from %q to %q", when, rows[2], rows[8], first, last)
	}
	write(0, 50)
	v.Press("l")
	shows("at first", "line 43", "line 49")
	write(50, 60)
	shows("followed", "line 53", "line 59")
	v.Press("pgup")
	shows("a page above", "line 46", "line 52")
	write(60, 70)
	shows("more is written", "line 46", "line 52")
	v.Press("home")
	shows("the beginning", "line 0", "line 6")
	v.Press("down")
	shows("a line below", "line 1", "line 7")
	v.Press("end")
	shows("the end", "line 63", "line 69")
}

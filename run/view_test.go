package run

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/why"
)

var update = flag.Bool("update", false, "write the golden files anew")

var began = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }

// hostile is what a terminal would obey: it clears the screen, names the window, turns what is read.
const hostile = "\x1b[2J\x1b]0;owned\a\u202e\r日本語のとても長い名前です"

func viewPodOf(containers ...string) *v1.Pod {
	pod := &v1.Pod{}
	pod.Namespace, pod.Name = "default", "web"
	always := v1.ContainerRestartPolicyAlways
	for _, name := range containers {
		name, kind, _ := strings.Cut(name, ":")
		c := v1.Container{Name: name, Image: "registry.example/" + name + ":1"}
		switch kind {
		case "init":
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
		case "sidecar":
			c.RestartPolicy = &always
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
		default:
			pod.Spec.Containers = append(pod.Spec.Containers, c)
		}
	}
	return pod
}

// scene is a view and the time of it.
type scene struct {
	view *View
	at   time.Time
}

// crashing is a pod of which a container is in back-off.
func crashing(colour bool) scene {
	pod := viewPodOf("set-up:init", "main", "helper")
	v := NewView(pod, began, colour)
	v.Address("10.1.2.3")
	v.Now(pod, journal.Now{
		Phase: "Running", Stage: "syncing",
		Waits: []lifecycle.Wait{{Subject: "main", For: lifecycle.WaitBackOff, Since: at(60), Until: at(70), Because: "exited 1, restartPolicy OnFailure, 2nd failure"}},
		Containers: []journal.ContainerNow{
			{Name: "set-up", State: "terminated", Exit: &journal.Exit{Reason: "Completed"}},
			{Name: "main", State: "waiting", Reason: "CrashLoopBackOff", Restarts: 2},
			{Name: "helper", State: "running", Since: at(1), Ready: true},
		},
	})
	for i := range 40 {
		v.Wrote("main", "stdout", "line "+strconv.Itoa(i)+"\tof \x1b[31mmain\x1b[0m\n")
	}
	v.Wrote("main", "stderr", "half a ")
	v.Wrote("main", "stderr", "line\nnot whole")
	v.Wrote("helper", "stdout", "日本語 of the helper, 进度 50 %\r\n")
	v.Said("+59.9s main exited 1 → restart in 10s (restartPolicy OnFailure, 2nd failure)")
	v.Said("+59.9s pod not Ready")
	return scene{v, at(63.8)}
}

// scenes are what the golden files show.
var scenes = map[string]func(colour bool) scene{
	"starting": func(colour bool) scene {
		pod := viewPodOf("set-up:init", "proxy:sidecar", "main", "helper")
		v := NewView(pod, began, colour)
		v.Now(pod, journal.Now{
			Phase: "Pending", Stage: "syncing",
			Waits: []lifecycle.Wait{
				{Subject: "pod", For: lifecycle.WaitSandbox, Since: at(1)},
				{Subject: "set-up", For: lifecycle.WaitImagePull, On: "registry.example/set-up:1", Since: at(1)},
				{Subject: "proxy", For: lifecycle.WaitTurn, On: "set-up"},
				{Subject: "main", For: lifecycle.WaitImageRetry, On: "registry.example/main:1", Since: at(2), Until: at(22), Because: "ErrImagePull: not found"},
				{Subject: "helper", For: lifecycle.WaitImagePull, On: "registry.example/helper:1", Since: at(1)},
			},
			Containers: []journal.ContainerNow{{Name: "set-up", State: "waiting"}, {Name: "proxy", State: "waiting"}, {Name: "main", State: "waiting"}, {Name: "helper", State: "waiting"}},
			Pulls: []journal.Pull{
				{Image: "registry.example/set-up:1", Elapsed: 6 * time.Second, DoneBytes: 9 << 20, TotalBytes: 12 << 20, BytesPerSecond: 1 << 20, Layers: 3, Layer: &journal.PullLayer{Number: 2}},
				{Image: "registry.example/helper:1", Elapsed: 6 * time.Second, DoneBytes: 4 << 20, TotalBytes: 4 << 20},
			},
		})
		v.Said("+0.146s pod sandbox ready, address 10.1.2.3")
		return scene{v, at(7.3)}
	},
	"crashing": crashing,
	"ending": func(colour bool) scene {
		pod := viewPodOf("proxy:sidecar", "main", "other")
		v := NewView(pod, began, colour)
		v.Now(pod, journal.Now{
			Phase: "Running", Stage: "terminating",
			Waits: []lifecycle.Wait{
				{Subject: "proxy", For: lifecycle.WaitStopTurn, On: "main, other", Since: at(1), Until: at(20)},
				{Subject: "main", For: lifecycle.WaitGrace, Since: at(10), Until: at(20)},
				{Subject: "other", For: lifecycle.WaitPreStop, On: "preStop", Since: at(10), Until: at(20)},
			},
		})
		v.Press("q")
		return scene{v, at(12.5)}
	},
	"hostile": func(colour bool) scene {
		pod := viewPodOf("main"+hostile, "other")
		pod.Name = "web" + hostile
		v := NewView(pod, began, colour)
		v.Address(hostile)
		v.Now(pod, journal.Now{
			Phase: "Running", Stage: "syncing", Ready: true,
			Waits: []lifecycle.Wait{
				{Subject: "pod", For: lifecycle.WaitReadinessGate, On: hostile, Because: hostile},
				{Subject: "main" + hostile, For: lifecycle.WaitProbe, On: "readiness", Because: "failed 1 of 3: " + hostile},
				{Subject: "other", For: "something new", On: hostile, Because: hostile, Until: at(9)},
			},
			Containers: []journal.ContainerNow{{Name: "main" + hostile, State: "running", Restarts: 12345}, {Name: "other", State: "waiting", Reason: hostile}},
		})
		v.Wrote("main"+hostile, "stdout", hostile+"\n"+strings.Repeat("日本", 200)+"\n\x1b[31mred over\nlines\n")
		v.Said("+1.000s main " + hostile + "\nand a line")
		return scene{v, at(5)}
	},
	"logs": func(colour bool) scene {
		s := crashing(colour)
		s.view.Press("l")
		s.view.Resize(60, 12)
		s.view.Press("pgup")
		return s
	},
	"why": func(colour bool) scene {
		s := crashing(colour)
		s.view.Press("w")
		s.view.Explained(why.Explanation{Standing: "default/web is Running and not Ready since 12:00:59.", Sentences: []why.Sentence{
			{Subject: "main", Text: "main waits for its next restart: back-off, next try 12:01:10, in 6.2 s (exited 1, restartPolicy OnFailure, 2nd failure)."},
			{Subject: "helper", Text: "of another container."},
			{Subject: "pod", Text: "日本語 " + strings.Repeat("a", 150) + "."},
		}}, nil)
		return s
	},
	"why-unknown": func(colour bool) scene {
		s := crashing(colour)
		s.view.Press("w")
		s.view.Explained(why.Explanation{}, errors.New("journal: "+hostile))
		return s
	},
	"help": func(colour bool) scene {
		s := crashing(colour)
		s.view.Press("?")
		return s
	},
}

// TestScreen compares the screens with the golden files, at several sizes, with and without colours.
func TestScreen(t *testing.T) {
	for name, make := range scenes {
		for _, size := range []struct{ columns, rows int }{{60, 20}, {80, 24}, {120, 30}, {40, 6}} {
			for _, colour := range []bool{false, true} {
				if colour && size.columns != 80 {
					continue
				}
				s := make(colour)
				s.view.Resize(size.columns, size.rows)
				got := s.view.Screen(s.at)
				viewCheck(t, name, got, size.columns, size.rows)
				file := name + "-" + strconv.Itoa(size.columns)
				if colour {
					file += "-colour"
				}
				golden(t, file, got)
			}
		}
	}
}

// viewCheck holds for every screen: it has the size of the terminal, and nothing that one obeys but colours.
func viewCheck(t *testing.T, name, got string, columns, rows int) {
	t.Helper()
	lines := strings.Split(got, "\n")
	assert.Equal(t, rows, len(lines), "rows of %s", name)
	for _, line := range lines {
		w := ansi.StringWidthWc(line)
		assert.True(t, w <= columns, "%s has a row of %d columns, more than %d: %q", name, w, columns, line)
		assert.True(t, !strings.ContainsFunc(colours.ReplaceAllString(line, ""), func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }),
			"%s has what a terminal obeys: %q", name, line)
	}
}

// golden compares with a file, whose escapes are written as text.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	got = strings.ReplaceAll(got, "\x1b", `\e`) + "\n"
	if *update {
		assert.Must(t, os.WriteFile(path, []byte(got), 0o600))
		return
	}
	want := assert.Get(os.ReadFile(path)).Must(t)
	assert.Deep(t, name, string(want), got)
}

// TestEverySize: a screen has the terminal's size, however small that is.
func TestEverySize(t *testing.T) {
	for name, make := range scenes {
		for columns := 1; columns < 90; columns += 4 {
			for rows := 1; rows < 26; rows += 3 {
				s := make(columns%2 == 0)
				s.view.Resize(columns, rows)
				viewCheck(t, name, s.view.Screen(s.at), columns, rows)
			}
		}
	}
}

// TestManyContainers: where they have no room, the selected one and those beside it are shown.
func TestManyContainers(t *testing.T) {
	var names []string
	for i := range 30 {
		names = append(names, "c"+strconv.Itoa(i))
	}
	pod := viewPodOf(names...)
	v := NewView(pod, began, false)
	v.Resize(80, 10)
	for range 20 {
		v.Press("down")
	}
	got := v.Screen(at(1))
	assert.True(t, strings.Contains(got, "› c20 ") && !strings.Contains(got, "c1 "), "the 20th is selected:\n%s", got)
}

// TestEndOfLog: only the last lines are kept, and a line without an end does not grow for ever.
func TestEndOfLog(t *testing.T) {
	v := NewView(viewPodOf("main"), began, false)
	for i := range 3 * mostShownLines {
		v.Wrote("main", "stdout", strconv.Itoa(i)+"\n")
	}
	if l := v.logs["main"]; len(l.lines) != mostShownLines || l.lines[mostShownLines-1] != strconv.Itoa(3*mostShownLines-1) {
		t.Errorf("kept %d lines, the last %q", len(l.lines), l.lines[len(l.lines)-1])
	}
	for range 1000 {
		v.Wrote("main", "stderr", strings.Repeat("x", 1<<10))
	}
	if l, w := v.logs["main"], v.writers["main/stderr"]; l.bytes > mostShownBytes || len(w.begun) > longest {
		t.Errorf("kept %d bytes, and %d of a line", l.bytes, len(w.begun))
	}
}

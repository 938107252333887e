package why

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
)

// waiting is a pod whose containers wait for one thing.
func waiting(name string, wait lifecycle.Wait) *journal.Record {
	return &journal.Record{
		Pod:    journal.Pod{UID: name, Namespace: "default", Name: name, Containers: []journal.Container{{Name: "main", Kind: "container"}}},
		Living: true, Now: &journal.Now{Phase: "Pending", Stage: "syncing", Waits: []lifecycle.Wait{wait}},
	}
}

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// wantFirst wants that first to be said of a pod.
func wantFirst(t *testing.T, r *journal.Record, want string, words ...any) {
	t.Helper()
	got := Explain(r, now, sentence.English).Sentences
	assert.True(t, len(got) > 0 && got[0].Text == want, "%v: %+v, want %s", words, got, want)
}

// TestOverview: pods with one cause are reported together, the worst first, and those that are as they
// should be are not reported.
func TestOverview(t *testing.T) {
	image := lifecycle.Wait{Subject: "main", For: lifecycle.WaitImageRetry, On: "app:2", Until: now.Add(10 * time.Second), Because: "ErrImagePull: not found", Rule: "A-IMG-4"}
	well := waiting("well", lifecycle.Wait{})
	well.Now = &journal.Now{Phase: "Running", Stage: "syncing", Ready: true}
	left := waiting("left", lifecycle.Wait{})
	left.Living, left.Now = false, &journal.Now{At: now.Add(-time.Minute), Phase: "Running", Stage: "syncing", Ready: true}
	gone := waiting("gone", image)
	gone.Now.Stage = "gone"
	failed := func(name string, ago time.Duration, created time.Time) *journal.Record {
		r := waiting(name, lifecycle.Wait{})
		r.Now = &journal.Now{At: now.Add(-ago), Phase: "Failed", Stage: "gone"}
		r.Pod.Created = created
		return r
	}
	again := waiting("again", lifecycle.Wait{})
	again.Now, again.Pod.Created = &journal.Now{Phase: "Running", Stage: "syncing", Ready: true}, now
	held := failed("held", 2*time.Hour, now)
	held.Now.Waits = []lifecycle.Wait{{Subject: "pod", For: lifecycle.WaitFinalizers, On: "example.com/keep"}}
	owned := func(name string, code int32) *journal.Record {
		r := waiting(name, lifecycle.Wait{Subject: "main", For: lifecycle.WaitBackOff, Because: "exited", Until: now.Add(time.Second)})
		r.Pod.Owner, r.Now.Containers = "ReplicaSet/web", []journal.ContainerNow{{Name: "main", State: "waiting", Exit: &journal.Exit{Code: code}}}
		return r
	}
	records := []*journal.Record{
		waiting("slow", lifecycle.Wait{Subject: "pod", For: lifecycle.WaitVolumes, Since: now.Add(-5 * time.Second)}),
		failed("late", time.Minute, now), failed("long-ago", 2*time.Hour, now), failed("again", time.Minute, now.Add(-time.Minute)), again, held,
		owned("web-2", 3), owned("web-1", 3), owned("web-3", 4),
		well, gone, waiting("a", image), waiting("b", image), left,
		waiting("lost", lifecycle.Wait{Subject: "pod", For: journal.WaitNode, On: "n1", Because: "no route"}),
		waiting("new", lifecycle.Wait{Subject: "pod", For: journal.WaitScheduling, Because: "0/1 nodes are available"}),
	}
	var b strings.Builder
	list, asked := Overview(records, now, sentence.English)
	assert.Must(t, (Layout{Width: 80}).WriteAll(&b, list, asked))
	want := `default/left
  Nobody leads this pod: its lifepod ended without it, at 11:59:00 at the
  earliest; what follows is as of then.
default/a and default/b
  The image app:2 of main can't be had: ErrImagePull: not found; next try
  12:00:10, in 10 s.
default/lost
  The pod's node n1 does not answer, so that no more is known than its object
  says (no route).
default/new
  The pod has no node yet: 0/1 nodes are available.
default/web-1 and default/web-2
  main waits for its next restart: back-off, next try 12:00:01, in 1 s (exited).
  The others of ReplicaSet/web are alike.
default/web-3
  main waits for its next restart: back-off, next try 12:00:01, in 1 s (exited).
default/late
  default/late is gone since 11:59:00; its phase was Failed.
default/held
  The pod's object is still there because it has the finalizer example.com/keep,
  which others remove.
default/slow
  The pod's volumes are being mounted, for 5 s now.
11 of 13 pods are not as they should be; lifepod why POD tells all of one.
`
	assert.Deep(t, "overview", want, b.String())
}

// TestImageHint: of an image that can't be had it is told, now and when the pod has ended without it, that it is here.
func TestImageHint(t *testing.T) {
	r := waiting("p", lifecycle.Wait{Subject: "main", For: lifecycle.WaitImageRetry, On: "app", Until: now.Add(10 * time.Second), Because: "ErrImagePull: no such host"})
	failed := journal.Decision(lifecycle.Report{
		Subject: "main", Kind: lifecycle.KindImageFailed, Reason: "ErrImagePull", Message: "no such host",
		Because: lifecycle.Because{Kind: "image-is-here", Text: "Always, the default for the tag latest"},
	})
	failed.At = now
	r.Entries = []journal.Entry{failed}
	const hint = "the image is here, but imagePullPolicy is Always, the default for the tag latest: set IfNotPresent to use it"
	assert.Equal(t, "The image app of main can't be had: ErrImagePull: no such host; "+hint+"; next try 12:00:10, in 10 s.", Explain(r, now, sentence.English).Sentences[0].Text, "waiting")
	r.Now.Waits, r.Now.Stage = nil, "gone"
	assert.Equal(t, "main never started; at 12:00:00: ErrImagePull: no such host ("+hint+").", Explain(r, now, sentence.English).Sentences[0].Text, "gone")
}

// TestAbout: what is said of one container is about that one, and whether it is as it should be.
func TestAbout(t *testing.T) {
	r := waiting("web", lifecycle.Wait{Subject: "side", For: lifecycle.WaitBackOff, Because: "exited 3", Until: now})
	r.Pod.Containers = append(r.Pod.Containers, journal.Container{Name: "side", Kind: "container"})
	r.Now.Phase, r.Now.Containers = "Running", []journal.ContainerNow{
		{Name: "main", State: "running", Since: now.Add(-time.Hour), Ready: true},
		{Name: "side", State: "waiting", Reason: "CrashLoopBackOff", Restarts: 2},
	}
	var b strings.Builder
	for name, well := range map[string]bool{"main": true, "side": false} {
		if e := Explain(r, now, sentence.English).About(name); e.Well != well {
			t.Errorf("%s: %+v", name, e)
		}
	}
	for _, name := range []string{"main", "side"} {
		assert.Must(t, (Layout{Width: 400}).Write(&b, Explain(r, now, sentence.English).About(name)))
	}
	want := `main of default/web is running since 11:00:00, restarted 0 times.
It is as it should be: it waits for nothing, and nothing of it was restarted. Of other containers of its pod there is more to tell.
side of default/web is waiting: CrashLoopBackOff, restarted 2 times.
- side waits for its next restart: back-off, next try 12:00:00, now (exited 3).
`
	assert.Deep(t, "", want, b.String())
}

// TestHeldHook: A-HOOK-2: of a hook whose own process has ended it is said what it waits for.
func TestHeldHook(t *testing.T) {
	const held = `its process has ended, but the process sleep (PID 41), which it left, holds its output open`
	for want, wait := range map[string]lifecycle.Wait{
		"main has not started yet: its postStart hook has been running for 29 s: " + held:                           {Subject: "main", For: lifecycle.WaitHook, On: "postStart", Since: now.Add(-29 * time.Second), Held: held},
		"main is being stopped: its preStop hook has been running for 5 s and may until 12:00:20, in 20 s: " + held: {Subject: "main", For: lifecycle.WaitPreStop, On: "preStop", Since: now.Add(-5 * time.Second), Until: now.Add(20 * time.Second), Held: held},
	} {
		var b strings.Builder
		list, asked := Overview([]*journal.Record{waiting("web", wait)}, now, sentence.English)
		assert.Must(t, (Layout{Width: 400}).WriteAll(&b, list, asked))
		assert.True(t, strings.Contains(b.String(), want), "%q, want %q", b.String(), want)
	}
}

// TestChinese: sentences in Chinese have their clauses in its order, and lines are as wide as the terminal, not as long.
func TestChinese(t *testing.T) {
	image := lifecycle.Wait{Subject: "main", For: lifecycle.WaitImageRetry, On: "app:2", Until: now.Add(90 * time.Second), Because: "ErrImagePull: not found"}
	gate := lifecycle.Wait{Subject: "pod", For: journal.WaitScheduling, On: "example.com/quota"}
	var b strings.Builder
	list, asked := Overview([]*journal.Record{waiting("a", image), waiting("b", image), waiting("c", gate)}, now, sentence.Chinese)
	assert.Must(t, (Layout{Width: 40, Language: sentence.Chinese}).WriteAll(&b, list, asked))
	assert.Deep(t, "overview", `default/a 和 default/b
  main 的镜像 app:2 无法取得：
  ErrImagePull: not found；下次尝试
  12:01:30（1 分钟 30 秒后）。
default/c
  Pod 还没有节点：在外部移除调度门控
  example.com/quota 之前，不会被调度。
3 个 Pod 中有 3 个不正常；lifepod why POD 说明其中一个的全部情况。
`, b.String())
}

// TestReasonsInChinese: reasons that lifepod gives are Chinese, and those that others, or a lifepod before, have given are as they were.
func TestReasonsInChinese(t *testing.T) {
	exited := &lifecycle.Report{Kind: lifecycle.KindExited, Code: 3, Because: lifecycle.Because{Kind: lifecycle.BecausePolicy, Policy: "Always", Nth: 2}}
	asked := &lifecycle.Report{Kind: lifecycle.KindRestartsAll, Because: lifecycle.Because{Kind: "asked-for-in-the-live-view"}}
	failed := &lifecycle.Report{Kind: lifecycle.KindProbeFailed, On: "liveness", Message: "no route"}
	for want, wait := range map[string]lifecycle.Wait{
		"下次尝试 12:00:00（现在）（退出，退出码 3，restartPolicy Always，第 2 次失败）。": {Subject: "main", For: lifecycle.WaitBackOff, Until: now, Report: exited},
		"（exited 3, restartPolicy Always）。": {Subject: "main", For: lifecycle.WaitBackOff, Until: now, Because: "exited 3, restartPolicy Always"},
		"（所有容器已重启：在实时视图中要求）。":               {Subject: "main", For: lifecycle.WaitBackOff, Until: now, Report: asked},
		"所有容器正在就地重启（在实时视图中要求）：":             {Subject: "pod", For: lifecycle.WaitRestartAll, On: "stop", Report: asked},
		"main 正在停止（存活探针失败：no route）：":       {Subject: "main", For: lifecycle.WaitGrace, Until: now, Report: failed},
		"（main 退出，退出码 3）；等 side 结束，":        {Subject: "pod", For: lifecycle.WaitCompletion, On: "side"},
	} {
		wait.Because = wait.In(fmt.Sprintf)
		r := waiting("web", wait)
		r.Now.Containers = []journal.ContainerNow{{Name: "main", State: "terminated", Exit: &journal.Exit{Code: 3}}}
		got := Explain(r, now, sentence.Chinese).Sentences[0].Text
		assert.True(t, strings.Contains(got, want), "%q, want %q", got, want)
	}
}

// TestHarmless: what others have written can't steer the terminal.
func TestHarmless(t *testing.T) {
	r := waiting("p", lifecycle.Wait{Subject: "main", For: lifecycle.WaitRetry, Because: "CreateContainerError: \x1b[31mred\x07\u202e\nnext", Rule: "A-CST-7"})
	r.Pod.Name = "p\x1b]0;title\x07"
	var b strings.Builder
	assert.Must(t, (Layout{Width: 80}).Write(&b, Explain(r, now, sentence.English)))
	list, asked := Overview([]*journal.Record{r}, now, sentence.English)
	assert.Must(t, (Layout{Width: 80}).WriteAll(&b, list, asked))
	assert.True(t, !strings.ContainsAny(b.String(), "\x1b\x07\u202e"), "it says %q", b.String())
}

// TestPulls: a pull that is under way says how far it is, if that is known.
func TestPulls(t *testing.T) {
	for _, tc := range []struct {
		pull journal.Pull
		want string
	}{
		{journal.Pull{Image: "app:2", Elapsed: 4 * time.Second}, "The image app:2 of main is being pulled, for 4 s now."},
		{journal.Pull{Image: "other", DoneBytes: 1, TotalBytes: 2}, "The image app:2 of main is being pulled, for 4 s now."},
		{
			journal.Pull{Image: "app:2", Elapsed: 4 * time.Second, DoneBytes: 12 << 20, TotalBytes: 37 << 20, BytesPerSecond: 3 << 20, Layers: 1, Layer: &journal.PullLayer{Number: 1}},
			"The image app:2 of main is being pulled: 12 MiB of 37 MiB are here, 3 MiB a second, for 4 s now.",
		},
		{
			journal.Pull{Image: "app:2", Elapsed: 4 * time.Second, DoneBytes: 12 << 20, TotalBytes: 37 << 20},
			"The image app:2 of main is being pulled: 12 MiB of 37 MiB are here and no more is coming, for 4 s now.",
		},
		{
			journal.Pull{
				Image: "app:2", DoneBytes: 12 << 20, TotalBytes: 37 << 20, BytesPerSecond: 3 << 20, Layers: 7,
				Layer: &journal.PullLayer{Number: 3, Digest: "1a2b3c4d5e6f", DoneBytes: 1 << 20, TotalBytes: 26 << 20},
			},
			"The image app:2 of main is being pulled: 12 MiB of 37 MiB are here, 3 MiB a second, " +
				"and layer 3 of 7 (1a2b3c4d5e6f) is the slowest with 1 MiB of 26 MiB, for 4 s now.",
		},
		{
			journal.Pull{Image: "app:2", DoneBytes: 37 << 20, TotalBytes: 37 << 20, Layers: 7, Layer: &journal.PullLayer{Number: 5, Digest: "1a2b3c4d5e6f"}},
			"The image app:2 of main is being pulled: its 37 MiB are here and layer 5 of 7 (1a2b3c4d5e6f) is being unpacked, for 4 s now.",
		},
		{
			journal.Pull{Image: "app:2", Elapsed: 4 * time.Second, DoneBytes: 37 << 20, TotalBytes: 37 << 20},
			"The image app:2 of main is being pulled: its 37 MiB are here and are being unpacked, for 4 s now.",
		},
	} {
		r := waiting("p", lifecycle.Wait{Subject: "main", For: lifecycle.WaitImagePull, On: "app:2", Since: now.Add(-4 * time.Second)})
		r.Now.Pulls = []journal.Pull{tc.pull}
		wantFirst(t, r, tc.want)
	}
}

// TestObject: of a pod without a journal it is told what its object says, and nothing is made up.
func TestObject(t *testing.T) {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "elsewhere", UID: "u"},
		Spec:       v1.PodSpec{NodeName: "n2", Containers: []v1.Container{{Name: "main"}, {Name: "side"}}},
		Status: v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{
			{Name: "main", RestartCount: 3, State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 40s"}}},
			{Name: "side", Ready: true, State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}},
		}},
	}
	for _, tc := range []struct {
		unanswered error
		want       []string
	}{
		{nil, []string{"main is waiting: CrashLoopBackOff: back-off 40s, restarted 3 times; its node's journal tells no more."}},
		{errors.New("no route"), []string{
			"main is waiting: CrashLoopBackOff: back-off 40s, restarted 3 times; its node's journal tells no more.",
			"The pod's node n2 does not answer, so that no more is known than its object says (no route).",
		}},
	} {
		e := Explain(journal.OfObject(pod, tc.unanswered), now, sentence.English)
		var got []string
		for _, s := range e.Sentences {
			got = append(got, s.Text)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" || e.Standing != "default/elsewhere is Running and not Ready." {
			t.Errorf("%s (-want +got):\n%s", e.Standing, diff)
		}
	}
}

// TestStartError: what the runtime said of a process that it could not start, whether the journal has its exit or only the
// status has it.
func TestStartError(t *testing.T) {
	exit := &journal.Exit{
		Code: 128, Reason: "StartError", FinishedAt: now,
		Message: "failed to create containerd task: failed to create shim task: runc create failed: container init was OOM-killed (memory limit too low?): the limit is 1048576 bytes",
	}
	const said = "container init was OOM-killed (memory limit too low?): the limit is 1048576 bytes"
	decided := journal.Decision(lifecycle.Report{Subject: "main", Kind: lifecycle.KindExited, Code: 128, Reason: "StartError", Outcome: "not-restarted"})
	decided.ID, decided.Cause, decided.At = 2, 1, now
	for name, fact := range map[string]journal.Entry{
		"an exit":    {ID: 1, At: now, Kind: journal.Fact, Name: "ContainerExited", Container: "main", Exit: exit},
		"a snapshot": {ID: 1, At: now, Kind: journal.Fact, Name: "Observed"},
	} {
		r := waiting("p", lifecycle.Wait{})
		r.Now.Waits, r.Now.Phase, r.Entries = nil, "Failed", []journal.Entry{fact, decided}
		r.Now.Containers = []journal.ContainerNow{{Name: "main", State: "terminated", Exit: exit}}
		wantFirst(t, r, "main at 12:00:00: exit 128 StartError: "+said+" → not restarted.", name)
		r.Entries, r.Object = nil, true
		wantFirst(t, r, "main is terminated: exit 128 StartError: "+said+"; its node's journal tells no more.", "the object")
	}
}

// TestSaid: what a process wrote last is told where it failed by itself and has left no termination message.
func TestSaid(t *testing.T) {
	for _, test := range []struct {
		exit       journal.Exit
		said, want string
	}{
		{journal.Exit{Code: 1, Reason: "Error"}, "FATAL: no database", `exit 1, saying "FATAL: no database"`},
		{journal.Exit{Code: 1, Reason: "Error"}, "\x1b[31mERROR\x1b[0m no database", `exit 1, saying "ERROR no database"`},
		{journal.Exit{Code: 1, Reason: "Error"}, "", "exit 1"},
		{journal.Exit{Code: 1, Reason: "Error", Message: "starting\nno such table\n"}, "bye", `exit 1, saying "no such table"`},
		{journal.Exit{Code: 0, Reason: "Completed"}, "done", "exit 0"},
		{journal.Exit{Code: 137, Reason: "OOMKilled"}, "loading", "exit 137 OOMKilled"},
	} {
		test.exit.FinishedAt = now
		decided := journal.Decision(lifecycle.Report{Subject: "main", Kind: lifecycle.KindExited, Code: test.exit.Code, Reason: test.exit.Reason, Outcome: "not-restarted"})
		decided.ID, decided.Cause, decided.At = 2, 1, now
		r := waiting("p", lifecycle.Wait{})
		r.Now.Waits, r.Now.Phase = nil, "Failed"
		r.Entries = []journal.Entry{{ID: 1, At: now, Kind: journal.Fact, Name: "ContainerExited", Container: "main", Exit: &test.exit}, decided}
		r.Ends = []journal.End{{Container: "main", Exit: test.exit, Entry: 1, Said: test.said}}
		wantFirst(t, r, "main at 12:00:00: "+test.want+" → not restarted.")
	}
}

// TestWordsOnly: of an exit of which a lifepod before kept only words, they are told.
func TestWordsOnly(t *testing.T) {
	r := waiting("p", lifecycle.Wait{})
	r.Now.Waits, r.Now.Phase = nil, "Running"
	r.Entries = []journal.Entry{
		{ID: 1, At: now, Kind: journal.Fact, Name: "ContainerExited", Container: "main", Exit: &journal.Exit{Code: 3, Reason: "Error"}},
		{ID: 2, Cause: 1, At: now, Kind: journal.Decided, Container: "main", What: "exited 3", Outcome: "restart in 10s", Because: "restartPolicy Always, 2nd failure"},
		{ID: 3, Cause: 1, At: now, Kind: journal.Decided, Container: "main", What: "pulling image app:2"},
	}
	const want = "main at 12:00:00: exit 3 → restart in 10s (restartPolicy Always, 2nd failure)."
	if got := Explain(r, now, sentence.English).Sentences; len(got) != 1 || got[0].Text != want {
		t.Errorf("%+v, want %s", got, want)
	}
}

// TestLeft: of entries that were given up it is told that they are missing.
func TestLeft(t *testing.T) {
	r := waiting("p", lifecycle.Wait{Subject: "pod", For: lifecycle.WaitVolumes})
	r.Left = 7
	for i, id := range []int64{1, 2, 9, 10, 11} {
		r.Entries = append(r.Entries, journal.Entry{ID: id, At: now.Add(time.Duration(i) * time.Minute)})
	}
	sentences := Explain(r, now, sentence.English).Sentences
	const want = "The journal has not kept 7 entries of what happened from 12:01:00 to 12:02:00."
	if last := sentences[len(sentences)-1]; len(sentences) != 2 || last.Text != want {
		t.Errorf("%+v, want %s", sentences, want)
	}
}

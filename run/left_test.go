package run

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/unattended"
	"github.com/lifepod/lifepod/worker"
)

// deadPID is that of a process that has ended.
func deadPID(t *testing.T) int {
	t.Helper()
	ended := exec.Command("true")
	assert.Must(t, ended.Run())
	return ended.Process.Pid
}

// killed makes a record that of a lifepod that was killed.
func killed(t *testing.T, root string, r *record) {
	t.Helper()
	dead := *r
	dead.PID = deadPID(t)
	data := assert.Get(json.Marshal(dead)).Must(t)
	assert.Must(t, os.WriteFile(filepath.Join(recordsDir(root), string(r.UID)+".json"), data, 0o600))
}

func namedPod(name string, uid types.UID) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: uid},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "main", Image: "i:1"}}},
	}
}

// leaveKilled leaves a pod as a lifepod run does that is killed; begun says whether it
// had saved a checkpoint.
func leaveKilled(t *testing.T, runtime *host.Runtime, pod *v1.Pod, begun bool) {
	t.Helper()
	digest := assert.Get(digestOf(&manifest.Set{Pod: pod})).Must(t)
	r := assert.Get(newRecord(runtime, pod, digest)).Must(t)
	if begun {
		c := lifecycle.New(pod, lifecycle.DefaultOptions()).Checkpoint()
		c.Reported.Phase = v1.PodRunning
		assert.Must(t, worker.NewCheckpointFile(checkpointPath(recordsDir(runtime.Root), pod.UID)).Save(c))
	}
	r.leave()
	killed(t, runtime.Root, r)
}

// Pods of killed lifepods are known with their spec and status, also without a file of
// theirs; those of living ones and what can't be read are not.
func TestLeft(t *testing.T) {
	runtime := &host.Runtime{Root: t.TempDir(), Endpoint: "unix:///run/c.sock"}
	leaveKilled(t, runtime, namedPod("dead", "1"), true)
	leaveKilled(t, runtime, namedPod("barely", "2"), false)
	assert.Must(t, os.Remove(podPath(recordsDir(runtime.Root), "2")))
	alive := assert.Get(newRecord(runtime, namedPod("alive", "3"), "")).Must(t)
	defer alive.leave()
	assert.Must(t, os.WriteFile(filepath.Join(recordsDir(runtime.Root), "4.json"), []byte("{"), 0o600))
	left := Left(runtime.Root)
	var got []string
	for _, p := range left {
		got = append(got, strings.Join([]string{p.FullName(), string(p.Status.Phase), p.Status.Reason, p.Endpoint}, " "))
	}
	want := []string{"default/barely Pending Unattended unix:///run/c.sock", "default/dead Running Unattended unix:///run/c.sock"}
	assert.Deep(t, "left", want, got)
	if dead := left[1]; dead.Spec.Containers[0].Image != "i:1" || dead.LogDir != filepath.Join(runtime.Root, "logs", "default_dead_1") {
		t.Errorf("%+v in %s", dead.Spec, dead.LogDir)
	}
	wantText := "pod default/dead is unattended: its lifepod run was killed: run the same manifests again to resume it, or `lifepod --root " +
		runtime.Root + " stop default/dead` to end it"
	assert.Deep(t, "notice", wantText, unattended.Notice(left[1:], fmt.Sprintf))
	if text := unattended.Notice(left, fmt.Sprintf); !strings.HasPrefix(text, "2 pods are unattended, because their lifepod run was killed (default/barely, default/dead): run the same manifests again to resume one, or ") {
		t.Error(text)
	}
}

// A second pod of a name is refused, with what to do; one of another namespace or
// name is not.
func TestCheckName(t *testing.T) {
	runtime := &host.Runtime{Root: t.TempDir()}
	alive := assert.Get(newRecord(runtime, namedPod("alive", "1"), "")).Must(t)
	defer alive.leave()
	leaveKilled(t, runtime, namedPod("dead", "2"), true)
	elsewhere := namedPod("alive", "9")
	elsewhere.Namespace = "blue"
	for _, tc := range []struct {
		pod  *v1.Pod
		want string
	}{
		{namedPod("alive", "9"), "pod default/alive exists already, the lifepod run with PID "},
		{namedPod("dead", "9"), "pod default/dead exists already, with another spec: its lifepod run was killed, and it runs on unattended: --new ends it first, and so does `lifepod --root " + runtime.Root + " stop default/dead`"},
		{namedPod("other", "9"), ""},
		{elsewhere, ""},
		{namedPod("alive", "1"), ""},
	} {
		err := checkName(runtime.Root, tc.pod)
		assert.True(t, (err == nil) == (tc.want == "") && (err == nil || strings.HasPrefix(err.Error(), tc.want)),
			"%s: %v, want %q", tc.pod.Name, err, tc.want)
	}
}

// Of two runs of one manifest that begin at once exactly one has the name.
func TestOneNameAtOnce(t *testing.T) {
	runtime := &host.Runtime{Root: t.TempDir()}
	const runs = 8
	claims := make(chan *record, runs)
	for i := range runs {
		go func() {
			r := runOf{runtime: runtime, set: &manifest.Set{Pod: namedPod("web", types.UID(string(rune('a'+i))))}}
			own, _ := r.claim()
			claims <- own
		}()
	}
	won := 0
	for range runs {
		if own := <-claims; own != nil {
			won++
			defer own.remove()
		}
	}
	assert.True(t, won == 1, "%d of %d runs have the name, want 1", won, runs)
}

// What lifepods were killed over while they made a record goes, what belongs to a record
// stays, also to one of a lifepod that lives.
func TestForgetScraps(t *testing.T) {
	runtime := &host.Runtime{Root: t.TempDir()}
	assert.Must(t, forgetScraps(runtime.Root))
	alive := assert.Get(newRecord(runtime, namedPod("alive", "1"), "")).Must(t)
	defer alive.leave()
	leaveKilled(t, runtime, namedPod("dead", "2"), true)
	dir := recordsDir(runtime.Root)
	for _, name := range []string{".new-17", ".new-3.pod", "3.pod", "4.checkpoint", "4.shown", ".other", "lost+found"} {
		assert.Must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	assert.Must(t, forgetScraps(runtime.Root))
	entries := assert.Get(os.ReadDir(dir)).Must(t)
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	assert.Deep(t, "records", []string{".other", "1.json", "1.pod", "1.shown", "2.checkpoint", "2.json", "2.pod", "2.shown", "lost+found"}, got)
}

package nodes

import (
	"errors"
	"io/fs"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster"
)

func podOf(uid types.UID) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: string(uid), UID: uid}}
}

// What is saved of a pod is there after a reboot, as it was saved; of a pod that had not begun there is nothing.
func TestDisk(t *testing.T) {
	var d disk
	if again, err := d.Rebooted(); !again || err != nil {
		t.Errorf("a new disk: rebooted is %t, %v", again, err)
	}
	kept := d.Pod(roster.Remembered{Source: roster.API, Pod: podOf("a")})
	saved := lifecycle.Checkpoint{}
	saved.Sandbox.Attempt = 3
	assert.Must(t, kept.Keep(), kept.Save(saved), kept.Sync(), d.RecordBoot())
	assert.Must(t, d.Pod(roster.Remembered{Source: roster.API, Pod: podOf("b")}).Keep())
	if again, err := d.Rebooted(); again || err != nil {
		t.Errorf("after RecordBoot: rebooted is %t, %v", again, err)
	}
	d.Reboot()
	if again, err := d.Rebooted(); !again || err != nil {
		t.Errorf("after a reboot: rebooted is %t, %v", again, err)
	}
	list, useless, err := d.All()
	assert.True(t, err == nil && len(list) == 1 && list[0].Pod.Name == "a" && list[0].Source == roster.API && list[0].Checkpoint.Sandbox.Attempt == 3,
		"kept are %+v, %v", list, err)
	assert.True(t, len(useless) == 1 && errors.Is(useless["b"], fs.ErrNotExist), "of no use are %v", useless)
	// The next agent's: it goes on from what is there.
	assert.Must(t, d.Pod(roster.Remembered{Source: roster.API, Pod: podOf("a")}).Keep())
	r, err := d.Load("a")
	assert.True(t, err == nil && r.Checkpoint.Sandbox.Attempt == 3, "kept again: %+v, %v", r, err)
	assert.Must(t, d.Forget("a"))
	r, err = d.Load("a")
	assert.True(t, errors.Is(err, fs.ErrNotExist), "forgotten: %+v, %v", r, err)
}

// machineGroups note who has joined.
type machineGroups map[types.UID]func(lifecycle.GroupSeen)

func (g machineGroups) Join(pod *v1.Pod, tell func(lifecycle.GroupSeen)) { g[pod.UID] = tell }
func (g machineGroups) Leave(uid types.UID)                              { delete(g, uid) }

// Pods of a node that is cut off hear nothing of their groups; afterwards each hears the newest, once.
func TestGate(t *testing.T) {
	all := machineGroups{}
	g := newGate(all)
	heard := map[types.UID][]string{}
	for _, uid := range []types.UID{"a", "b", "c"} {
		g.Join(podOf(uid), func(seen lifecycle.GroupSeen) { heard[uid] = append(heard[uid], seen.Unknown.Text) })
	}
	tell := func(uid types.UID, what string) {
		all[uid](lifecycle.GroupSeen{Unknown: lifecycle.Because{Text: what}})
	}
	want := func(what string, uid types.UID, want ...string) {
		t.Helper()
		if got := heard[uid]; len(got) != len(want) || len(got) > 0 && got[len(got)-1] != want[len(want)-1] {
			t.Errorf("%s: %s has heard %q, want %q", what, uid, got, want)
		}
	}
	tell("a", "1")
	want("before", "a", "1")
	g.Shut()
	tell("a", "2")
	tell("a", "3")
	tell("c", "4")
	want("cut off", "a", "1")
	g.Leave("c")
	g.Open()
	want("back", "a", "1", "3")
	want("back", "b")
	want("back, and gone", "c")
	tell("a", "5")
	want("afterwards", "a", "1", "3", "5")
}

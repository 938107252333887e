package journal_test

import (
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
)

// TestSeveral: the pods of several journals are those of one; one that isn't there has none.
func TestSeveral(t *testing.T) {
	first, second := journal.Folder{Dir: t.TempDir()}, journal.Folder{Dir: t.TempDir()}
	for uid, in := range map[string]journal.Folder{"a": first, "b": second} {
		w := assert.Get(in.Writers().Create(journal.Pod{UID: uid, Namespace: "default", Name: "pod-" + uid})).Must(t)
		assert.Must(t, assert.ErrorOf(w.Step(time.Unix(2, 0), lifecycle.Accepted{}, nil)))
		assert.Must(t, w.Close())
	}
	all := journal.Several{first, journal.Folder{Dir: filepath.Join(t.TempDir(), "none")}, second}
	pods, err := all.Pods()
	assert.True(t, err == nil && len(pods) == 2 && pods[0].Name == "pod-a" && pods[1].Name == "pod-b", "pods %+v, %v", pods, err)
	for _, uid := range []string{"a", "b"} {
		r, err := all.Read(uid)
		assert.True(t, err == nil && r.Pod.UID == uid && len(r.Entries) == 1, "%s: %+v, %v", uid, r, err)
	}
	assert.ErrorIs(t, fs.ErrNotExist, assert.ErrorOf(all.Read("c")), "a pod that none has")
}

package journal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// FuzzFolder: whatever a pod's files hold, they are read or there is an error; whatever a UID is, it names a folder in the
// journal's.
func FuzzFolder(f *testing.F) {
	f.Add("u", []byte(`{"uid":"u","name":"web"}`), []byte(`{"id":1}`+"\n"+`{"id":2`), []byte("{}"))
	f.Add("../../etc", []byte("\x00"), []byte("\n\n\xff"), []byte("7 {}\n"))
	f.Add("a/../..", []byte(`[]`), []byte(`{"id":-9223372036854775808}`+"\n"), []byte{})
	f.Fuzz(func(t *testing.T, uid string, pod, entries, now []byte) {
		folder := Folder{Dir: t.TempDir()}
		dir := folder.of(uid)
		inside, err := filepath.Rel(folder.Dir, dir)
		assert.Require(t, err == nil && !strings.ContainsRune(inside, '/') && inside != "..", "UID %q is at %q", uid, dir)
		if strings.Contains(uid, "\x00") || len(uid) > 200 || dir == folder.Dir {
			return // no file system has it
		}
		assert.Must(t, os.MkdirAll(dir, 0o700))
		for name, content := range map[string][]byte{podFile: pod, firstFile: entries, "2" + suffix: entries, nowFile: now} {
			assert.Must(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
		}
		listed, err := folder.Pods()
		assert.Require(t, (len(listed) == 1) != (err != nil) || len(pod) == 0, "listed %v with the error %v", listed, err)
		record, err := folder.Read(uid)
		assert.Require(t, (record == nil) == (err != nil), "read %v with the error %v", record, err)
	})
}

package run

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

const reloadable = `apiVersion: v1
kind: ConfigMap
metadata: {name: conf}
data: {text: hello}
---
apiVersion: v1
kind: Pod
metadata: {generateName: web-}
spec:
  volumes: [{name: v, configMap: {name: conf}}]
  containers: [{name: c, image: "i:1", volumeMounts: [{name: v, mountPath: /v}]}]
`

// TestReload edits the manifest of a running pod (A-VOL-5).
func TestReload(t *testing.T) {
	for _, tc := range []struct {
		name  string
		edits []string // old, new, …, of the original
		text  string   // what the ConfigMap says then
		posts []string
		warns []string
	}{
		{name: "nothing but a comment", edits: []string{"---", "--- # comment"}, text: "hello"},
		{name: "data", edits: []string{"hello", "good morning"}, text: "good morning", posts: []string{"ConfigMap conf changed"}},
		{
			name: "spec", edits: []string{"hello", "good morning", "i:1", "i:22"}, text: "good morning", posts: []string{"ConfigMap conf changed"},
			warns: []string{"changed while the pod runs, ignored until it is run again: spec.containers[0].image"},
		},
		{
			name: "bad", edits: []string{"{text: hello}", "{text: hello"}, text: "hello",
			warns: []string{"the manifest has changed and can't be used, nothing is updated: pod.yaml:4: document 1: YAML syntax: "},
		},
		{
			name: "two things bad", edits: []string{"\ndata:", "\ndota:", "image:", "imoge:"}, text: "hello",
			warns: []string{"the manifest has changed and can't be used, nothing is updated: pod.yaml:4: document 1: dota: unknown field; did you mean data? (and 1 more)"},
		},
		{name: "gone", text: "hello", warns: []string{"the manifest has changed and can't be used, nothing is updated: read manifest: open "}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			write := func(text string) {
				assert.Must(t, os.WriteFile("next", []byte(text), 0o600))
				assert.Must(t, os.Rename("next", "pod.yaml"))
			}
			write(reloadable)
			options := Options{Files: []string{"pod.yaml"}}
			group := assert.Get(readManifests(options)).Must(t)
			objects := objectsOf(group.Sets...)
			synctest.Test(t, func(t *testing.T) {
				var posts, warns []string
				warn := func(format string, args ...any) { warns = append(warns, fmt.Sprintf(format, args...)) }
				pod := &reloaded{set: group.Sets[0], warn: warn, post: func(f lifecycle.Fact) { posts = append(posts, f.(lifecycle.ObjectsChanged).Because.String()) }}
				r := reloader{options: options, pods: []*reloaded{pod}, objects: objects, warn: warn, taken: options.look()}
				go r.run(t.Context())
				time.Sleep(time.Second)
				if tc.edits == nil {
					assert.Must(t, os.Remove(filepath.Join(dir, "pod.yaml")))
				} else {
					write(strings.NewReplacer(tc.edits...).Replace(reloadable))
				}
				time.Sleep(3 * lookPeriod)
				synctest.Wait()
				assert.Deep(t, "posted", tc.posts, posts)
				for i, want := range tc.warns {
					assert.True(t, i < len(warns) && strings.HasPrefix(warns[i], want), "warnings %q, want %q", warns, tc.warns)
				}
				assert.True(t, len(warns) == len(tc.warns), "warnings %q, want %q", warns, tc.warns)
			})
			c, err := objects.ConfigMap("default", "conf")
			assert.True(t, err == nil && c.Data["text"] == tc.text, "the ConfigMap is %v, %v, want text %q", c, err, tc.text)
		})
	}
}

// A manifest that is another file at each look is read, too, and one that changed before the first look (A-VOL-5).
func TestReloadOfWhatChangesAtEachLook(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(text string) {
		assert.Must(t, os.WriteFile("next", []byte(strings.Replace(reloadable, "hello", text, 1)), 0o600))
		assert.Must(t, os.Rename("next", "pod.yaml"))
	}
	write("hello")
	options := Options{Files: []string{"pod.yaml"}}
	seen := options.look()
	group := assert.Get(readManifests(options)).Must(t)
	write("before")
	synctest.Test(t, func(t *testing.T) {
		posts := 0
		pod := &reloaded{set: group.Sets[0], post: func(lifecycle.Fact) { posts++ }}
		r := reloader{options: options, pods: []*reloaded{pod}, objects: objectsOf(group.Sets...), warn: t.Errorf, taken: seen}
		go r.run(t.Context())
		time.Sleep(lookPeriod)
		synctest.Wait()
		for i := range 5 {
			write(strings.Repeat("again ", i+1))
			time.Sleep(lookPeriod) // of the test's own clock
			synctest.Wait()
		}
		assert.True(t, posts == 6, "%d of 6 changes were taken", posts)
	})
}

// A-VOL-5: a manifest that comes out of a pipe is read once: reading it again
// would wait for a writer, and lifepod for that at its end.
func TestReloadOfPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pod.yaml")
	assert.Must(t, unix.Mkfifo(pipe, 0o600))
	r := reloader{options: Options{Files: []string{pipe}}}
	r.run(t.Context()) // it ends before its context does
	assert.True(t, r.reload(nil), "the pipe is to be read again")
}

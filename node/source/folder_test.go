package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/pathwatch"
)

func manifestOf(name, image, more string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec:\n  containers: [{name: c, image: \"" + image + "\"" + more + "}]\n"
}

func configMapOf(name, value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {k: \"" + value + "\"}\n"
}

// looker looks at a folder at times that the test chooses.
type looker struct {
	t    *testing.T
	dir  string
	feed *recorder
	log  *textLog
	file *File
	*folder
	now time.Time
}

func newLooker(t *testing.T) *looker {
	l := &looker{t: t, dir: t.TempDir(), feed: newRecorder(), log: &textLog{}, now: time.Now().Add(time.Hour)}
	l.file = &File{Objects: &Objects{}, Path: l.dir + "/", NodeName: "n", Feed: l.feed, ObjectsChanged: l.feed.changed, Record: l.feed.event, Log: l.log.logger()}
	l.folder = newFolder(l.file)
	return l
}

func (l *looker) write(name, text string) {
	l.t.Helper()
	assert.Must(l.t, os.WriteFile(filepath.Join(l.dir, name), []byte(text), 0o600))
}

func (l *looker) remove(name string) {
	l.t.Helper()
	assert.Must(l.t, os.Remove(filepath.Join(l.dir, name)))
}

// want looks a moment later, and again as soon as the folder wants to be looked at.
func (l *looker) want(step string, want ...string) {
	l.t.Helper()
	l.now = l.now.Add(time.Second)
	l.look(l.t.Context(), l.now)
	l.now = l.now.Add(goneAfter)
	l.look(l.t.Context(), l.now)
	diff := cmp.Diff(want, l.feed.take())
	assert.True(l.t, diff == "", "%s (-want +got):\n%s\nlog:\n%s", step, diff, l.log)
}

func (l *looker) wantLog(step, want string) {
	l.t.Helper()
	got := l.log.String()
	l.log.mu.Lock()
	l.log.text.Reset()
	l.log.mu.Unlock()
	assert.True(l.t, (want != "" || got == "") && strings.Contains(got, want), "%s: log has no %q:\n%s", step, want, got)
}

// TestFolderLife: what files of a folder become, and what changes of them do (B-STA-1, B-STA-2, B-STA-6).
func TestFolderLife(t *testing.T) {
	l := newLooker(t)
	l.write("b.yaml", manifestOf("b", "i", ""))
	l.write("a.yaml", manifestOf("a", "i", "")+"---\n"+manifestOf("a2", "i", ""))
	l.write(".hidden.yaml", manifestOf("hidden", "i", ""))
	assert.Must(t, os.Mkdir(filepath.Join(l.dir, "sub"), 0o700))
	l.want("start", "wanted file a-n", "wanted file a2-n", "wanted file b-n", "heard file")
	l.wantLog("start", "it is a folder")
	first := l.feed.running()

	l.write("b.yaml", manifestOf("b", "i", ""))
	l.want("written again, the same")
	l.write("b.yaml", manifestOf("b", "other", ""))
	l.want("changed", "unwanted file b-n", "wanted file b-n")
	now := l.feed.running()
	assert.True(t, now["b-n"] != first["b-n"] && now["a-n"] == first["a-n"], "UIDs %v, then %v", first, now)
	l.write("b.yaml", manifestOf("b", "i", ""))
	l.want("changed back", "unwanted file b-n", "wanted file b-n")
	assert.Deep(t, "UIDs of the same manifests", first, l.feed.running())
	l.remove("a.yaml")
	l.want("gone", "unwanted file a-n", "unwanted file a2-n")
	l.wantLog("all this", "")
}

// TestFolderBadFile: a file that is there and can't be used never ends a pod (B-STA-1).
func TestFolderBadFile(t *testing.T) {
	good := manifestOf("a", "i", "")
	for _, tc := range []struct{ name, text, log string }{
		{"empty", "", "there is no object in it"},
		{"cut off", good[:len(good)-4], "a.yaml:5: YAML syntax"},
		{"another kind", "apiVersion: apps/v1\nkind: Deployment\n", "a.yaml:2: kind: only a Pod can be run, not a Deployment"},
		{"invalid", manifestOf("a", "i", ", imagePullPolicy: Often"), `a.yaml:5: spec.containers[0].imagePullPolicy: Unsupported value: \"Often\"`},
		{"API object", good + "  serviceAccountName: x\n", "static pods may not reference serviceaccounts"},
		{"too large", strings.Repeat("#", maxManifestBytes+1), "it is larger than 10 MiB"},
		{"lacks a ConfigMap", manifestOf("a", "i", ", envFrom: [{configMapRef: {name: c}}]"), `there is no ConfigMap \"c\" in namespace default`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := newLooker(t)
			l.write("a.yaml", good)
			l.want("start", "wanted file a-n", "heard file")
			l.write("a.yaml", tc.text)
			l.want("bad")
			l.wantLog("bad", tc.log)
			l.want("still bad")
			l.wantLog("told once", "")
			l.write("a.yaml", manifestOf("a", "other", ""))
			l.want("good", "unwanted file a-n", "wanted file a-n")
			l.wantLog("good", "the file is valid again")
		})
	}
}

// TestFolderUnreadable: neither a file that can't be opened nor a folder that can't ends a pod.
func TestFolderUnreadable(t *testing.T) {
	l := newLooker(t)
	l.write("a.yaml", manifestOf("a", "i", ""))
	l.want("start", "wanted file a-n", "heard file")
	l.remove("a.yaml")
	assert.Must(t, os.Symlink("a.yaml", filepath.Join(l.dir, "a.yaml")))
	l.want("a link to itself")
	l.wantLog("a link to itself", "too many levels of symbolic links")
	l.remove("a.yaml")
	l.write("a.yaml", manifestOf("a", "i", ""))
	l.want("back")
}

// TestFolderWriter: a file is read when its writer has closed it, or has forgotten to.
func TestFolderWriter(t *testing.T) {
	l := newLooker(t)
	path := filepath.Join(l.dir, "a.yaml")
	text := manifestOf("a", "i", "") + "---\n" + manifestOf("b", "i", "")
	half := len(manifestOf("a", "i", ""))
	writer := assert.Get(os.Create(path)).Must(t)
	if written, _ := pathwatch.IsWritten(openFile(t, path)); !written {
		t.Log("this file system knows no leases: a file counts as written")
	}
	put := func(part string) {
		assert.Must(t, assert.ErrorOf(writer.WriteString(part)))
	}
	put(text[:half])
	l.want("half") // and not even heard: what is in it may run already
	put(text[half:])
	assert.Must(t, writer.Close())
	l.want("closed", "wanted file a-n", "wanted file b-n", "heard file")

	writer = assert.Get(os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)).Must(t)
	put(text[half:])
	l.want("half again")
	l.now = l.now.Add(writingUntil)
	l.want("forgotten", "unwanted file a-n")
	assert.Must(t, writer.Close())
}

func openFile(t *testing.T, path string) *os.File {
	f := assert.Get(os.Open(path)).Must(t)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// TestFolderGone: a file that is away for a moment, as under an editor, is not gone.
func TestFolderGone(t *testing.T) {
	l := newLooker(t)
	l.write("a.yaml", manifestOf("a", "i", ""))
	l.want("start", "wanted file a-n", "heard file")
	l.remove("a.yaml")
	assert.Equal(t, goneAfter, l.look(t.Context(), l.now), "looks again after")
	l.write("a.yaml", manifestOf("a", "i", ""))
	l.want("back")
	assert.Must(t, os.RemoveAll(l.dir))
	l.want("without the folder", "unwanted file a-n")
}

// TestFolderDouble: a backup copy beside a manifest changes nothing; the first file counts,
// and an event tells of the other, once (A-EVT-6).
func TestFolderDouble(t *testing.T) {
	l := newLooker(t)
	l.write("a.yaml", manifestOf("a", "i", ""))
	l.want("start", "wanted file a-n", "heard file")
	l.write("a.yaml~", manifestOf("a", "old", ""))
	const ignored = `event a-n FailedValidation Error validating pod a-n_default(UID) from file due to duplicate pod name "a-n", ignoring`
	l.want("copy", ignored)
	l.wantLog("copy", "pod default/a-n is in "+l.dir+"/a.yaml already")
	l.write("b.yaml", strings.Replace(manifestOf("b", "i", ""), "name: b", "name: b, uid: x", 1)+"---\n"+
		strings.Replace(manifestOf("c", "i", ""), "name: c", "name: c, uid: x", 1))
	l.want("UID twice", "wanted file b-n")
	l.wantLog("UID twice", "leave metadata.uid out")
	l.remove("a.yaml")
	l.want("the copy is left", "unwanted file a-n", "wanted file a-n")
	l.write("a.yaml", manifestOf("a", "i", ""))
	l.want("a file that comes ends nothing", ignored)
	l.wantLog("two again", "pod default/a-n is in "+l.dir+"/a.yaml~ already")
}

// TestFolderStrict: a misspelt field is an error where that is asked for, and the pod that runs stays (B-STA-1).
func TestFolderStrict(t *testing.T) {
	l := newLooker(t)
	l.source.Strict = true
	l.write("a.yaml", manifestOf("a", "i", ""))
	l.want("start", "wanted file a-n", "heard file")
	l.write("a.yaml", strings.Replace(manifestOf("a", "i", ""), "image:", "comand: [x], image:", 1))
	l.want("misspelt")
	l.wantLog("misspelt", "comand: unknown field; did you mean command?")
}

// TestFolderRenamed: the name of the file is part of the pod's UID, so that the pod is
// another one (B-STA-2, B-STA-6); but never are there two of it.
func TestFolderRenamed(t *testing.T) {
	for _, names := range [][2]string{{"a.yaml", "b.yaml"}, {"b.yaml", "a.yaml"}} {
		l := newLooker(t)
		l.write(names[0], manifestOf("a", "i", ""))
		l.want("start", "wanted file a-n", "heard file")
		first := l.feed.running()["a-n"]
		assert.Must(t, os.Rename(filepath.Join(l.dir, names[0]), filepath.Join(l.dir, names[1])))
		l.want("renamed", "unwanted file a-n", "wanted file a-n")
		now := l.feed.running()["a-n"]
		assert.True(t, now != first && now != "", "the pod of %s has the UID %q, that of %s had %q", names[1], now, names[0], first)
		l.wantLog("renamed", "")
	}
}

// TestFolderObjects: ConfigMaps and Secrets beside static pods (B-STA-9).
func TestFolderObjects(t *testing.T) {
	l := newLooker(t)
	l.write("pod.yaml", manifestOf("a", "i", ", envFrom: [{configMapRef: {name: c}}, {secretRef: {name: s, optional: true}}]")+"---\n"+manifestOf("b", "i", ""))
	l.want("without", "wanted file b-n", "heard file")
	_, err := l.file.ConfigMap("default", "c")
	assert.True(t, apierrors.IsNotFound(err), "ConfigMap: %v", err)
	l.write("z.yaml", configMapOf("c", "1"))
	l.want("complete", "wanted file a-n", "changed default [c]")
	l.write("z.yaml", configMapOf("c", "2"))
	l.want("changed", "changed default [c]", "wanted file a-n")
	c, err := l.file.ConfigMap("default", "c")
	assert.True(t, err == nil && c.Data["k"] == "2", "ConfigMap %v: %v", c, err)
	l.write("z.yaml", "# again\n"+configMapOf("c", "2"))
	l.want("no change")
	l.write("y.yaml", configMapOf("c", "3"))
	l.want("the first file counts", "changed default [c]", "wanted file a-n")
	l.wantLog("twice", "ConfigMap default/c is in another file already")
	l.write("y.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {k: v}\n")
	l.want("a Secret", "changed default [c s]", "wanted file a-n")
	s, err := l.file.Secret("default", "s")
	assert.True(t, err == nil && string(s.Data["k"]) == "v", "Secret %v: %v", s, err)
	l.remove("z.yaml")
	l.want("gone: the pod runs on", "changed default [c]", "wanted file a-n")
	l.wantLog("gone", `there is no ConfigMap \"c\"`)
}

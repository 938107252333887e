package pods

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

func linksIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries := assert.Get(os.ReadDir(dir)).Must(t)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestLinksOfAnotherAgent: links of instances that are gone since go with the first
// status, all with the pod, and those of others stay.
func TestLinksOfAnotherAgent(t *testing.T) {
	dir := t.TempDir()
	for name, target := range map[string]string{
		"web_default_main-old.log": "/logs/default_web_1/main/0.log",
		"web_default_main-new.log": "/logs/default_web_1/main/1.log",
		"web_default_main-own.log": "/logs/default_web_2/main/0.log", // another pod of that name
		"db_default_main-own.log":  "/logs/default_db_3/main/0.log",
	} {
		assert.Must(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "1"}}
	status := &v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{Name: "main", ContainerID: "containerd://new", RestartCount: 1}}}
	folder := &LogLinksFolder{Dir: dir}
	l := &LogLinks{Folder: folder}
	l.Follow(pod, "/logs/default_web_1", status)
	want := []string{"db_default_main-own.log", "web_default_main-new.log", "web_default_main-own.log"}
	assert.Deep(t, "links after a status", want, linksIn(t, dir))
	(&LogLinks{Folder: &LogLinksFolder{Dir: dir}}).Remove(pod, "/logs/default_web_1") // of an agent that was told no status
	want = []string{"db_default_main-own.log", "web_default_main-own.log"}
	assert.Deep(t, "links after the end", want, linksIn(t, dir))
}

// TestLinksOfALifeBefore: what a life of the pod has linked that ended without removing it goes with the next life's first status.
func TestLinksOfALifeBefore(t *testing.T) {
	folder := &LogLinksFolder{Dir: filepath.Join(t.TempDir(), "containers")}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "1"}}
	shows := func(l *LogLinks, id string) {
		l.Follow(pod, "/logs/default_web_1", &v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{Name: "main", ContainerID: "containerd://" + id}}})
	}
	shows(&LogLinks{Folder: folder}, "a")
	l := &LogLinks{Folder: folder}
	shows(l, "b")
	assert.Deep(t, "links of the next life", []string{"web_default_main-b.log"}, linksIn(t, folder.Dir))
	shows(l, "c")
	assert.Deep(t, "links after a restart", []string{"web_default_main-c.log"}, linksIn(t, folder.Dir))
	l.Remove(pod, "/logs/default_web_1")
	assert.Empty(t, linksIn(t, folder.Dir), "left")
}

// TestFolderIsReadLater: a folder that can't be read is read the next time, and what an agent before has linked there goes.
func TestFolderIsReadLater(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "containers")
	assert.Must(t, os.WriteFile(dir, nil, 0o600))
	folder := &LogLinksFolder{Dir: dir}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "1"}}
	l := &LogLinks{Folder: folder}
	l.Follow(pod, "/logs/default_web_1", &v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{Name: "main", ContainerID: "containerd://a"}}})
	link := filepath.Join(dir, "web_default_main-old.log")
	assert.Must(t, errors.Join(os.Remove(dir), os.Mkdir(dir, 0o755), os.Symlink("/logs/default_web_1/main/0.log", link)))
	l.Remove(pod, "/logs/default_web_1")
	assert.Empty(t, linksIn(t, dir), "left")
}

// TestLongNames: instances of a container have links of their own, however long the names are (A-CRI-1).
func TestLongNames(t *testing.T) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("p", 154), Namespace: strings.Repeat("n", 63)}}
	one, two := linkName(pod, "main", strings.Repeat("1", 64)), linkName(pod, "main", strings.Repeat("2", 64))
	assert.True(t, one != two && len(one) == 255 && strings.HasSuffix(one, "-"+strings.Repeat("1", 64)+".log"), "%s and %s", one, two)
}

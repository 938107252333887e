package server

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/podlog"
)

// writeLogs writes the log files of container main, by their names.
func writeLogs(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	assert.Must(t, os.Mkdir(filepath.Join(dir, "main"), 0o700))
	for name, text := range files {
		appendLog(t, dir, name, text)
	}
	return dir
}

func appendLog(t *testing.T, dir, name, text string) {
	t.Helper()
	f := assert.Get(os.OpenFile(filepath.Join(dir, "main", name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)).Must(t)
	defer f.Close()
	assert.Must(t, assert.ErrorOf(f.WriteString(text)))
}

const stamp = "2026-01-02T03:04:05.5Z "

// TestContainerLogs: every option, and the kubelet's refusals (B-LOG-1).
func TestContainerLogs(t *testing.T) {
	dir := writeLogs(t, map[string]string{
		"0.log":                 stamp + "stdout F first\n",
		"1.log.20260102-030405": stamp + "stdout F rotated\n",
		"1.log":                 stamp + "stdout F out\n" + stamp + "stderr F err\n2026-01-02T03:04:07Z stdout F late\n",
	})
	waiting := func(reason string) v1.ContainerStatus {
		return v1.ContainerStatus{State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason}}}
	}
	crashed := waiting("CrashLoopBackOff")
	crashed.RestartCount = 1
	crashed.LastTerminationState.Terminated = &v1.ContainerStateTerminated{ContainerID: "containerd://c1"}
	lost := runningStatus(7)
	const all = "rotated\nout\nerr\nlate\n"
	for _, test := range []struct {
		name, query string
		status      v1.ContainerStatus
		want        string
	}{
		{"all", "", runningStatus(1), "200 " + all},
		{"previous", "previous=true", runningStatus(1), "200 first\n"},
		{"previous of none", "previous=true", runningStatus(0), `400 previous terminated container "main" in pod "web" not found`},
		{"waits to be restarted", "", crashed, "200 " + all},
		{"waits to be restarted, previous", "previous=true", crashed, "200 " + all},
		{"waits for its image", "", waiting("ImagePullBackOff"), `400 container "main" in pod "web" is waiting to start: trying and failing to pull image`},
		{"waits", "follow=true", waiting("ContainerCreating"), `400 container "main" in pod "web" is waiting to start: ContainerCreating`},
		{"the file has gone", "", lost, "400 unable to retrieve container logs for containerd://c1"},
		{"tail", "tailLines=2", runningStatus(1), "200 err\nlate\n"},
		{"tail of old", "tail=1", runningStatus(1), "200 late\n"},
		{"tail of old, all", "tail=all&tailLines=1", runningStatus(1), "200 " + all},
		{"since", "sinceTime=2026-01-02T03:04:06Z", runningStatus(1), "200 late\n"},
		{"since seconds", "sinceSeconds=1", runningStatus(1), "200 "},
		{"timestamps", "timestamps=1&tailLines=1", runningStatus(1), "200 2026-01-02T03:04:07.000000000Z late\n"},
		{"no timestamps", "timestamps=false&tailLines=1", runningStatus(1), "200 late\n"},
		{"limit", "limitBytes=10", runningStatus(1), "200 rotated\nou"},
		{"stdout", "stream=Stdout", runningStatus(1), "200 rotated\nout\nlate\n"},
		{"stderr", "stream=Stderr", runningStatus(1), "200 err\n"},
		{"both", "stream=All&tailLines=2", runningStatus(1), "200 err\nlate\n"},
		{"one stream's tail", "stream=Stderr&tailLines=2", runningStatus(1), `422 {"message": "Invalid request."}`},
		{"no stream", "stream=Stdin", runningStatus(1), `422 {"message": "Invalid request."}`},
		{"tail below 0", "tailLines=-1", runningStatus(1), `422 {"message": "Invalid request."}`},
		{"limit of 0", "limitBytes=0", runningStatus(1), `422 {"message": "Invalid request."}`},
		{"since twice", "sinceSeconds=1&sinceTime=2026-01-02T03:04:06Z", runningStatus(1), `422 {"message": "Invalid request."}`},
		{"no number", "tailLines=x", runningStatus(1), `400 {"message": "Unable to decode query."}`},
		{"no time", "sinceTime=x", runningStatus(1), `400 {"message": "Unable to decode query."}`},
	} {
		node := &fakeNode{logs: dir}
		node.set(testPod(test.status))
		assert.Deep(t, test.name, test.want, ask1(t, testConfig(t, node), "/containerLogs/default/web/main?"+test.query))
	}
}

func TestContainerLogsOfUnknown(t *testing.T) {
	node := &fakeNode{}
	pod := testPod(runningStatus(0))
	pod.Status.ContainerStatuses = nil
	node.set(pod)
	for path, want := range map[string]string{
		"/containerLogs/default/other/main": `404 pod "other" does not exist`,
		"/containerLogs/default/web/side":   `404 container "side" not found in pod "web"`,
		"/containerLogs/default/web/main":   `400 container "main" in pod "web" is not available`,
		"/containerLogs/default/web":        "404 404: Page Not Found",
	} {
		assert.Deep(t, path, want, ask1(t, testConfig(t, node), path))
	}
}

// ask1 gets one path without a connection.
func ask1(t *testing.T, c Config, path string) string { return request1(t, c, http.MethodGet, path) }

func request1(t *testing.T, c Config, method, path string) string {
	t.Helper()
	s := assert.Get(New(c)).Must(t)
	answer := httptest.NewRecorder()
	s.guard.protect(s.routes()).ServeHTTP(answer, httptest.NewRequest(method, path, nil))
	return fmt.Sprintf("%d %s", answer.Code, answer.Body)
}

// TestFollow: lines come as they are written; the answer ends when the status
// says that the container has ended, with all that was written, or when its pod
// has gone.
func TestFollow(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"ended", "restarted", "gone"} {
		dir := writeLogs(t, map[string]string{"0.log": stamp + "stdout F one\n" + stamp + "stdout F two\n"})
		node := &fakeNode{logs: dir}
		node.set(testPod(runningStatus(0)))
		s, client, base := overTLS(t, testConfig(t, node))
		response := assert.Get(client.Get(base + "/containerLogs/default/web/main?follow=true&tailLines=1")).Must(t)
		defer response.Body.Close()
		lines := bufio.NewReader(response.Body)
		expect := func(want string) {
			t.Helper()
			got, _ := lines.ReadString('\n')
			assert.True(t, got == want, "%s: read %q, want %q", end, got, want)
		}
		expect("two\n")
		appendLog(t, dir, "0.log", stamp+"stdout F three\n")
		expect("three\n")
		node.set(testPod(runningStatus(0)))
		s.Changes.Changed("u1") // nothing of note
		appendLog(t, dir, "0.log", stamp+"stdout F four\n")
		switch end {
		case "gone":
			node.set()
		case "restarted":
			node.set(testPod(runningStatus(1)))
		default:
			over := v1.ContainerStatus{State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}}}
			node.set(testPod(over))
		}
		s.Changes.Changed("u1")
		expect("four\n")
		expect("")
	}
}

// overTLS runs a server that asks nobody who he is.
func overTLS(t *testing.T, c Config) (s *Server, client *http.Client, base string) {
	t.Helper()
	ca := newAuthority(t)
	c.TLS = serving(t, ca)
	s = serveTest(t, c)
	return s, ca.client(t), "https://" + s.Addr().String()
}

// TestFollowersEndWithTheServer, also one that reads nothing of a lot.
func TestFollowersEndWithTheServer(t *testing.T) {
	t.Parallel()
	dir := writeLogs(t, map[string]string{"0.log": stamp + "stdout F one\n"})
	line := make([]byte, 1<<20)
	for i := range line {
		line[i] = 'x'
	}
	for range 30 { // more than the sockets' buffers
		appendLog(t, dir, "0.log", stamp+"stdout F "+string(line)+"\n")
	}
	node := &fakeNode{logs: dir}
	node.set(testPod(runningStatus(0)))
	c := testConfig(t, node)
	ca := newAuthority(t)
	c.TLS = serving(t, ca)
	s := assert.Get(New(c)).Must(t)
	assert.Must(t, s.Listen())
	stop := assert.Serves(t, s.Serve)
	response := assert.Get(ca.client(t).Get("https://" + s.Addr().String() + "/containerLogs/default/web/main?follow=true")).Must(t)
	defer response.Body.Close()
	stop()
	<-s.requests.over
}

func TestParseLogOptions(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	q := url.Values{"sinceSeconds": {"60"}, "follow": {"true"}, "previous": {""}, "timestamps": {"0"}, "limitBytes": {"9"}}
	got, err := parseLogOptions(q, now)
	want := logOptions{follow: true, previous: true, LineOptions: podlog.LineOptions{Tail: -1, Since: now.Add(-time.Minute), Limit: 9}}
	diff := cmp.Diff(want, got, cmp.AllowUnexported(logOptions{}))
	assert.True(t, diff == "" && err == nil, "%v (-want +got):\n%s", err, diff)
}

func recorded(h http.Handler, path string) string {
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
	return fmt.Sprintf("%d %s", answer.Code, answer.Body)
}

// TestFolder: no link leads out of it, and nothing in it holds a reader up.
func TestFolder(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{outside + "/secret": "secret", dir + "/a.log": "hello"} {
		assert.Must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	up := assert.Get(filepath.Rel(dir, outside+"/secret")).Must(t)
	for link, to := range map[string]string{"absolute": dir + "/a.log", "relative": "a.log", "out": outside + "/secret", "outdir": outside, "up": up} {
		assert.Must(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	assert.Must(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	files := SystemLogHandler(dir, false)
	for path, want := range map[string]string{
		"a.log": "200 hello", "absolute": "200 hello", "relative": "200 hello",
		"out": "403 403 Forbidden\n", "outdir/secret": "403 403 Forbidden\n", "up": "403 403 Forbidden\n", "pipe": "403 403 Forbidden\n",
		"none": "404 404 page not found\n", "a.log?query=x": "200 hello", // A-NODE-1: queries are off
	} {
		assert.Deep(t, path, want, recorded(files, "/logs/"+path))
	}
	got := recorded(files, "/logs/")
	assert.True(t, strings.Contains(got, `<a href="a.log">`), "the folder: %s", got)
}

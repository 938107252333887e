package worker

import (
	"compress/gzip"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/criconfig"
)

// logOf is a CRI log of n lines, each of a number and as many x as asked for.
func logOf(n, width int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "2026-01-02T03:04:05.000000006Z stdout F %d%s\n", i, strings.Repeat("x", width))
	}
	return b.String()
}

func lines(from, to, width int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "%d%s\n", i, strings.Repeat("x", width))
	}
	return b.String()
}

func tailOf(s string, n int) string { return s[len(s)-n:] }

// Where a termination message comes from, and how much of it is kept (A-CST-14).
func TestTerminationMessage(t *testing.T) {
	const fallback = v1.TerminationMessageFallbackToLogsOnError
	long := strings.Repeat("0123456789", 500)
	for _, test := range []struct {
		name       string
		policy     v1.TerminationMessagePolicy
		code       int32
		reason     string
		runtime    string // the runtime's message
		file, log  string
		containers int // of the pod; 1 if not said
		want       string
	}{
		{name: "nothing", code: 1},
		{name: "file", file: "bye\n", want: "bye\n"},
		{name: "end of a long file", file: long, want: tailOf(long, 4096)},
		{name: "runtime", code: 128, reason: "StartError", runtime: "no such file", want: "no such file"},
		{name: "runtime and file", runtime: "oops", file: "bye: ", want: "oops: bye: "},
		{name: "log not asked for", code: 1, log: logOf(2, 0)},
		{name: "log", policy: fallback, code: 1, log: logOf(2, 0), want: "0\n1\n"},
		{name: "log after success", policy: fallback, log: logOf(2, 0)},
		{name: "log of what could not run", policy: fallback, code: 128, reason: "ContainerCannotRun", log: logOf(2, 0)},
		{name: "file before log", policy: fallback, code: 1, file: "bye", log: logOf(2, 0), want: "bye"},
		{name: "no log", policy: fallback, code: 1},
		{name: "last 80 lines", policy: fallback, code: 1, log: logOf(100, 0), want: lines(20, 100, 0)},
		{name: "last 2048 bytes", policy: fallback, code: 1, log: logOf(100, 50), want: tailOf(lines(0, 100, 50), 2048)},
		{
			name: "divided line", policy: fallback, code: 1,
			log:  "2026-01-02T03:04:05Z stderr P one \n2026-01-02T03:04:05Z stderr P:x and \n2026-01-02T03:04:05Z stderr F two\n",
			want: "one and two\n",
		},
		{name: "share of a pod with three", containers: 3, file: long, want: tailOf(long, 4096)},
		{name: "share of a pod with four", containers: 4, file: long, want: tailOf(long, 4096)[:3072]},
		{name: "bytes that are no text", file: "a\xff\xfeb", want: "a\uFFFDb"},
		{name: "a character that is cut", containers: 6, file: "x" + strings.Repeat("é", 1500), want: "x" + strings.Repeat("é", 1023)},
		{name: "share with the runtime's words", containers: 6, runtime: "oops", file: long, want: ("oops: " + tailOf(long, 4096))[:2048]},
	} {
		t.Run(test.name, func(t *testing.T) {
			pod := podOf("web", v1.RestartPolicyNever, "main")
			for i := 1; i < test.containers; i++ {
				pod.Spec.InitContainers = append(pod.Spec.InitContainers, v1.Container{Name: fmt.Sprint("init", i)})
			}
			pod.Spec.Containers[0].TerminationMessagePolicy = test.policy
			dir := t.TempDir()
			h := &executor{engine: &Engine{Folders: Folders{Pods: dir}, Config: criconfig.Node{LogRoot: filepath.Join(dir, "logs")}}, pod: pod}
			write(t, h.terminationLog("main", 2), test.file)
			write(t, filepath.Join(h.engine.Config.PodLogDirectory(pod), criconfig.ContainerLogPath("main", 2)), test.log)
			got := h.describeExit(&runtimeapi.ContainerStatus{
				Id: "c1", Metadata: &runtimeapi.ContainerMetadata{Name: "main", Attempt: 2},
				ExitCode: test.code, Reason: test.reason, Message: test.runtime,
				StartedAt: 1, FinishedAt: 2,
			})
			want := lifecycle.ContainerExited{
				ContainerID: "c1", ExitCode: test.code, Reason: test.reason, Message: test.want,
				StartedAt: time.Unix(0, 1), FinishedAt: time.Unix(0, 2),
			}
			assert.Deep(t, "exit", want, got)
		})
	}
}

// TestTerminationMessageOfAnother: a kubelet has named the file otherwise; the
// container's own mount says how (B-RST-1). A file elsewhere is none.
func TestTerminationMessageOfAnother(t *testing.T) {
	pod := podOf("web", v1.RestartPolicyNever, "main")
	pod.Spec.Containers[0].TerminationMessagePath = "/dev/termination-log"
	dir := t.TempDir()
	h := &executor{engine: &Engine{Folders: Folders{Pods: dir}}, pod: pod}
	named := filepath.Join(filepath.Dir(h.terminationLog("main", 0)), "5eaf00d0")
	write(t, named, "bye")
	write(t, filepath.Join(dir, "elsewhere"), "secret")
	for file, want := range map[string]string{named: "bye", filepath.Join(dir, "elsewhere"): ""} {
		got := h.describeExit(&runtimeapi.ContainerStatus{
			Metadata: &runtimeapi.ContainerMetadata{Name: "main"},
			Mounts:   []*runtimeapi.Mount{{ContainerPath: "/data", HostPath: "/x"}, {ContainerPath: "/dev/termination-log", HostPath: file}},
		}).Message
		assert.Equal(t, want, got, "message of %s", file)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if text == "" {
		return
	}
	assert.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	assert.Must(t, os.WriteFile(path, []byte(text), 0o600))
}

// The log's last lines are found where it was rotated to, compressed or not, or
// while it is being opened anew (A-CST-14, B-LOG-2).
func TestTerminationMessageFromRotatedLog(t *testing.T) {
	for _, test := range []struct {
		name  string
		files map[string]string // by what follows the log's name
		want  string
	}{
		{"rotated just now", map[string]string{".20260101-000002": logOf(100, 0)}, lines(20, 100, 0)},
		{"in both", map[string]string{".20260101-000002": logOf(99, 0), "": logOf(1, 0)}, lines(20, 99, 0) + "0\n"},
		{
			"in three, one compressed",
			map[string]string{".20260101-000001.gz": logOf(1, 1), ".20260101-000002": logOf(1, 2), "": logOf(1, 3)},
			"0x\n0xx\n0xxx\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "main", "2.log")
			for suffix, text := range test.files {
				if strings.HasSuffix(suffix, ".gz") {
					text = packed(t, text)
				}
				write(t, path+suffix, text)
			}
			assert.Deep(t, "", test.want, lastLines(path))
		})
	}
}

func packed(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	assert.Must(t, errors.Join(err, w.Close()))
	return b.String()
}

// A removed instance's log goes with it, with all that was rotated away; the log
// that a restart of all containers keeps stays (B-GC-3, B-LOG-1, B-RAC-7).
func TestRemoveFiles(t *testing.T) {
	dir := t.TempDir()
	node := &Engine{Folders: Folders{Pods: dir}, Config: criconfig.Node{LogRoot: filepath.Join(dir, "logs")}, Log: slog.New(slog.DiscardHandler)}
	h := &executor{engine: node, pod: podOf("web", v1.RestartPolicyAlways, "main")}
	folder := filepath.Join(h.engine.Config.PodLogDirectory(h.pod), "main")
	for _, name := range []string{"0.log", "0.log.20260101-000001.gz", "0.log.20260101-000002.gz.tmp", "0.log.20260101-000003", "0.log.own", "1.log", "1.log.20260101-000001", "2.log", "12.log"} {
		write(t, filepath.Join(folder, name), name)
	}
	write(t, h.terminationLog("main", 0), "bye")
	h.removeFiles(lifecycle.RemoveContainer{Container: "main", Attempt: 1, KeepLog: true})
	h.removeFiles(lifecycle.RemoveContainer{Container: "main", Attempt: 12, KeepLog: true}) // the eleventh before goes
	h.removeFiles(lifecycle.RemoveContainer{Container: "main", Attempt: 0})
	var left []string
	entries := assert.Get(os.ReadDir(folder)).Must(t)
	for _, entry := range entries {
		left = append(left, entry.Name())
	}
	assert.Deep(t, "left", []string{"0.log.own", "1.log", "1.log.20260101-000001", "12.log"}, left)
	_, err := os.Stat(h.terminationLog("main", 0))
	assert.True(t, os.IsNotExist(err), "termination message file: %v, want none", err)
}

// A file that can't be read is reported in its place (A-CST-14).
func TestTerminationMessageUnreadable(t *testing.T) {
	h := &executor{engine: &Engine{Folders: Folders{Pods: t.TempDir()}}, pod: podOf("web", v1.RestartPolicyNever, "main")}
	path := h.terminationLog("main", 0)
	assert.Must(t, os.MkdirAll(path, 0o755)) // a folder has no content
	got := h.describeExit(&runtimeapi.ContainerStatus{Metadata: &runtimeapi.ContainerMetadata{Name: "main"}}).Message
	want := "Error on reading termination log " + path + ": "
	assert.True(t, strings.HasPrefix(got, want), "message %q, want prefix %q", got, want)
}

// The file for the message is empty and anybody's to write, for each instance anew,
// whatever the umask (A-VOL-6, A-VOL-1).
func TestNewTerminationLog(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	h := &executor{engine: &Engine{Folders: Folders{Pods: t.TempDir()}}, pod: podOf("web", v1.RestartPolicyNever, "main")}
	write(t, filepath.Join(h.engine.podDir(h.pod.UID), "containers", "main", "00000001"), "of an attempt before")
	path := assert.Get(h.newTerminationLog(&v1.Container{Name: "main", TerminationMessagePath: "/dev/termination-log"}, 1)).Must(t)
	info := assert.Get(os.Stat(path)).Must(t)
	assert.True(t, filepath.Base(path) == "00000001" && info.Mode().Perm() == 0o666 && info.Size() == 0,
		"%s: mode %v, %d bytes", path, info.Mode(), info.Size())
}

// A stop may take its grace on top of what a call may take (B-SIG-5).
func TestDeadlineOfStop(t *testing.T) {
	h := &executor{engine: &Engine{Timeouts: DefaultTimeouts()}}
	got, want := h.deadline(lifecycle.StopContainer{TimeoutSeconds: 300}), 7*time.Minute
	assert.True(t, got == want, "%v, want %v", got, want)
}

// A container that only wears the pod's labels harms nothing.
func TestExitOfUnknownContainer(t *testing.T) {
	h := &executor{engine: &Engine{Folders: Folders{Pods: t.TempDir()}}, pod: podOf("web", v1.RestartPolicyNever, "main")}
	got := h.describeExit(&runtimeapi.ContainerStatus{
		Id: "c9", ExitCode: 1, Metadata: &runtimeapi.ContainerMetadata{Name: "stranger"},
	})
	assert.Deep(t, "exit", lifecycle.ContainerExited{ContainerID: "c9", ExitCode: 1}, got)
}

// What a container leaves as its message is in its status, and each instance has its own (A-VOL-6).
func TestMessagesOfInstances(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.Program("main", "exit=1 after=1s message=first", "exit=1 after=1s message=second", "run")
		web := s.run(podOf("web", v1.RestartPolicyAlways, "main"))
		var got []string
		for n := range int32(2) {
			web.await("restarted", func(status v1.PodStatus) bool {
				end := status.ContainerStatuses[0].LastTerminationState.Terminated
				if !restarts(n+1)(status) || end == nil {
					return false
				}
				got = append(got, end.Message)
				return true
			})
		}
		assert.Deep(t, "messages", []string{"first", "second"}, got)
	})
}

// What can't be configured waits with CreateContainerConfigError and never
// reaches the runtime (A-CST-7).
func TestConfigErrors(t *testing.T) {
	yes := true
	root := int64(0)
	for _, test := range []struct {
		name    string
		spoil   func(*v1.Container)
		message string
	}{
		{"missing ConfigMap", func(c *v1.Container) {
			c.EnvFrom = []v1.EnvFromSource{{ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "absent"}}}}
		}, `configmaps "absent" not found`},
		{"missing Secret", func(c *v1.Container) {
			c.Env = []v1.EnvVar{{Name: "A", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{
				LocalObjectReference: v1.LocalObjectReference{Name: "absent"}, Key: "k",
			}}}}
		}, `secrets "absent" not found`},
		{"root where it must not be", func(c *v1.Container) {
			c.SecurityContext = &v1.SecurityContext{RunAsNonRoot: &yes, RunAsUser: &root}
		}, "container's runAsUser breaks non-root policy"},
	} {
		storyOf(t, test.name, func(t *testing.T, s *story) {
			pod := podOf("web", v1.RestartPolicyAlways, "main")
			test.spoil(&pod.Spec.Containers[0])
			web := s.run(pod)
			web.await("waiting", waitingFor("CreateContainerConfigError"))
			time.Sleep(time.Minute)
			got := web.last().ContainerStatuses[0].State.Waiting
			assert.True(t, got != nil && strings.Contains(got.Message, test.message), "waiting %+v, want %q in its message", got, test.message)
			assert.Deep(t, "calls", []string{"RunPodSandbox web attempt=0"}, s.Acted())
			web.ends(30)
		})
	}
}

// TestSaid: the line by which a process tells of its end is the last one that is not empty, or of stderr.
func TestSaid(t *testing.T) {
	long := strings.Repeat("é", saidBytes)
	for name, test := range map[string]struct{ log, want string }{
		"nothing":           {"", ""},
		"nothing but space": {"2026-01-01T00:00:00Z stdout F \n", ""},
		"the last line":     {"2026-01-01T00:00:00Z stdout F starting\n2026-01-01T00:00:01Z stdout F FATAL: no database\n2026-01-01T00:00:01Z stdout F \n", "FATAL: no database"},
		"stderr":            {"2026-01-01T00:00:00.2Z stderr F FATAL: no database\n2026-01-01T00:00:00.3Z stdout F starting\n", "FATAL: no database"},
		"stderr long ago":   {"2026-01-01T00:00:00Z stderr F a warning\n2026-01-01T00:00:03Z stdout F FATAL: no database\n", "FATAL: no database"},
		"in parts":          {"2026-01-01T00:00:00Z stdout P FATAL: \n2026-01-01T00:00:00Z stderr F \n2026-01-01T00:00:00Z stdout F no database\n", "FATAL: no database"},
		"no end":            {"2026-01-01T00:00:00Z stdout P FATAL", "FATAL"},
		"long":              {"2026-01-01T00:00:00Z stdout F x" + long + "\n", "x" + long[:saidBytes-2]},
	} {
		path := filepath.Join(t.TempDir(), "0.log")
		assert.Must(t, os.WriteFile(path, []byte(test.log), 0o600))
		assert.Equal(t, test.want, said(written(path, 1<<20)), "%s", name)
	}
}

package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// failures are pods on real containers that are not as they should be, or were not, and what lifepod why says of them: the first
// sentence names the root. TestWhyFullDisk has a full disk; those that need a cluster are in cluster/e2e, groups of pods in e2e/groups.
var failures = []struct {
	name, spec string
	await      string   // in what lifepod run tells of the pod
	act        []string // a command of lifepod's after that
	want       []string // regular expressions of sentences, in this order; the first is that of the first one
}{
	{
		name: "crash", spec: "containers:\n" + shell("main", "echo starting; echo FATAL: no database >&2; exit 3"),
		want: []string{backOff(`exited 3`) + `; it said "FATAL: no database"\.`, `main at TIME: exit 3, saying "FATAL: no database" → \S+ restart after a back-off of \S+ s\.`},
	},
	{
		name: "init-crash", spec: "initContainers:\n" + shell("setup", "echo no migrations; exit 2") + "\ncontainers:\n" + shell("main", "true"),
		want: []string{`setup waits for its next restart: .* \(exited 2, .*\); it said "no migrations"; main waits for that\.`},
	},
	{
		name: "init-fails", spec: "restartPolicy: Never\ninitContainers:\n" + shell("setup", "echo no migrations; exit 2") + "\ncontainers:\n" + shell("main", "true"),
		want: []string{`setup at TIME: exit 2, saying "no migrations" → the pod fails \(restartPolicy Never\)\.`},
	},
	{
		name: "done", spec: "containers:\n" + shell("main", "true"),
		want: []string{`main waits for its next restart: .* \(exited 0, restartPolicy Always\); restartPolicy Always restarts what has done its work, too\.`},
	},
	{
		name: "limited", spec: "containers:\n" + shell("main", "echo FATAL: no database; exit 3"),
		want: []string{`main at TIME: exit 3, saying "FATAL: no database" → the pod fails \(restart\.lifepod\.dev/max-restarts: 1\)\.`},
	},
	{
		name: "liveness",
		spec: "containers:\n" + shell("main", "sleep infinity", "livenessProbe: {exec: {command: [sh, -c, 'echo sick; exit 1']}, timeoutSeconds: 30, periodSeconds: 1, failureThreshold: 2}"),
		want: []string{backOff(`exited \d+, liveness probe failed`) + `: sick\.`, `main at TIME: liveness probe failed 2 of 2 \(sick\) → stopped.* → exit \d+.* → \S+ restart after`},
	},
	{
		name: "killed", await: `pod Ready`,
		spec: "restartPolicy: Never\ncontainers:\n- {name: main, image: TOOLBOX, command: [sleep, '4242'], readinessProbe: {exec: {command: ['true']}, timeoutSeconds: 30}}",
		want: []string{`main at TIME: exit 137 \(SIGKILL, neither from lifepod nor for memory\) → not restarted`},
	},
	{
		name: "evicted",
		spec: "volumes: [{name: v, emptyDir: {sizeLimit: 64Ki}}]\ncontainers:\n" + shell("main", "cp /bin/toolbox /v/copy; sleep infinity", mountV),
		want: []string{`The node evicted the pod at TIME: Usage of EmptyDir volume "v" exceeds the limit "64Ki"\.`},
	},
	{
		name: "root", spec: "containers:\n" + shell("main", "true", "securityContext: {runAsNonRoot: true}"),
		want: []string{`main can't be started: CreateContainerConfigError: container has runAsNonRoot and image will run as root`},
	},
	{
		name: "poststart",
		spec: "containers:\n" + shell("main", "sleep infinity", "lifecycle: {postStart: {exec: {command: [sh, -c, 'echo no lease; exit 7']}}}"),
		want: []string{backOff(`exited \d+, postStart hook failed`) + `: Exec lifecycle hook .* exited with 7: .*no lease`},
	},
	{
		name: "absent", spec: "containers:\n- {name: main, image: REGISTRY/no/such:1}",
		want: []string{`The image \S+/no/such:1 of main can't be had: ErrImagePull: .*not found`},
	},
	{
		name: "deaf",
		spec: "terminationGracePeriodSeconds: 2\ncontainers:\n" + shell("main", "trap '' TERM; touch /set; while true; do sleep 0.1; done", "livenessProbe: {exec: {command: [sh, -c, '[ ! -e /set ]']}, periodSeconds: 1, failureThreshold: 1}"),
		want: []string{`(main waits for its next restart: .*, liveness probe failed, .*\n)?main at TIME: liveness probe failed 1 of 1 .*→ killed after 2\S* s of grace → exit 137 → \S+ restart`},
	},
	{
		// The kernel's log says which process it was, but of ten in five seconds at most, and other tests run out of memory meanwhile.
		name: "memory",
		spec: "restartPolicy: Never\ncontainers:\n" + "- {name: main, image: TOOLBOX, command: [eat-memory, 256Mi], resources: {limits: {memory: 16Mi}}}",
		want: []string{`main at TIME: exit 137 OOMKilled → not restarted \(restartPolicy Never\)\.`, `The kernel killed (the process eat-memory \(PID \d+\)|a process) of main because the container needed more memory than it may have: its limit is 16 MiB; at its peak the whole pod had \S+ MiB\.`},
	},
	{
		name: "image",
		spec: "containers:\n- {name: a, image: '127.0.0.1:1/no/such:1'}\n- {name: b, image: '127.0.0.1:1/no/such:1'}",
		want: []string{`The image 127\.0\.0\.1:1/no/such:1 of a and b can't be had: ErrImagePull: .*connection refused; next try TIME`},
	},
	{
		name: "image-stopped", await: `try again in`, act: []string{"stop", "image-stopped"},
		spec: "containers:\n- {name: a, image: '127.0.0.1:1/no/such:1'}",
		want: []string{`a never started; at TIME: ErrImagePull: .*connection refused\.`, `The pod's end was asked for at TIME \(lifepod stop\), with a grace of 30s\.`},
	},
	{
		name: "init",
		spec: "initContainers:\n" + shell("setup", "sleep infinity") + "\ncontainers:\n" + shell("main", "true"),
		want: []string{`The init container setup has been running.* and has not completed; main waits for that\.`},
	},
	{
		name: "gate",
		spec: "readinessGates: [{conditionType: example.com/lb}]\ncontainers:\n" + shell("main", "sleep infinity"),
		want: []string{`The pod is not Ready: its readiness gate example\.com/lb is not open, nobody has set its condition yet\.`},
	},
	{
		name: "readiness",
		spec: "containers:\n" + shell("main", "sleep infinity", "readinessProbe: {exec: {command: [sh, -c, 'echo no database; exit 1']}, periodSeconds: 1, timeoutSeconds: 30}"),
		want: []string{`main is not ready: its readiness probe .*`},
	},
	{
		name: "asked", await: `pod Ready`, act: []string{"restart", "asked", "-c", "main"},
		// Ready says that the trap is set.
		spec: "containers:\n" + shell("main", "trap 'exit 0' TERM; touch /set; while true; do sleep 0.1; done", "readinessProbe: {exec: {command: [cat, /set]}, periodSeconds: 1, timeoutSeconds: 30}"),
		want: []string{`main at TIME: a restart was asked for \(.*\) → stopped.* → exit 0 → 1st restart at once\.`},
	},
	{
		name: "start",
		spec: "containers:\n- {name: main, image: 'lifepod.dev/toolbox:1', command: [/no/such/program]}",
		want: []string{backOff(`exited 128 StartError`) + `: exec: "/no/such/program": stat /no/such/program: no such file or directory\.`},
	},
	{
		name: "volume",
		spec: "volumes: [{name: v, hostPath: {path: /no/such/folder, type: Directory}}]\ncontainers:\n" + shell("main", "true", "volumeMounts: [{name: v, mountPath: /v}]"),
		want: []string{`The pod's volumes can't be mounted: .*/no/such/folder.*; next try TIME`},
	},
	{
		name: "startup",
		spec: "containers:\n" + shell("main", "sleep infinity", "startupProbe: {exec: {command: [sh, -c, 'echo warming up; exit 1']}, periodSeconds: 1, timeoutSeconds: 30, failureThreshold: 600}"),
		want: []string{`main has not started up: its startup probe .*`},
	},
	{
		name: "sidecar",
		spec: "initContainers:\n" + shell("proxy", "sleep infinity", "restartPolicy: Always", "startupProbe: {exec: {command: [sh, -c, 'exit 1']}, periodSeconds: 1, failureThreshold: 600}") +
			"\ncontainers:\n" + shell("main", "true"),
		want: []string{`proxy has not started up: its startup probe .*; main waits for that\.`},
	},
	{
		name: "deadline",
		spec: "activeDeadlineSeconds: 1\nterminationGracePeriodSeconds: 1\ncontainers:\n" + shell("main", "sleep infinity"),
		want: []string{`The pod exceeded activeDeadlineSeconds 1s at TIME\.`},
	},
	{
		name: "together",
		spec: "volumes: [{name: v, emptyDir: {}}]\nrestartPolicy: Never\ncontainers:\n" +
			shell("worker", "sleep infinity") + shell("watcher", "[ -e /v/once ] && sleep infinity; touch /v/once; exit 88", "volumeMounts: [{name: v, mountPath: /v}]",
			"restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [88]}}]", "restartPolicy: Never"),
		want: []string{`worker at TIME: all containers were restarted in place \(watcher exited 88\) → killed at once`, `watcher at TIME: exit 88 → all containers are restarted in place \(restartPolicyRules\[0\]: exit code In \[88\] → RestartAllContainers\)\.`},
	},
	{
		name: "drain", await: `pod Ready`, act: []string{"stop", "drain", "--no-wait"},
		spec: "terminationGracePeriodSeconds: 600\ncontainers:\n" + shell("main", "sleep infinity", "lifecycle: {preStop: {exec: {command: [sleep, infinity]}}}"),
		want: []string{
			`main is being stopped: its preStop hook has been running.* and may until TIME, in .*`,
			`The pod's end was asked for at TIME \(lifepod stop\), with a grace of 10m0s\.`,
		},
	},
}

// clockTime has a date, if that is another day's.
var clockTime = regexp.MustCompile(`(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d`)

// backOff is the sentence of main's back-off after such an exit.
func backOff(exit string) string {
	return `main waits for its next restart: back-off, next try TIME, .* \(` + exit + `, restartPolicy Always, \S+ failure\)`
}

// TestWhy asks why real pods are as they are, when their lifepod was killed, what it knew, and when they are gone.
func TestWhy(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	registry := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(registry.Close)
	var manifests []string
	for _, f := range failures {
		manifests = append(manifests, pod(f.name, strings.ReplaceAll(f.spec, "REGISTRY", registry.Listener.Addr().String())))
	}
	all := strings.Replace(strings.Join(manifests, "---\n"), "name: limited\n", "name: limited\n  annotations: {restart.lifepod.dev/max-restarts: '1', restart.lifepod.dev/back-off: none}\n", 1)
	first := r.startRun(t, all)
	for _, f := range failures {
		if f.await != "" {
			first.await(first.stderr, "^"+f.name+` \| .*`+f.await)
		}
		switch {
		case f.act != nil:
			r.lifepod(t, "", f.act...).wantCode(t, 0)
		case f.name == "killed":
			r.kill(t, "sleep 4242")
		}
	}
	for _, f := range failures {
		t.Run(f.name, func(t *testing.T) { r.checkWhy(t, f.name, f.want...) })
	}
	first.kill9()
	r.checkWhy(t, "crash", `Nobody leads this pod: its lifepod ended without it`, `main waits for its next restart`, `main at TIME: exit 3`)
	second := r.resume(t, all)
	r.checkWhy(t, "crash", backOff(`exited 3`), `main has been restarted [2-9] times`)
	second.signal(syscall.SIGQUIT) // which kills
	second.wait()
	r.checkWhy(t, "crash", `The pod's end was asked for at TIME`, `main at TIME: exit 3, saying "FATAL: no database" → \S+ restart`)
	logs, err := filepath.Glob(filepath.Join(r.dir, "journal", "*", "ends", "main", "[012].log"))
	assert.True(t, err == nil && len(logs) >= 3, "logs of ends: %q, %v", logs, err)
}

// TestWhyFullDisk asks why pods are as they are while the disk of the state folder, with containers, images and journal, fills up.
func TestWhyFullDisk(t *testing.T) {
	t.Parallel()
	const smallMiB, leftMiB = 400, 6
	r := newRoot(t)
	mountDisk(t, r.dir, smallMiB)
	r.run(t, script("first", "true")).wantCode(t, 0) // which unpacks the runtime and the images
	var disk unix.Statfs_t
	assert.Must(t, unix.Statfs(r.dir, &disk))
	ballast := filepath.Join(r.dir, ".ballast")
	writeFile(t, ballast)
	file := assert.Get(os.OpenFile(ballast, os.O_WRONLY, 0)).Must(t)
	assert.Must(t, unix.Fallocate(int(file.Fd()), 0, 0, int64(disk.Bavail)*disk.Bsize-leftMiB<<20))
	assert.Must(t, file.Close())
	image := newRegistry(t, "").pushLarge(t, carriedToolbox(t), "large", imageMiB)
	pulls := r.startRun(t, pod("pulls", "containers:\n- {name: main, image: '"+image+"'}"))
	pulls.await(pulls.stderr, "try again in")
	r.checkWhy(t, "pulls", `The image \S+ of main can't be had: ErrImagePull: .*no space left on device; next try TIME`)
	writes := r.startRun(t, pod("writes", "restartPolicy: Never\ncontainers:\n"+shell("main", "echo writing; n=1; while cp /bin/toolbox /file$n; do n=1$n; done; exit 1")))
	writes.await(writes.stderr, "main exited 1")
	r.checkWhy(t, "writes", `(The pod's sandbox can't be stopped: |main at TIME: exit 1, saying ).*no space left on device`)
	assert.Must(t, os.Remove(ballast))
	writes.wait()
	r.checkWhy(t, "writes", `main at TIME: exit 1, saying "cp: .*no space left on device" → not restarted \(restartPolicy Never\)\.`)
	pulls.signal(syscall.SIGQUIT) // which kills
	pulls.wait()
}

// checkWhy waits until lifepod why says so of a pod: the first sentence is as the first pattern says, and more follow in their order.
func (r *root) checkWhy(t *testing.T, name string, want ...string) {
	t.Helper()
	pattern := regexp.MustCompile("^" + strings.Join(want, `.*(?s:\n.*)?\n`))
	var said string
	defer func() {
		if t.Failed() {
			t.Logf("want %s, got\n%s", pattern, said)
		}
	}()
	machine.Until(t, "the reason of "+name, func() bool {
		said = strings.Join(r.sentences(t, name), "\n")
		return pattern.MatchString(said)
	})
}

// sentences are what lifepod why says of a pod.
func (r *root) sentences(t *testing.T, name string) (list []string) {
	t.Helper()
	got := r.lifepod(t, "", "why", name, "-o", "json")
	var explanation struct{ Sentences []struct{ Text string } }
	err := json.Unmarshal([]byte(got.stdout), &explanation)
	assert.Require(t, got.code == 0 && err == nil, "exit code %d, %v: %s%s", got.code, err, got.stdout, got.stderr)
	for _, s := range explanation.Sentences {
		list = append(list, clockTime.ReplaceAllString(s.Text, "TIME"))
	}
	return list
}

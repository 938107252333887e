package e2e

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// whyCases are pods on real containers, and what lifepod why says of them.
var whyCases = []struct {
	name, spec string
	await      string   // in what lifepod run tells, before it is asked
	act        []string // a command of lifepod's, before it is asked
	then       string   // in what lifepod run tells after that; empty: nothing
	want       []string // regular expressions of sentences, in this order
}{
	{
		name: "crash", spec: "containers:\n" + shell("main", "echo starting; echo FATAL: no database >&2; exit 3"), await: `restart in \S+s`,
		want: []string{`main waits for its next restart: back-off, next try TIME, in \S+ s \(exited 3, restartPolicy Always, 2nd failure\)\.`, `main at TIME: exit 3, saying "FATAL: no database" → 2nd restart after a back-off of \S+ s\.`},
	},
	{
		name: "liveness", await: `1st restart`,
		spec: "containers:\n" + shell("main", "sleep infinity", "livenessProbe: {exec: {command: [sh, -c, 'echo sick; exit 1']}, timeoutSeconds: 30, periodSeconds: 1, failureThreshold: 2}"),
		want: []string{`main at TIME: liveness probe failed 2 of 2 \(sick\) → stopped.* → exit \d+.* → 1st restart at once\.`},
	},
	{
		name: "deaf", await: `1st restart`,
		spec: "terminationGracePeriodSeconds: 2\ncontainers:\n" + shell("main", "trap '' TERM; touch /set; while true; do sleep 0.1; done", "livenessProbe: {exec: {command: [sh, -c, '[ ! -e /set ]']}, periodSeconds: 1, failureThreshold: 1}"),
		want: []string{`main at TIME: liveness probe failed 1 of 1 .*→ killed after 2\S* s of grace → exit 137 → 1st restart at once\.`},
	},
	{
		// The kernel's log says which process it was, but of ten in five seconds at most, and other tests run out of memory meanwhile.
		name: "memory", await: `exited 137 OOMKilled`,
		spec: "restartPolicy: Never\ncontainers:\n" + "- {name: main, image: TOOLBOX, command: [eat-memory, 256Mi], resources: {limits: {memory: 16Mi}}}",
		want: []string{`main at TIME: exit 137 OOMKilled → not restarted \(restartPolicy Never\)\.`, `The kernel killed (the process eat-memory \(PID \d+\)|a process) of main because the container needed more memory than it may have: its limit is 16 MiB; at its peak the whole pod had \S+ MiB\.`},
	},
	{
		name: "image", await: `try again in`,
		spec: "containers:\n- {name: a, image: '127.0.0.1:1/no/such:1'}\n- {name: b, image: '127.0.0.1:1/no/such:1'}",
		want: []string{`The image 127\.0\.0\.1:1/no/such:1 of a and b can't be had: ErrImagePull: .*connection refused; next try TIME`},
	},
	{
		name: "image-stopped", await: `try again in`, act: []string{"stop", "image-stopped"},
		spec: "containers:\n- {name: a, image: '127.0.0.1:1/no/such:1'}",
		want: []string{`The pod's end was asked for at TIME \(lifepod stop\), with a grace of 30s\.`, `a never started; at TIME: ErrImagePull: .*connection refused\.`},
	},
	{
		name: "init", await: `setup started`,
		spec: "initContainers:\n" + shell("setup", "sleep infinity") + "\ncontainers:\n" + shell("main", "true"),
		want: []string{`The init container setup has been running.* and has not completed; main waits for that\.`},
	},
	{
		name: "gate", await: `pod Running`,
		spec: "readinessGates: [{conditionType: example.com/lb}]\ncontainers:\n" + shell("main", "sleep infinity"),
		want: []string{`The pod is not Ready: its readiness gate example\.com/lb is not open, nobody has set its condition yet\.`},
	},
	{
		name: "readiness", await: `main started`,
		spec: "containers:\n" + shell("main", "sleep infinity", "readinessProbe: {exec: {command: [sh, -c, 'echo no database; exit 1']}, periodSeconds: 1, timeoutSeconds: 30}"),
		want: []string{`main is not ready: its readiness probe .*`},
	},
	{
		name: "asked", await: `pod Ready`, act: []string{"restart", "asked", "-c", "main"}, then: `1st restart`,
		// Ready says that the trap is set.
		spec: "containers:\n" + shell("main", "trap 'exit 0' TERM; touch /set; while true; do sleep 0.1; done", "readinessProbe: {exec: {command: [cat, /set]}, periodSeconds: 1, timeoutSeconds: 30}"),
		want: []string{`main at TIME: a restart was asked for \(.*\) → stopped.* → exit 0 → 1st restart at once\.`},
	},
	{
		name: "start", await: `restart in \S+s`,
		spec: "containers:\n- {name: main, image: 'lifepod.dev/toolbox:1', command: [/no/such/program]}",
		want: []string{`main (can't be started|waits for its next restart): .*`},
	},
	{
		name: "volume", await: `try again`,
		spec: "volumes: [{name: v, hostPath: {path: /no/such/folder, type: Directory}}]\ncontainers:\n" + shell("main", "true", "volumeMounts: [{name: v, mountPath: /v}]"),
		want: []string{`The pod's volumes can't be mounted: .*/no/such/folder.*; next try TIME`},
	},
	{
		name: "startup", await: `main started`,
		spec: "containers:\n" + shell("main", "sleep infinity", "startupProbe: {exec: {command: [sh, -c, 'echo warming up; exit 1']}, periodSeconds: 1, timeoutSeconds: 30, failureThreshold: 600}"),
		want: []string{`main has not started up: its startup probe .*`},
	},
	{
		name: "sidecar", await: `proxy started`,
		spec: "initContainers:\n" + shell("proxy", "sleep infinity", "restartPolicy: Always", "startupProbe: {exec: {command: [sh, -c, 'exit 1']}, periodSeconds: 1, failureThreshold: 600}") +
			"\ncontainers:\n" + shell("main", "true"),
		want: []string{`proxy has not started up: its startup probe .*; main waits for that\.`},
	},
	{
		name: "deadline", await: `pod Failed`,
		spec: "activeDeadlineSeconds: 1\nterminationGracePeriodSeconds: 1\ncontainers:\n" + shell("main", "sleep infinity"),
		want: []string{`The pod exceeded activeDeadlineSeconds 1s at TIME\.`},
	},
	{
		name: "together", await: `worker started \(1st restart\)`,
		spec: "volumes: [{name: v, emptyDir: {}}]\nrestartPolicy: Never\ncontainers:\n" +
			shell("worker", "sleep infinity") + shell("watcher", "[ -e /v/once ] && sleep infinity; touch /v/once; exit 88", "volumeMounts: [{name: v, mountPath: /v}]",
			"restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [88]}}]", "restartPolicy: Never"),
		want: []string{`watcher at TIME: exit 88 → all containers are restarted in place \(restartPolicyRules\[0\]: exit code In \[88\] → RestartAllContainers\)\.`},
	},
	{
		name: "drain", await: `pod Ready`, act: []string{"stop", "drain", "--no-wait"},
		spec: "containers:\n" + shell("main", "sleep infinity", "lifecycle: {preStop: {exec: {command: [sleep, infinity]}}}"),
		want: []string{
			`main is being stopped: its preStop hook has been running.* and may until TIME, in .*`,
			`The pod's end was asked for at TIME \(lifepod stop\), with a grace of 30s\.`,
		},
	},
}

var clockTime = regexp.MustCompile(`\d\d:\d\d:\d\d`)

// TestWhy asks why real pods are as they are.
func TestWhy(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	for _, c := range whyCases {
		t.Run(c.name, func(t *testing.T) {
			run := r.startRun(t, pod(c.name, c.spec))
			run.await(run.stderr, c.await)
			if c.act != nil {
				if got := r.lifepod(t, "", c.act...); got.code != 0 {
					t.Fatalf("%q: exit code %d: %s", c.act, got.code, got.stderr)
				}
			}
			if c.then != "" {
				run.await(run.stderr, c.then)
			}
			checkWhy(t, r.sentences(t, c.name), c.want)
			run.signal(syscall.SIGQUIT) // which kills
			run.wait()
		})
	}
}

// checkWhy looks for sentences in their order.
func checkWhy(t *testing.T, got, want []string) {
	t.Helper()
	for _, w := range want {
		i := 0
		for i < len(got) && !regexp.MustCompile("^"+w).MatchString(got[i]) {
			i++
		}
		if i == len(got) {
			t.Fatalf("no sentence is %s, in this order, in\n%s", w, strings.Join(got, "\n"))
		}
		got = got[i+1:]
	}
}

// sentences are what lifepod why says of a pod.
func (r *root) sentences(t *testing.T, name string) (list []string) {
	t.Helper()
	got := r.lifepod(t, "", "why", name, "-o", "json")
	var explanation struct{ Sentences []struct{ Text string } }
	if err := json.Unmarshal([]byte(got.stdout), &explanation); got.code != 0 || err != nil {
		t.Fatalf("exit code %d, %v: %s%s", got.code, err, got.stdout, got.stderr)
	}
	for _, s := range explanation.Sentences {
		list = append(list, clockTime.ReplaceAllString(s.Text, "TIME"))
	}
	return list
}

// TestWhyAfterKill: what a killed lifepod knew is told without it, goes on with the next one, and
// stays when the pod is gone, with the first and the last ends of a container and their logs.
func TestWhyAfterKill(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	manifest := pod("killed", "containers:\n"+shell("main", "echo instance; exit 3"))
	first := r.startRun(t, manifest)
	first.await(first.stderr, `restart in \S+s`)
	first.kill9()
	const unled = `Nobody leads this pod: its lifepod ended without it`
	checkWhy(t, r.sentences(t, "killed"), []string{unled, `main waits for its next restart`, `main at TIME: exit 3`})
	second := r.resume(t, manifest)
	second.await(second.stderr, `restart in (19|20)s`)
	checkWhy(t, r.sentences(t, "killed"), []string{`main waits for its next restart: back-off, next try TIME, in \S+ s \(exited 3, restartPolicy Always, 3rd failure\)`, `main has been restarted 2 times`})
	second.signal(syscall.SIGQUIT)
	second.wait()
	checkWhy(t, r.sentences(t, "killed"), []string{`The pod's end was asked for at TIME`, `main at TIME: exit 3, saying "instance" → 3rd restart`})
	logs, err := filepath.Glob(filepath.Join(r.dir, "journal", "*", "ends", "main", "[012].log"))
	if err != nil || len(logs) != 3 {
		t.Errorf("logs of ends: %q, %v", logs, err)
	}
}

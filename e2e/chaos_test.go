//go:build chaos

package e2e

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

var (
	chaosKills = flag.Int("chaos.kills", 10, "how often TestChaos kills lifepod (make chaos: many times)")
	chaosSeed  = flag.Uint64("chaos.seed", 1, "what TestChaos draws its lots from")
)

// killsOfOnePod is after how many kills a pod is stopped and another begun.
const killsOfOnePod = 15

// TestChaos kills lifepod at moments that nothing marks, and with it, or before,
// or while it is dead, containerd, the sandbox or a container; the same command
// is given again each time. What the containers write down about themselves and
// every status that was told are held against laws (chaos_laws_test.go): one
// instance at a time, init before sidecar before main, counts that only grow,
// the same UID, address and volume to the end, at which nothing is left.
func TestChaos(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	if got := r.run(t, script("first", "true")); got.code != 0 { // unpacks
		t.Fatal(got.stderr)
	}
	lots := rand.New(rand.NewPCG(*chaosSeed, 0))
	for done := 0; done < *chaosKills; done += killsOfOnePod {
		c := newChaos(t, r, lots)
		for range min(killsOfOnePod, *chaosKills-done) {
			c.killOnce()
		}
		c.stop()
		t.Logf("%d kills of lifepod, %v others; instances that wrote: %v; restart counts: %v",
			len(c.runs)-1, c.harmed, c.laws.starts(), c.laws.counts)
		if t.Failed() {
			c.show()
			return
		}
	}
}

// chaos is one pod that is not left in peace.
type chaos struct {
	t        *testing.T
	root     *root
	lots     *rand.Rand
	manifest string
	dir      string // where the containers write down what happens to them
	runs     []*command
	harmed   map[string]int
	story    []string
	laws     *chaosLaws
}

func newChaos(t *testing.T, r *root, lots *rand.Rand) *chaos {
	dir := t.TempDir()
	return &chaos{
		t: t, root: r, lots: lots, dir: dir, manifest: chaosPod(dir),
		harmed: map[string]int{}, laws: newChaosLaws(t),
	}
}

// killOnce gives the command, and takes it away again after a while.
func (c *chaos) killOnce() {
	run := c.root.startRun(c.t, c.manifest, "-o", "json", "--log-level", "info")
	c.runs = append(c.runs, run)
	x := c.lots.Float64()
	lives := time.Duration(x * x * float64(3*time.Second)) // mostly short: there is more to interrupt
	if c.lots.IntN(2) == 0 {
		before := time.Duration(c.lots.Int64N(int64(lives) + 1))
		time.Sleep(before) // not a wait for anything: any moment is as good
		lives -= before
		c.harm()
	}
	time.Sleep(lives)
	if c.lots.IntN(5) == 0 {
		c.harm() // and lifepod at the same time
	}
	select {
	case <-run.ended:
		c.show()
		run.fatalf("lifepod ended by itself")
	default:
	}
	c.note("kills lifepod")
	run.kill9()
	c.laws.judge(run.stdout.text())
	if c.lots.IntN(4) == 0 {
		c.harm()
		time.Sleep(time.Duration(c.lots.Int64N(int64(time.Second))))
	}
}

// harm kills something other than lifepod.
func (c *chaos) harm() {
	victims := []string{"container", "container", "container", "pause", "containerd", "shim"}
	what := victims[c.lots.IntN(len(victims))]
	var found []int
	for _, line := range c.root.processes() {
		var pid int
		head, command, _ := strings.Cut(line, ": ")
		if _, err := fmt.Sscanf(head, "process %d", &pid); err == nil && what == chaosVictim(command) {
			found = append(found, pid)
		}
	}
	if len(found) == 0 {
		return
	}
	victim := found[c.lots.IntN(len(found))]
	name := nameOf(victim)
	if syscall.Kill(victim, syscall.SIGKILL) == nil {
		c.note("kills " + what + " " + name)
		c.harmed[what]++
	}
}

// chaosVictim is what a process is to harm; empty for what is none of it.
func chaosVictim(command string) string {
	program, _, _ := strings.Cut(command, " ")
	switch {
	case strings.HasPrefix(command, "sh -c : witness"):
		return "container"
	case program == "/pause":
		return "pause"
	}
	return map[string]string{"containerd": "containerd", "containerd-shim-runc-v2": "shim"}[filepath.Base(program)]
}

// nameOf is the name of the container that a process is in.
func nameOf(pid int) string {
	environment, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	for variable := range strings.SplitSeq(string(environment), "\x00") {
		if name, ok := strings.CutPrefix(variable, "NAME="); ok {
			return name
		}
	}
	return ""
}

// stop ends the pod as a user would.
func (c *chaos) stop() {
	last := c.root.startRun(c.t, c.manifest, "-o", "json", "--log-level", "info")
	c.runs = append(c.runs, last)
	last.await(last.stdout, `"type":"status"`)
	time.Sleep(time.Duration(c.lots.Int64N(int64(2 * time.Second)))) // any moment is as good
	c.note("interrupts")
	asked := time.Now()
	last.signal(syscall.SIGINT)
	got := last.wait()
	if got.code != 130 {
		c.show()
		c.t.Errorf("after SIGINT: exit code %d", got.code)
	}
	c.laws.judge(got.stdout)
	c.laws.endedGracefully(asked)
	witness := assert.Get(os.ReadFile(filepath.Join(c.dir, "witness"))).Must(c.t)
	c.laws.wrote(string(witness))
	c.laws.end(c.harmed)
	for _, left := range c.root.left() { // B-FIN-6
		c.t.Errorf("left behind: %s", left)
	}
}

// show keeps what a failure is understood by.
func (c *chaos) show() {
	dir := assert.Get(os.MkdirTemp("", "lp-chaos-failed-")).Must(c.t)
	witness, _ := os.ReadFile(filepath.Join(c.dir, "witness"))
	files := map[string]string{"witness": string(witness), "harms": strings.Join(c.story, "\n")}
	for i, run := range c.runs {
		files[fmt.Sprintf("run%02d.stdout", i)], files[fmt.Sprintf("run%02d.stderr", i)] = run.stdout.text(), run.stderr.text()
	}
	for name, text := range files {
		assert.Must(c.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	c.t.Logf("what everybody told is in %s", dir)
}

// note writes down what this test itself did.
func (c *chaos) note(what string) {
	c.story = append(c.story, fmt.Sprintf("%s run%02d %s", time.Now().UTC().Format(time.RFC3339Nano), len(c.runs)-1, what))
}

// chaosPod has all that a lifepod can be interrupted in; main ends by its rule
// every few seconds, at times by a crash or because its probe says so.
func chaosPod(dir string) string {
	const write = `
mkdir -p /tmp
read id < /proc/sys/kernel/random/uuid
w() { printf '%s\n' "$NAME $id $1 $POD_UID $POD_IP $token" >> /v/witness; } # in one write, as echo is not
`
	env := func(name string) string {
		return `env:
- {name: NAME, value: ` + name + `}
- {name: POD_UID, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}
- {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
volumeMounts: [{name: v, mountPath: /v}, {name: scratch, mountPath: /scratch}]
resources: {limits: {memory: 64Mi}}`
	}
	text := pod("chaos", `
restartPolicy: Always
terminationGracePeriodSeconds: 10
volumes:
- {name: v, hostPath: {path: `+dir+`}}
- {name: scratch, emptyDir: {}}
initContainers:
`+shell("init", ": witness\n"+write+`
echo $id > /scratch/$id
[ -e /scratch/token ] || mv /scratch/$id /scratch/token
read token < /scratch/token
w start
sleep 0.1
w end`, env("init"))+
		shell("side", ": witness\n"+write+`
read token < /scratch/token
w start
trap 'w term; exit 0' TERM
sleep 0.1
w up
touch /tmp/up
while true; do w beat; sleep 0.05; done`, env("side"), `restartPolicy: Always
startupProbe: {periodSeconds: 1, failureThreshold: 30, exec: {command: [sh, -c, "[ -e /tmp/up ]"]}}`)+`
containers:
`+shell("main", ": witness\n"+write+`
read token < /scratch/token
echo $id > /tmp/id
touch /tmp/alive
w start
trap 'w term; exit 0' TERM
n=0
[ -e /scratch/n ] && read n < /scratch/n
n=$((n + 1)); echo $n > /scratch/n
beats=$((n * 13 % 50 + 10)); i=0
while [ $i -lt $beats ]; do w beat; sleep 0.05; i=$((i + 1)); done
if [ $((n % 5)) = 4 ]; then rm /tmp/alive; while true; do w beat; sleep 0.05; done; fi
[ $((n % 3)) = 0 ] && exit 1
exit 88`, env("main"), `restartPolicy: Always
restartPolicyRules:
- {action: RestartAllContainers, exitCodes: {operator: In, values: [88]}}
readinessProbe: {periodSeconds: 1, exec: {command: [sh, -c, "[ -e /tmp/id ]"]}}
livenessProbe: {periodSeconds: 1, failureThreshold: 1, exec: {command: [sh, -c, "[ -e /tmp/alive ]"]}}
lifecycle: {preStop: {exec: {command: [sh, -c, "read id < /tmp/id; printf 'main %s prestop\\n' $id >> /v/witness; sleep 0.1"]}}}`))
	const annotations = "metadata:\n  annotations: {restart.lifepod.dev/back-off: none}\n"
	return strings.Replace(text, "metadata:\n", annotations, 1)
}

// keysOf are a map's keys, in order.
func keysOf[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// restartCounts are those of all containers in a status.
func restartCounts(s v1.PodStatus) map[string]int32 {
	counts := map[string]int32{}
	for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses) {
		counts[c.Name] = c.RestartCount
	}
	return counts
}

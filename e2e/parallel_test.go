package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestManyAtOnce: several lifepods share a root that none has used before, and
// it is empty when the last has ended; another root is another world.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	var group sync.WaitGroup
	for _, r := range []*root{newRoot(t), newRoot(t)} {
		for n := range 4 {
			group.Go(func() {
				got := r.run(t, script(fmt.Sprint("pod-", n), fmt.Sprintf("echo %d; exit %d", n, n)))
				got.want(t, n, fmt.Sprintln(n))
			})
		}
	}
	group.Wait()
}

// TestAddresses: pods that run at the same time have different addresses.
func TestAddresses(t *testing.T) {
	t.Parallel()
	var running []*command
	seen := map[string]bool{}
	for n := range 3 {
		c := shared.startRun(t, script(fmt.Sprint("pod-", n), "echo up; sleep infinity"))
		running = append(running, c)
	}
	for _, c := range running {
		ip := strings.TrimPrefix(c.await(c.stderr, `address 10[0-9.]+`), "address ")
		assert.True(t, !seen[ip], "address %s was given twice", ip)
		seen[ip] = true
	}
	for _, c := range running {
		c.await(c.stdout, "up")
		c.await(c.stderr, "pod Ready")
		c.signal(syscall.SIGINT)
	}
	for _, c := range running {
		c.wait().wantCode(t, 130)
	}
}

// deployment is one whose pods write what they are, and end when they are asked to.
func deployment(name string, replicas int) string {
	template := indent("metadata: {labels: {app: "+name+"}}\nspec:\n  serviceAccountName: shop\n  containers:\n"+
		indent(shell("server", "trap 'echo bye; exit 0' TERM; echo "+name+" serves; while true; do sleep 0.1; done"), 2), 4)
	return fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s}\nspec:\n  replicas: %d\n  selector: {matchLabels: {app: %s}}\n  template:\n%s\n---\n",
		name, replicas, name, strings.ReplaceAll(template, "TOOLBOX", toolbox))
}

// TestWebShop: what people publish runs as it is: Deployments as their pods, side by side, ServiceAccounts passed
// over. One Ctrl-C ends all.
func TestWebShop(t *testing.T) {
	t.Parallel()
	c := shared.startRun(t, "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: shop}\n---\n"+
		"apiVersion: v1\nkind: Service\nmetadata: {name: shop-web}\nspec: {selector: {app: shop-web}, ports: [{port: 80}]}\n---\n"+
		deployment("shop-web", 2)+deployment("shop-db", 1))
	for _, want := range []string{
		"passed over: ServiceAccount shop: ", `Deployment default/shop-web: 2 pods`, `Deployment default/shop-db: 1 pod\n`,
		`(?s)(shop-web-[a-z0-9]+-[a-z0-9]{5} \| \+.* pod Ready.*){2}`, `shop-db-[a-z0-9]+-[a-z0-9]{5} \| \+.* pod Ready`,
	} {
		c.await(c.stderr, want)
	}
	c.await(c.stdout, `(?s)(shop-web-[a-z0-9-]+ \| shop-web serves\n.*){2}`)
	c.await(c.stdout, `shop-db-[a-z0-9-]+ \| shop-db serves\n`)
	c.signal(syscall.SIGINT)
	got := c.wait()
	if byes := strings.Count(got.stdout, " | bye\n"); got.code != 130 || byes != 3 || strings.Count(got.stderr, "pod stop requested → grace 30s (Ctrl-C)") != 3 {
		t.Errorf("exit code %d, %d of 3 ended gracefully\n%s%s", got.code, byes, got.stdout, got.stderr)
	}
}

// TestFirstFailureCounts: of several pods the exit code is that of the first that fails, and the others go on; -o json says of
// each line whose it is.
func TestFirstFailureCounts(t *testing.T) {
	t.Parallel()
	pods := script("fails-later", "sleep 2; echo late; exit 4") + "\n---\n" + script("fails-first", "exit 3") + "\n---\n" + script("succeeds", "sleep 1")
	got := shared.run(t, pods, "-o", "json")
	assert.True(t, got.code == 3 && got.stderr == "", "exit code %d: %s", got.code, got.stderr)
	for _, want := range []string{`"pod":"default/fails-later","subject":"main","stream":"stdout","text":"late\n"`, `"pod":"default/succeeds","subject":"pod","what":"Succeeded"`} {
		assert.True(t, strings.Contains(got.stdout, want), "no %s in\n%s", want, got.stdout)
	}
}

// TestJobRuns: a Job's pod that fails is replaced, and the Job succeeds; one that fails for good has that pod's exit code.
func TestJobRuns(t *testing.T) {
	t.Parallel()
	job := func(name, fields, command string) string {
		spec := "restartPolicy: Never\nvolumes: [{name: v, persistentVolumeClaim: {claimName: " + name + "}}]\ncontainers:\n" + shell("main", command, mountV)
		return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: " + name + "}\nspec:\n" + fields + "  template:\n    spec:\n" + strings.ReplaceAll(indent(spec, 6), "TOOLBOX", toolbox)
	}
	retried := job("retried", "  completions: 2\n  parallelism: 2\n  completionMode: Indexed\n", `
echo "attempt of $JOB_COMPLETION_INDEX on $HOSTNAME"
if [ $JOB_COMPLETION_INDEX = 0 ]; then until [ -e /v/tried ]; do sleep 0.1; done; sleep 1; exit 0; fi
[ -e /v/tried ] || { touch /v/tried; exit 3; }`)
	got := shared.run(t, retried)
	if attempts := strings.Count(got.stdout, " | attempt of 1 on retried-1\n"); got.code != 0 || attempts != 2 || !strings.Contains(got.stderr, " Job default/retried: complete\n") {
		t.Errorf("exit code %d after %d attempts: %s%s", got.code, attempts, got.stdout, got.stderr)
	}
	got = shared.run(t, job("failing", "  backoffLimit: 0\n", "exit 7"))
	assert.True(t, got.code == 7 && strings.Contains(got.stderr, " Job default/failing: failed (BackoffLimitExceeded)\n"),
		"exit code %d: %s", got.code, got.stderr)
}

// TestKustomize: -k runs what a kustomization builds, beside other manifests.
func TestKustomize(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"kustomization.yaml": "namePrefix: dev-\nresources: [pod.yaml]\n", "pod.yaml": script("kustomized", "echo $HOSTNAME")} {
		assert.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	shared.lifepod(t, "", "run", "-k", dir).want(t, 0, "dev-kustomized\n")
	got := shared.lifepod(t, "", "run", "-k", filepath.Join(dir, "none"))
	assert.True(t, got.code == 125 && strings.HasPrefix(got.stderr, "lifepod: -k "+filepath.Join(dir, "none")+": "), "exit code %d: %s", got.code, got.stderr)
}

package ipam

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

// The test binary is the plugin itself when asPlugin is set. With killAt it kills
// itself at that step of the store.
const (
	asPlugin = "LIFEPOD_IPAM_TEST_AS_PLUGIN"
	killAt   = "LIFEPOD_IPAM_TEST_KILL_AT"
)

func TestMain(m *testing.M) {
	if os.Getenv(asPlugin) != "" {
		runPlugin(openToBeKilled)
		return
	}
	os.Exit(m.Run())
}

func openToBeKilled(dir string) (*Store, error) {
	s, err := Open(dir)
	if n, convErr := strconv.Atoi(os.Getenv(killAt)); err == nil && convErr == nil {
		s.step = func(string) {
			if n--; n == 0 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
	}
	return s, err
}

// cni is one call of the plugin as a process of its own.
type cni struct {
	command        string
	dir            string
	pod, container string
	hosts          int    // addresses in the range
	extra          string // more of the network configuration
	kill           int
}

func (c cni) run(t testing.TB) (stdout string, err error) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{
		asPlugin + "=1", "CNI_COMMAND=" + c.command, "CNI_CONTAINERID=" + c.container, "CNI_NETNS=/none",
		"CNI_IFNAME=eth0", "CNI_PATH=/none", "CNI_NETNS_OVERRIDE=1",
	}
	if c.pod != "" {
		cmd.Env = append(cmd.Env, "CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAME=p;K8S_POD_UID="+c.pod)
	}
	if c.kill > 0 {
		cmd.Env = append(cmd.Env, killAt+"="+strconv.Itoa(c.kill))
	}
	cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"cniVersion":"1.1.0","name":"lifepod","type":"bridge",%s"ipam":
		{"type":"lifepod-ipam","dataDir":%q,"subnet":"10.88.0.0/16","rangeEnd":"10.88.0.%d","routes":[{"dst":"0.0.0.0/0"}]}}`,
		c.extra, c.dir, c.hosts+1))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	return out.String(), err
}

// address is what an ADD gave, "" when it failed.
func (c cni) address(t testing.TB) string {
	t.Helper()
	c.command = "ADD"
	out, err := c.run(t)
	if err != nil {
		return ""
	}
	var result struct {
		IPs []struct{ Address string }
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil || len(result.IPs) != 1 {
		t.Fatalf("result %s: %v", out, err)
	}
	return strings.TrimSuffix(result.IPs[0].Address, "/16")
}

func TestManyProcessesAtOnce(t *testing.T) {
	const pods = 24
	dir := t.TempDir()
	var mu sync.Mutex
	owner := map[string]string{}
	var all sync.WaitGroup
	for i := range pods {
		all.Go(func() {
			pod := fmt.Sprint("pod-", i)
			c := cni{dir: dir, pod: pod, container: "c1-" + pod, hosts: pods}
			first := c.address(t)
			c.command = "DEL"
			if out, err := c.run(t); err != nil {
				t.Errorf("DEL of %s: %s", pod, out)
			}
			c.container = "c2-" + pod
			second := c.address(t)
			mu.Lock()
			defer mu.Unlock()
			assert.True(t, first != "" && first == second, "%s had %q and has %q", pod, first, second)
			if other := owner[second]; other != "" {
				t.Errorf("%s and %s both have %s", pod, other, second)
			}
			owner[second] = pod
		})
	}
	all.Wait()
	if out, err := (cni{command: "ADD", dir: dir, pod: "one-more", container: "c", hosts: pods}).run(t); err == nil {
		t.Errorf("a pod more than addresses: %s", out)
	}
}

// killed says how a process ended: killed at its step, or done before it.
func killed(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled()
}

// TestKilledAtEveryStep kills the plugin at the first, second, … step of an
// operation, until it gets through, and looks what the store is worth then.
func TestKilledAtEveryStep(t *testing.T) {
	for _, tt := range []struct {
		name string
		call cni
		min  int // steps that the operation has at least
	}{
		{"ADD of a new pod", cni{command: "ADD", pod: "new", container: "n1"}, 4},
		{"ADD of a known pod", cni{command: "ADD", pod: "idle", container: "i2"}, 2},
		{"ADD that reclaims", cni{command: "ADD", pod: "new", container: "n1", hosts: 3}, 6},
		{"ADD on a stale link", cni{command: "ADD", pod: "new", container: "n1", extra: "stale"}, 5},
		{"DEL of a pod", cni{command: "DEL", pod: "live", container: "l1"}, 2},
		{"DEL of a container", cni{command: "DEL", container: "alone"}, 2},
		{"GC", cni{command: "GC", extra: `"cni.dev/valid-attachments":[],`}, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for step := 1; ; step++ {
				again, steps := killOnce(t, tt.call, step)
				if again {
					continue
				}
				assert.True(t, steps >= tt.min, "only %d steps, want at least %d", steps, tt.min)
				return
			}
		})
	}
}

// killOnce sets up a store, kills call at step, and checks the store. It
// reports whether the kill happened, and how many steps came before.
func killOnce(t *testing.T, call cni, step int) (again bool, steps int) {
	call.dir, call.kill = t.TempDir(), step
	stale := call.extra == "stale"
	if stale {
		call.extra = ""
	}
	if call.hosts == 0 {
		call.hosts = 6
	}
	base := cni{dir: call.dir, hosts: call.hosts}
	add := func(pod, container string) string {
		c := base
		c.pod, c.container = pod, container
		return c.address(t)
	}
	idle, live := add("idle", "i1"), add("live", "l1")
	add("", "alone")
	before := base
	before.command, before.pod, before.container = "DEL", "idle", "i1"
	if out, err := before.run(t); err != nil {
		t.Fatalf("%s", out)
	}
	if stale {
		leaveStaleLinks(t, call.dir, call.hosts)
	}
	_, err := call.run(t)
	if !killed(err) {
		assert.Require(t, err == nil, "step %d: %v", step, err)
		return false, step - 1
	}
	checkAfterKill(t, add, map[string]string{"idle": idle, "live": live}, call)
	return true, step
}

// leaveStaleLinks makes every unused address a link to a pod that is gone.
func leaveStaleLinks(t *testing.T, dir string, hosts int) {
	t.Helper()
	for n := 2; n <= hosts+1; n++ {
		err := os.Symlink("../pods/vanished", fmt.Sprintf("%s/addresses/10.88.0.%d", dir, n))
		if err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
	}
}

// checkAfterKill adds every pod again and others until the range is full: each
// address once, none lost, and the pods of before have theirs.
func checkAfterKill(t *testing.T, add func(pod, container string) string, before map[string]string, call cni) {
	t.Helper()
	got := map[string]string{"live": add("live", "l2"), "new": add("new", "n2")}
	if call.hosts > 3 {
		got["idle"] = add("idle", "i3")
	}
	for i := 0; len(got) < call.hosts; i++ {
		pod := fmt.Sprint("filler-", i)
		address := add(pod, "f-"+pod)
		if address == "" {
			break // the container of its own still has one
		}
		got[pod] = address
	}
	for pod, was := range before {
		if now, added := got[pod]; added && now != was {
			t.Errorf("killed at step %d: %s has %s, had %s", call.kill, pod, now, was)
		}
	}
	owners := map[string]string{}
	for pod, address := range got {
		if other := owners[address]; other != "" || address == "" {
			t.Errorf("killed at step %d: %s has %q, so has %q", call.kill, pod, address, other)
		}
		owners[address] = pod
	}
	assert.True(t, len(got) >= call.hosts-1, "killed at step %d: only %d of %d addresses can be had", call.kill, len(got), call.hosts)
}

func TestCNI(t *testing.T) {
	dir := t.TempDir()
	c := cni{dir: dir, pod: "pod-a", container: "c1", hosts: 1}
	call := func(c cni, command, extra string) string {
		c.command, c.extra = command, extra
		out, err := c.run(t)
		if err == nil {
			return strings.Join(strings.Fields(out), "")
		}
		var failure struct{ Code int }
		if err := json.Unmarshal([]byte(out), &failure); err != nil {
			t.Fatalf("%s: %s: %v", command, out, err)
		}
		return fmt.Sprint("code ", failure.Code)
	}
	other := cni{dir: dir, pod: "pod-b", container: "c2", hosts: 1}
	prev := func(ip string) string {
		return `"prevResult":{"cniVersion":"1.1.0","ips":[{"address":"` + ip + `/16"}]},`
	}
	var got []string
	for _, step := range []struct {
		call           cni
		command, extra string
	}{
		{c, "STATUS", ""}, {c, "CHECK", prev("10.88.0.2")}, {c, "ADD", ""}, {c, "CHECK", prev("10.88.0.2")},
		{c, "CHECK", prev("10.88.0.9")}, {c, "CHECK", ""}, {other, "ADD", ""}, {other, "STATUS", ""},
		{other, "DEL", ""}, {c, "GC", `"cni.dev/valid-attachments":[{"containerID":"c1","ifname":"eth0"}],`},
		{other, "STATUS", ""}, {c, "GC", `"cni.dev/valid-attachments":[],`}, {other, "STATUS", ""},
		{c, "CHECK", prev("10.88.0.2")}, {c, "DEL", ""}, {c, "DEL", ""},
		{cni{dir: "relative", container: "c"}, "ADD", ""}, {cni{dir: "/dev/null", container: "c", hosts: 1}, "STATUS", ""},
		{cni{dir: "/dev/null", container: "c", hosts: 1}, "ADD", ""},
	} {
		got = append(got, step.command+" "+call(step.call, step.command, step.extra))
	}
	want := []string{
		"STATUS ", "CHECK code 3",
		`ADD {"cniVersion":"1.1.0","ips":[{"address":"10.88.0.2/16","gateway":"10.88.0.1"}],"routes":[{"dst":"0.0.0.0/0"}]}`,
		"CHECK ", "CHECK code 999", "CHECK code 7", "ADD code 11", "STATUS code 50",
		"DEL ", "GC ", "STATUS code 50", "GC ", "STATUS ", "CHECK code 3", "DEL ", "DEL ",
		"ADD code 7", "STATUS code 50", "ADD code 5",
	}
	assert.Deep(t, "", want, got)
}

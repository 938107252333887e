package node

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/manager"

	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/config"
)

// configured is a configuration of one file.
func configured(t *testing.T, content string) (*config.Config, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubelet.yaml")
	content = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n" + content
	assert.Must(t, os.WriteFile(file, []byte(content), 0o600))
	c := assert.Get(config.Load(file, "")).Must(t)
	return c, file
}

// procOf is a /proc with some settings of the kernel, and swap or none.
func procOf(t *testing.T, panicAfter string, swap bool) string {
	t.Helper()
	proc := t.TempDir()
	files := map[string]string{
		"swaps":                         "Filename\tType\tSize\n",
		"sys/kernel/panic":              panicAfter,
		"sys/vm/panic_on_oom":           "0",
		"sys/kernel/panic_on_oops":      "1",
		"sys/vm/overcommit_memory":      "1",
		"sys/kernel/keys/root_maxkeys":  "1000000",
		"sys/kernel/keys/root_maxbytes": "25000000",
	}
	if swap {
		files["swaps"] += "/dev/sda2\tpartition\t1048572\n"
	}
	for name, content := range files {
		path := filepath.Join(proc, name)
		assert.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		assert.Must(t, os.WriteFile(path, []byte(content+"\n"), 0o600))
	}
	return proc
}

// What a file says about the machine is held against it before anything starts
// (A-RES-1, A-RES-2).
func TestCheckKernel(t *testing.T) {
	for name, test := range map[string]struct {
		content  string
		swap, v1 bool
		panic    string
		want     string
	}{
		"nothing is said":               {swap: true, v1: true, panic: "0"},
		"swap is welcome":               {content: "failSwapOn: false", swap: true},
		"no swap":                       {content: "failSwapOn: true"},
		"swap":                          {content: "failSwapOn: true", swap: true, want: "failSwapOn: Invalid value: true: this machine has swap in use: should be false, or swap switched off"},
		"cgroup v1":                     {content: "failCgroupV1: true", v1: true, want: "failCgroupV1: Invalid value: true: this machine has cgroup v1: should be false, or the machine booted with cgroup v2"},
		"cgroup v2":                     {content: "failCgroupV1: true"},
		"groups are killed":             {content: "singleProcessOOMKill: false"},
		"groups are killed on v1":       {content: "singleProcessOOMKill: false", v1: true, want: "singleProcessOOMKill: Invalid value: false: cgroup v1 kills single processes: should be true, or left out"},
		"the kernel is as it should be": {content: "protectKernelDefaults: true", panic: "10"},
		"the kernel is not":             {content: "protectKernelDefaults: true", panic: "0", want: "protectKernelDefaults: Invalid value: true: kernel.panic is 0: should be 10"},
		"the kernel may be as it is":    {content: "protectKernelDefaults: false", panic: "0"},
	} {
		t.Run(name, func(t *testing.T) {
			c, file := configured(t, test.content)
			err := checkKernel(c, host.Kernel{CgroupV1: test.v1, Proc: procOf(t, test.panic, test.swap)})
			want := "configuration " + file + ": " + test.want
			assert.True(t, (test.want != "" || err == nil) && (test.want == "" || err != nil && err.Error() == want), "got  %v\nwant %s", err, test.want)
		})
	}
}

// This machine's kernel can be asked.
func TestThisKernel(t *testing.T) {
	kernel := host.ThisKernel()
	assert.NoError(t, assert.ErrorOf(kernel.SwapOn()))
	unexpected, err := kernel.Unexpected()
	assert.NoError(t, err)
	for _, sentence := range unexpected {
		assert.True(t, strings.Contains(sentence, ": should be "), "%v", sentence)
	}
}

// A cgroup that pods would not be in is refused; another runtime's pods are in it.
func TestCheckCgroup(t *testing.T) {
	c, file := configured(t, "cgroupRoot: /pods\n")
	err := Options{Bundled: true}.checkCgroup(c)
	if err == nil || !strings.HasPrefix(err.Error(), "configuration "+file+": cgroupRoot: Invalid value: \"/pods\": with the containerd that lifepod carries") {
		t.Errorf("with the bundled runtime: %v", err)
	}
	assert.NoError(t, (Options{RuntimeEndpoint: "unix:///run/containerd/containerd.sock"}).checkCgroup(c), "with another runtime")
	whole, _ := configured(t, "cgroupRoot: /\n")
	assert.NoError(t, (Options{Bundled: true}).checkCgroup(whole), "with the kubelet's default")
}

// asProcess is set for a run of this test as the process that is settled.
const asProcess = "LIFEPOD_TEST_SETTLE"

// lifepod's own process gets the score and the cgroup that a file asks for, and none
// otherwise (A-RES-3).
func TestSettleProcess(t *testing.T) {
	if content, is := os.LookupEnv(asProcess); is {
		settled(t, content)
		return
	}
	group := fmt.Sprintf("/lifepod-test-agent-%d/inner", os.Getpid())
	t.Cleanup(func() { removeCgroup(t, group) })
	score := assert.Get(os.ReadFile("/proc/self/oom_score_adj")).Must(t)
	for content, want := range map[string]struct{ score, group string }{
		"":                         {string(bytes.TrimSpace(score)), ""},
		"oomScoreAdj: 321":         {"321", ""},
		"kubeletCgroups: " + group: {string(bytes.TrimSpace(score)), group},
	} {
		command := exec.Command(os.Args[0], "-test.run=^TestSettleProcess$", "-test.v")
		command.Env = append(os.Environ(), asProcess+"="+content)
		out, err := command.CombinedOutput()
		assert.Require(t, err == nil, "%q: %v\n%s", content, err, out)
		assert.True(t, strings.Contains(string(out), "score "+want.score+"\n"), "A-RES-3 %q: want score %s\n%s", content, want.score, out)
		in := strings.Contains(string(out), group)
		assert.True(t, in == (want.group != ""), "A-RES-3 %q: in %s: %t\n%s", content, group, in, out)
	}
}

// settled is the process: it prints what it has become.
func settled(t *testing.T, content string) {
	c, _ := configured(t, content)
	assert.Must(t, settleProcess(c))
	score := assert.Get(os.ReadFile("/proc/self/oom_score_adj")).Must(t)
	groups := assert.Get(os.ReadFile("/proc/self/cgroup")).Must(t)
	fmt.Printf("score %s%s", score, groups)
}

func removeCgroup(t *testing.T, path string) {
	t.Helper()
	for _, p := range []string{path, path[:strings.LastIndex(path, "/")]} {
		m, err := manager.New(&cgroups.Cgroup{Path: p, Resources: &cgroups.Resources{}})
		if err == nil {
			err = m.Destroy()
		}
		assert.NoError(t, err)
	}
}

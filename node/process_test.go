package node

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/manager"

	"github.com/lifepod/lifepod/internal/assert"
)

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
	score, err := os.ReadFile("/proc/self/oom_score_adj")
	assert.Must(t, err)
	for content, want := range map[string]struct{ score, group string }{
		"":                         {string(bytes.TrimSpace(score)), ""},
		"oomScoreAdj: 321":         {"321", ""},
		"kubeletCgroups: " + group: {string(bytes.TrimSpace(score)), group},
	} {
		command := exec.Command(os.Args[0], "-test.run=^TestSettleProcess$", "-test.v")
		command.Env = append(os.Environ(), asProcess+"="+content)
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", content, err, out)
		}
		if !strings.Contains(string(out), "score "+want.score+"\n") {
			t.Errorf("A-RES-3 %q: want score %s\n%s", content, want.score, out)
		}
		if in := strings.Contains(string(out), group); in != (want.group != "") {
			t.Errorf("A-RES-3 %q: in %s: %t\n%s", content, group, in, out)
		}
	}
}

// settled is the process: it prints what it has become.
func settled(t *testing.T, content string) {
	c, _ := configured(t, content)
	assert.Must(t, settleProcess(c))
	score, err := os.ReadFile("/proc/self/oom_score_adj")
	assert.Must(t, err)
	groups, err := os.ReadFile("/proc/self/cgroup")
	assert.Must(t, err)
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

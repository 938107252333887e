package groups

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lifepod/lifepod/e2e/cable"
	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/lifecycle/group"
	"github.com/lifepod/lifepod/node/groups/transport"
)

// distant is a node on a machine of its own, at the end of a cable.
type distant struct {
	*cable.Machine
	*member.Member
	address string
}

// startDistant starts nodes whose APIs all have the usual port. They are gone when the test has ended: other tests are of nodes on
// this machine alone.
func startDistant(t *testing.T, count int) (all []*distant) {
	t.Helper()
	for i := range count {
		name, near, far := fmt.Sprintf("lpgroup%d", i), fmt.Sprintf("198.18.%d.1", 80+i), fmt.Sprintf("198.18.%d.2", 80+i)
		d := &distant{Machine: cable.New(t, name, near, far), address: far}
		assert.Must(t, os.WriteFile("/proc/sys/net/ipv4/conf/"+name+"/forwarding", []byte("1"), 0))
		node := "node-" + name
		known := assert.Get(plane.JoinedKubeconfig(node)).Must(t)
		text := string(assert.Get(os.ReadFile(known)).Must(t))
		text = strings.Replace(text, plane.URL(), strings.Replace(plane.URL(), "127.0.0.1", near, 1)+"\n    tls-server-name: 127.0.0.1", 1)
		kubeconfig := t.TempDir() + "/kubeconfig"
		assert.Must(t, os.WriteFile(kubeconfig, []byte(text), 0o600))
		d.Member = assert.Get(member.Start(t.Context(), member.Config{
			Plane: plane, Program: binary, Name: node, Network: d.Namespace(), Address: far, Kubelet: map[string]any{"port": 10250},
			Flags: []string{"--kubeconfig=" + kubeconfig, "--node-labels=e2e=distant"},
		})).Must(t)
		assert.AtEnd(t, func() error {
			if t.Failed() {
				t.Logf("the end of the log of %s:\n%s", d.Name, d.Process().LastLines(40))
			}
			return errors.Join(d.Close(), client.CoreV1().Nodes().Delete(context.Background(), d.Name, metav1.DeleteOptions{}))
		})
		all = append(all, d)
	}
	for _, d := range all {
		assert.Must(t, d.AwaitReady(t.Context()))
	}
	return all
}

// drops has all packets dropped between the node and another one, until mends.
func (d *distant) drops(t *testing.T, other *distant) {
	t.Helper()
	d.nft(t, "add table ip cut; add chain ip cut in {type filter hook input priority 0;}; add chain ip cut out {type filter hook output priority 0;}; "+
		"add rule ip cut in ip saddr "+other.address+" drop; add rule ip cut out ip daddr "+other.address+" drop")
}

func (d *distant) mends(t *testing.T) {
	t.Helper()
	d.nft(t, "delete table ip cut")
}

// nft changes the packet filter there.
func (d *distant) nft(t *testing.T, rules string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "nsenter", "--net="+d.Namespace(), "--", "nft", rules).CombinedOutput()
	assert.True(t, err == nil, "nft %s: %v: %s", rules, err, out)
}

// TestDirect: the nodes of a group's members tell each other how far it is (B-GRP-24), also when two of them are cut off from
// each other (B-GRP-28), and when the agent of the node that leads is killed (B-GRP-29).
func TestDirect(t *testing.T) {
	nodes := startDistant(t, 3)
	j := newGroup(t)
	j.grant()
	j.applyJob("terminationGracePeriodSeconds", "nodeSelector: {e2e: distant}\n      terminationGracePeriodSeconds")
	before := j.awaitAttempt(0)
	j.awaitRuns(workers)
	of := func(pod int) *distant {
		return nodes[slices.IndexFunc(nodes, func(d *distant) bool { return d.Name == before[pod].Spec.NodeName })]
	}
	leads, other := of(0), of(1) // the members' names are in this order
	assert.Require(t, leads != other && of(2) != leads && of(2) != other, "three members are on %s, %s, %s", leads.Name, other.Name, of(2).Name)
	j.refuses(t, leads, before[1])

	attempt := 0
	round := func(what string, meanwhile func()) {
		t.Helper()
		t.Log(what)
		attempt++
		meanwhile()
		after := j.awaitAttempt(attempt)
		j.wantInPlace(before, after, workers)
		j.wantRestarts(after, int32(attempt))
		j.awaitRuns((attempt + 1) * workers)
	}
	direct := 0
	for range 3 {
		j.awaitModes(true)
		modes := modesOf(j.pods())
		round("one exits", func() { j.fail(before[attempt%workers]) })
		if slices.Equal(modes, modesOf(j.pods())) {
			direct++
		}
		t.Log(j.plugin("why", "--group", "train", "--namespace", j.namespace))
	}
	assert.True(t, direct > 0, "B-GRP-24: in no attempt all members have reported to the leader all the time")
	j.wantEvents("Scheduled", "Pulled", "Created", "Started", "Killing")

	round("two nodes are cut off from each other, and one exits (B-GRP-28)", func() {
		leads.drops(t, other)
		j.fail(before[1])
	})
	j.awaitModes(false)
	leads.mends(t)
	j.awaitModes(true)

	round("the leader's agent is killed, and one exits: the others wait for that node's members, and the next leader's is killed (B-GRP-12, B-GRP-24)", func() {
		assert.Must(t, leads.Kill())
		j.fail(before[1])
		j.await("to take part, but for those of the leader's node", func(pods []v1.Pod) bool {
			return !slices.ContainsFunc(pods, func(p v1.Pod) bool {
				return (attemptShownBy(&p) == fmt.Sprint(attempt)) == (p.Spec.NodeName == leads.Name)
			})
		})
		j.wantRuns(attempt * workers)
		want := fmt.Sprintf("not there yet: %s (attempt %d, as its pod shows)", before[0].Name, attempt-1)
		j.await("to be explained by "+want, func([]v1.Pod) bool {
			text := strings.Join(strings.Fields(j.plugin("why", before[1].Name, "--namespace", j.namespace)), " ")
			return strings.Contains(text, want) && strings.Contains(text, "; node "+other.Name+" leads it, to which all nodes report but for those of ")
		})
		assert.Must(t, other.Kill()) // which leads now
		assert.Must(t, leads.Run())
		assert.Must(t, other.Run())
	})
	round("one of the leader's node exits as its agent is killed (B-GRP-29)", func() {
		j.fail(before[0])
		assert.Must(t, leads.Kill())
		assert.Must(t, leads.Run())
	})
	j.awaitModes(true)
}

// refuses: a node believes nobody but other nodes what they report, and these nothing of members that are not theirs (B-GRP-25).
func (j *groupOf) refuses(t *testing.T, leads *distant, of v1.Pod) {
	t.Helper()
	evil := assert.Get(clientcmd.BuildConfigFromFlags("", assert.Get(plane.NodeKubeconfig("evil")).Must(t))).Must(t)
	for _, test := range []struct {
		who      *rest.Config
		as, want string
	}{
		{plane.RESTConfig(), "evil", "only nodes, by their client certificates"},
		{evil, of.Spec.NodeName, "node evil reports as " + of.Spec.NodeName},
		{evil, "evil", "the API server shows no member of the group on it"},
	} {
		name := j.namespace + "/train"
		report := assert.Get(json.Marshal(group.Report{Group: name, Node: test.as, Members: []group.Peer{{Name: of.Name, UID: string(of.UID), Done: true}}})).Must(t)
		way := &transport.HTTPS{TLS: func() (*tls.Config, error) { return rest.TLSConfigFor(test.who) }}
		n := transport.New(transport.Options{Name: "evil", Way: way, Log: slog.New(slog.DiscardHandler)})
		_, _, err := n.Join(t.Context(), transport.Peer{Name: leads.Name, Address: leads.address + ":10250"}, name, report, nil)
		assert.ErrorContains(t, test.want, err)
	}
}

// awaitModes waits until all members report to a leader, which have an odd mode then, or until all go by their pods (B-GRP-26).
func (j *groupOf) awaitModes(odd bool) {
	j.Helper()
	j.await(fmt.Sprintf("to have odd modes: %v", odd), func(pods []v1.Pod) bool {
		return !slices.ContainsFunc(modesOf(pods), func(mode int) bool { return odd != (mode%2 == 1) })
	})
}

func modesOf(pods []v1.Pod) (modes []int) {
	for i := range pods {
		_, text, _ := strings.Cut(pods[i].Annotations[lifecycle.MemberAttemptAnnotation], ".")
		mode, _ := strconv.Atoi(text) // none is 0
		modes = append(modes, mode)
	}
	return modes
}

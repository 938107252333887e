package agent

import (
	"bufio"
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/e2e/terminal"
	"github.com/lifepod/lifepod/internal/assert"
)

// patience is how long anything may take before a test gives up.
var patience = machine.Patience

// cluster is a namespace of a test, whose pods go to one node.
type cluster struct {
	t         *testing.T
	namespace string
	node      *member.Member
}

// newCluster makes a namespace with its service account. When the test ends, its
// pods do too.
func newCluster(t *testing.T, node *member.Member) *cluster {
	t.Helper()
	made := assert.Get(client.CoreV1().Namespaces().Create(t.Context(),
		&v1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})).Must(t)
	c := &cluster{t: t, namespace: made.Name, node: node}
	t.Cleanup(c.end)
	await(c, "serviceaccounts", "default", "to be made", func(*v1.ServiceAccount) bool { return true })
	await(c, "configmaps", "kube-root-ca.crt", "to be made", func(*v1.ConfigMap) bool { return true })
	return c
}

// end deletes the namespace and waits until its pods are gone. The test's own
// context has ended by now.
func (c *cluster) end() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if c.t.Failed() {
		c.show(ctx)
	}
	if c.node.Process().HasEnded() {
		c.t.Errorf("nobody ends the pods: the agent of %s has ended", c.node.Name)
		return
	}
	pods, err := client.CoreV1().Pods(c.namespace).List(ctx, metav1.ListOptions{})
	if err = errors.Join(err, client.CoreV1().Namespaces().Delete(ctx, c.namespace, metav1.DeleteOptions{})); err != nil {
		c.t.Error(err)
		return
	}
	for _, pod := range pods.Items {
		_ = client.CoreV1().Pods(c.namespace).Delete(ctx, pod.Name, *metav1.NewDeleteOptions(1)) // it may have gone
		err := c.untilGone(ctx, pod.Name)
		assert.True(c.t, err == nil, "pod %s is not gone after its deletion: %v", pod.Name, err)
	}
}

// show prints what a failure is understood by.
func (c *cluster) show(ctx context.Context) {
	pods, _ := plane.Kubectl(ctx, "", "--namespace", c.namespace, "get", "pods", "--output=wide") // what cannot be had is not shown
	events, _ := plane.Kubectl(ctx, "", "--namespace", c.namespace, "events")
	c.t.Logf("the namespace:\n%s\n%s", pods, events)
	for _, of := range []string{"cpu", "io"} { // a machine that stands still fails tests, too
		pressure, _ := os.ReadFile("/proc/pressure/" + of)
		c.t.Logf("the machine's pressure, %s: %s", of, pressure)
	}
	if c.node == shared { // other nodes show it when they end
		c.t.Logf("the end of the log of %s:\n%s", c.node.Name, c.node.Process().LastLines(40))
	}
}

// create creates the Pod of a manifest, in which TOOLBOX stands for the carried
// image. It goes to the node unless it says otherwise.
func (c *cluster) create(manifest string) *v1.Pod {
	c.t.Helper()
	var pod v1.Pod
	text := strings.ReplaceAll(manifest, "TOOLBOX", "lifepod.dev/toolbox:1")
	err := yaml.UnmarshalStrict([]byte(text), &pod)
	assert.Require(c.t, err == nil, "manifest: %v\n%s", err, text)
	if pod.Spec.NodeSelector == nil {
		pod.Spec.NodeSelector = map[string]string{v1.LabelHostname: c.node.Name}
	}
	made := assert.Get(client.CoreV1().Pods(c.namespace).Create(c.t.Context(), &pod, metav1.CreateOptions{})).Must(c.t)
	return made
}

// apply creates what a manifest describes, in which TOOLBOX stands for the
// carried image and NODE for the node's name.
func (c *cluster) apply(manifest string) {
	c.t.Helper()
	ctx := assert.Context(c.t, patience)
	text := strings.NewReplacer("TOOLBOX", "lifepod.dev/toolbox:1", "NODE", c.node.Name).Replace(manifest)
	assert.Must(c.t, assert.ErrorOf(plane.Kubectl(ctx, text, "--namespace", c.namespace, "apply", "--filename=-")))
}

// delete deletes a pod with its own grace period and waits until it is gone.
func (c *cluster) delete(pod string) {
	c.t.Helper()
	ctx := assert.Context(c.t, patience)
	assert.Must(c.t, client.CoreV1().Pods(c.namespace).Delete(ctx, pod, metav1.DeleteOptions{}))
	err := c.untilGone(ctx, pod)
	assert.Require(c.t, err == nil, "pod %s is not gone after its deletion: %v", pod, err)
}

// kubectl runs kubectl in the namespace and returns what it printed.
func (c *cluster) kubectl(args ...string) string {
	c.t.Helper()
	ctx := assert.Context(c.t, patience)
	out := assert.Get(plane.Kubectl(ctx, "", append([]string{"--namespace", c.namespace}, args...)...)).Must(c.t)
	return out
}

// awaitLine follows the pod's log until it has the line. A container is ready as
// soon as it runs, which may be before it prints anything.
func (c *cluster) awaitLine(pod, want string, flags ...string) {
	c.t.Helper()
	c.awaitInLog(pod, regexp.MustCompile("^"+regexp.QuoteMeta(want)+"$"), flags...)
}

// awaitInLog is awaitLine for a line that matches.
func (c *cluster) awaitInLog(pod string, want *regexp.Regexp, flags ...string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	follow := plane.KubectlCommand(ctx, append([]string{"--namespace", c.namespace, "logs", "--follow", pod}, flags...)...)
	var complaints strings.Builder
	follow.Stderr = &complaints
	out := assert.Get(follow.StdoutPipe()).Must(c.t)
	assert.Must(c.t, follow.Start())
	found := false
	for lines := bufio.NewScanner(out); !found && lines.Scan(); {
		found = want.MatchString(lines.Text())
	}
	cancel()
	_ = follow.Wait() // it was killed
	assert.Require(c.t, found, "the log of pod %s ended without a line %s; kubectl says %q", pod, want, complaints.String())
}

// outsideTest runs kubectl in the namespace after the test's own context has ended.
func (c *cluster) outsideTest(args ...string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	assert.NoError(c.t, assert.ErrorOf(plane.Kubectl(ctx, "", append([]string{"--namespace", c.namespace}, args...)...)))
}

// evict asks for the eviction of a pod.
func (c *cluster) evict(pod string) {
	c.t.Helper()
	eviction := &policy.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: pod}}
	assert.Must(c.t, client.PolicyV1().Evictions(c.namespace).Evict(c.t.Context(), eviction))
}

// newNode is a node for one test alone, ready, which it may kill. When the test
// ends, nothing may be left of it.
func newNode(t *testing.T, config member.Config) *member.Member {
	t.Helper()
	config.Plane = plane
	if config.Program == "" {
		config.Program = binary
	}
	node := assert.Get(member.Start(t.Context(), config)).Must(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of the log of %s:\n%s", node.Name, node.Process().LastLines(40))
		}
		assert.NoError(t, node.Close())
	})
	assert.Must(t, node.AwaitReady(t.Context()))
	return node
}

// onTerminal starts kubectl on a terminal.
func (c *cluster) onTerminal(args ...string) *terminal.Terminal {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	c.t.Cleanup(cancel)
	return terminal.Start(c.t, plane.KubectlCommand(ctx, append([]string{"--namespace", c.namespace}, args...)...))
}

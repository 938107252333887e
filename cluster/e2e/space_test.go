package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/lifepod/lifepod/internal/assert"
)

// space is a test's own namespace.
type space struct {
	t    *testing.T
	name string
}

// newSpace makes a namespace with these labels and waits until pods can be made in
// it. It is deleted when the test ends.
func newSpace(t *testing.T, labels map[string]string) space {
	t.Helper()
	made := assert.Get(client.CoreV1().Namespaces().Create(t.Context(), &core.Namespace{ObjectMeta: meta.ObjectMeta{GenerateName: "e2e-", Labels: labels}}, meta.CreateOptions{})).Must(t)
	s := space{t: t, name: made.Name}
	assert.AtEnd(t, func() error {
		return client.CoreV1().Namespaces().Delete(context.Background(), s.name, meta.DeleteOptions{})
	})
	await(s, "serviceaccounts", "metadata.name=default", "be there", func(*core.ServiceAccount) bool { return true })
	return s
}

// await waits until one of the core objects that a field or label selector selects is as
// wanted, over restarts of the API server, too. what ends the sentence "waited for it to".
func await[T runtime.Object](s space, resource, fields, what string, ok func(T) bool) T {
	s.t.Helper()
	return awaitSelected(s, resource, meta.ListOptions{FieldSelector: fields}, what, ok)
}

func awaitSelected[T runtime.Object](s space, resource string, which meta.ListOptions, what string, ok func(T) bool) (found T) {
	s.t.Helper()
	ctx := assert.Context(s.t, patience)
	list := cache.NewFilteredListWatchFromClient(client.CoreV1().RESTClient(), resource, s.name, func(o *meta.ListOptions) {
		o.FieldSelector, o.LabelSelector = which.FieldSelector, which.LabelSelector
	})
	var last any
	_, err := watchtools.UntilWithSync(ctx, list, *new(T), nil, func(e watch.Event) (bool, error) {
		last = e.Object
		object, is := e.Object.(T)
		if !is || e.Type == watch.Deleted || !ok(object) {
			return false, nil
		}
		found = object
		return true, nil
	})
	assert.Require(s.t, err == nil,
		"waited for %s %s%s to %s: %v; last it was %+v", resource, which.FieldSelector, which.LabelSelector, what, err, last)
	return found
}

// pod waits until a pod is as wanted.
func (s space) pod(name, what string, ok func(*core.Pod) bool) *core.Pod {
	s.t.Helper()
	return await(s, "pods", "metadata.name="+name, what, ok)
}

// ended waits until the first container of a pod has ended, and says how.
func (s space) ended(name string) *core.ContainerStateTerminated {
	s.t.Helper()
	pod := s.pod(name, "end", func(p *core.Pod) bool {
		return len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State.Terminated != nil
	})
	return pod.Status.ContainerStatuses[0].State.Terminated
}

func isReady(p *core.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == core.PodReady && c.Status == core.ConditionTrue {
			return p.DeletionTimestamp == nil
		}
	}
	return false
}

// kubectl runs kubectl in the namespace and returns what it prints.
func (s space) kubectl(args ...string) string {
	s.t.Helper()
	return s.input("", args...)
}

func (s space) input(input string, args ...string) string {
	s.t.Helper()
	out := assert.Get(s.try(input, args...)).Must(s.t)
	return out
}

func (s space) try(input string, args ...string) (string, error) {
	ctx := assert.Context(s.t, patience)
	out, err := up.Kubectl(ctx, input, append([]string{"-n", s.name}, args...)...)
	return strings.TrimSpace(out), err
}

// afterwards runs kubectl when the test has ended.
func (s space) afterwards(args ...string) {
	assert.NoError(s.t, assert.ErrorOf(up.Kubectl(context.Background(), "", args...)))
}

func (s space) create(manifests string) {
	s.t.Helper()
	s.input(manifests, "create", "-f", "-")
}

// wait waits by kubectl wait until something is as wanted.
func (s space) wait(object, condition string) {
	s.t.Helper()
	s.kubectl(append(strings.Fields("wait --timeout="+patience.String()+" "+object), "--for="+condition)...)
}

// refused says why kubectl does not make what manifests say; that it does fails the
// test.
func (s space) refused(manifests string) string {
	s.t.Helper()
	out, err := s.try(manifests, "create", "-f", "-")
	assert.Require(s.t, err != nil, "made %s, want a refusal of\n%s", out, manifests)
	return err.Error()
}

// until repeats what tells nobody of its changes until it is ok.
func (s space) until(what string, ok func() error) {
	s.t.Helper()
	ctx := assert.Context(s.t, patience)
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := ok()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			s.t.Fatalf("%s: %v", what, err)
		case <-ticker.C:
		}
	}
}

// podSpec is the end of a manifest: the specification of a pod that runs a script.
// Each further line has its own indentation within spec.
func podSpec(script string, lines ...string) string {
	return `
terminationGracePeriodSeconds: 1
containers:
- name: main
  image: lifepod.dev/toolbox:1
  command: [sh, -c, '` + script + `']
  resources: {limits: {memory: 32Mi}}` + "\n" + strings.Join(lines, "\n") + "\n"
}

// indent puts a specification below a field that is so deep.
func indent(text string, depth int) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+strings.Repeat(" ", depth)) + "\n"
}

func podOf(name, spec string) string {
	return "\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", labels: {app: " + name + "}}\nspec:" + indent(spec, 2)
}

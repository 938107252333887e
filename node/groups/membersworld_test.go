package groups

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/lifecycle/group"
	"github.com/lifepod/lifepod/node/groups/transport"
)

var podResource = v1.SchemeGroupVersion.WithResource("pods")

// crowd is an API server, and nodes with members of the group train.
type crowd struct {
	*testing.T
	client  *fake.Clientset
	process transport.Process
	nodes   map[string]*crowdNode

	mu      sync.Mutex
	version int
	gone    map[types.UID]bool
	running map[string]int32 // attempts of members that run
	deaf    bool             // the API server takes no annotations
	refused error            // nobody may list pods
}

// crowdNode is a node with one member.
type crowdNode struct {
	*Groups
	name    string
	crowd   *crowd
	kept    *Kept
	end     func()
	writing sync.Mutex // what it says, in order
	mu      sync.Mutex
	member  group.Member
	dead    bool
	pod     *v1.Pod
	seen    lifecycle.GroupSeen // the newest
	all     group.Attempts      // ever seen
	mode    int32
	began   string
	starts  []int32 // the attempts that it was started in
}

// crowds runs a test in virtual time.
func crowds(t *testing.T, test func(c *crowd)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{T: t, client: fake.NewClientset(), nodes: map[string]*crowdNode{}, running: map[string]int32{}, gone: map[types.UID]bool{}}
		c.client.PrependReactor("list", "pods", c.list)
		c.client.PrependWatchReactor("pods", c.watch)
		defer func() {
			for _, n := range c.nodes {
				n.end()
			}
		}()
		test(c)
	})
}

// list is in the order of names, in pages, and without pods that have failed, as that of the API server.
func (c *crowd) list(action kubetesting.Action) (bool, runtime.Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused != nil {
		return true, nil, c.refused
	}
	object, err := c.client.Tracker().List(podResource, v1.SchemeGroupVersion.WithKind("Pod"), "default")
	if err != nil {
		return true, nil, err
	}
	o := action.(kubetesting.ListActionImpl).ListOptions
	list := object.(*v1.PodList)
	slices.SortFunc(list.Items, func(a, b v1.Pod) int { return strings.Compare(a.Name, b.Name) })
	list.Items = slices.DeleteFunc(list.Items, func(p v1.Pod) bool { return p.Name <= o.Continue })
	if o.Limit > 0 && len(list.Items) > int(o.Limit) {
		list.Items = list.Items[:o.Limit]
		list.Continue = list.Items[o.Limit-1].Name
	}
	list.ResourceVersion = strconv.Itoa(c.version)
	return true, list, nil
}

// watch goes on from what was listed, or not at all, as the tracker would leave out what has changed since.
func (c *crowd) watch(action kubetesting.Action) (bool, watch.Interface, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if from := action.(kubetesting.WatchActionImpl).ListOptions.ResourceVersion; from != strconv.Itoa(c.version) {
		return true, nil, apierrors.NewResourceExpired("too old: " + from)
	}
	w, err := c.client.Tracker().Watch(podResource, "default")
	return true, w, err
}

// write has the API server have a pod, and its node see that.
func (c *crowd) write(pod *v1.Pod) {
	c.mu.Lock()
	if c.gone[pod.UID] { // its node has died
		c.mu.Unlock()
		return
	}
	c.version++
	pod = pod.DeepCopy()
	pod.ResourceVersion = strconv.Itoa(c.version)
	tracker := c.client.Tracker()
	if err := tracker.Update(podResource, pod, "default"); err != nil {
		assert.Must(c, tracker.Create(podResource, pod, "default"))
	}
	nodes := slices.Collect(maps.Values(c.nodes))
	c.mu.Unlock()
	for _, n := range nodes {
		n.mu.Lock()
		groups := n.Groups
		is := n.pod.UID == pod.UID
		if is {
			n.pod = pod
		}
		n.mu.Unlock()
		if is {
			groups.Shows(pod)
		}
	}
}

// remove has the API server have a pod no longer.
func (c *crowd) remove(pod *v1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	c.gone[pod.UID] = true
	assert.Must(c, c.client.Tracker().Delete(podResource, "default", pod.Name))
}

// add adds a node with a member of that name.
func (c *crowd) add(name string, size int) *crowdNode {
	return c.addWith(name, size, c.process.Way("node-"+name))
}

func (c *crowd) addWith(name string, size int, way transport.Way) *crowdNode {
	return c.start(&crowdNode{name: "node-" + name, crowd: c, kept: NewKept(""), pod: memberOf(name, size)}, way)
}

func (c *crowd) start(n *crowdNode, way transport.Way) *crowdNode {
	c.write(n.pod)
	c.mu.Lock()
	c.nodes[n.name] = n
	c.mu.Unlock()
	n.begin(way)
	return n
}

func memberOf(name string, size int) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: uuid.NewUUID(), Labels: map[string]string{lifecycle.GroupNameLabel: "train"},
			Annotations: map[string]string{lifecycle.GroupAnnotation: lifecycle.LedByMembers, lifecycle.GroupSizeAnnotation: fmt.Sprint(size)},
		},
		Spec: v1.PodSpec{NodeName: "node-" + name}, Status: v1.PodStatus{HostIP: "10.0.0.1"},
	}
}

// begin begins the node's process, which goes on with its member.
func (n *crowdNode) begin(way transport.Way) {
	n.writing.Lock()
	defer n.writing.Unlock()
	log := slog.New(slog.DiscardHandler)
	peer := transport.New(transport.Options{Name: n.name, Way: way, Log: log})
	n.crowd.process.Add(peer)
	n.mu.Lock()
	n.Groups = &Groups{
		JobSets: &JobSets{}, Members: NewMembers(MembersConfig{Client: n.crowd.client, Node: peer, Port: 10250, Kept: n.kept, Log: log}),
	}
	groups, pod, says := n.Groups, n.pod, n.says()
	n.mu.Unlock()
	n.end = assert.Runs(n.crowd, groups.Members.Run)
	groups.Members.join(pod, says, func(seen lifecycle.GroupSeen) { go n.sees(seen) })
}

// beside adds a member to a node.
func (c *crowd) beside(n *crowdNode, name string, size int) {
	other := &crowdNode{Groups: n.Groups, name: "beside-" + name, crowd: c, end: func() {}, pod: memberOf(name, size)}
	other.pod.Spec.NodeName = n.name
	c.write(other.pod)
	c.mu.Lock()
	c.nodes[other.name] = other
	c.mu.Unlock()
	n.Groups.Members.join(other.pod, nil, func(seen lifecycle.GroupSeen) { go other.sees(seen) })
}

// says are the member's annotations; it is called with mu held.
func (n *crowdNode) says() map[string]string {
	if !n.member.Joined {
		return nil
	}
	says := map[string]string{lifecycle.MemberAttemptAnnotation: fmt.Sprintf("%d.%d", n.member.Attempt, n.mode)}
	if n.began != "" {
		says[lifecycle.MemberBeganAnnotation] = n.began
	}
	return says
}

// sees takes how far the group is, as a pod's machine does.
func (n *crowdNode) sees(seen lifecycle.GroupSeen) {
	n.mu.Lock()
	if n.dead {
		n.mu.Unlock()
		return
	}
	n.seen, n.mode = seen, max(n.mode, seen.Mode)
	n.all = n.all.Merge(seen.Attempts)
	if seen.Unknown == (lifecycle.Because{}) {
		n.decides()
	}
	n.mu.Unlock()
	n.tells()
}

// now is what it has seen last.
func (n *crowdNode) now() lifecycle.GroupSeen {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.seen
}

// decides is called with mu held.
func (n *crowdNode) decides() {
	switch d := group.Decide(n.member, n.all); d.Do {
	case group.Join, group.Leave:
		n.becomes(d.Attempt)
		n.decides()
	case group.Start:
		n.member.Open, n.member.Ran = true, true
		n.crowd.runs(n.name, n.member.Attempt)
		n.began = fmt.Sprintf("%d-%s", n.member.Attempt, n.all.MembersHashIn(n.member.Attempt))
		n.starts = append(n.starts, n.member.Attempt)
	case group.Wait, group.Run:
	}
}

// becomes has the member, of which nothing runs any more, wait in an attempt; it is called with mu held.
func (n *crowdNode) becomes(attempt int32) {
	n.crowd.runs(n.name, -1)
	n.member = group.Member{Joined: true, Attempt: attempt}
}

// runs takes that a member runs in an attempt, or in none: -1. No other may run in another one (B-GRP-12).
func (c *crowd) runs(name string, attempt int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, name)
	if attempt < 0 {
		return
	}
	for other, in := range c.running {
		assert.True(c, in == attempt, "B-GRP-12: %s starts in attempt %d while %s runs in %d", name, attempt, other, in)
	}
	c.running[name] = attempt
}

// fails has the member restart its group.
func (n *crowdNode) fails() {
	n.mu.Lock()
	n.becomes(group.Failed(n.member, n.all))
	n.mu.Unlock()
	n.tells()
}

// tells tells the group, and then the API server.
func (n *crowdNode) tells() {
	n.writing.Lock()
	defer n.writing.Unlock()
	n.mu.Lock()
	says, pod, groups := n.says(), n.pod.DeepCopy(), n.Groups
	n.mu.Unlock()
	if says == nil {
		return
	}
	groups.Says(pod.UID, says)
	n.crowd.mu.Lock()
	deaf := n.crowd.deaf
	n.crowd.mu.Unlock()
	before := maps.Clone(pod.Annotations)
	if maps.Copy(pod.Annotations, says); !deaf && !maps.Equal(before, pod.Annotations) {
		n.crowd.write(pod)
	}
}

// wants waits until all nodes, but for those that are gone, have started in an attempt, and in none twice, nor backwards.
func (c *crowd) wants(what string, attempt int32, within time.Duration) {
	c.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		synctest.Wait()
		var behind []string
		for _, n := range c.nodes {
			n.mu.Lock()
			if !n.member.Open || n.member.Attempt != attempt {
				behind = append(behind, fmt.Sprintf("%s: %+v mode %d sees %+v", n.name, n.member, n.mode, n.seen))
			}
			if !slices.IsSorted(n.starts) || len(slices.Compact(slices.Clone(n.starts))) != len(n.starts) {
				c.Errorf("%s: %s was started in attempts %v", what, n.name, n.starts)
			}
			n.mu.Unlock()
		}
		if len(behind) == 0 {
			c.Logf("%s: after %v", what, time.Since(began))
			return
		}
		if time.Since(began) > within {
			slices.Sort(behind)
			c.Fatalf("%s: not all run in attempt %d after %v:\n%s", what, attempt, within, strings.Join(behind, "\n"))
		}
	}
}

// modes waits until all modes are odd, or even.
func (c *crowd) modes(what string, odd bool, within time.Duration) {
	c.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		synctest.Wait()
		other := 0
		for _, n := range c.nodes {
			n.mu.Lock()
			if p, _ := lifecycle.GroupPeer(&n.pod.ObjectMeta); p.Mode%2 == 1 != odd {
				other++
			}
			n.mu.Unlock()
		}
		if other == 0 {
			return
		}
		if time.Since(began) > within {
			c.Fatalf("%s: %d modes are not so after %v", what, other, within)
		}
	}
}

// noWay is that of a node which can't join others while it is off.
type noWay struct {
	transport.Way
	why error
	off atomic.Bool
}

func (w *noWay) Join(ctx context.Context, to transport.Peer, request []byte) ([]byte, error) {
	if w.off.Load() {
		return nil, w.why
	}
	return w.Way.Join(ctx, to, request)
}

var (
	nameOfGroup = types.NamespacedName{Namespace: "default", Name: "train"}
	lie         = group.Follower{Version: 1 << 60}
)

var errForbidden = errors.New("pods is forbidden")

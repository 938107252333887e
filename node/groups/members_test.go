package groups

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/lifecycle/group"
	"github.com/lifepod/lifepod/node/groups/transport"
)

// four begins nodes with the members a to d, which report to the first one's.
func (c *crowd) four() {
	for _, name := range []string{"a", "b", "c", "d"} {
		c.add(name, 4)
	}
	c.wants("at first", 0, 10*time.Second)
	c.modes("B-GRP-28: all report", true, 10*time.Second)
}

// silence has the API server take no annotations of pods, or take those again that it lacks.
func (c *crowd) silence(deaf bool) {
	c.mu.Lock()
	c.deaf = deaf
	c.mu.Unlock()
	for _, n := range c.nodes {
		n.tells()
	}
}

// TestDirect: members start, and restart, as one by what their nodes report to the first one's, also while the API server
// takes no annotations (B-GRP-24, B-GRP-26).
func TestDirect(t *testing.T) {
	crowds(t, func(c *crowd) {
		c.four()
		for name, n := range c.nodes {
			assert.Equal(t, group.Way{Leader: "node-a"}, n.now().Way, "%s", name)
		}
		c.silence(true)
		c.nodes["node-c"].fails()
		c.wants("B-GRP-26: before pods show it", 1, time.Second)
		c.nodes["node-a"].fails()
		c.wants("again", 2, time.Second)
	})
}

// TestJoinsEarly: a node joins whose pod has no status yet, which would say where the node is (B-GRP-24).
func TestJoinsEarly(t *testing.T) {
	crowds(t, func(c *crowd) {
		c.add("a", 2)
		early := &crowdNode{name: "node-b", crowd: c, kept: NewKept(""), pod: memberOf("b", 2)}
		early.pod.Status.HostIP = ""
		c.start(early, c.process.Way(early.name))
		c.wants("B-GRP-24", 0, 4*time.Second)
		assert.Equal(t, group.Way{Leader: "node-a"}, early.now().Way, "B-GRP-24")
	})
}

// TestLeaderLost: when the leader's node is lost, and its member is created anew, the next one's leads (B-GRP-24).
func TestLeaderLost(t *testing.T) {
	crowds(t, func(c *crowd) {
		c.four()
		c.lose("a")
		c.nodes["node-c"].fails()
		time.Sleep(10 * time.Second)
		c.add("e", 4)
		c.wants("with the new one", 1, 10*time.Second)
		assert.Equal(t, group.Way{Leader: "node-b"}, c.nodes["node-b"].now().Way, "B-GRP-24: the second leads")
		c.silence(true)
		c.nodes["node-e"].fails()
		c.wants("again", 2, time.Second)
	})
}

// TestChaos: whatever happens to nodes and between them, no two attempts run at the same time (B-GRP-12), and all run as one when
// it is over.
func TestChaos(t *testing.T) {
	for seed := range uint64(15) {
		crowds(t, func(c *crowd) {
			random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // no secret
			c.four()
			c.add("e", 4)
			for range 30 {
				name := string("abcde"[random.IntN(5)])
				n := c.nodes["node-"+name]
				switch random.IntN(8) {
				case 0:
					c.process.Cut(n.name)
				case 1, 2:
					c.process.Mend(n.name)
				case 3:
					c.silence(random.IntN(2) == 0)
				case 4:
					n.end()
					time.Sleep(time.Duration(random.IntN(10)) * time.Second)
					n.begin(c.process.Way(n.name))
				case 5:
					c.lose(name)
					time.Sleep(time.Duration(random.IntN(3)) * time.Second)
					c.add(name, 4)
				default:
					n.fails()
				}
				time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond * time.Duration(random.IntN(2)))
			}
			for name := range c.nodes {
				c.process.Mend(name)
			}
			c.silence(false)
			time.Sleep(2 * time.Minute)
			highest := int32(0)
			for _, n := range c.nodes {
				n.mu.Lock()
				highest = max(highest, n.member.Attempt)
				n.mu.Unlock()
			}
			c.wants(fmt.Sprintf("seed %d", seed), highest, time.Second)
			c.modes(fmt.Sprintf("B-GRP-28, seed %d", seed), true, time.Second)
		})
	}
}

// lose has a node, and the object of its pod, be gone.
func (c *crowd) lose(name string) { c.loses(c.nodes["node-"+name]) }

func (c *crowd) loses(n *crowdNode) {
	c.mu.Lock()
	delete(c.nodes, n.name)
	c.mu.Unlock()
	n.end()
	n.mu.Lock()
	n.dead = true
	n.mu.Unlock()
	c.runs(n.name, -1)
	c.remove(n.pod)
}

// TestLeaderBefore: a member that comes first by name takes over (B-GRP-24), and so does one whose node was not reached.
func TestLeaderBefore(t *testing.T) {
	crowds(t, func(c *crowd) {
		for _, name := range []string{"b", "c", "d"} {
			c.add(name, 4)
		}
		time.Sleep(10 * time.Second)
		assert.Equal(t, group.Way{Leader: "node-b"}, c.nodes["node-b"].now().Way, "b leads")
		c.add("a", 4)
		c.wants("with the new one", 0, 10*time.Second)
		time.Sleep(time.Minute)
		for name, n := range c.nodes {
			assert.True(t, name == "node-a" || n.now().Way.Leader == "node-a", "B-GRP-24: a leads: %s: %+v", name, n.now().Way)
		}
		c.silence(true)
		c.nodes["node-d"].fails()
		c.wants("again", 1, time.Second)
	})
}

// TestByPods: a node that has no certificate reports to nobody, so that all go by what pods show; when it has, all report (B-GRP-28).
func TestByPods(t *testing.T) {
	for without, why := range map[string]error{
		"abcd": errors.New("a self-signed certificate"), "abc": transport.ErrNoCertificate, "d": transport.ErrNoCertificate, "a": transport.ErrNoCertificate,
	} {
		crowds(t, func(c *crowd) {
			ways := map[string]*noWay{}
			for _, name := range []string{"a", "b", "c", "d"} {
				ways[name] = &noWay{Way: c.process.Way("node-" + name), why: why}
				ways[name].off.Store(strings.Contains(without, name))
				c.addWith(name, 4, ways[name])
			}
			c.wants("at first, without "+without, 0, 3*time.Second)
			if without != "a" { // which leads
				c.modes("B-GRP-28, without "+without, false, 30*time.Second)
			}
			c.nodes["node-c"].fails()
			c.wants("again, without "+without, 1, 10*time.Second)
			for _, way := range ways {
				way.off.Store(false)
			}
			c.modes("B-GRP-28: all can report, without "+without, true, 2*time.Minute)
			c.silence(true)
			c.nodes["node-c"].fails()
			c.wants("at last, without "+without, 2, time.Second)
		})
	}
}

// TestPartition: nodes that are cut off from each other, and not from the API server, go by what pods show, and report again
// afterwards (B-GRP-27, B-GRP-28).
func TestPartition(t *testing.T) {
	for _, off := range []string{"a", "d", "abcd"} {
		crowds(t, func(c *crowd) {
			c.four()
			for name := range strings.SplitSeq(off, "") {
				c.process.Cut("node-" + name)
			}
			c.nodes["node-c"].fails()
			c.wants("cut off: "+off, 1, 40*time.Second)
			c.modes("B-GRP-28, cut off: "+off, false, 30*time.Second)
			for name := range strings.SplitSeq(off, "") {
				c.process.Mend("node-" + name)
			}
			c.modes("B-GRP-28, no more cut off: "+off, true, 2*time.Minute)
			c.silence(true)
			c.nodes["node-c"].fails()
			c.wants("afterwards, "+off, 2, time.Second)
		})
	}
}

// TestModes: a mode rises once, until the pod shows it (B-GRP-28).
func TestModes(t *testing.T) {
	crowds(t, func(c *crowd) {
		c.four()
		c.silence(true)
		for range 2 {
			c.process.Cut("node-d")
			time.Sleep(time.Minute)
			c.process.Mend("node-d")
			time.Sleep(time.Minute)
		}
		for name, n := range c.nodes {
			assert.Equal(t, int32(2), n.now().Mode, "B-GRP-28: "+name)
		}
		c.silence(false)
		c.modes("B-GRP-28: all report", true, 10*time.Second)
	})
}

// TestAgentRestarts: a node goes on from what has outlived its process; without that its member counts as failed (B-GRP-29).
func TestAgentRestarts(t *testing.T) {
	for _, name := range []string{"a", "c"} {
		crowds(t, func(c *crowd) {
			c.four()
			n := c.nodes["node-"+name]
			restart := func() {
				n.end()
				time.Sleep(3 * time.Second)
				n.begin(c.process.Way(n.name))
			}
			restart()
			c.nodes["node-b"].fails()
			c.wants("agent restarted", 1, 10*time.Second)
			n.end()
			n.kept = NewKept("")
			n.fails() // as the pod's machine has it
			n.begin(c.process.Way(n.name))
			c.wants("its memory is lost", 2, 20*time.Second)
			c.modes("B-GRP-29: all report again", true, time.Minute)
			assert.True(t, n.now().Mode > 2, "B-GRP-29: its mode has risen by %d alone", n.now().Mode)
		})
	}
}

// TestSeveral: a node that has several members reports all of them, also one that comes later, or is gone again (B-GRP-24).
func TestSeveral(t *testing.T) {
	crowds(t, func(c *crowd) {
		c.four()
		for name, on := range map[string]string{"a2": "a", "c2": "c"} {
			c.beside(c.nodes["node-"+on], name, 4)
		}
		c.wants("with two more", 1, 10*time.Second)
		c.modes("B-GRP-28: all report", true, 10*time.Second)
		c.silence(true)
		c.nodes["beside-c2"].fails()
		c.wants("B-GRP-26: again", 2, time.Second)
		c.silence(false)
		gone := c.nodes["beside-a2"]
		gone.Leave(gone.pod.UID)
		c.loses(gone)
		c.nodes["node-d"].fails()
		c.wants("without one", 3, 10*time.Second)
	})
}

// TestFollowerKept: what a group goes on from outlives the process, until no member is here any more.
func TestFollowerKept(t *testing.T) {
	path := t.TempDir() + "/groups.json"
	crowds(t, func(c *crowd) {
		n := &crowdNode{name: "node-a", crowd: c, kept: NewKept(path), pod: memberOf("a", 1)}
		c.start(n, c.process.Way(n.name))
		c.wants("alone", 0, 10*time.Second)
		c.modes("alone", true, 10*time.Second)
		n.end()
		n.kept = NewKept(path)
		kept, has := n.kept.of(nameOfGroup)
		assert.True(t, has && kept.Modes[string(n.pod.UID)] == 1, "kept: %+v", kept)
		n.begin(c.process.Way(n.name))
		n.fails()
		c.wants("again", 1, 10*time.Second)
		n.Leave(n.pod.UID)
		time.Sleep(time.Second)
		_, has = NewKept(path).of(nameOfGroup)
		assert.True(t, !has, "kept although no member is here")
	})
}

// TestWaiting: who is missing is reported later than what a member has to do, and then as it is (B-GRP-16); members that differ in
// the size are named at once (B-GRP-21).
func TestWaiting(t *testing.T) {
	crowds(t, func(c *crowd) {
		c.add("a", 3)
		b := c.add("b", 3)
		time.Sleep(behindQuiet)
		behind := func() string { return fmt.Sprintf("%d %+v", b.now().Size.Podless, b.now().Size.Behind) }
		time.Sleep(behindQuiet)
		assert.Equal(t, "1 []", behind(), "B-GRP-16: one has no pod")
		other := memberOf("c", 3)
		other.Spec.NodeName = ""
		c.write(other)
		time.Sleep(time.Second)
		assert.Equal(t, "1 []", behind(), "B-GRP-16: at once")
		time.Sleep(2 * behindQuiet)
		assert.Equal(t, "0 [{Name:c Attempt:<nil> Leaving:false ByPod:false}]", behind(), "B-GRP-16: later")
		other.Annotations[lifecycle.GroupSizeAnnotation] = "4"
		c.write(other)
		time.Sleep(time.Second)
		assert.Deep(t, "B-GRP-21", []group.Says{{Name: "a", Size: 3}, {Name: "c", Size: 4}}, b.now().Size.Differ)
	})
}

// TestUnreadable: a member is told why the pods of its group can't be read, until they can (B-GRP-10).
func TestUnreadable(t *testing.T) {
	crowds(t, func(c *crowd) {
		c.mu.Lock()
		c.refused = errForbidden
		c.mu.Unlock()
		n := c.add("a", 1)
		time.Sleep(time.Minute)
		assert.Equal(t, "the pods of group default/train can't be read: pods is forbidden", n.now().Unknown.String(), "B-GRP-10")
		c.mu.Lock()
		c.refused = nil
		c.mu.Unlock()
		c.wants("when they can", 0, 2*readRetryMost)
	})
}

// TestMembersOnly: no pods but those with the annotation are members (B-GRP-17), and the API server is asked nothing before there is one.
func TestMembersOnly(t *testing.T) {
	crowds(t, func(c *crowd) {
		other := memberOf("0", 1)
		delete(other.Annotations, lifecycle.GroupAnnotation)
		c.write(other)
		n := c.add("a", 1)
		c.wants("alone", 0, 10*time.Second)
		n.Leave(n.pod.UID)
		time.Sleep(time.Second)
		c.client.ClearActions()
		time.Sleep(time.Minute)
		c.write(memberOf("b", 1))
		time.Sleep(time.Minute)
		assert.Empty(t, c.client.Actions(), "B-GRP-22: asked without a member")
	})
}

// TestFalseVersion: a node that claims to know of pods newer than the API server has does not stop its group (B-GRP-25).
func TestFalseVersion(t *testing.T) {
	crowds(t, func(c *crowd) {
		for _, name := range []string{"a", "b"} {
			n := &crowdNode{name: "node-" + name, crowd: c, kept: NewKept(""), pod: memberOf(name, 2)}
			if name == "b" {
				assert.Must(t, n.kept.keep(nameOfGroup, lie))
			}
			c.start(n, c.process.Way(n.name))
		}
		c.wants("with a lie", 0, 10*time.Second)
		c.nodes["node-a"].fails()
		c.wants("B-GRP-25: it is not believed again", 1, 500*time.Millisecond)
	})
}

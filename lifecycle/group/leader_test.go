package group

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// placedOf are pods as peersOf has them, each on a node of its own with the name of the pod, in the version that they enter in; all
// are in mode 1.
func placedOf(t *testing.T, version uint64, text string) (all []Placed) {
	t.Helper()
	for _, p := range peersOf(t, text) {
		p.Mode = 1
		all = append(all, Placed{Peer: p, Node: p.Name, Version: version})
	}
	return all
}

// node is a follower with one member, which reports what it is told to.
func nodeOf(t *testing.T, name string) *Follower {
	t.Helper()
	return NewFollower("g", name, Follower{Modes: map[string]int32{name: 1}})
}

// reports has the only member of a node announce an attempt to a leader that it has joined.
func reports(t *testing.T, l *Leader, f *Follower, peer string) {
	t.Helper()
	members := peersOf(t, peer)
	members[0].Mode = f.Modes[members[0].UID]
	f.Have(members)
	if f.MustJoin() || !f.term.same(l.term) {
		f.Join(l.Join(f.Report()))
	}
	assert.Empty(t, l.Hear(f.Report()), "refused")
	if f.Hear(l.Verdict()) {
		l.Hear(f.Report())
	}
}

func begins(v Verdict) string {
	if v.Peers.MembersHash == "" {
		return "nothing"
	}
	return attemptText(v.Peers.Highest)
}

// TestLeader: an attempt begins when all members have reported it in one view, whatever their pods show, and each node has the leader's
// verdict as JSON.
func TestLeader(t *testing.T) {
	l := NewLeader("g", "a", "1")
	l.Observe(9, placedOf(t, 3, "a:0 b:0 c:0 d"))
	a, b, c := nodeOf(t, "a"), nodeOf(t, "b"), nodeOf(t, "c")
	reports(t, l, a, "a:1")
	reports(t, l, b, "b:1")
	reports(t, l, c, "c:0")
	assert.Equal(t, "nothing", begins(l.Verdict()), "B-GRP-26: one has not announced it")
	reports(t, l, c, "c:1")
	for _, f := range []*Follower{a, b} {
		r := f.Report()
		r.Term = Term{Leader: "b", ID: "1", View: 9}
		l.Join(r)
	}
	assert.Equal(t, "nothing", begins(l.Verdict()), "B-GRP-27: two have not confirmed it")
	reports(t, l, a, "a:1")
	reports(t, l, b, "b:1")
	v := l.Verdict()
	assert.Equal(t, "1", begins(v), "B-GRP-26: all have")
	text, err := json.Marshal(v)
	assert.Must(t, err)
	const want = `"term":{"leader":"a","id":"1","view":1},"number":14,"version":3,"direct":true,"peers":{"size":{"members":3,"byPods":1},"highest":1,"membersHash":"`
	assert.True(t, strings.Contains(string(text), want), "%s, want %s", text, want)
	var read Verdict
	assert.Must(t, json.Unmarshal(text, &read))
	a.Hear(read)
	for _, v := range []Verdict{{Group: "g", Term: read.Term}, {Group: "g", Term: Term{Leader: "b", ID: "1"}, Number: 99}, {Term: read.Term, Number: 99}} {
		assert.True(t, !a.Hear(v), "B-GRP-25: heard though overtaken, or of another leader or group")
	}
	now, known := a.Attempts("a")
	assert.True(t, known && attemptText(now.Current)+attemptText(now.Previous) == "10", "B-GRP-24: %v", now)
	_, known = a.Attempts("d")
	assert.True(t, !known, "B-GRP-25: known of a member that is not here")
	assert.Deep(t, "B-GRP-20: who takes no part", []string{"d"}, v.Peers.Missing)
	overtaken := a.Report()
	reports(t, l, a, "a:2")
	reports(t, l, b, "b:2")
	reports(t, l, c, "c:2")
	l.Hear(overtaken)
	assert.Equal(t, "2", begins(l.Verdict()), "B-GRP-27: the same members need not confirm the next one")
	d := nodeOf(t, "d")
	d.Have([]Peer{{UID: "d"}})
	d.Join(l.Join(Report{Group: "g", Node: "d"}))
	assert.True(t, d.MustJoin(), "B-GRP-25: d is not acknowledged")
	l.ObserveChange(10, placedOf(t, 10, "d:2")[0], false)
	reports(t, l, d, "d:2")
	assert.Equal(t, "nothing", begins(l.Verdict()), "B-GRP-27: one has entered")
	for i, f := range []*Follower{a, b, c, d} {
		reports(t, l, f, string("abcd"[i])+":2")
	}
	assert.Equal(t, "2", begins(l.Verdict()), "B-GRP-27: all have confirmed it")
	for _, mode := range []int32{2, 3} {
		reports(t, l, NewFollower("g", "b", Follower{Modes: map[string]int32{"b": mode}}), "b:2")
		assert.Equal(t, "nothing", begins(l.Verdict()), "B-GRP-28: mode %d, and its pod shows 1", mode)
	}
}

// TestLeaderBelieves: a node is believed what it reports of members that are on it, and nothing else.
func TestLeaderBelieves(t *testing.T) {
	l := NewLeader("g", "a", "1")
	l.Observe(9, placedOf(t, 3, "a:0 b:0"))
	forged := Report{Group: "g", Node: "b", Term: l.term, Members: peersOf(t, "a:7 b:0 x:9")}
	assert.Deep(t, "B-GRP-25", []string{"a", "x"}, l.Hear(forged))
	assert.Deep(t, "B-GRP-25: when it joins", []string{"b"}, l.Join(forged).Acknowledged)
	forged.Group = "other"
	forged.Members = peersOf(t, "b:9")
	l.Hear(forged)
	l.Join(forged)
	assert.Equal(t, "0", attemptText(l.Verdict().Peers.Highest), "B-GRP-25")
}

// TestReportsRise: but for a node that has forgotten what it has reported, which is in a higher mode (B-GRP-25, B-GRP-29).
func TestReportsRise(t *testing.T) {
	for _, c := range []struct {
		first, later string
		mode         int32
		want         string
	}{
		{"a:2:1-x", "a:3:3-y", 1, "3 3-y"},
		{"a:3:3-y", "a:2:1-x", 1, "3 3-y"},
		{"a:3:3-y", "a:4:4-x", 0, "3 3-y"},
		{"a:3:3-y", "a:2:1-x", 2, "2 1-x"},
	} {
		m := &member{}
		for i, text := range []string{c.first, c.later} {
			p := peersOf(t, text)[0]
			p.Mode = []int32{1, c.mode}[i]
			m.hear(&p, 0)
		}
		got := fmt.Sprintf("%d %d-%s", *m.reported.Attempt, m.reported.Began.Attempt, m.reported.Began.MembersHash)
		assert.Equal(t, c.want, got, "%s, and in mode %d %s", c.first, c.mode, c.later)
	}
}

// TestTwoLeaders: neither of two leaders has an attempt begin that the other one knows to be over.
func TestTwoLeaders(t *testing.T) {
	for _, c := range []struct {
		name string
		lead func(old *Leader, a, b, x *Follower)
	}{
		{"B-GRP-27: one was left by nodes before a member was replaced", func(old *Leader, a, b, x *Follower) {
			old.Observe(6, placedOf(t, 3, "a:0 b:0 y:0"))
			y := nodeOf(t, "y")
			for range 2 {
				reports(t, old, a, "a:0")
				reports(t, old, b, "b:0")
				reports(t, old, y, "y:0")
			}
			assert.Equal(t, "0", begins(old.Verdict()), "attempt 0 begins")
			reports(t, old, a, "a:1")
			reports(t, old, b, "b:1")
			// With the other one they, and y before it is gone, begin attempts 1 and 2. Their pods show it later than the new one.
			old.Observe(8, append(placedOf(t, 3, "a:0 b:0"), placedOf(t, 8, "x:1")...))
			reports(t, old, x, "x:1")
		}},
		{"B-GRP-27: one does not know yet of a member that may be started", func(behind *Leader, a, b, x *Follower) {
			behind.Observe(7, placedOf(t, 3, "a:0 b:0 y:0"))
			y := nodeOf(t, "y")
			for range 2 {
				reports(t, behind, y, "y:0")
				reports(t, behind, a, "a:0")
				reports(t, behind, b, "b:0")
			}
			ahead := NewLeader("g", "b", "2")
			ahead.Observe(8, append(placedOf(t, 3, "a:0 b:0"), placedOf(t, 8, "x:1")...))
			for range 2 {
				reports(t, ahead, a, "a:1")
				reports(t, ahead, b, "b:1")
				reports(t, ahead, x, "x:1")
			}
			assert.Equal(t, "1", begins(ahead.Verdict()), "x may start")
			reports(t, behind, y, "y:2")
			reports(t, behind, a, "a:2")
			reports(t, behind, b, "b:2")
			behind.Leave("a")
			behind.Leave("b")
		}},
	} {
		l := NewLeader("g", "a", "1")
		l.Observe(6, placedOf(t, 3, "a:0 b:0"))
		c.lead(l, nodeOf(t, "a"), nodeOf(t, "b"), nodeOf(t, "x"))
		assert.Equal(t, "nothing", begins(l.Verdict()), "%s", c.name)
	}
}

// TestModes: members go by their pods as long as one of them does whose node reports to nobody (B-GRP-28).
func TestModes(t *testing.T) {
	l := NewLeader("g", "a", "1")
	all := placedOf(t, 3, "a:1 b:1 c:1")
	all[2].Mode = 0
	l.Observe(9, all)
	a, b := nodeOf(t, "a"), nodeOf(t, "b")
	for range 2 {
		reports(t, l, a, "a:1")
		reports(t, l, b, "b:1")
	}
	v := l.Verdict()
	assert.True(t, !v.Direct && begins(v) == "nothing", "B-GRP-28: the pods of a and b do not show it yet: %+v", v)
	assert.True(t, a.Modes["a"] == 2 && b.Modes["b"] == 2, "B-GRP-28: %v, %v", a.Modes, b.Modes)
	a.Have([]Peer{all[0].Peer})
	v.Number, v.Direct = v.Number+1, true
	a.Hear(v)
	assert.Equal(t, 2, a.Modes["a"], "B-GRP-28: the pod does not show the mode before")
	all[0].Mode, all[1].Mode = 2, 2
	reports(t, l, a, "a:2") // and its pod shows 1
	l.Observe(10, all)
	assert.Equal(t, "1", begins(l.Verdict()), "B-GRP-28: what all pods show counts, and no report")
	a.Observe([]Peer{all[0].Peer, all[1].Peer, all[2].Peer})
	now, known := a.Attempts("a")
	assert.True(t, known && attemptText(now.Current) == "1", "B-GRP-28: without a leader: %v", now)
	l.Join(Report{Group: "g", Node: "c", Members: peersOf(t, "c:1")})
	assert.True(t, l.Verdict().Direct, "B-GRP-28: all report")
	b = nodeOf(t, "b")
	b.Have([]Peer{{UID: "b", Mode: 1}})
	b.Join(l.Join(b.Report()))
	b.Observe([]Peer{all[1].Peer})
	assert.True(t, b.MustJoin() && b.Modes["b"] == 2, "B-GRP-28: b reaches no leader any more: %v", b.Modes)
	forgets := Forgotten(7, []Peer{all[0].Peer, {UID: "b", Mode: 3}})
	assert.True(t, forgets.Modes["a"] == 4 && forgets.Modes["b"] == 6, "B-GRP-29: %v", forgets.Modes)
}

// TestLeaderOf: the first by name that has a node that answers (B-GRP-24).
func TestLeaderOf(t *testing.T) {
	all := placedOf(t, 1, "d b:1- c a")
	all[3].Node = ""
	for silent, want := range map[string]string{"": "c", "c": "d", "c d": ""} {
		got := ""
		if l := LeaderOf(all, func(node string) bool { return slices.Contains(strings.Fields(silent), node) }); l != nil {
			got = l.UID
		}
		assert.Equal(t, want, got, "B-GRP-24")
	}
}

// TestTree: each node but the leader's has one parent, which has it as a child, and the leader's is not far (B-GRP-24).
func TestTree(t *testing.T) {
	names := []string{"lead", "lead"}
	for i := range 1100 {
		names = append(names, fmt.Sprint("n", 2000-i))
	}
	tree := TreeOf("lead", names)
	assert.Equal(t, 1101, len(tree), "nodes")
	for _, node := range tree[1:] {
		steps := 0
		for at := node; at != "lead"; at = tree.Parent(at) {
			steps++
			assert.Require(t, slices.Contains(tree.Children(tree.Parent(at)), at), "B-GRP-24: %s is no child of %s", at, tree.Parent(at))
		}
		assert.True(t, steps <= 3 && len(tree.Children(node)) <= 32, "B-GRP-24: %s is %d steps away, with %d children", node, steps, len(tree.Children(node)))
	}
	assert.True(t, tree.Parent("lead")+tree.Parent("x") == "" && tree.Children("x") == nil, "B-GRP-24: the parent of the leader's node")
}

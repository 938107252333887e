package groups

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/lifepod/lifepod/internal/mailbox"
	"github.com/lifepod/lifepod/lifecycle/group"
	"github.com/lifepod/lifepod/node/groups/transport"
)

const (
	// peersQuiet is how long further changes of a group are collected: when it restarts, all its members change at once.
	peersQuiet = 5 * time.Millisecond
	// behindQuiet is the same for changes that say nothing but who is missing, which only people ask for (B-GRP-16).
	behindQuiet = 2 * time.Second
	// silentMost is how long members are waited for that may report to another leader (B-GRP-28).
	silentMost = 10 * time.Second
	checks     = time.Second
	probesMost = 10 * time.Second
)

// watcher is a node that watches the pods of a group: it leads the group, or reaches no leader.
type watcher struct {
	*memberGroup
	pods  *watched
	why   error          // it reaches no leader; nil: there is none
	heard mailbox.Signal // something of other nodes

	mu      sync.Mutex
	leader  *group.Leader     // nil: it does not lead
	changes int               // of pods, that leader has
	reports map[string][]byte // that it has heard last, by node: they are repeated
	group   *transport.Group

	latest    group.Verdict // the newest; of one that does not lead Peers alone
	heldSince time.Time     // zero: nothing has changed since
	silent    time.Time     // since when members are; zero: none is
	claims    map[string]uint64
	probe     wait.Backoff
	probed    int
	probeAt   time.Time
}

// lead leads the group, for the member with that UID; empty: it goes by what the pods show, as no leader is reached, which is
// why. It does so until that is to be done anew, or until a node that comes before can be joined: that is returned when it is lost.
func (g *memberGroup) lead(ctx context.Context, uid string, why error) transport.Peer {
	g.lose()
	s := g.watchUntilJoined(ctx, uid, why)
	if s == nil {
		return transport.Peer{}
	}
	return g.follow(ctx, s)
}

func (g *memberGroup) watchUntilJoined(ctx context.Context, uid string, why error) *session {
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{
		memberGroup: g, why: why, heard: mailbox.NewSignal(), reports: map[string][]byte{},
		probe: wait.Backoff{Duration: checks, Factor: 2, Jitter: 0.5, Steps: 10, Cap: probesMost},
	}
	pods, watching := g.watch(ctx)
	w.pods = pods
	var beside sync.WaitGroup
	defer func() { cancel(); beside.Wait(); watching.Wait() }()
	check := time.NewTicker(checks)
	defer check.Stop()
	joined := make(chan *session, 1)
	for {
		_, all, known := pods.now()
		if known && w.group == nil && uid != "" {
			w.begin(uid)
			defer w.group.End()
		}
		if known && !w.decide(all) {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case s := <-joined:
			return s
		case <-pods.changed:
		case <-g.changed:
		case <-w.heard:
		case <-check.C:
			w.check(ctx, &beside)
			if leader := w.next(all); leader != nil {
				beside.Go(func() {
					if s, err := g.ask(ctx, *leader); err == nil {
						select {
						case joined <- s:
						case <-ctx.Done():
						}
					}
				})
			}
			continue
		}
		sleep(ctx, peersQuiet)
	}
}

// begin has the node lead the group, whose pods are known now.
func (w *watcher) begin(uid string) {
	w.mu.Lock()
	w.leader, w.changes = group.NewLeader(w.name.String(), uid, rand.Text()), -1
	w.mu.Unlock()
	w.memberGroup.mu.Lock()
	w.way = group.Way{Leader: w.Node.Name}
	w.memberGroup.mu.Unlock()
	w.group = w.Node.Lead(w.name.String(), w)
}

// decide works out how far the group is, and tells all; false: this is to be done anew, as another node comes first.
func (w *watcher) decide(all []group.Placed) bool {
	first := group.LeaderOf(all, func(node string) bool { return w.leader != nil && node != w.Node.Name })
	if w.leader == nil {
		w.goByPods(all)
		return first == nil || first.Node != w.Node.Name
	}
	report, _, err := w.report()
	if err != nil {
		w.Log.Warn("the members of a group that are here are not reported", "group", w.name, "err", err)
		return true // it is tried again
	}
	v := w.verdict(report)
	if !w.isNews(v) {
		return first != nil
	}
	w.memberGroup.mu.Lock()
	if w.follower.Hear(v) {
		w.changed.Send()
	}
	w.tell()
	w.memberGroup.mu.Unlock()
	payload, err := json.Marshal(v)
	if err == nil {
		err = w.group.Tell(payload)
	}
	if err != nil {
		w.Log.Warn("the nodes of a group are not told how far it is", "group", w.name, "err", err)
	}
	return first != nil
}

// verdict is the leader's, with what the members here report.
func (w *watcher) verdict(report group.Report) group.Verdict {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.observe()
	w.memberGroup.mu.Lock()
	defer w.memberGroup.mu.Unlock()
	if w.follower.MustJoin() {
		w.follower.Join(w.leader.Join(report))
		w.tell()
	} else {
		w.leader.Hear(report)
	}
	return w.leader.Verdict()
}

// observe has the leader know what the watch has brought; it is called with mu held.
func (w *watcher) observe() {
	if changes := w.pods.count(); changes != w.changes {
		version, all, _ := w.pods.now()
		w.leader.Observe(version, all)
		w.changes = changes
		clear(w.reports) // they may be of other pods now
	}
}

// goByPods has the members here go by what all pods show.
func (w *watcher) goByPods(all []group.Placed) {
	peers := make([]group.Peer, len(all))
	for i := range all {
		peers[i] = all[i].Peer
	}
	v := group.Verdict{Peers: group.PeersOf(peers)}
	w.memberGroup.mu.Lock()
	w.have()
	w.follower.Observe(peers)
	w.way = group.Way{}
	if w.why != nil {
		w.way.Unreached = w.why.Error()
	}
	kept, news := w.follower.Kept(), w.isNews(v)
	for uid, h := range w.here {
		news = news || h.last == nil || h.last.Mode != kept.Modes[string(uid)]
	}
	if news {
		w.tell()
	}
	w.memberGroup.mu.Unlock()
	if err := w.Kept.keep(w.name, kept); err != nil {
		w.Log.Warn("what a group goes on from is not kept", "group", w.name, "err", err)
	}
}

// isNews says whether a verdict is to be told: at once, or after a while if nothing has changed but who is missing.
func (w *watcher) isNews(v group.Verdict) bool {
	bare := func(v group.Verdict) group.Verdict {
		v.Number, v.Peers.Size = 0, group.Size{Members: v.Peers.Size.Members, Differ: v.Peers.Size.Differ}
		return v
	}
	number := v.Number
	v.Number = w.latest.Number
	switch {
	case reflect.DeepEqual(v, w.latest):
		w.heldSince = time.Time{}
		return false
	case !reflect.DeepEqual(bare(v), bare(w.latest)) || !w.heldSince.IsZero() && time.Since(w.heldSince) >= behindQuiet:
		v.Number = number
		w.latest, w.heldSince = v, time.Time{}
		return true
	case w.heldSince.IsZero():
		w.heldSince = time.Now()
	}
	return false
}

// check looks once in a while at what nothing tells of.
func (w *watcher) check(ctx context.Context, beside *sync.WaitGroup) {
	if !w.heldSince.IsZero() && time.Since(w.heldSince) >= behindQuiet {
		w.heard.Send()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.leader == nil {
		return
	}
	switch silent := w.leader.Silent(); {
	case !silent:
		w.silent = time.Time{}
		w.leader.Tire(false)
	case w.silent.IsZero():
		w.silent = time.Now()
	case time.Since(w.silent) >= silentMost:
		w.leader.Tire(true)
		w.heard.Send()
	}
	claims := w.leader.Claims()
	if len(claims) > 0 && len(w.claims) > 0 {
		w.claims = nil
		beside.Go(func() { w.read(ctx, claims) })
		return
	}
	w.claims = claims
}

// read reads the pods of the group, as a node knows of something newer than the watch has brought.
func (w *watcher) read(ctx context.Context, claims map[string]uint64) {
	list, err := w.list(ctx, metav1.ListOptions{})
	if err != nil {
		return // the next check has it tried again
	}
	pods := make([]*v1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	read := versionOf(list.ResourceVersion)
	w.pods.read(read, pods)
	w.mu.Lock()
	defer w.mu.Unlock()
	version, all, _ := w.pods.now()
	w.leader.Read(version, all, claims)
	w.heard.Send()
}

// next is a node that comes before this one and is to be asked now whether it leads the group; nil: none is.
func (w *watcher) next(all []group.Placed) *transport.Peer {
	slices.SortFunc(all, func(a, b group.Placed) int { return cmp.Compare(a.Name, b.Name) })
	var before []string
	for _, p := range all {
		if p.Node == w.Node.Name && !p.Leaving && w.leader != nil || len(before) == candidatesMost {
			break
		}
		if p.Node != "" && p.Node != w.Node.Name && !p.Leaving && !slices.Contains(before, p.Node) {
			before = append(before, p.Node)
		}
	}
	if len(before) == 0 || time.Now().Before(w.probeAt) {
		return nil
	}
	w.probeAt = time.Now().Add(w.probe.Step())
	node := before[w.probed%len(before)]
	w.probed++
	hostIP := w.pods.hostIP(node)
	if hostIP == "" {
		return nil
	}
	return new(w.peer(node, hostIP))
}

var errNoMember = errors.New("the API server shows no member of the group on it")

// Joined takes a node's request to join (transport.Leader).
func (w *watcher) Joined(node, ip string, request []byte) (answer []byte, address string, err error) {
	r, err := w.reportOf(node, request)
	if err != nil {
		return nil, "", err
	}
	if hostIP := w.pods.hostIP(node); hostIP != "" { // else its pods do not show it yet
		ip = hostIP
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.observe()
	joined := w.leader.Join(r)
	if len(joined.Acknowledged) == 0 {
		return nil, "", errNoMember
	}
	w.heard.Send()
	answer, err = json.Marshal(joined)
	return answer, w.peer(node, ip).Address, err
}

func (w *watcher) reportOf(node string, payload []byte) (r group.Report, err error) {
	if err := json.Unmarshal(payload, &r); err != nil {
		return r, fmt.Errorf("report of node %s: %w", node, err)
	}
	if r.Node != node {
		return r, fmt.Errorf("node %s reports as %s", node, r.Node)
	}
	return r, nil
}

// Heard takes a report of a node that has joined.
func (w *watcher) Heard(node string, report []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if bytes.Equal(report, w.reports[node]) {
		return
	}
	r, err := w.reportOf(node, report)
	if err != nil {
		w.Log.Warn("a report for a group can't be read", "group", w.name, "err", err)
		return
	}
	w.reports[node] = report
	w.leader.Hear(r)
	w.heard.Send()
}

// Lost takes that a node has not reported for a while.
func (w *watcher) Lost(node string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leader.Leave(node)
	delete(w.reports, node)
	w.heard.Send()
}

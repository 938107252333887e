package transport

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestTree: the leader hears the newest report of each node, and each node has its newest verdict, by whichever way: also those
// that join late, and those that have lost their parent, or the leader.
func TestTree(t *testing.T) {
	t.Parallel()
	process, ca := &Process{}, newAuthority(t)
	for way, node := range map[string]func(name string) (*Node, Peer){
		"process": func(name string) (*Node, Peer) { return inProcess(process, name) },
		"https":   func(name string) (*Node, Peer) { return ca.newNode(t, name) },
	} {
		t.Run(way, func(t *testing.T) { testTree(t, node) })
	}
}

func testTree(t *testing.T, node func(name string) (*Node, Peer)) {
	leader := newLeader()
	first, at := node("leader")
	first.children = 3
	group := first.Lead("ns/train", leader)
	var members []*member
	var ends []context.CancelFunc
	var running sync.WaitGroup
	begin := func() *member {
		n, peer := node(fmt.Sprintf("node-%d", len(members)))
		leader.peers.Store(n.Name, peer)
		m, joined := newMember(n), make(chan struct{})
		ctx, end := context.WithCancel(t.Context())
		members, ends = append(members, m), append(ends, end)
		running.Go(func() { m.live(ctx, at, func() { close(joined) }) })
		<-joined
		return m
	}
	defer running.Wait()
	defer func() {
		for _, end := range ends {
			end()
		}
	}()
	for range 15 { // three of the leader, nine below these, and three below them
		begin()
	}
	reports := map[string]string{}
	for _, m := range members {
		m.tell(t, "ready")
		reports[m.Name] = "ready"
	}
	leader.wants(t, reports)
	assert.Must(t, group.Tell([]byte("start 1")))
	for _, m := range members {
		m.wants(t, "start 1")
	}
	late := begin()
	late.wants(t, "start 1")
	late.tell(t, "ready")
	leader.wants(t, map[string]string{late.Name: "ready"})

	ends[0]() // with those below it
	members[0].group.End()
	members = members[1:]
	delete(reports, "node-0")
	for _, m := range members {
		m.tell(t, "again")
		reports[m.Name] = "again"
	}
	leader.wants(t, reports)
	assert.Must(t, group.Tell([]byte("start 2")))
	for _, m := range members {
		m.wants(t, "start 2")
	}
	group = first.Lead("ns/train", leader) // anew
	leader.wants(t, reports)
	assert.Must(t, group.Tell([]byte("start 3")))
	for _, m := range members {
		m.wants(t, "start 3")
	}
}

// hostile is a world in virtual time: a leader of two groups, and a node x that has joined both, and has a stream of its own
// to its parent in the first.
type hostile struct {
	leader *testLeader
	first  *Node
	relay  *Node
	led    *Group // ns/train
	x      *Node
	joined *Group // as x has it
	other  *Group // ns/other
	stream Stream
}

// attacks runs a test in such a world. Between x and the leader there may be a relay.
func attacks(t *testing.T, relayed bool, test func(t *testing.T, h *hostile)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		process, h := &Process{}, &hostile{leader: newLeader()}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		var at Peer
		h.first, at = inProcess(process, "leader")
		h.led = h.first.Lead("ns/train", h.leader)
		if relayed {
			h.first.children = 1
		}
		h.first.Lead("ns/other", newLeader())
		defer h.led.End()
		if relayed {
			h.relay, _ = inProcess(process, "relay")
			running.Go(func() { newMember(h.relay).live(ctx, at, nil) })
			synctest.Wait()
		}
		h.x, _ = inProcess(process, "x")
		var err error
		h.joined, _, err = h.x.Join(ctx, at, "ns/train", nil, nil)
		assert.Must(t, err)
		assert.Equal(t, relayed, h.joined.parent.Name == "relay", "a relay")
		h.other, _, err = h.x.Join(ctx, at, "ns/other", nil, nil)
		assert.Must(t, err)
		h.stream, err = h.x.Way.Stream(ctx, h.joined.parent, h.attaching(t))
		assert.Must(t, err)
		defer func() { assert.Must(t, h.stream.Close()) }()
		test(t, h)
	})
}

func (h *hostile) attaching(t *testing.T) []byte {
	return assert.Get(json.Marshal(attaching{"ns/train", h.joined.ticket})).Must(t)
}

// report is a report of x in a group.
func (h *hostile) report(in *Group, text string, change func(*message)) *message {
	m := &message{From: "x", Number: h.x.number(), Payload: []byte(text)}
	m.Proof = mac(in.secret, m.content(report, in.name, in.term))
	if change != nil {
		change(m)
	}
	return m
}

// says sends a report and returns what the leader has heard then; -: nothing.
func (h *hostile) says(t *testing.T, m *message) string {
	t.Helper()
	assert.Get(h.stream.Write(assert.Get(m.frame()).Must(t))).Must(t)
	synctest.Wait()
	select {
	case got := <-h.leader.heard:
		return got[0] + " " + got[1]
	default:
		return "-"
	}
}

// TestReports: the leader hears only what the node has said itself, in this group and leadership, and nothing old.
func TestReports(t *testing.T) {
	for _, relayed := range []bool{false, true} {
		attacks(t, relayed, func(t *testing.T, h *hostile) {
			late := h.report(h.joined, "late", nil)
			good := h.report(h.joined, "good", nil)
			assert.Equal(t, "x good", h.says(t, good), "the node's own report")
			assert.Equal(t, "-", h.says(t, good), "the same again")
			assert.Equal(t, "-", h.says(t, late), "an older one")
			for what, m := range map[string]*message{
				"changed":              h.report(h.joined, "good", func(m *message) { m.Payload = []byte("bad") }),
				"an old one as new":    h.report(h.joined, "good", func(m *message) { m.Number += 1e9 }),
				"of another group":     h.report(h.other, "good", nil),
				"of another term":      h.report(&Group{name: "ns/train", term: "old", secret: h.joined.secret}, "good", nil),
				"of another node":      h.report(h.joined, "good", func(m *message) { m.From = "y" }),
				"without a proof":      h.report(h.joined, "good", func(m *message) { m.Proof = nil }),
				"a ticket as a report": h.joined.ticket,
				"a key of nobody":      h.report(&Group{name: "ns/train", term: h.joined.term}, "good", nil),
				"of the leader's own":  h.report(&Group{name: "ns/train", term: h.joined.term, secret: h.joined.key}, "good", nil),
			} {
				assert.Equal(t, "-", h.says(t, m), what)
			}
			if !relayed { // which keeps what has the highest number
				assert.Equal(t, "x more", h.says(t, h.report(h.joined, "more", nil)), "the next")
			}
		})
	}
}

// ends awaits that the other side ends the stream, within the time that a peer has.
func (h *hostile) ends(t *testing.T, what string) {
	t.Helper()
	begun := time.Now()
	assert.NoError(t, assert.ErrorOf(io.Copy(io.Discard, h.stream)), what)
	assert.True(t, time.Since(begun) <= (patience+1)*h.x.Heartbeat, "%s: the stream ends after %v", what, time.Since(begun))
}

// TestStreams: a stream ends whose peer says nothing, too little, too much, or what is no message.
func TestStreams(t *testing.T) {
	large := binary.BigEndian.AppendUint32(nil, MaxMessage+1)
	for what, say := range map[string]func(to io.Writer){
		"nothing":    func(io.Writer) {},
		"too large":  func(to io.Writer) { _, _ = to.Write(large) },
		"no message": func(to io.Writer) { _, _ = to.Write(append(binary.BigEndian.AppendUint32(nil, 1), 'x')) },
		"a byte now and then": func(to io.Writer) {
			for _, err := to.Write(large[:1]); err == nil; _, err = to.Write([]byte{1}) {
				time.Sleep(300 * time.Millisecond)
			}
		},
	} {
		attacks(t, true, func(t *testing.T, h *hostile) {
			var saying sync.WaitGroup
			saying.Go(func() { say(h.stream) })
			h.ends(t, what)
			saying.Wait()
		})
	}
}

// TestLost: a node that does not report is lost until it does; what it reports is repeated.
func TestLost(t *testing.T) {
	attacks(t, false, func(t *testing.T, h *hostile) {
		heard := func(beats int) map[[2]string]int {
			time.Sleep(time.Duration(beats) * h.x.Heartbeat)
			all := map[[2]string]int{}
			for len(h.leader.heard) > 0 {
				all[<-h.leader.heard]++
			}
			return all
		}
		assert.Deep(t, "nobody reports", map[[2]string]int{{"x", "lost"}: 1}, heard(absence+1))
		m := newMember(h.x)
		ctx, end := context.WithCancel(t.Context())
		var living sync.WaitGroup
		living.Go(func() { m.live(ctx, Peer{Name: "leader"}, nil) })
		synctest.Wait()
		m.tell(t, "here")
		assert.Deep(t, "x reports", map[[2]string]int{{"x", "here"}: 5}, heard(4*repeat+1))
		end()
		living.Wait()
		assert.Deep(t, "x has left", map[[2]string]int{{"x", "lost"}: 1}, heard(2*absence))
	})
}

// TestKept: what a child says as its parent is not passed on, and of what it says as others there are bounds.
func TestKept(t *testing.T) {
	attacks(t, true, func(t *testing.T, h *hostile) {
		group := h.relay.group("ns/train")
		group.children["x"].kept = mostKept - 1000
		for i := range 20 {
			h.says(t, &message{From: fmt.Sprint(i), Number: math.MaxUint64})
		}
		h.says(t, &message{From: "relay", Number: math.MaxUint64})
		group.mu.Lock()
		defer group.mu.Unlock()
		kept, reports := group.children["x"].kept, len(group.reports)
		assert.True(t, kept <= mostKept && reports > 9 && reports < 20 && group.reports["relay"] == nil, "%d bytes, %d reports", kept, reports)
	})
}

// TestSlowChild: who reads late gets the newest verdict, who does not read loses the stream, and nobody waits for either.
func TestSlowChild(t *testing.T) {
	attacks(t, false, func(t *testing.T, h *hostile) {
		in := bufio.NewReader(h.stream)
		for i := range 3 {
			assert.Must(t, h.led.Tell([]byte{byte(i)}))
			synctest.Wait()
		}
		for _, want := range []byte{0, 2} { // the first was being sent
			var m message
			assert.Must(t, json.Unmarshal(assert.Get(readFrame(in)).Must(t)[len(heartbeat):], &m))
			assert.Deep(t, "verdict", []byte{want}, m.Payload)
		}
		assert.Must(t, h.led.Tell(nil))
		time.Sleep((writing + 1) * h.x.Heartbeat)
		h.led.mu.Lock()
		defer h.led.mu.Unlock()
		assert.Empty(t, h.led.children, "children")
	})
}

// TestChildren: a node has only the children that the leader has sent to it, and no more than 64; a second stream of one takes
// the place of its first.
func TestChildren(t *testing.T) {
	attacks(t, false, func(t *testing.T, h *hostile) {
		attach := func(name string, ticket *message) error {
			_, err := h.first.attach(name, assert.Get(json.Marshal(attaching{"ns/train", ticket})).Must(t))
			return err
		}
		assert.Must(t, attach("x", h.joined.ticket))
		h.ends(t, "the first stream")
		assert.ErrorIs(t, ErrRefused, attach("y", nil))
		assert.ErrorIs(t, ErrRefused, attach("y", h.joined.ticket), "another one's")
		h.joined.ticket.Payload = []byte(ticketOf("y", "leader"))
		assert.ErrorIs(t, ErrRefused, attach("y", h.joined.ticket), "changed")
		for i := range 64 {
			_, ticket := h.led.leads.place(Peer{Name: fmt.Sprint(i)}, nil, "")
			h.led.leads.order[0].children = 0 // it gives away more places than there are
			assert.Equal(t, i < 63, attach(fmt.Sprint(i), ticket) == nil, "child")
		}
	})
}

// TestPlaces: a node has 32 children at most, unless others have lost their parents; a parent has joined before its children.
func TestPlaces(t *testing.T) {
	n, _ := inProcess(&Process{}, "leader")
	g := n.Lead("ns/train", newLeader())
	defer g.End()
	parents := map[string]int{}
	join := func(i int, avoid string) string {
		parent, _ := g.leads.place(Peer{Name: fmt.Sprint(i)}, nil, avoid)
		parents[parent.Name]++
		return parent.Name
	}
	for i := range 3000 {
		join(i, "")
	}
	assert.Deep(t, "children", []int{32, 32, 32, 24, 0}, []int{parents["leader"], parents["0"], parents["91"], parents["92"], parents["93"]})
	assert.Equal(t, "0", join(32, ""), "again")
	g.leads.joined["0"].lost = true
	for i := 32; i < 64; i++ {
		assert.Equal(t, "leader", join(i, "0"), "the parent is lost")
	}
	assert.Equal(t, "1", join(64, "leader"), "the parent is there, and another was lost")
	assert.Equal(t, "2", join(64, "1"), "the parent can't be reached")
	assert.Equal(t, "leader", join(1, "leader"), "there is no other")
}

// TestVerdicts: a relay that changes a verdict, or repeats that of another group, is left.
func TestVerdicts(t *testing.T) {
	for what, change := range map[string]func(h *hostile, v *message){
		"changed": func(_ *hostile, v *message) { v.Payload = []byte("bad") },
		"newer":   func(_ *hostile, v *message) { v.Number++ },
		"of another group": func(h *hostile, v *message) {
			other := h.first.group("ns/other")
			_ = other.Tell(v.Payload)
			_ = json.Unmarshal(other.verdict[len(heartbeat):], v)
		},
		"a report of the relay": func(h *hostile, v *message) { *v = *h.report(h.joined, "start", nil) },
	} {
		attacks(t, false, func(t *testing.T, h *hostile) {
			heard := 0
			h.joined.heard = func([]byte) { heard++ }
			hear := func() error {
				v := &message{}
				assert.Must(t, json.Unmarshal(h.led.verdict[len(heartbeat):], v))
				change(h, v)
				return h.joined.hear(nil, v)
			}
			assert.Must(t, h.led.Tell([]byte("start")))
			assert.ErrorContains(t, "not signed by the leader", hear(), what)
			change = func(*hostile, *message) {}
			assert.Must(t, hear(), hear())
			assert.Equal(t, 1, heard, "%s: verdicts", what)
		})
	}
}

// TestServers: a node asks none but the one that it means, by the cluster's report.
func TestServers(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t), newAuthority(t)
	x, _ := ca.newNode(t, "x")
	const b, server, client = UserPrefix + "b", x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth
	for want, certificate := range map[string]tls.Certificate{
		"refused: 403 Forbidden refused: b does not lead group ns/train":           ca.sign(t, b, UserGroup, server),
		"node b serves its API with a self-signed certificate (serverTLSBootstrap": (&authority{}).sign(t, b, UserGroup, server),
		"node b serves its API with a certificate that can't be verified":          other.sign(t, b, UserGroup, server),
		"certificate specifies an incompatible key usage":                          ca.sign(t, b, UserGroup, client),
		"the API is not that of node b, but of CN=system:node:c,O=system:nodes":    ca.sign(t, UserPrefix+"c", UserGroup, server),
		"the API is not that of node b, but of CN=system:node:b,O=dev":             ca.sign(t, b, "dev", server),
	} {
		n := New(Options{Name: "b", Log: slog.New(slog.DiscardHandler)})
		_, _, err := x.Join(t.Context(), ca.serve(t, n, certificate), "ns/train", nil, nil)
		assert.ErrorContains(t, want, err)
	}
	peer := ca.serve(t, New(Options{Name: "b"}), ca.sign(t, UserPrefix+"c", UserGroup, server))
	peer.Name = "c"
	assert.ErrorContains(t, "c is not where its pod says: this is node b", assert.ErrorOf(x.Way.Join(t.Context(), peer, nil)))
	for want, config := range map[string]*tls.Config{
		ErrNoCertificate.Error():                  {RootCAs: ca.pool()},
		"does not know the cluster's certificate": {Certificates: []tls.Certificate{ca.sign(t, b, UserGroup, client)}},
		"401": nil,
	} {
		if config == nil {
			want = ErrNoCertificate.Error()
		}
		way := &HTTPS{TLS: func() (*tls.Config, error) { return config, nil }}
		assert.ErrorContains(t, want, assert.ErrorOf(way.Stream(t.Context(), peer, nil)))
	}
}

// TestRequests: a request has bounds in size, time and number.
func TestRequests(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	leader, at := ca.newNode(t, "leader")
	leader.readWait = time.Second
	leader.Lead("ns/train", newLeader())
	x, _ := ca.newNode(t, "x")
	way := x.Way.(*HTTPS)
	assert.ErrorContains(t, "request body too large", assert.ErrorOf(way.Join(t.Context(), at, make([]byte, MaxMessage+1))))
	errs := make(chan error)
	begin := func() {
		body, _ := io.Pipe()
		_, _, err := way.send(t.Context(), at, joinPath, http.Header{}, body)
		errs <- err
	}
	for range mostRead {
		go begin()
	}
	for reading := 0; reading < mostRead; time.Sleep(time.Millisecond) {
		leader.mu.Lock()
		reading = leader.read["x"]
		leader.mu.Unlock()
	}
	go begin()
	assert.ErrorContains(t, "429 Too Many Requests too many requests of x", <-errs)
	for range mostRead {
		assert.ErrorContains(t, "i/o timeout", <-errs)
	}
	y, _ := ca.newNode(t, "stranger")
	assert.ErrorContains(t, "403 Forbidden refused: it has no members", assert.ErrorOf(y.ask(t.Context(), at, joining{Group: "ns/train", Secret: make([]byte, secretSize)})))
	_, answer, err := x.Join(t.Context(), at, "ns/train", nil, nil)
	assert.Must(t, err)
	assert.Equal(t, "welcome x", string(answer), "answer")
}

// FuzzFrame: whatever comes, a frame is no longer than what has come.
func FuzzFrame(f *testing.F) {
	f.Add(heartbeat)
	f.Add([]byte{0, 0, 0, 2, '{', '}', 1})
	f.Fuzz(func(t *testing.T, text []byte) {
		in := bytes.NewReader(text)
		frame, err := readFrame(in)
		assert.True(t, err != nil || bytes.Equal(text[:len(text)-in.Len()], frame), "%q: %q, %v", text, frame, err)
	})
}

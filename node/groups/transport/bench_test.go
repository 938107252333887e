package transport

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// BenchmarkRound is a word of each of 1,000 nodes to the leader, and a verdict of it to all.
func BenchmarkRound(b *testing.B) {
	for _, way := range []string{"process", "https"} {
		b.Run(way, func(b *testing.B) { benchmarkRound(b, way, 1000) })
	}
}

func benchmarkRound(b *testing.B, way string, count int) {
	process, ca, leader := &Process{}, newAuthority(b), newLeader(mostChildren)
	node := func(i int) (*Node, Peer) {
		if way == "process" {
			return inProcess(process, fmt.Sprintf("node-%d", i))
		}
		return ca.newNode(b, fmt.Sprintf("node-%d", i))
	}
	first, at := node(0)
	led := first.Lead("ns/train", leader)
	var members []*member
	for i := range count {
		n, peer := node(i + 1)
		leader.peers[n.Name] = peer
		members = append(members, newMember(n))
	}
	memory := memoryNow()
	begun := time.Now()
	ctx, cancel := context.WithCancel(b.Context())
	var running, ready sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for _, m := range members {
		ready.Add(1)
		running.Go(func() { m.live(ctx, at, ready.Done) })
	}
	ready.Wait()
	joined := time.Since(begun)
	round := func(i int) {
		word, words := fmt.Sprintf("%d %s", i, strings.Repeat("x", 300)), map[string]string{}
		for _, m := range members {
			words[m.Name] = word
			m.tell(b, word)
		}
		leader.wants(b, words)
		verdict := fmt.Sprintf("%d %s", i, strings.Repeat("x", 1000))
		_ = led.Tell([]byte(verdict))
		for _, m := range members {
			m.wants(b, verdict)
		}
	}
	round(-1)
	first1 := time.Since(begun)
	memory = memoryNow() - memory
	for i := 0; b.Loop(); i++ {
		round(i)
	}
	b.ReportMetric(float64(joined.Milliseconds()), "ms/join")
	b.ReportMetric(float64(first1.Milliseconds()), "ms/first-round")
	b.ReportMetric(float64(memory)/float64(count)/1024, "KiB/node")
}

func memoryNow() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

package transport

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// BenchmarkRound is a report of each of 1,000 nodes to the leader, and a verdict of it to all.
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
		report, reports := fmt.Sprintf("%d %s", i, strings.Repeat("x", 300)), map[string]string{}
		for _, m := range members {
			reports[m.Name] = report
			m.tell(b, report)
		}
		leader.wants(b, reports)
		verdict := fmt.Sprintf("%d %s", i, strings.Repeat("x", 1000))
		_ = led.Tell([]byte(verdict))
		for _, m := range members {
			m.wants(b, verdict)
		}
	}
	round(-1)
	first1 := time.Since(begun)
	cpu := cpuNow()
	time.Sleep(8 * time.Second)
	idle := (cpuNow() - cpu) / 8
	memory = memoryNow() - memory
	cpu = cpuNow()
	n := 0
	for i := 0; b.Loop(); i++ {
		n++
		round(i)
	}
	b.ReportMetric(float64((cpuNow()-cpu).Milliseconds())/float64(n), "cpu-ms/round")
	joins := 0
	for _, m := range members {
		joins += m.joins
	}
	b.ReportMetric(float64(joins), "joins")
	b.ReportMetric(float64(idle.Milliseconds())/10, "idle-cpu%")
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

func cpuNow() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(0, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

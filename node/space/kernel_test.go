package space

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
)

// played is a kernel log: each read has one record or fails, and behind the last one it
// waits until it is closed.
type played struct {
	records []string
	fail    map[int]error
	reads   int
	end     func() // called when everything was read
	closed  chan struct{}
}

func (p *played) Read(into []byte) (int, error) {
	at := p.reads
	p.reads++
	if err := p.fail[at]; err != nil {
		return 0, err
	}
	if len(p.records) == 0 {
		p.end()
		<-p.closed
		return 0, errors.New("file already closed")
	}
	record := p.records[0]
	p.records = p.records[1:]
	return copy(into, record), nil
}

func (p *played) Close() error {
	close(p.closed)
	return nil
}

const (
	begin  = "4,900,5000,-;hog invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0\n SUBSYSTEM=x\n"
	global = "6,901,5001,-;oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user.slice,task=hog,pid=42,uid=0\n"
	ofPod  = "6,901,5001,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=c,mems_allowed=0,oom_memcg=/kubepods/podx,task_memcg=/kubepods/podx/c,task=hog,pid=42,uid=0\n"
	ofRoot = "6,901,5001,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=c,mems_allowed=0,oom_memcg=/,task_memcg=/x,task=hog,pid=42,uid=0\n"
	before = "6,901,5001,-;Task in /kubepods/podx/c killed as a result of limit of /kubepods/podx\n"
	kill   = "3,902,5002,-;Out of memory: Killed process 42 (hog (1)) total-vm:8000kB, anon-rss:4000kB\n"
	noise  = "6,903,5003,-;eth0: link up\n"
)

// A victim is told of when all memory of the machine was used, not when a cgroup had no
// more of its own (B-OOM-2).
func TestVictims(t *testing.T) {
	hog := []OOMVictim{{Process: "hog (1)", PID: 42}}
	for name, test := range map[string]struct {
		records []string
		want    []OOMVictim
	}{
		"all memory is used":                  {[]string{noise, begin, noise, global, kill, noise}, hog},
		"all memory is used, before 5.0":      {[]string{begin, kill}, hog},
		"limit of a pod":                      {[]string{begin, ofPod, kill}, nil},
		"limit of a pod, before 5.0":          {[]string{begin, before, kill}, nil},
		"limit of the root":                   {[]string{begin, ofRoot, kill}, hog},
		"limit of a pod, then all memory":     {[]string{begin, ofPod, kill, begin, global, kill}, hog},
		"two of one kill, by their cgroup":    {[]string{begin, global, kill, kill}, hog},
		"no beginning":                        {[]string{kill}, nil},
		"a process ID that is none":           {[]string{begin, "3,1,1,-;Killed process 99999999999999999999 (hog)"}, nil},
		"a record that is not the kernel's":   {[]string{begin, "no semicolon", "", global, kill}, hog},
		"twice out of memory, both are told":  {[]string{begin, global, kill, begin, global, kill}, slices.Concat(hog, hog)},
		"the message's keys are no message":   {[]string{begin, "6,1,1,-;x\n Killed process 1 (y)\n"}, nil},
		"a beginning without a victim before": {[]string{begin, begin, global, kill}, hog},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := watch(t, test.records, nil)
			assert.NoError(t, err)
			assert.Deep(t, "B-OOM-2 victims", test.want, got)
		})
	}
}

// Records that are lost are passed over, with the kill whose lines may be among them;
// another error ends the watch.
func TestFaults(t *testing.T) {
	got, err := watch(t, []string{begin, kill, begin, global, kill}, map[int]error{1: unix.EPIPE})
	assert.True(t, err == nil && len(got) == 1, "after lost records: %v, %v, want one victim", got, err)
	assert.ErrorIs(t, unix.EIO, assert.ErrorOf(watch(t, []string{begin, global, kill}, map[int]error{1: unix.EIO})), "read that fails")
}

func watch(t *testing.T, records []string, fail map[int]error) (got []OOMVictim, err error) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	log := OOMLog{records: &played{records: records, fail: fail, end: end, closed: make(chan struct{})}}
	err = log.Watch(ctx, func(v OOMVictim) { got = append(got, v) })
	return got, err
}

var _ io.ReadCloser = &played{}

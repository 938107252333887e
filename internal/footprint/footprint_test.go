package footprint

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestMappings(t *testing.T) {
	const smaps = `00400000-00402000 r-xp 00000000 fe:00 10954737                           /opt/my lifepod (deleted)
Rss:                   8 kB
Anonymous:             0 kB
00402000-00403000 r--p 00002000 fe:00 10954737                           /opt/my lifepod (deleted)
Anonymous:             4 kB
00403000-00404000 rw-p 00003000 fe:00 10954737                           /opt/my lifepod (deleted)
Anonymous:             0 kB
00404000-00405000 r--s 00003000 fe:00 7                                  /opt/shared
Anonymous:             0 kB
00405000-00406000 rw-s 00003000 fe:00 7                                  /opt/shared
Anonymous:             0 kB
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
Anonymous:             0 kB
VmFlags: rd ex
`
	const self = "/opt/my lifepod (deleted)"
	want := []mapping{
		{from: 0x400000, to: 0x402000, file: self},
		{from: 0x402000, to: 0x403000, file: self, differs: true},
		{from: 0x403000, to: 0x404000, file: self, differs: true},
		{from: 0x404000, to: 0x405000, file: "/opt/shared"},
		{from: 0x405000, to: 0x406000, file: "/opt/shared", differs: true},
		{from: 0xffffffffff600000, to: 0xffffffffff601000},
	}
	got := mappings(strings.NewReader(smaps))
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(mapping{})); diff != "" {
		t.Errorf("mappings, -want +got:\n%s", diff)
	}
}

// TestForgetFiles: the pages of this program's file, and of one that it maps as etcd does its
// database, are let go, and come back.
func TestForgetFiles(t *testing.T) {
	const size = 16 << 20
	file, err := os.Create(filepath.Join(t.TempDir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt([]byte("end"), size-3); err != nil {
		t.Fatal(err)
	}
	mapped, err := unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Munmap(mapped); err != nil {
			t.Error(err)
		}
	}()
	before := ofFiles()
	GiveBack()
	if after := ofFiles(); before-after < size {
		t.Errorf("%d bytes of files are resident, before %d: want %d less at least", after, before, size)
	}
	if end := string(mapped[size-3:]); end != "end" {
		t.Errorf("the mapped file ends with %q", end)
	}
}

// TestGiveBackOnce: what was just given back is not given back again.
func TestGiveBackOnce(t *testing.T) {
	before := time.Now()
	GiveBack()
	given := forced()
	giveBackUnless(before)
	if again := forced() - given; again > 0 {
		t.Errorf("%d collections, want none", again)
	}
	giveBackUnless(time.Now())
	if forced() == given {
		t.Error("memory is not given back")
	}
}

// forced is how many collections were asked for.
func forced() uint64 { return metric("/gc/cycles/forced:gc-cycles") }

// TestShrinkStacks: goroutines that wait keep little of the stack that they once needed.
func TestShrinkStacks(t *testing.T) {
	const goroutines, kept = 1000, 8 << 10
	deeply := func() { use(300) }
	if took := stacksOf(goroutines, deeply, func() {}); took < goroutines*4*kept {
		t.Errorf("%d goroutines take %d bytes at first, want %d at least", goroutines, took, goroutines*4*kept)
	}
	if took := stacksOf(goroutines, deeply, GiveBack); took > goroutines*kept {
		t.Errorf("%d goroutines take %d bytes afterwards, want %d at most", goroutines, took, goroutines*kept)
	}
}

// TestAside: who makes requests keeps nothing of the stack that they take.
func TestAside(t *testing.T) {
	const goroutines, kept = 1000, 8 << 10
	request := func() {
		if got, err := Aside(func() (byte, error) { return use(300), errLate }); got == 0 || !errors.Is(err, errLate) {
			t.Errorf("the answer is %d, %v", got, err)
		}
	}
	if took := stacksOf(goroutines, request, runtime.GC); took > goroutines*kept {
		t.Errorf("%d goroutines take %d bytes, want %d at most", goroutines, took, goroutines*kept)
	}
}

var errLate = errors.New("late")

// stacksOf is how much more stacks take when so many goroutines have done something, and wait, and then the collector has.
func stacksOf(goroutines int, do, collect func()) int {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // nothing else collects
	GiveBack()
	var running sync.WaitGroup
	before, end, done := stacks(), make(chan struct{}), make(chan struct{}, goroutines)
	for range goroutines {
		running.Go(func() {
			do()
			done <- struct{}{}
			<-end
		})
	}
	for range goroutines {
		<-done
	}
	collect()
	took := int(stacks()) - int(before) //nolint:gosec // far below the largest
	close(end)
	running.Wait()
	return took
}

// use needs so many times 100 bytes of the stack, at least.
func use(times int) (sum byte) {
	var some [100]byte
	some[times%len(some)] = 1
	if times > 0 {
		sum = use(times - 1)
	}
	return sum + some[0]
}

// TestRest: memory is given back once nothing has happened for a while, and again
// after something has; for no more than one percent of the time.
func TestRest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		takes time.Duration
		want  []time.Duration
	}{
		{takes: time.Millisecond, want: []time.Duration{12 * time.Second, 72 * time.Second, 82 * time.Second}},
		{takes: 600 * time.Millisecond, want: []time.Duration{12 * time.Second, 72600 * time.Millisecond, 133200 * time.Millisecond}},
	} {
		t.Run(c.takes.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var given []time.Duration
				began := time.Now()
				r := newRest(5*time.Second, 0, func() {
					given = append(given, time.Since(began))
					time.Sleep(c.takes)
				}, nil)
				defer r.Stop()
				for _, quiet := range []time.Duration{3 * time.Second, 4 * time.Second, time.Minute, 10 * time.Second} {
					time.Sleep(quiet)
					r.Stir()
				}
				time.Sleep(2 * time.Minute)
				if diff := cmp.Diff(c.want, given); diff != "" {
					t.Errorf("given back at, -want +got:\n%s", diff)
				}
			})
		})
	}
}

// TestFilesAtRest: files are let go again and again while nothing happens, and not while something does.
func TestFilesAtRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var forgotten []time.Duration
		began := time.Now()
		r := newRest(5*time.Second, 2*time.Second, func() {}, func() { forgotten = append(forgotten, time.Since(began)) })
		time.Sleep(9500 * time.Millisecond)
		r.Stir()
		time.Sleep(7500 * time.Millisecond)
		r.Stop()
		time.Sleep(time.Minute)
		want := []time.Duration{7 * time.Second, 9 * time.Second, 16500 * time.Millisecond}
		if diff := cmp.Diff(want, forgotten); diff != "" {
			t.Errorf("forgotten at, -want +got:\n%s", diff)
		}
	})
}

// TestForgetGrown: files are let go when there are more of them by much, and else not; nor again and again.
func TestForgetGrown(t *testing.T) {
	ForgetFiles() // the test's own
	forget := forgetGrown()
	for _, c := range []struct {
		bytes   int
		forgets bool
	}{{grown / 2, false}, {2 * grown, true}, {2 * grown, true}, {2 * grown, false}} { // once more than forgetBurst
		mapMemory(t, c.bytes)
		before := ofFiles()
		forget()
		if got := before-ofFiles() > grown; got != c.forgets {
			t.Errorf("%d bytes more of files: resident are %d, before %d, want them let go: %t", c.bytes, ofFiles(), before, c.forgets)
		}
	}
}

// mapMemory has so many bytes more in memory that the kernel counts as files.
func mapMemory(t *testing.T, bytes int) {
	t.Helper()
	mapped, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ, unix.MAP_SHARED|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(mapped); err != nil {
			t.Error(err)
		}
	})
}

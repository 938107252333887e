package footprint

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
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
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
Anonymous:             0 kB
VmFlags: rd ex
`
	const self = "/opt/my lifepod (deleted)"
	want := []mapping{
		{from: 0x400000, to: 0x402000, file: self},
		{from: 0x402000, to: 0x403000, file: self, differs: true},
		{from: 0x403000, to: 0x404000, file: self, differs: true},
		{from: 0x404000, to: 0x405000, file: "/opt/shared", differs: true},
		{from: 0xffffffffff600000, to: 0xffffffffff601000},
	}
	got := mappings(strings.NewReader(smaps))
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(mapping{})); diff != "" {
		t.Errorf("mappings, -want +got:\n%s", diff)
	}
}

// TestForgetFile: the pages of this program's file are let go, and it goes on.
func TestForgetFile(t *testing.T) {
	before := ofFile(t)
	GiveBack()
	if after := ofFile(t); after >= before {
		t.Errorf("%d KiB of the program's file are resident, before %d", after, before)
	}
}

// ofFile is how much of files is resident, in KiB.
func ofFile(t *testing.T) (kib int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "RssFile:")
	for _, digit := range strings.Fields(rest)[0] {
		kib = 10*kib + int(digit-'0')
	}
	return kib
}

// TestRest: memory is given back once nothing has happened for a while, and again
// after something has.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var given []time.Duration
		began := time.Now()
		r := newRest(5*time.Second, func() { given = append(given, time.Since(began)) })
		defer r.Stop()
		time.Sleep(3 * time.Second)
		r.Stir()
		time.Sleep(4 * time.Second)
		r.Stir()
		time.Sleep(time.Minute)
		r.Stir()
		time.Sleep(time.Minute)
		want := []time.Duration{12 * time.Second, 72 * time.Second}
		if diff := cmp.Diff(want, given); diff != "" {
			t.Errorf("given back at, -want +got:\n%s", diff)
		}
	})
}

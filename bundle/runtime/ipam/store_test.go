package ipam

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/bundle/runtime/internal/must"
)

func TestAddressSurvivesASandbox(t *testing.T) {
	s := testStore(t, t.TempDir(), "", &clock{})
	within := testRange(t, 10)
	first := attach(t, s, sandbox("pod-a", "c1"), within)
	detach(t, s, sandbox("pod-a", "c1"))
	other := attach(t, s, sandbox("pod-b", "c2"), within)
	again := attach(t, s, sandbox("pod-a", "c3"), within)
	if again != first || other == first {
		t.Errorf("pod-a had %s and has %s, pod-b has %s", first, again, other)
	}
}

func TestFreedAddressRests(t *testing.T) {
	s := testStore(t, t.TempDir(), "", &clock{})
	within := testRange(t, 3)
	var got []string
	for _, pod := range []string{"a", "b", "c", "d"} {
		got = append(got, attach(t, s, sandbox(pod, "c-"+pod), within))
		detach(t, s, sandbox(pod, "c-"+pod))
		release(t, s, pod)
	}
	if diff := cmp.Diff([]string{"10.88.0.2", "10.88.0.3", "10.88.0.4", "10.88.0.2"}, got); diff != "" {
		t.Errorf("addresses in turn (-want +got):\n%s", diff)
	}
}

func TestContainerWithoutPodReleasesAtDetach(t *testing.T) {
	s := testStore(t, t.TempDir(), "", &clock{})
	within := testRange(t, 1)
	for range 3 {
		attach(t, s, sandbox("", "c1"), within)
		detach(t, s, sandbox("", "c1"))
		attach(t, s, sandbox("", "c2"), within)
		detach(t, s, sandbox("", "c2"))
	}
}

func TestDetachFindsThePodByContainer(t *testing.T) {
	s := testStore(t, t.TempDir(), "", &clock{})
	within := testRange(t, 1)
	attach(t, s, sandbox("pod-a", "c1"), within)
	detach(t, s, sandbox("", "c1"))
	// pod-a has no sandbox now, so its address can be reclaimed.
	attach(t, s, sandbox("pod-b", "c2"), within)
}

func TestDetachOfTheUnknownIsNoError(t *testing.T) {
	s := testStore(t, t.TempDir(), "", &clock{})
	for _, a := range []Attachment{sandbox("pod-a", "c1"), sandbox("", "c1"), sandbox("../x", "c1"), {}} {
		detach(t, s, a)
		detach(t, s, a)
	}
}

func TestInterfacesHaveAddressesOfTheirOwn(t *testing.T) {
	s := testStore(t, t.TempDir(), "", &clock{})
	within := testRange(t, 10)
	second := sandbox("pod-a", "c1")
	second.Interface = "eth1"
	if a, b := attach(t, s, sandbox("pod-a", "c1"), within), attach(t, s, second, within); a == b {
		t.Errorf("eth0 and eth1 both have %s", a)
	}
}

func TestRelease(t *testing.T) {
	s := testStore(t, t.TempDir(), "", &clock{})
	within := testRange(t, 2)
	attach(t, s, sandbox("pod-a", "c1"), within)
	second := attach(t, s, sandbox("pod-b", "c2"), within)
	detach(t, s, sandbox("pod-a", "c1"))
	release(t, s, "pod-a")
	if got := attach(t, s, sandbox("pod-c", "c3"), within); got != "10.88.0.2" {
		t.Errorf("pod-c has %s, want the released one", got)
	}
	if got := attach(t, s, sandbox("pod-b", "c4"), within); got != second {
		t.Errorf("pod-b has %s, had %s", got, second)
	}
}

func TestExhaustedRangeReclaimsTheOldestIdlePod(t *testing.T) {
	s := testStore(t, t.TempDir(), "", &clock{})
	within := testRange(t, 3)
	for _, pod := range []string{"old", "older", "live"} {
		attach(t, s, sandbox(pod, "c-"+pod), within)
	}
	detach(t, s, sandbox("older", "c-older"))
	detach(t, s, sandbox("old", "c-old"))
	if got := attach(t, s, sandbox("new", "c1"), within); got != "10.88.0.3" {
		t.Errorf("new has %s, want that of older", got)
	}
	if got := attach(t, s, sandbox("old", "c2"), within); got != "10.88.0.2" {
		t.Errorf("old has %s, want its own", got)
	}
	if _, err := s.Attach(sandbox("one-more", "c3"), within); !errors.Is(err, ErrExhausted) {
		t.Errorf("error %v, want ErrExhausted", err)
	}
}

func TestAttachmentsOfAnEarlierBootAreNotLive(t *testing.T) {
	dir, within := t.TempDir(), testRange(t, 1)
	s := testStore(t, dir, "boot-1", &clock{})
	attach(t, s, sandbox("pod-a", "c1"), within)
	s.Close()
	s = testStore(t, dir, "boot-2", &clock{})
	if got := attach(t, s, sandbox("pod-b", "c2"), within); got != "10.88.0.2" {
		t.Errorf("pod-b has %s", got)
	}
}

func TestPodKeepsItsAddressOverABoot(t *testing.T) {
	dir, within := t.TempDir(), testRange(t, 5)
	s := testStore(t, dir, "boot-1", &clock{})
	attach(t, s, sandbox("pod-a", "c1"), within)
	before := attach(t, s, sandbox("pod-b", "c2"), within)
	s.Close()
	s = testStore(t, dir, "boot-2", &clock{})
	if got := attach(t, s, sandbox("pod-b", "c3"), within); got != before {
		t.Errorf("pod-b has %s, had %s", got, before)
	}
}

func TestLostLinkIsMadeAgain(t *testing.T) {
	s := testStore(t, t.TempDir(), "", &clock{})
	within := testRange(t, 5)
	before := attach(t, s, sandbox("pod-a", "c1"), within)
	must.Succeed(t, os.Remove(s.linkPath(address(before))))
	if got := attach(t, s, sandbox("pod-a", "c2"), within); got != before {
		t.Errorf("pod-a has %s, had %s", got, before)
	}
	if got := s.linked(address(before)); got != "pod-a" {
		t.Errorf("the link points at %q", got)
	}
}

func TestAddressOfSomebodyElseIsNotKept(t *testing.T) {
	s := testStore(t, t.TempDir(), "", &clock{})
	within := testRange(t, 5)
	before := attach(t, s, sandbox("pod-a", "c1"), within)
	saved, err := os.ReadFile(s.recordPath("pod-a"))
	must.Succeed(t, err)
	must.Succeed(t, s.remove(&record{Owner: "pod-a", Addresses: []reservation{{address(before), "eth0"}}}))
	must.Succeed(t, s.writeLastAddress(address("10.88.0.6")))
	if got := attach(t, s, sandbox("pod-b", "c2"), within); got != before {
		t.Fatalf("pod-b has %s, want %s for this test", got, before)
	}
	// A backup of the record comes back.
	must.Succeed(t, os.WriteFile(s.recordPath("pod-a"), saved, 0o600))
	if got := attach(t, s, sandbox("pod-a", "c3"), within); got == before {
		t.Errorf("pod-a and pod-b both have %s", got)
	}
}

func TestCollect(t *testing.T) {
	s := testStore(t, t.TempDir(), "", &clock{})
	within := testRange(t, 4)
	attach(t, s, sandbox("kept", "c1"), within)
	attach(t, s, sandbox("dropped", "c2"), within)
	attach(t, s, sandbox("", "c3"), within)
	elsewhere := sandbox("elsewhere", "c4")
	elsewhere.Network = "other"
	attach(t, s, elsewhere, within)
	dropped, err := s.Collect("lifepod", []Attachment{{Container: "c1", Interface: "eth0"}})
	must.Succeed(t, err)
	want := []Attachment{{Network: "lifepod", Container: "c3", Interface: "eth0"}, {Network: "lifepod", Container: "c2", Interface: "eth0"}}
	if diff := cmp.Diff(want, dropped); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
	live := map[string]bool{}
	must.Succeed(t, s.each(func(r *record) error { live[r.Owner] = r.live(s.boot); return nil }))
	if diff := cmp.Diff(map[string]bool{"kept": true, "dropped": false, "elsewhere": true}, live); diff != "" {
		t.Errorf("live owners (-want +got):\n%s", diff)
	}
}

func TestReady(t *testing.T) {
	s := testStore(t, t.TempDir(), "", &clock{})
	within := testRange(t, 2)
	check := func(when string, want error) {
		t.Helper()
		if err := s.Ready(within); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", when, err, want)
		}
	}
	check("empty", nil)
	attach(t, s, sandbox("pod-a", "c1"), within)
	attach(t, s, sandbox("pod-b", "c2"), within)
	check("every pod has a sandbox", ErrExhausted)
	detach(t, s, sandbox("pod-a", "c1"))
	check("pod-a can be reclaimed", nil)
	release(t, s, "pod-a")
	check("pod-a is released", nil)
}

func TestOwnerThatIsNoFileName(t *testing.T) {
	s := testStore(t, t.TempDir(), "", &clock{})
	for _, pod := range []string{"../x", "a/b", ".new", "a b", "container:c1:x"} {
		if _, err := s.Attach(sandbox(pod, "c1"), testRange(t, 5)); err == nil {
			t.Errorf("pod UID %q was taken", pod)
		}
	}
}

func TestOpenUnusableFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	must.Succeed(t, os.WriteFile(path, nil, 0o600))
	if _, err := Open(path); err == nil {
		t.Error("a file was opened as a store")
	}
}

// BenchmarkSandbox is what a pod's sandbox costs in the store: ADD, DEL and
// release, each with its own lock, beside other pods that hold addresses.
func BenchmarkSandbox(b *testing.B) {
	within, err := newRange(netip.MustParsePrefix("10.88.0.0/16"), netip.Addr{}, netip.Addr{}, netip.Addr{})
	must.Succeed(b, err)
	for _, others := range []int{0, 200, 20000} {
		b.Run(fmt.Sprint(others, " other pods"), func(b *testing.B) {
			dir := b.TempDir()
			s := testStore(b, dir, "", &clock{})
			for i := range others {
				attach(b, s, sandbox(fmt.Sprint("other-", i), "c"), within)
			}
			s.Close()
			for b.Loop() {
				once(b, dir, func(s *Store) error { _, err := s.Attach(sandbox("pod", "c"), within); return err })
				once(b, dir, func(s *Store) error { return s.Detach(sandbox("pod", "c")) })
				once(b, dir, func(s *Store) error { return os.Remove(s.recordPath("pod")) })
			}
		})
	}
}

func once(b *testing.B, dir string, do func(*Store) error) {
	s, err := Open(dir)
	must.Succeed(b, err)
	defer s.Close()
	must.Succeed(b, do(s))
}

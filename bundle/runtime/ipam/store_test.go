package ipam

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

func TestAddressSurvivesASandbox(t *testing.T) {
	s, within := storeOf(t, 10)
	first := attach(t, s, sandbox("pod-a", "c1"), within)
	detach(t, s, sandbox("pod-a", "c1"))
	other := attach(t, s, sandbox("pod-b", "c2"), within)
	again := attach(t, s, sandbox("pod-a", "c3"), within)
	assert.True(t, again == first && other != first, "pod-a had %s and has %s, pod-b has %s", first, again, other)
}

func TestFreedAddressRests(t *testing.T) {
	s, within := storeOf(t, 3)
	var got []string
	for _, pod := range []string{"a", "b", "c", "d"} {
		got = append(got, attach(t, s, sandbox(pod, "c-"+pod), within))
		detach(t, s, sandbox(pod, "c-"+pod))
		release(t, s, pod)
	}
	assert.Deep(t, "addresses in turn", []string{"10.88.0.2", "10.88.0.3", "10.88.0.4", "10.88.0.2"}, got)
}

func TestContainerWithoutPodReleasesAtDetach(t *testing.T) {
	s, within := storeOf(t, 1)
	for range 3 {
		attach(t, s, sandbox("", "c1"), within)
		detach(t, s, sandbox("", "c1"))
		attach(t, s, sandbox("", "c2"), within)
		detach(t, s, sandbox("", "c2"))
	}
}

func TestDetachFindsThePodByContainer(t *testing.T) {
	s, within := storeOf(t, 1)
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
	s, within := storeOf(t, 10)
	second := sandbox("pod-a", "c1")
	second.Interface = "eth1"
	if a, b := attach(t, s, sandbox("pod-a", "c1"), within), attach(t, s, second, within); a == b {
		t.Errorf("eth0 and eth1 both have %s", a)
	}
}

func TestRelease(t *testing.T) {
	s, within := storeOf(t, 2)
	attach(t, s, sandbox("pod-a", "c1"), within)
	second := attach(t, s, sandbox("pod-b", "c2"), within)
	detach(t, s, sandbox("pod-a", "c1"))
	release(t, s, "pod-a")
	assert.Equal(t, "10.88.0.2", attach(t, s, sandbox("pod-c", "c3"), within), "pod-c has")
	assert.Equal(t, second, attach(t, s, sandbox("pod-b", "c4"), within), "pod-b has")
}

func TestExhaustedRangeReclaimsTheOldestIdlePod(t *testing.T) {
	s, within := storeOf(t, 3)
	for _, pod := range []string{"old", "older", "live"} {
		attach(t, s, sandbox(pod, "c-"+pod), within)
	}
	detach(t, s, sandbox("older", "c-older"))
	detach(t, s, sandbox("old", "c-old"))
	assert.Equal(t, "10.88.0.3", attach(t, s, sandbox("new", "c1"), within), "new has")
	assert.Equal(t, "10.88.0.2", attach(t, s, sandbox("old", "c2"), within), "old has")
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
	assert.Equal(t, "10.88.0.2", attach(t, s, sandbox("pod-b", "c2"), within), "pod-b has")
}

func TestPodKeepsItsAddressOverABoot(t *testing.T) {
	dir, within := t.TempDir(), testRange(t, 5)
	s := testStore(t, dir, "boot-1", &clock{})
	attach(t, s, sandbox("pod-a", "c1"), within)
	before := attach(t, s, sandbox("pod-b", "c2"), within)
	s.Close()
	s = testStore(t, dir, "boot-2", &clock{})
	assert.Equal(t, before, attach(t, s, sandbox("pod-b", "c3"), within), "pod-b has")
}

func TestLostLinkIsMadeAgain(t *testing.T) {
	s, within := storeOf(t, 5)
	before := attach(t, s, sandbox("pod-a", "c1"), within)
	assert.Must(t, os.Remove(s.linkPath(address(before))))
	assert.Equal(t, before, attach(t, s, sandbox("pod-a", "c2"), within), "pod-a has")
	assert.Equal(t, "pod-a", s.linked(address(before)), "the link points at")
}

func TestAddressOfSomebodyElseIsNotKept(t *testing.T) {
	s, within := storeOf(t, 5)
	before := attach(t, s, sandbox("pod-a", "c1"), within)
	saved := assert.Get(os.ReadFile(s.recordPath("pod-a"))).Must(t)
	assert.Must(t, s.remove(&record{Owner: "pod-a", Addresses: []reservation{{address(before), "eth0"}}}))
	assert.Must(t, s.writeLastAddress(address("10.88.0.6")))
	if got := attach(t, s, sandbox("pod-b", "c2"), within); got != before {
		t.Fatalf("pod-b has %s, want %s for this test", got, before)
	}
	// A backup of the record comes back.
	assert.Must(t, os.WriteFile(s.recordPath("pod-a"), saved, 0o600))
	if got := attach(t, s, sandbox("pod-a", "c3"), within); got == before {
		t.Errorf("pod-a and pod-b both have %s", got)
	}
}

func TestCollect(t *testing.T) {
	s, within := storeOf(t, 4)
	attach(t, s, sandbox("kept", "c1"), within)
	attach(t, s, sandbox("dropped", "c2"), within)
	attach(t, s, sandbox("", "c3"), within)
	elsewhere := sandbox("elsewhere", "c4")
	elsewhere.Network = "other"
	attach(t, s, elsewhere, within)
	dropped := assert.Get(s.Collect("lifepod", []Attachment{{Container: "c1", Interface: "eth0"}})).Must(t)
	want := []Attachment{{Network: "lifepod", Container: "c3", Interface: "eth0"}, {Network: "lifepod", Container: "c2", Interface: "eth0"}}
	assert.Deep(t, "dropped", want, dropped)
	live := map[string]bool{}
	assert.Must(t, s.each(func(r *record) error { live[r.Owner] = r.live(s.boot); return nil }))
	assert.Deep(t, "live owners", map[string]bool{"kept": true, "dropped": false, "elsewhere": true}, live)
}

func TestReady(t *testing.T) {
	s, within := storeOf(t, 2)
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
	assert.Must(t, os.WriteFile(path, nil, 0o600))
	assert.Fails(t, assert.ErrorOf(Open(path)), "a file was opened as a store")
}

package ipam

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

func exampleRecord() *record {
	return &record{
		Owner:       "holder",
		Addresses:   []reservation{{address("10.88.0.2"), "eth0"}, {address("10.88.0.3"), "eth1"}},
		Attachments: []attachment{{Network: "lifepod", Container: "c1", Interface: "eth0", Boot: "boot"}},
		Changed:     time.Unix(1700000000, 5).UTC(),
	}
}

func TestRecordRoundTrip(t *testing.T) {
	data := assert.Get(exampleRecord().encode()).Must(t)
	got := assert.Get(decodeRecord("holder", data)).Must(t)
	assert.Deep(t, "", exampleRecord(), got, cmpopts.EquateComparable(address("")))
}

func TestDamagedRecords(t *testing.T) {
	data := assert.Get(exampleRecord().encode()).Must(t)
	other := exampleRecord()
	other.Addresses[0].Interface = ""
	incomplete := assert.Get(other.encode()).Must(t)
	for _, tt := range []struct{ name, owner, data, want string }{
		{"empty", "holder", "", "no checksum"},
		{"cut", "holder", string(data[:len(data)-3]), "checksum differs"},
		{"another address", "holder", strings.Replace(string(data), "10.88.0.2", "10.88.0.4", 1), "checksum differs"},
		{"more behind it", "holder", string(data) + "x", "checksum differs"},
		{"somebody else's", "thief", string(data), `belongs to "holder"`},
		{"no interface", "holder", string(incomplete), "on interface"},
	} {
		if _, err := decodeRecord(tt.owner, []byte(tt.data)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q in it", tt.name, err, tt.want)
		}
	}
}

func TestDamagedRecordHoldsItsAddressUntilItIsAddedAgain(t *testing.T) {
	s, within := storeOf(t, 2)
	before := attach(t, s, sandbox("pod-a", "c1"), within)
	assert.Must(t, os.WriteFile(s.recordPath("pod-a"), []byte("garbage"), 0o600))
	detach(t, s, sandbox("pod-a", "c1"))
	attach(t, s, sandbox("pod-b", "c2"), within)
	if _, err := s.Attach(sandbox("pod-c", "c3"), within); !errors.Is(err, ErrExhausted) {
		t.Errorf("error %v, want ErrExhausted", err)
	}
	assert.Equal(t, before, attach(t, s, sandbox("pod-a", "c4"), within), "pod-a has")
	assert.NoError(t, assert.ErrorOf(s.read("pod-a")), "the record is not repaired")
}

func TestDamagedRecordCanBeReleased(t *testing.T) {
	s, within := storeOf(t, 1)
	attach(t, s, sandbox("pod-a", "c1"), within)
	assert.Must(t, os.WriteFile(s.recordPath("pod-a"), nil, 0o600))
	release(t, s, "pod-a")
	attach(t, s, sandbox("pod-b", "c2"), within)
}

func FuzzRecord(f *testing.F) {
	data, err := exampleRecord().encode()
	assert.Must(f, err)
	f.Add(data)
	f.Add([]byte("{}\n"))
	f.Add([]byte("\n00000000\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeRecord("holder", data)
		if err != nil {
			return
		}
		again, err := r.encode()
		assert.Require(t, err == nil, "encode what was decoded: %v", err)
		if _, err := decodeRecord("holder", again); err != nil {
			t.Fatalf("decode what was encoded: %v", err)
		}
	})
}

// FuzzDamagedStore puts any bytes into the files of a store with one live pod,
// and then never sees the pod's address given to another.
func FuzzDamagedStore(f *testing.F) {
	data, err := exampleRecord().encode()
	assert.Must(f, err)
	f.Add(data, []byte("10.88.0.2\n"))
	f.Add([]byte("{}"), []byte("fd00::2"))
	f.Add([]byte{}, []byte{0xff})
	f.Fuzz(func(t *testing.T, content, last []byte) {
		s := testStore(t, memoryDir(t), "", &clock{})
		within := testRange(t, 4)
		held := attach(t, s, sandbox("holder", "c1"), within)
		assert.Must(t, errors.Join(os.WriteFile(s.recordPath("holder"), content, 0o600),
			os.WriteFile(s.lastPath(), last, 0o600)))
		r, err := decodeRecord("holder", content)
		gaveUp := err == nil && !r.holds(address(held))
		seen := map[string]string{}
		for _, pod := range []string{"a", "b", "c"} {
			got := attach(t, s, sandbox(pod, "c-"+pod), within)
			if got == held && !gaveUp || seen[got] != "" {
				t.Fatalf("%s has %s, which %q has", pod, got, seen[got]+"holder")
			}
			seen[got] = pod
		}
		if got := attach(t, s, sandbox("holder", "c2"), within); seen[got] != "" || got != held && !gaveUp {
			t.Fatalf("holder has %s, had %s; others have %v", got, held, seen)
		}
	})
}

package ipam

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// record is what the store knows about one owner: the file DIR/pods/OWNER. Its
// first line is JSON, its second the CRC-32C of the first.
type record struct {
	// Owner is the pod UID, or "container:ID"; it repeats the file's name.
	Owner string `json:"owner"`
	// Addresses holds at most one address per interface.
	Addresses []reservation `json:"addresses"`
	// Attachments are the sandboxes that were added and not yet deleted.
	Attachments []attachment `json:"attachments,omitempty"`
	// Changed is when a sandbox was last attached or detached.
	Changed time.Time `json:"changed"`
}

// reservation is one address on one interface of the owner.
type reservation struct {
	Address   netip.Addr `json:"address"`
	Interface string     `json:"interface"`
}

// attachment is one interface of one sandbox, live since Boot.
type attachment struct {
	Network   string `json:"network"`
	Container string `json:"container"`
	Interface string `json:"interface"`
	Boot      string `json:"boot"`
}

// containerOwner precedes the container ID in the owner's name of a sandbox
// that has no pod UID. A colon occurs in neither.
const containerOwner = "container:"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// longestName is how long a UID or an ID can be.
const longestName = 201

// isOwnerName says whether an owner's name can be that of a file: it is a Kubernetes UID,
// or a container ID. It is no regular expression, because compiling one would take half as
// long as the whole call.
func isOwnerName(name string) bool {
	name = strings.TrimPrefix(name, containerOwner)
	if name == "" || len(name) > longestName || strings.ContainsRune("_.-", rune(name[0])) {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		return !letter && !(r >= '0' && r <= '9') && !strings.ContainsRune("_.-", r)
	})
}

func (r *record) encode() ([]byte, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode the record of %q: %w", r.Owner, err)
	}
	return fmt.Appendf(line, "\n%08x\n", crc32.Checksum(line, castagnoli)), nil
}

// decodeRecord reads the file of owner. It accepts exactly what encode writes;
// everything else is an error, because a wrong guess hands an address out twice.
func decodeRecord(owner string, data []byte) (*record, error) {
	line, sum, found := bytes.Cut(data, []byte("\n"))
	if !found {
		return nil, errors.New("no checksum line")
	}
	if want := fmt.Sprintf("%08x\n", crc32.Checksum(line, castagnoli)); string(sum) != want {
		return nil, errors.New("checksum differs")
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	r := &record{}
	if err := decoder.Decode(r); err != nil {
		return nil, err
	}
	return r, r.validate(owner)
}

func (r *record) validate(owner string) error {
	if r.Owner != owner {
		return fmt.Errorf("it belongs to %q", r.Owner)
	}
	for _, held := range r.Addresses {
		if !held.Address.IsValid() || held.Interface == "" {
			return fmt.Errorf("address %q on interface %q", held.Address, held.Interface)
		}
	}
	return nil
}

func (r *record) holds(address netip.Addr) bool {
	return slices.ContainsFunc(r.Addresses, func(held reservation) bool { return held.Address == address })
}

// address is what the owner holds on an interface within a range.
func (r *record) address(iface string, within Range) (netip.Addr, bool) {
	for _, held := range r.Addresses {
		if held.Interface == iface && within.Contains(held.Address) {
			return held.Address, true
		}
	}
	return netip.Addr{}, false
}

// reserve notes address as the one on the interface.
func (r *record) reserve(address netip.Addr, iface string) {
	r.Addresses = slices.DeleteFunc(r.Addresses, func(held reservation) bool { return held.Interface == iface })
	r.Addresses = append(r.Addresses, reservation{Address: address, Interface: iface})
}

// attach notes a sandbox; attachments of an earlier boot are forgotten.
func (r *record) attach(a attachment) {
	r.Attachments = slices.DeleteFunc(r.Attachments, func(old attachment) bool {
		return old.Boot != a.Boot || old == a
	})
	r.Attachments = append(r.Attachments, a)
}

// detach forgets a sandbox and reports whether it was known.
func (r *record) detach(a Attachment) bool {
	before := len(r.Attachments)
	r.Attachments = slices.DeleteFunc(r.Attachments, func(old attachment) bool {
		return old.Network == a.Network && old.Container == a.Container && old.Interface == a.Interface
	})
	return len(r.Attachments) != before
}

// live says that a sandbox of this boot uses the addresses.
func (r *record) live(boot string) bool {
	return slices.ContainsFunc(r.Attachments, func(a attachment) bool { return a.Boot == boot })
}

// endsWithSandbox says that nothing is left to hold the addresses for once no
// sandbox uses them.
func (r *record) endsWithSandbox() bool { return strings.HasPrefix(r.Owner, containerOwner) }

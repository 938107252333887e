package devices

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/lifepod/lifepod/internal/wholefile"
)

// store has the claims that are prepared, or that a driver may have prepared, and keeps
// them in a file.
type store struct {
	path string

	mu     sync.Mutex
	claims map[types.NamespacedName]*entry
}

type entry struct {
	Claim
	ready bool // prepared since the agent has begun: after a reboot nothing is
}

func openStore(path string) (*store, error) {
	claims, err := readFile(path)
	if err != nil {
		return nil, err
	}
	s := &store{path: path, claims: map[types.NamespacedName]*entry{}}
	for _, claim := range claims {
		if claim.PodUIDs == nil {
			claim.PodUIDs = sets.New[string]()
		}
		s.claims[claim.key()] = &entry{Claim: claim}
	}
	return s, nil
}

// refer notes that a pod uses claims, before any driver is asked: whatever happens then,
// the pod's end asks them (A-DRA-5). It gives back the claims that are not prepared yet.
func (s *store) refer(pod types.UID, wanted []Claim) (missing []Claim, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, claim := range wanted {
		if known := s.claims[claim.key()]; known != nil && known.ClaimUID != claim.ClaimUID {
			return nil, fmt.Errorf("old ResourceClaim with same name %s and different UID %s still exists (previous pod force-deleted?!)", claim.ClaimName, known.ClaimUID)
		}
	}
	changed := false
	for _, claim := range wanted {
		known := s.claims[claim.key()]
		if known == nil {
			known = &entry{Claim: claim.clone()}
			s.claims[claim.key()] = known
		}
		if !known.PodUIDs.Has(string(pod)) {
			known.PodUIDs.Insert(string(pod))
			changed = true
		}
		if !known.ready {
			missing = append(missing, known.clone())
		}
	}
	if !changed {
		return missing, nil
	}
	if err := s.save(); err != nil {
		return nil, fmt.Errorf("checkpoint ResourceClaim cache: %w", err)
	}
	return missing, nil
}

// prepared files the devices that a driver has prepared, by the claims' UIDs.
func (s *store) prepared(driver string, claims []Claim, devices map[types.UID][]ClaimedDevice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, claim := range claims {
		s.claims[claim.key()].DriverState[driver] = DriverState{Devices: devices[claim.ClaimUID]}
	}
}

// allPrepared files that all drivers of the claims have prepared their part.
func (s *store) allPrepared(claims []Claim) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(claims) == 0 {
		return nil
	}
	if err := s.save(); err != nil {
		return fmt.Errorf("checkpoint ResourceClaim state: %w", err)
	}
	for _, claim := range claims {
		s.claims[claim.key()].ready = true
	}
	return nil
}

// usedBy are the claims that a pod uses.
func (s *store) usedBy(pod types.UID) []Claim {
	return s.list(func(e *entry) bool { return e.PodUIDs.Has(string(pod)) })
}

// usedOnlyBy are the claims that a pod uses and no other. They are not ready any more from
// now on: a pod that comes after has them prepared again.
func (s *store) usedOnlyBy(pod types.UID) []Claim {
	return s.list(func(e *entry) bool {
		alone := e.PodUIDs.Has(string(pod)) && e.PodUIDs.Len() == 1
		e.ready = e.ready && !alone
		return alone
	})
}

func (s *store) list(which func(*entry) bool) (found []Claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range s.keys() {
		if e := s.claims[key]; which(e) {
			found = append(found, e.clone())
		}
	}
	return found
}

// leave removes a pod from the claims that it has used, and those that nobody uses then.
func (s *store) leave(pod types.UID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := map[types.NamespacedName]*entry{}
	for key, e := range s.claims {
		if !e.PodUIDs.Has(string(pod)) {
			continue
		}
		before[key] = e
		left := &entry{Claim: e.clone(), ready: e.ready}
		if left.PodUIDs.Delete(string(pod)); left.PodUIDs.Len() == 0 {
			delete(s.claims, key)
			continue
		}
		s.claims[key] = left
	}
	if err := s.save(); err != nil {
		maps.Copy(s.claims, before) // asked again, it does so again
		return fmt.Errorf("checkpoint ResourceClaim state: %w", err)
	}
	return nil
}

func (s *store) get(claim types.NamespacedName) (Claim, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, found := s.claims[claim]
	if !found {
		return Claim{}, false
	}
	return e.clone(), true
}

// users are the pods that use any claim.
func (s *store) users() (pods []types.UID) {
	all := sets.New[string]()
	for _, claim := range s.list(func(*entry) bool { return true }) {
		all = all.Union(claim.PodUIDs)
	}
	for _, uid := range sets.List(all) {
		pods = append(pods, types.UID(uid))
	}
	return pods
}

// usersOf are the pods that use any of a driver's devices.
func (s *store) usersOf(driver string, devices []DeviceHealth) (pods []types.UID) {
	for _, claim := range s.list(func(*entry) bool { return true }) {
		uses := slices.ContainsFunc(claim.DriverState[driver].Devices, func(used ClaimedDevice) bool {
			return slices.ContainsFunc(devices, func(d DeviceHealth) bool { return d.PoolName == used.PoolName && d.DeviceName == used.DeviceName })
		})
		for _, uid := range sets.List(claim.PodUIDs) {
			if uses && !slices.Contains(pods, types.UID(uid)) {
				pods = append(pods, types.UID(uid))
			}
		}
	}
	return pods
}

// save writes the file; mu is held.
func (s *store) save() error {
	claims := make([]Claim, 0, len(s.claims))
	for _, key := range s.keys() {
		claims = append(claims, s.claims[key].Claim)
	}
	return writeFile(s.path, claims)
}

// keys are those of the claims in their order; mu is held.
func (s *store) keys() []types.NamespacedName {
	return slices.SortedFunc(maps.Keys(s.claims), func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// claimsCheckpoint is the kubelet's file (A-DRA-5): what it has to say, as text, and its checksum.
type claimsCheckpoint struct {
	Data     string
	Checksum uint32
}

type claimsContent struct {
	metav1.TypeMeta
	ClaimInfoStateList []Claim
}

var typeMeta = metav1.TypeMeta{Kind: "DRACheckpoint", APIVersion: "checkpoint.dra.kubelet.k8s.io/v1"}

// readFile gives back no claims if there is no file.
func readFile(path string) ([]Claim, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var file claimsCheckpoint
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if sum := crc32.ChecksumIEEE([]byte(file.Data)); err == nil && sum != file.Checksum {
		err = fmt.Errorf("its checksum is %d, that of its content %d", file.Checksum, sum)
	}
	var data claimsContent
	if err == nil {
		err = json.Unmarshal([]byte(file.Data), &data)
	}
	if err == nil && data.APIVersion != typeMeta.APIVersion {
		err = fmt.Errorf("its apiVersion is %q; want %q", data.APIVersion, typeMeta.APIVersion)
	}
	if err != nil {
		return nil, fmt.Errorf("state of resource claims %s can't be used, drain the node and remove the file: %w", path, err)
	}
	return data.ClaimInfoStateList, nil
}

func writeFile(path string, claims []Claim) error {
	data, err := json.Marshal(claimsContent{TypeMeta: typeMeta, ClaimInfoStateList: claims})
	if err != nil {
		return err
	}
	return wholefile.WriteJSON(path, claimsCheckpoint{Data: string(data), Checksum: crc32.ChecksumIEEE(data)})
}

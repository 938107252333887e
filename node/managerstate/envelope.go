package managerstate

import (
	"encoding/json"
	"fmt"
	"hash/fnv"

	"k8s.io/utils/dump"
)

// envelope is what a file has since Kubernetes 1.37: the state as a text of its own, with its checksum. Beside it the file says the
// same as before, for a kubelet of before (A-NUMA-14).
type envelope struct {
	Data         string   `json:"data"`
	DataChecksum Checksum `json:"dataChecksum"`
}

func seal(state any) (envelope, error) {
	text, err := json.Marshal(state)
	return envelope{Data: string(text), DataChecksum: checksumOfText(string(text))}, err
}

// open reads the state; found is false in a file of before.
func (e envelope) open(into any) (found bool, err error) {
	if e == (envelope{}) {
		return false, nil
	}
	if err := json.Unmarshal([]byte(e.Data), into); err != nil {
		return true, fmt.Errorf("data: %w", err)
	}
	if e.DataChecksum != checksumOfText(e.Data) {
		return true, errCorrupt
	}
	return true, nil
}

func checksumOfText(text string) Checksum {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(dump.ForHash(text))) // never fails
	return Checksum(hash.Sum32())
}

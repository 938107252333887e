package managerstate

import (
	"hash/fnv"
	"strings"

	"k8s.io/utils/dump"
)

// Checksum protects a state against changes by hand.
type Checksum uint64

// kubeletsTypes replaces the names of this program's types by the kubelet's, of which its
// checksums are made.
var kubeletsTypes = strings.NewReplacer(
	"(managerstate.Checksum)", "(checksum.Checksum)",
	"(*managerstate.", "(*state.",
	"(numa.", "(state.",
	"*numa.", "*state.",
	"]numa.", "]state.",
)

// checksumOf is the kubelet's checksum of a state whose checksum is zero.
func checksumOf(state any) Checksum {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(kubeletsTypes.Replace(dump.ForHash(state)))) // never fails
	return Checksum(hash.Sum32())
}

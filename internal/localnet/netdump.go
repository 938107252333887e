package localnet

import (
	"errors"

	"github.com/vishvananda/netlink"
)

// attempts is how often a list is asked for. Two lists of three are interrupted where two
// programs do nothing but add and remove interfaces, and next to none where only pods come
// and go.
const attempts = 100

// WholeDump is the answer of list, a function of package netlink that lists something. The
// kernel gives a long list in parts, and the list may lack something if another program
// adds or removes an interface meanwhile; netlink tells that as
// [netlink.ErrDumpInterrupted]. Such a list is asked for again, at most 100 times in all;
// then the error is returned and no list, since a list in which something is missing
// would have a bridge with pods removed, or a subnet chosen that is in use.
func WholeDump[T any](list func() ([]T, error)) ([]T, error) {
	var err error
	for range attempts {
		var all []T
		if all, err = list(); err == nil {
			return all, nil
		}
		if !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	return nil, err
}

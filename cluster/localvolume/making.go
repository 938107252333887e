package localvolume

import (
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// making is the names of volumes that are being made, or deleted as orphans.
type making struct {
	mu    sync.Mutex
	names map[string]bool
}

// begin has a name until end is called. The error has the code Aborted if somebody else has it.
func (m *making) begin(name string) (end func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.names[name] {
		return nil, status.Errorf(codes.Aborted, "volume %q is being made or deleted", name)
	}
	if m.names == nil {
		m.names = map[string]bool{}
	}
	m.names[name] = true
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.names, name)
	}, nil
}

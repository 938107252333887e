package machine

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// given keeps the ports that this process has been given, which nobody may listen on yet: each is a name in the kernel
// that goes with the process.
var given sync.Map

// FreePort is a port that nobody listens on, and that no other test has been given, of this
// process or of another one: packages are tested at the same time. It is below those that the kernel
// hands out, so that nobody gets it while its owner is stopped for a while, and far from the
// next: lifepod up has a port behind its API server's for DNS.
func FreePort() (int, error) {
	const first, last, distance, attempts = 10000, 30000, 16, 100
	for range attempts {
		port := first + distance*rand.IntN((last-first)/distance)
		name, err := net.Listen("unix", "@lifepod-test-port-"+strconv.Itoa(port))
		if err != nil {
			continue
		}
		given.Store(port, name)
		listener, err := net.Listen("tcp", ":"+strconv.Itoa(port))
		if err == nil {
			return port, listener.Close()
		}
	}
	return 0, fmt.Errorf("find a free port from %d to %d: %d attempts, all in use", first, last, attempts)
}

package machine

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// given are the ports that this process has been given, which nobody may listen on yet.
var given sync.Map

// FreePort is a port that nobody listens on, and that no other test of this process has
// been given. It is below those that the kernel hands out, so that nobody gets it while its
// owner is stopped for a while, and far from the next: lifepod up has a port behind its API
// server's for DNS.
func FreePort() (int, error) {
	const first, last, distance, attempts = 10000, 30000, 16, 100
	for range attempts {
		port := first + distance*rand.IntN((last-first)/distance)
		if _, taken := given.LoadOrStore(port, true); taken {
			continue
		}
		listener, err := net.Listen("tcp", ":"+strconv.Itoa(port))
		if err == nil {
			return port, listener.Close()
		}
	}
	return 0, fmt.Errorf("find a free port from %d to %d: %d attempts, all in use", first, last, attempts)
}

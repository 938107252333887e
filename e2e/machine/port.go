package machine

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// FreePort is a port that nobody listens on. It is below those that the kernel
// hands out, so that nobody gets it while its owner is stopped for a while.
func FreePort() (int, error) {
	const first, last, attempts = 10000, 30000, 100
	for range attempts {
		port := first + rand.IntN(last-first)
		listener, err := net.Listen("tcp", ":"+strconv.Itoa(port))
		if err == nil {
			return port, listener.Close()
		}
	}
	return 0, fmt.Errorf("find a free port from %d to %d: %d attempts, all in use", first, last, attempts)
}

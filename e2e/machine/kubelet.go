package machine

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// deviceSocket is where every kubelet listens for device plugins, whatever its folder is.
const deviceSocket = "/var/lib/kubelet/device-plugins/kubelet.sock"

// RemoveDeviceSocket removes the socket for device plugins that a kubelet has left, and the
// folders that are empty then. Call it when the kubelet has ended.
func RemoveDeviceSocket() {
	connection, err := net.Dial("unix", deviceSocket)
	if err == nil {
		_ = connection.Close() // another kubelet of the machine, or of a test beside
		return
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		_ = os.Remove(deviceSocket)
	}
	for dir := filepath.Dir(deviceSocket); dir != "/var/lib" && os.Remove(dir) == nil; {
		dir = filepath.Dir(dir)
	}
}

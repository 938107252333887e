// Package wire is what a test machine and the tests that drive it say to each other
// over a virtio port: one JSON object a line.
package wire

// Port is the name of the virtio port, whose device is /dev/virtio-ports/NAME.
const Port = "lifepod.test"

// Request asks the machine to run a script with bash.
type Request struct {
	ID      int    `json:"id"`
	Script  string `json:"script"`
	Seconds int    `json:"seconds"` // how long it may take; then it is killed
}

// Report is what the machine says: that it has booted, a piece of a script's output, or
// that the script has ended.
type Report struct {
	Boot   string `json:"boot,omitempty"` // the boot ID
	ID     int    `json:"id,omitempty"`   // of the request
	Output string `json:"output,omitempty"`
	Exit   *int   `json:"exit,omitempty"` // -1 if a signal has ended it
	Error  string `json:"error,omitempty"`
}

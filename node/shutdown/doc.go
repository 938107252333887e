// Package shutdown holds up a shutdown of the machine until its pods have ended.
//
// systemd-logind announces a shutdown and waits for those that hold an inhibitor lock of
// the kind delay, but no longer than its InhibitDelayMaxSec. A Watcher holds such a lock,
// raises that time if it is too short, and says when a shutdown begins or is cancelled.
// Package roster decides which pod ends when, and when the lock is released (B-SHD-1 to
// B-SHD-4).
package shutdown

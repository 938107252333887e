// Package testmachine boots a real machine for tests: Debian 12, or another release, with its own kernel,
// systemd, cgroup v2 and AppArmor, and lifepod installed from its Debian package, in QEMU.
//
// The root file system is made by mmdebstrap once and kept in .cache/testmachine, under
// a name that is derived from all that goes into it; the disk is made of it at each start.
// The machine has a network that leads nowhere. Scripts reach it over a virtio port,
// because a serial console loses lines whenever something resets it; what the console
// shows is kept for when the machine does not boot.
//
// Where hardware acceleration is there and a guest boots with it, it is used; otherwise
// everything is emulated, which takes ten to thirty times as long. Slack is the one
// factor for that: whoever waits for something in the machine multiplies by it.
package testmachine

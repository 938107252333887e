// Package e2e tests lifepod from outside: the built binary, its flags, exit
// codes and output, on real containers of the bundled runtime. It needs root.
//
// The tests share a state folder and run several at a time, as users may; those
// that kill something have one of their own. Nothing may be left when the last
// has ended: no process, mount, bridge, cgroup, address or packet filter rule.
//
//	LIFEPOD=bin/lifepod go test ./e2e/       test a binary that is there
//	go test ./e2e/                           build one first
package e2e

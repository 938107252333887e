// Package host is this machine as pods find it: its container runtime, bundled or
// another's, its addresses and resources, where pods have their folders and logs.
// The commands that run pods, lifepod run and lifepod agent, begin here.
package host

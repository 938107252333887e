// Package toolbox is the program of the image lifepod.dev/toolbox:1: what
// examples and tests of a pod runtime need inside a container, in one static
// program with many names (/bin/sh, /bin/sleep, …).
//
// It is not a replacement of coreutils: an option that an applet doesn't have
// is refused with exit code 2. `toolbox --list` prints the names. Applets that
// need net/http or gRPC are a second program, toolbox-net, so that the many
// shells and sleeps of a machine stay small.
//
// # Signals
//
// As process 1 of a container a program without handlers doesn't end on
// SIGTERM. Every applet here does, at once, with 128 plus the signal's number
// (SIGTERM 143, SIGINT 130), also on the others that end a process by default,
// so that a container's stopSignal works. Applets that run for a while take
// --on-term CODE and --ignore-term to end differently. As process 1 an applet
// also reaps what was orphaned.
package toolbox

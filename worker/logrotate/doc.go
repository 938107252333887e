// Package logrotate keeps the logs of running containers small: a log that
// exceeds its size is renamed, the runtime opens it anew, older files are
// compressed and the oldest removed (A-CRI-1, B-LOG-1).
//
// Nothing is polled while nobody writes: a quiet log is watched by the kernel
// for its next write. A growing one is looked at as often as its growth asks
// for, so that a fast writer exceeds its size by a fraction of a second's
// writes, where the kubelet's check every 10 s lets it write for so long.
package logrotate

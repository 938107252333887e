// Package logrotate keeps the logs of running containers small: a log that
// exceeds its size is renamed, the runtime opens it anew, older files are
// compressed and the oldest removed (A-CRI-1, B-LOG-1).
//
// A quiet log is watched by the kernel for its next write, and looked at every
// 10 s by one call, stat: its folder is read when it is rotated only. A growing
// one is looked at as often as its growth asks for, so that a fast writer exceeds its size by a fraction of a second's
// writes, where the kubelet's check every 10 s lets it write for so long.
package logrotate

// Package podlog reads and rotates the logs of containers, as CRI defines them (contract A-CRI-1, B-LOG-1).
//
// log.go reads them: a line per record, "time stream tags text".
//
// rotate.go keeps the logs of running containers small: a log that
// exceeds its size is renamed, the runtime opens it anew, older files are
// compressed and the oldest removed (A-CRI-1, B-LOG-1).
//
// A quiet log is watched by the kernel for its next write, and looked at every
// 10 s by one call, stat: its folder is read when it is rotated only. A growing
// one is looked at as often as its growth asks for, so that a fast writer exceeds its size by a fraction of a second's
// writes, where the kubelet's check every 10 s lets it write for so long.
//
// podlog.go turns the records of a container's log back into lines, as an
// API server's log endpoint gives them out.
package podlog

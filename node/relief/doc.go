// Package relief measures what a node may run short of (memory, disks, process IDs), and
// gives back what pods don't need when the roster wants it. What is to be done about a
// shortage the roster decides (packages roster and roster/pressure).
//
// Memory is measured when the kernel says that it gets short: at the crossing of a
// threshold (cgroup v1), when tasks wait for it (PSI), when a limit is hit (v2). Because no
// kernel tells of all that, and none of disks and process IDs, all are measured
// again after a pause that is the shorter the nearer the next threshold is.
package relief

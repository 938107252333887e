// Command groups measures how fast a JobSet restarts as one on simulated nodes: a worker exits, and all
// members run again. The API server, its etcd, the controllers and the JobSet controller are the real ones,
// as processes on this machine; only containers are pretended, one pod on each node. In the same run a floor is
// measured: the bare writes that this takes at least, two statuses of each of as many pods, by one client, all at once.
//
//	make bench-groups BENCHGROUPS='-pods 1000 -rounds 10'
package main

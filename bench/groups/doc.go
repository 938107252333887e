// Command groups measures how fast a group restarts as one on simulated nodes: a worker exits, and all members run again. It does so
// with a Job whose nodes tell each other, and with a JobSet, whose controller leads. The API server, its etcd, the controllers and the
// JobSet controller are the real ones, as processes on this machine; only containers are pretended, one pod on each node. In the same run
// a floor is measured: the bare writes that this takes at least, two statuses of each of as many pods, by one client, all at once.
//
//	make bench-groups-sim BENCHGROUPSSIM='-pods 1000 -rounds 5'
package main

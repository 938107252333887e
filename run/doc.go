// Package run is `lifepod run`: one Pod on this machine, from its manifest to
// its end. It opens the runtime, gives the pod to a worker.Worker, shows what
// happens, and leaves nothing behind.
//
//	Run (run.go)            the command's whole way, in order
//	openRuntime (open.go)   the bundled runtime or another CRI endpoint
//	newNode (node.go)       what the agent has to know of this machine
//	records (record.go)     which pods are whose, so that those of a killed
//	                        lifepod are swept up by the next start (sweep.go)
//	printer (print.go)      the lifecycle, as text or JSON
//	stream (stream.go)      stdout or stderr: a queue, so that no reader holds
//	                        up the pod; layout.go keeps several sources apart
//	follower (follow.go)    the containers' output, a logReader per instance
//	reloader (reload.go)    changes of ConfigMaps and Secrets in the files
//	stopper (stop.go)       Ctrl-C, SIGTERM, --timeout
package run

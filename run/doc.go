// Package run is `lifepod run`: one Pod on this machine, from its manifest to
// its end. It opens the runtime, leads the pod's life (pods.Life), shows what
// happens, and leaves nothing behind.
//
//	Run (run.go)            the command's whole way, in order
//	records (record.go)     which pods are whose, so that the next start of the
//	                        same manifests resumes the pod of a killed lifepod
//	                        (resume.go), or removes what is left of it (sweep.go)
//	End (end.go)            the end of a pod whose lifepod was killed
//	printer (print.go)      the lifecycle, as text or JSON; pulls.go shows how far
//	                        pulls are
//	live.go                 the live view on a terminal (run/live, run/view)
//	stream (stream.go)      stdout or stderr: a queue, so that no reader holds
//	                        up the pod; layout.go keeps several sources apart
//	follower (follow.go)    the containers' output, a logReader per instance
//	reloader (reload.go)    changes of ConfigMaps and Secrets in the files
//	stopper (stop.go)       Ctrl-C, SIGTERM, --timeout
package run

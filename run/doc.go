// Package run is `lifepod run`: Pods on this machine, from their manifests to
// their end. It opens the runtime, leads the pods' lives (pods.Life), shows what
// happens, and leaves nothing behind.
//
//	Run (run.go)            the command's whole way, in order, and that of each pod
//	inputs.go               files, folders, URLs, standard input and kustomizations
//	lives (lives.go)        all pods of the run, side by side
//	jobState (job.go)       what a Job's controller decides, purely; jobrun.go has its pods live
//	records (record.go)     which pods are whose, so that the next start of the
//	                        same manifests resumes the pod of a killed lifepod
//	                        (resume.go), or removes what is left of it (sweep.go)
//	End (end.go)            the end of a pod whose lifepod was killed
//	printer (print.go)      the lifecycle of a pod, as text or JSON, on the display that all
//	                        have; pulls.go shows how far pulls are
//	live.go                 the live view on a terminal (liveview.go), and what it shows (view.go)
//	stream (stream.go)      stdout or stderr: a queue, so that no reader holds
//	                        up the pod; layout.go keeps several sources apart
//	follower (follow.go)    the containers' output, a logReader per instance
//	reloader (reload.go)    changes of ConfigMaps and Secrets in the files
//	stopper (stop.go)       Ctrl-C, SIGTERM, --timeout
//
// command.go is the command line of lifepod run.
//
// liveview.go puts the live view of a pod (package run) on a terminal, by bubbletea. It has
// the terminal for as long as it shows something, and gives it back as it was.
//
//	Live (live.go)       from Open to Close, and the facts in between
//	model (model.go)     keys, sizes and frames
//	Gate (gate.go)       keeps what is written to the terminal meanwhile, for afterwards
//	diversion (stderr.go) standard error, to which libraries write as they like
//	Usable (live.go)     whether there is a terminal for it
//
// # View
//
// view.go is what the live view of lifepod run shows of a pod: facts come in, a screen goes
// out. It is pure: the time and the size of the terminal are given, and the same facts are always
// shown alike. Package run puts it on a terminal.
//
//	View (view.go)     what is known, and its facts
//	Press (keys.go)    what a key does
//	Screen (screen.go) the screen: the containers, or one of the panels (panel.go)
//	look (look.go)     how a container is: a word, a bar, a countdown; from what the machine says
//	                   that it waits for
//	tail (tail.go)     the last lines that somebody wrote
//
// Texts of others are on the screen as package plain leaves them.
package run

package pods

import (
	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/roster"
)

// serve lets the commands of this machine's root see and steer a pod: lifepod ps,
// status, logs, exec, restart … Where the pod itself would be changed, one of the
// API server or of a folder is changed there.
func (s *Shell) serve(l *life) {
	if s.Local.Sockets == "" {
		return
	}
	managed := "its manifest: change or remove the file"
	accepted, from := l.worker.Pod(), l.now.Load().source
	if from == roster.API {
		managed = "the API server: use kubectl"
	}
	server, err := control.Serve(control.Config{
		Folder: s.Local.Sockets, Object: l.object, Post: l.worker.Post, Managed: managed,
		Runtime: s.Engine.Runtime, LogDir: s.LogDir(accepted), Log: s.Log,
	})
	if err != nil {
		s.Log.Warn("a pod can't be shown by lifepod's commands", "pod", name(accepted), "err", err)
		return
	}
	l.server = server
}

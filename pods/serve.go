package pods

import (
	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/roster"
)

// serve lets the commands of this machine's root see and steer a pod: lifepod ps,
// status, logs, exec, restart … Where the pod itself would be changed, one of the
// API server or of a folder is changed there.
func (s *Shell) serve(l *living) {
	if s.Local.Sockets == "" {
		return
	}
	managed := "its manifest: change or remove the file"
	if l.now.Load().source == roster.API {
		managed = "the API server: use kubectl"
	}
	if err := l.Serve(control.Config{Folder: s.Local.Sockets, Managed: managed}); err != nil {
		s.Log.Warn("a pod can't be shown by lifepod's commands", "pod", name(l.Worker.Pod()), "err", err)
	}
}

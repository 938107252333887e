package node

import (
	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/roster"
)

// serve lets the commands of this machine's root see and steer a pod: lifepod ps,
// status, logs, exec, restart … Where the pod itself would be changed, one of the
// API server or of a folder is changed there.
func (p *Pods) serve(l *life) {
	if p.Local.Sockets == "" {
		return
	}
	managed := "its manifest: change or remove the file"
	accepted, from := l.worker.Pod(), l.now.Load().source
	if from == roster.API {
		managed = "the API server: use kubectl"
	}
	server, err := control.Serve(control.Config{
		Folder: p.Local.Sockets, Object: l.object, Post: l.worker.Post, Managed: managed,
		Runtime: p.Engine.Runtime, LogDir: p.LogDir(accepted), Log: p.Log,
	})
	if err != nil {
		p.Log.Warn("a pod can't be shown by lifepod's commands", "pod", name(accepted), "err", err)
		return
	}
	l.server = server
}

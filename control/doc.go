// Package control lets other processes see and steer the pods of this machine:
// it is the API server of the pods that a lifepod runs, on a unix socket.
//
//	Object   the v1.Pod as an API server would have it: spec, status, events, watchers
//	Server   serves one Object over HTTP, on <run folder>/pods/<uid>.sock
//	Sockets  finds the sockets of all lifepods of one root (what the clients use)
//
// Only root can open the folder (0700) and the sockets (0600), and the kernel must confirm
// that a client is root (SO_PEERCRED). The next client removes a socket whose process has
// died.
//
// # The API
//
// HTTP/1.1, JSON, in Kubernetes' own shapes. Below,
// POD is /v1/namespaces/NAMESPACE/pods/NAME. An error is a metav1.Status with the
// HTTP status as its code; its message is one line for the user.
//
//	GET    /v1/pods                    v1.PodList
//	GET    POD                         v1.Pod
//	GET    POD?watch=true              a metav1.WatchEvent a line: ADDED, MODIFIED …, DELETED
//	DELETE POD                         metav1.DeleteOptions → v1.Pod; gracePeriodSeconds 0
//	                                   kills at once, a smaller one shortens (B-WRK-9)
//	GET    POD/events                  v1.EventList
//	GET    POD/services                v1.ServiceList: the Services of its lifepod run that select it
//	GET    POD/log                     text; container, previous, follow, timestamps, tailLines,
//	                                   sinceSeconds, sinceTime as in Kubernetes
//	GET    POD/process                 pidfd.ID of the first process of container (none: of one that runs)
//	POST   POD/exec, POD/attach        an upgrade to Kubernetes' remote command protocol (SPDY);
//	                                   container, command, stdin, stdout, stderr, tty as there
//	POST   POD/restart                 v1.Pod; container (none: all of them, in place), graceful
//	POST   POD/ephemeralcontainers     v1.EphemeralContainer → v1.Pod
//	POST   POD/resize                  v1.Pod, of which the containers' name and resources count → v1.Pod
//	POST   POD/conditions              v1.PodCondition → v1.Pod
//
// A request that changes the pod is checked before its worker hears of it; a refused one
// changes nothing.
package control

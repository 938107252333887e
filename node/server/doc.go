// Package server is the node's API, which API servers, metrics-server and
// monitoring ask on port 10250: the paths, the authentication and authorisation
// and the errors of the kubelet 1.37.
//
// A request is authenticated by a client certificate (authentication.x509), a
// bearer token that the API server reviews (authentication.webhook), or as
// anonymous where that is enabled; and authorised by the API server's answer on
// nodes/<subresource> (KEP-2862: the fine one first, then nodes/proxy).
//
// The pods come from a Node, streams (exec, attach, portForward) from the
// runtime's streaming server over CRI, logs from the pods' log folders, figures
// from handlers that are given. Nothing is polled: a followed log wakes
// by inotify and ends when Changed is called.
//
// A session's protocol is spoken here, with the client and with the runtime, because API servers take silence for success. Package
// control passes the bytes of one on, because its own clients see by themselves that a connection was lost.
//
// query.go answers /logs/ of the node's API: the files of /var/log and, if the
// configuration has enableSystemLogQuery, queries of what services of the machine have
// logged (KEP-2258): from the journal, or from files of their names.
package server

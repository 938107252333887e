// Package ui is the page of lifepod ui: what lifepod's commands show and do, in a browser of this
// machine. It uses what they use: control/client for pods that run, the journal for what happened
// to them, why and timeline to tell it, the API server for a cluster's objects.
//
//	Server  (server.go)   the routes, on a loopback address only
//	door    (door.go)     who may come in: a link that works once, then a cookie
//	guard   (guard.go)    what every answer says, and which requests are refused
//	looker  (look.go)     looks at all pods while anybody watches, for all who do in a language
//	live    (live.go)     Server-Sent Events: the list, and what one pod or table shows
//	log, exec, steer      a container's log, a console in it, restart and stop
//	cluster, tables       the pods that this machine has not, what they belong to, and kubectl's tables,
//	                      with the rights of a kubeconfig
//
// The page (assets) is written by hand: HTML, CSS and ES modules without a framework or a build. It
// makes elements and text nodes only; its policy of content has no inline code, nothing from elsewhere, and
// no text that could become HTML (Trusted Types).
package ui

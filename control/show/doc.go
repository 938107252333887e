// Package show words a pod for the terminal: the row that kubectl get pods -o
// wide has for it, and a short description.
package show

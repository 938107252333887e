// Package client finds the pods that the lifepods of this machine run and talks
// to them, for the commands of another terminal (see package control).
package client

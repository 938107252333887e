// Package view is what the live view of lifepod run shows of a pod: facts come in, a screen goes
// out. It is pure: the time and the size of the terminal are given, and the same facts are always
// shown alike. Package run/live puts it on a terminal.
//
//	View (view.go)     what is known, and its facts
//	Press (keys.go)    what a key does
//	Screen (screen.go) the screen: the containers, or one of the panels (panel.go)
//	look (look.go)     how a container is: a word, a bar, a countdown; from what the machine says
//	                   that it waits for
//	tail (tail.go)     the last lines that somebody wrote
//
// Texts of others are on the screen as package plain leaves them.
package view

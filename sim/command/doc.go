// Package command is lifepod sim on the command line. It is apart from lifepod's other
// commands because it also runs where those do not: on macOS and Windows.
//
// chart.go writes a simulated life as a chart.
//
// input.go reads what a simulation needs: manifests, the scenario and assertions.
package command

// Package commandline is what lifepod's two programs have in common on the command
// line: errors that say what would be right, and durations with or without a unit.
package commandline

// Package unattended is about pods whose lifepod has ended without them: those of a
// lifepod run that was killed, and those of an agent that was stopped or killed.
// Their containers run on. Whoever goes on with them knows where they were; packages
// run and node find them.
package unattended

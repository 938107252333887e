// Package record makes the scenario of a life that really happened, from what the journal has
// of the pod: simulated, it has the same milestones. It is pure.
//
// What the machine was told counts, and when: an exit is as long after the start as the machine
// learned of it. Calls take as long as they usually did in that life, and fail as they did.
package record

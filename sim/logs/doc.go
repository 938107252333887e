// Package logs keeps what the containers of simulated pods write, in memory, for the API of their
// nodes. A pod whose containers write nothing takes nothing.
package logs

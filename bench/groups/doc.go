// Command groups measures how long a JobSet's pods take to restart as one, on nodes of lifepod agent with a real control
// plane and the real JobSet controller (docs/groups.md).
//
// Time begins when one worker is told to exit, which it looks for every 10 ms, and ends when the API server has told a
// watch that all pods of the JobSet run in the next attempt. The writes of a round are what nodes have written of the
// JobSet's pods, by the API server's audit log.
package main

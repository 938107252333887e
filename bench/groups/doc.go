// Command groups measures how long a JobSet's pods take to restart as one, on nodes of lifepod agent with a real control
// plane and the real JobSet controller (docs/groups.md).
//
// A worker looks every 10 ms whether it is to exit. The time begins when one is told to. It ends when a watch shows that all
// pods of the JobSet run in the next attempt. The API server's audit log says what the nodes write in a round.
package main

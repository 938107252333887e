// Package timelinetest has records of pods' lives, as the journal writes them, for tests of charts and
// of what draws them. Those in the folder records were made by hand; the members of a group by their machine.
package timelinetest

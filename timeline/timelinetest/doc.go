// Package timelinetest makes records of pods' lives, as the journal has them, for tests of charts and
// of what draws them.
package timelinetest

package scenario

import (
	"errors"
	"fmt"
)

// Report files a problem of a field, by its path: containers[main].runs[0].exit. want says
// what would be right; empty if the problem says it already.
type Report = func(field, want, format string, args ...any)

// Check finds what is wrong in a scenario for what it is used for.
type Check func(*Scenario, Report)

// Errors is what a check finds in a scenario that was made, not read from a file; nil: nothing.
func Errors(s *Scenario, check Check) error {
	var wrong []error
	check(s, func(field, want, format string, args ...any) {
		text := field + ": " + fmt.Sprintf(format, args...)
		if want != "" {
			text += "; " + want
		}
		wrong = append(wrong, errors.New(text))
	})
	return errors.Join(wrong...)
}

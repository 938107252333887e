package main

import (
	"strings"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/prove"
)

// Flags that say nothing are refused: what they would have done is not what they say.
func TestFlagsAreChecked(t *testing.T) {
	for _, test := range []struct {
		given string
		args  []string
		issue int
		jobs  int
		limit prove.Limit
		want  string // empty: they are right
	}{
		{given: "lives", jobs: 1, limit: prove.Limit{Lives: 1}},
		{given: "for", jobs: 1, limit: prove.Limit{For: time.Second}},
		{given: "issue", jobs: 1, issue: 138514},
		{given: "lives", jobs: 1, want: "-lives 0: want 1 or more"},
		{given: "for", jobs: 1, want: "-for 0s: want a time above 0, such as 10m"},
		{given: "issue", jobs: 1, want: "-issue 0: want the number of a bug"},
		{given: "jobs", want: "-jobs 0: want 1 or more"},
		{given: "checks", jobs: 1, limit: prove.Limit{Checks: -1}, want: "-checks -1: want"},
		{jobs: 1, args: []string{"138514"}, want: `unexpected argument "138514"`},
	} {
		err := flags{map[string]bool{test.given: true}, test.issue, test.jobs, test.limit}.check(test.args)
		assert.True(t, (err == nil) == (test.want == "") && (err == nil || strings.HasPrefix(err.Error(), test.want)), "%+v: %v", test, err)
	}
}

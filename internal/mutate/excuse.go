package mutate

import (
	"fmt"
	"os"
	"strings"
)

// Excuses says why mutants survive rightly, by place and change.
type Excuses map[string]string

// ReadExcuses reads a file of such mutants: on each line the file, the line's text, the
// change and the reason, separated by tabs.
func ReadExcuses(path string) (Excuses, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	excuses := Excuses{}
	for number, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		if line == "" {
			continue
		}
		columns := strings.Split(line, "\t")
		if len(columns) != 4 || columns[3] == "" {
			return nil, fmt.Errorf("%s:%d: %d columns, want file, line, change and reason", path, number+1, len(columns))
		}
		excuses[strings.Join(columns[:3], "\t")] = columns[3]
	}
	return excuses, nil
}

// Of is why a mutant may survive; empty: it may not.
func (e Excuses) Of(m Mutant) string { return e[e.key(m)] }

func (Excuses) key(m Mutant) string { return m.File + "\t" + m.Text + "\t" + m.Change() }

// Stale lists the excuses of mutants that can't be made any more.
func (e Excuses) Stale(all []Mutant) []string {
	left := map[string]bool{}
	for key := range e {
		left[key] = true
	}
	for _, m := range all {
		delete(left, e.key(m))
	}
	var stale []string
	for key := range left {
		stale = append(stale, key)
	}
	return stale
}

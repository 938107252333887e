package stages

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/itchyny/gojq"
)

// unsupported is why a Stage is left out.
type unsupported struct {
	field []string
	why   string
}

func (u *unsupported) Error() string { return u.why }

const whyCEL = "CEL expressions are of an environment of KWOK's own; expressions of jq are read"

// requirement is a condition of a selector.
type requirement struct {
	query    *gojq.Code
	operator string
	values   []string
	text     string // for the user
	field    []string
	held     bool // for some pod that it was asked about
}

// value is what a number or duration is taken from; without a query it is what the field says.
type value struct {
	query *gojq.Code
}

func (s *Stage) compile() (err error) {
	for i, m := range s.spec.Selector.MatchExpressions {
		field := []string{"spec", "selector", "matchExpressions", strconv.Itoa(i)}
		r, err := m.compile(field)
		if err != nil {
			return err
		}
		s.selects = append(s.selects, r)
	}
	if s.weight, err = compileValue(s.spec.WeightFrom, "spec", "weightFrom"); err != nil {
		return err
	}
	if d := s.spec.Delay; d != nil {
		if s.duration, err = compileValue(d.DurationFrom, "spec", "delay", "durationFrom"); err != nil {
			return err
		}
		s.jitter, err = compileValue(d.JitterDurationFrom, "spec", "delay", "jitterDurationFrom")
	}
	return err
}

func (m *matchExpression) compile(field []string) (r requirement, err error) {
	jq := m.JQ
	if jq == nil && m.Key != "" {
		jq = &match{m.Key, m.Operator, m.Values}
	}
	switch {
	case jq == nil && m.CEL != nil:
		return r, &unsupported{append(field, "cel"), whyCEL}
	case jq == nil:
		return r, fmt.Errorf("%s: want jq", strings.Join(field[1:], "."))
	}
	isSet := jq.Operator == "In" || jq.Operator == "NotIn"
	switch {
	case !isSet && jq.Operator != "Exists" && jq.Operator != "DoesNotExist":
		return r, fmt.Errorf("operator %q: want In, NotIn, Exists or DoesNotExist", jq.Operator)
	case isSet && len(jq.Values) == 0:
		return r, fmt.Errorf("operator %s needs values", jq.Operator)
	case !isSet && len(jq.Values) > 0:
		return r, fmt.Errorf("operator %s has no values", jq.Operator)
	}
	r = requirement{operator: jq.Operator, values: jq.Values, field: field, text: strings.TrimSpace(jq.Key + " " + jq.Operator + " " + strings.Join(jq.Values, ", "))}
	r.query, err = compileQuery(jq.Key)
	return r, err
}

func compileValue(e *expression, field ...string) (v value, err error) {
	if e == nil {
		return v, nil
	}
	text := e.ExpressionFrom
	if e.JQ != nil {
		text = e.JQ.Expression
	}
	if e.CEL != nil {
		return v, &unsupported{field, whyCEL}
	}
	if text == "" {
		return v, nil
	}
	v.query, err = compileQuery(text)
	return v, err
}

func compileQuery(text string) (*gojq.Code, error) {
	query, err := gojq.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("jq expression %q: %w", text, err)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, fmt.Errorf("jq expression %q: %w", text, err)
	}
	return code, nil
}

// mostResults is how many are looked at: no pod has more of anything, and an expression may find some for ever.
const mostResults = 10_000

// results are what a query finds; nothing after an error, as in KWOK.
func results(query *gojq.Code, pod map[string]any) (found []any) {
	iter := query.Run(pod)
	for {
		v, more := iter.Next()
		if !more || len(found) == mostResults {
			return found
		}
		if _, failed := v.(error); failed {
			return nil
		}
		if v != nil {
			found = append(found, v)
		}
	}
}

func (r *requirement) holds(pod map[string]any) bool {
	found := results(r.query, pod)
	switch r.operator {
	case "In":
		return slices.ContainsFunc(found, r.has)
	case "NotIn":
		return !slices.ContainsFunc(found, r.has)
	case "Exists":
		return len(found) > 0
	default:
		return len(found) == 0
	}
}

// has compares as KWOK does: numbers of a pod's JSON are none of the values.
func (r *requirement) has(found any) bool {
	switch found := found.(type) {
	case string:
		return slices.Contains(r.values, found)
	case bool:
		return slices.Contains(r.values, strconv.FormatBool(found))
	case int:
		return slices.Contains(r.values, strconv.Itoa(found))
	}
	return false
}

// durationOf is a duration of a Stage; false: it has none.
func (v value) durationOf(milliseconds *int64, pod map[string]any, now time.Time) (time.Duration, bool) {
	if text, is := v.text(pod); is {
		if text == "" {
			return 0, false
		}
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
			return at.Sub(now), true
		}
		if d, err := time.ParseDuration(text); err == nil {
			return d, true
		}
	}
	if milliseconds == nil {
		return 0, false
	}
	return time.Duration(*milliseconds) * time.Millisecond, true
}

// text is the first result of the query; false: there is none that is text.
func (v value) text(pod map[string]any) (string, bool) {
	if v.query == nil {
		return "", false
	}
	found := results(v.query, pod)
	if len(found) == 0 {
		return "", false
	}
	text, is := found[0].(string)
	return text, is
}

// numberOf is a weight; false: it has none.
func (v value) numberOf(usual int64, pod map[string]any) (int64, bool) {
	if v.query == nil {
		return usual, true
	}
	found := results(v.query, pod)
	if len(found) == 0 {
		return usual, true
	}
	switch n := found[0].(type) {
	case string:
		number, err := strconv.ParseInt(n, 0, 0)
		return number, err == nil
	case float64:
		return int64(n), true
	}
	return usual, true
}

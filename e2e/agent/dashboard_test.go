package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/lifepod/lifepod/internal/assert"
)

// dashboard is what is read of docs/grafana.json.
type dashboard struct {
	Templating struct {
		List []struct{ Name, Definition string }
	}
	Panels []struct {
		Title, Type string
		Targets     []struct{ Expr, LegendFormat string }
	}
}

// failing are pods of which metrics tell that count failures alone.
var failing = []string{`
metadata: {name: restarted}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: TOOLBOX, command: [sh, -c, sleep 1; exit 3]}
`, `
metadata: {name: unpullable}
spec:
  containers:
  - {name: main, image: "127.0.0.1:1/no-such:1"}
`, `
metadata: {name: evicted}
spec:
  terminationGracePeriodSeconds: 1
  volumes:
  - {name: data, emptyDir: {sizeLimit: 1Mi}}
  containers:
  - {name: main, image: TOOLBOX, command: [sh, -c, "seq 1 500000 >/data/file; sleep 1000000"], volumeMounts: [{name: data, mountPath: /data}]}
`}

// query is an expression of the dashboard, and the labels that are shown of what it results in.
type query struct {
	of     string
	expr   parser.Expr
	labels []string
}

// TestDashboard: a node whose pods live and fail serves what each expression of docs/grafana.json selects, with the
// labels that the expression and its legend name.
func TestDashboard(t *testing.T) {
	t.Parallel()
	missing := queries(t)
	c := newCluster(t, shared)
	c.create(busy)
	for _, manifest := range failing {
		c.create(manifest)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) { // metrics cannot be watched
		served := c.samples("metrics", "metrics/probes")
		var errs []error
		missing = slices.DeleteFunc(missing, func(q query) bool {
			err := served.answer(q)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %s: %w", q.of, q.expr, err))
			}
			return err == nil
		})
		if len(missing) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(errors.Join(errs...))
		}
	}
}

// queries are those of docs/grafana.json.
func queries(t *testing.T) (list []query) {
	t.Helper()
	content := assert.Get(os.ReadFile("../../docs/grafana.json")).Must(t)
	var d dashboard
	assert.Must(t, json.Unmarshal(content, &d))
	add := func(of, expression string, labels []string) {
		expression = strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*").Replace(expression)
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
		if err != nil {
			t.Errorf("%s: %s: %v", of, expression, err)
			return
		}
		list = append(list, query{of, expr, labels})
	}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			add(p.Title, target.Expr, labelsOf(target.LegendFormat))
		}
		assert.True(t, (len(p.Targets) == 0) == (p.Type == "row"), "%s has %d expressions", p.Title, len(p.Targets))
	}
	assert.True(t, len(list) != 0, "the dashboard asks for nothing")
	for _, v := range d.Templating.List {
		if arguments, found := strings.CutPrefix(v.Definition, "label_values("); found {
			metric, label, _ := strings.Cut(strings.TrimSuffix(arguments, ")"), ", ")
			add("variable "+v.Name, metric, []string{label})
		}
	}
	return list
}

func labelsOf(legend string) (labels []string) {
	for _, part := range strings.Split(legend, "{{")[1:] {
		name, _, _ := strings.Cut(part, "}}")
		labels = append(labels, name)
	}
	return labels
}

// samples are what Prometheus has of one node.
type samples model.Vector

// samples scrapes paths of the node.
func (c *cluster) samples(paths ...string) (all samples) {
	c.t.Helper()
	for _, path := range paths {
		for _, family := range c.scrape(path) {
			list := assert.Get(expfmt.ExtractSamples(&expfmt.DecodeOptions{}, family)).Must(c.t)
			for _, sample := range list {
				sample.Metric[model.InstanceLabel] = "node:10250" // as Prometheus adds it
			}
			all = append(all, samples(list)...)
		}
	}
	return all
}

// answer says what a query lacks.
func (s samples) answer(q query) error {
	has, err := s.labels(q.expr)
	if err != nil {
		return err
	}
	return within(has, q.labels)
}

// labels are those that the result of an expression has.
func (s samples) labels(of parser.Expr) ([]string, error) {
	switch e := of.(type) {
	case *parser.NumberLiteral:
		return nil, nil
	case *parser.VectorSelector:
		return s.selected(e)
	case *parser.MatrixSelector:
		return s.labels(e.VectorSelector)
	case *parser.ParenExpr:
		return s.labels(e.Expr)
	case *parser.Call:
		return s.called(e)
	case *parser.AggregateExpr:
		return s.aggregated(e)
	case *parser.BinaryExpr:
		return s.combined(e)
	}
	return nil, fmt.Errorf("this test does not know expressions such as %s", of)
}

func (s samples) selected(e *parser.VectorSelector) (names []string, err error) {
	for _, sample := range s {
		matches := true
		for _, m := range e.LabelMatchers { // the name is one of them
			value, has := sample.Metric[model.LabelName(m.Name)]
			matches = matches && has && m.Matches(string(value))
		}
		if matches {
			for name := range sample.Metric {
				names = append(names, string(name))
			}
			return names, nil
		}
	}
	return nil, fmt.Errorf("no %s", e)
}

func (s samples) called(e *parser.Call) (names []string, err error) {
	for _, argument := range e.Args {
		has, err := s.labels(argument)
		if err != nil {
			return nil, err
		}
		names = append(names, has...)
	}
	if e.Func.Name == "histogram_quantile" {
		return without(names, model.BucketLabel)
	}
	return names, nil
}

func (s samples) aggregated(e *parser.AggregateExpr) ([]string, error) {
	has, err := s.labels(e.Expr)
	if err != nil {
		return nil, err
	}
	if e.Without {
		return without(has, e.Grouping...)
	}
	return e.Grouping, within(has, e.Grouping)
}

func (s samples) combined(e *parser.BinaryExpr) ([]string, error) {
	left, err := s.labels(e.LHS)
	if err != nil {
		return nil, err
	}
	right, err := s.labels(e.RHS)
	if err != nil || e.VectorMatching == nil { // one of them is a number
		return append(left, right...), err
	}
	on := e.VectorMatching.MatchingLabels
	return left, errors.Join(within(left, on), within(right, on))
}

// without takes names away, which must be there.
func without(has []string, names ...string) ([]string, error) {
	left := slices.DeleteFunc(slices.Clone(has), func(name string) bool { return slices.Contains(names, name) })
	return left, within(has, names)
}

func within(has, wanted []string) error {
	for _, name := range wanted {
		if !slices.Contains(has, name) {
			return fmt.Errorf("no label %s, but %q", name, has)
		}
	}
	return nil
}

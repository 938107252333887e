package stats

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// point is one value of cAdvisor's metrics. All points of a container share their
// labels: there are dozens of each.
type point struct {
	name    string
	labels  []*dto.LabelPair // sorted by name
	counter bool
	value   float64
	at      time.Time // zero: without a time stamp
}

// Desc is that of the metric.
func (p *point) Desc() *prometheus.Desc { return descriptions[p.name] }

// Write fills in a metric.
func (p *point) Write(m *dto.Metric) error {
	m.Label = p.labels
	if p.counter {
		m.Counter = &dto.Counter{Value: &p.value}
	} else {
		m.Gauge = &dto.Gauge{Value: &p.value}
	}
	if !p.at.IsZero() {
		m.TimestampMs = new(p.at.UnixMilli())
	}
	return nil
}

// pairs are the labels as metrics have them.
func (l labels) pairs() []*dto.LabelPair {
	var list []*dto.LabelPair
	for i, value := range l.values() {
		list = append(list, &dto.LabelPair{Name: &ofCAdvisor[i], Value: &value})
	}
	return list
}

// with adds a metric's own labels, and sorts them all.
func with(shared []*dto.LabelPair, names, values []string) []*dto.LabelPair {
	if len(names) == 0 {
		return shared
	}
	list := slices.Clone(shared)
	for i := range names {
		list = append(list, &dto.LabelPair{Name: &names[i], Value: &values[i]})
	}
	slices.SortFunc(list, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
	return list
}

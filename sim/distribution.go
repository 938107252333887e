package sim

import (
	"math"
	"slices"
)

// Distribution is how a figure is distributed over lives.
type Distribution struct {
	Min  float64 `json:"min"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
	// Histogram is all lives, by figures from the least to the greatest.
	Histogram []Bin `json:"histogram"`
}

// Bin is how many lives have a figure from From on and below To; the last bin has those at To as well.
type Bin struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Lives int     `json:"lives"`
}

// bins is how many bins a histogram has at most.
const bins = 10

// distributionOf is nil without figures. Bins of whole numbers begin at whole numbers.
func distributionOf(list []float64, whole bool) *Distribution {
	if len(list) == 0 {
		return nil
	}
	slices.Sort(list)
	at := func(percent int) float64 { return list[min(len(list)-1, len(list)*percent/100)] }
	d := &Distribution{Min: list[0], P50: at(50), P90: at(90), P99: at(99), Max: list[len(list)-1]}
	for _, v := range list {
		d.Mean += v / float64(len(list))
	}
	d.Histogram = histogramOf(list, whole)
	return d
}

func histogramOf(sorted []float64, whole bool) []Bin {
	least, most := sorted[0], sorted[len(sorted)-1]
	width, count := (most-least)/bins, bins
	if whole {
		width = math.Ceil((most - least + 1) / bins)
		count = int(math.Ceil((most - least + 1) / width))
	}
	if least == most {
		return []Bin{{From: least, To: most, Lives: len(sorted)}}
	}
	list := make([]Bin, count)
	for i := range list {
		list[i].From, list[i].To = toNano(least+float64(i)*width), toNano(least+float64(i+1)*width)
	}
	for _, v := range sorted {
		list[min(count-1, int((v-least)/width))].Lives++
	}
	return list
}

// toNano leaves off what floating point numbers add to sums of nanoseconds.
func toNano(seconds float64) float64 { return math.Round(seconds*1e9) / 1e9 }

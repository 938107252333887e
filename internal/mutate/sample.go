package mutate

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
)

// Shuffle orders mutants by chance. The same seed gives the same order, also when other code has changed: the mistakes in
// unchanged lines keep their places in a sample. Kinds of mistakes take turns, so that a sample has about as many of each.
func Shuffle(all []Mutant, seed uint64) []Mutant {
	byKind := map[string][]Mutant{}
	for _, m := range all {
		byKind[m.Operator] = append(byKind[m.Operator], m)
	}
	kinds := slices.Sorted(maps.Keys(byKind))
	for _, kind := range kinds {
		slices.SortStableFunc(byKind[kind], func(a, b Mutant) int { return cmp.Compare(a.lot(seed), b.lot(seed)) })
	}
	var shuffled []Mutant
	for turn := 0; len(shuffled) < len(all); turn++ {
		for _, kind := range kinds {
			if turn < len(byKind[kind]) {
				shuffled = append(shuffled, byKind[kind][turn])
			}
		}
	}
	return shuffled
}

// lot is the place in the order of a seed, by what the mistake is and not by where it stands.
func (m Mutant) lot(seed uint64) uint64 {
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%d\t%s\t%s\t%s", seed, m.File, m.Text, m.Change())
	return hash.Sum64()
}

// Sort orders mutants as they stand in their files.
func Sort(list []Trial) {
	slices.SortFunc(list, func(a, b Trial) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.offset, b.offset), cmp.Compare(a.Now, b.Now))
	})
}

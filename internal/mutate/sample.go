package mutate

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Shuffle orders mutants by chance: the same seed gives the same order. Kinds of mistakes
// take turns, so that a sample has about as many of each.
func Shuffle(all []Mutant, seed uint64) []Mutant {
	dice := rand.New(rand.NewPCG(seed, 0))
	byKind := map[string][]Mutant{}
	var kinds []string
	for _, m := range all {
		if byKind[m.Operator] == nil {
			kinds = append(kinds, m.Operator)
		}
		byKind[m.Operator] = append(byKind[m.Operator], m)
	}
	slices.Sort(kinds)
	for _, kind := range kinds {
		list := byKind[kind]
		dice.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
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

// Sort orders mutants as they stand in their files.
func Sort(list []Trial) {
	slices.SortFunc(list, func(a, b Trial) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.offset, b.offset), cmp.Compare(a.Now, b.Now))
	})
}

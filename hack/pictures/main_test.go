package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/contract"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/lifecycle/group"
)

// TestPictures: they are as pictures.yaml has them; each stage of the machines is in its picture in the machine's order, each rule
// is one of the contract, and each text is there in both languages.
func TestPictures(t *testing.T) {
	d := assert.Get(read()).Must(t)
	stages := map[string][]string{"": {}}
	for s := lifecycle.Syncing; s <= lifecycle.Gone; s++ {
		stages["stage"] = append(stages["stage"], s.String())
	}
	for _, do := range []group.Do{group.Join, group.Wait, group.Start, group.Run, group.Leave} {
		stages["do"] = append(stages["do"], do.String())
	}
	rules := assert.Get(contract.Rules()).Must(t)
	for _, p := range d.Pictures {
		shown := []string{}
		for _, s := range p.Steps {
			shown = append(shown, s.Stage)
			for _, number := range s.Rules {
				assert.True(t, slices.ContainsFunc(rules, func(r contract.Rule) bool { return r.Number == number }), "%s: there is no rule %s", p.Name, number)
			}
			assert.True(t, s.Text[0] != "" && s.Text[1] != "" && (s.Aside[0] == "") == (s.Aside[1] == "") && d.Who[s.Who][1] != "",
				"%s: %q is not in both languages, or by nobody", p.Name, s.Text)
		}
		shown = slices.DeleteFunc(slices.Compact(shown), func(s string) bool { return s == "" })
		assert.Deep(t, p.Name+": stages", stages[p.Stages], shown)
		for l, folder := range languages {
			file := filepath.Join(folder, p.Name+".svg")
			drawn, err := os.ReadFile(filepath.Join("../..", file))
			assert.True(t, err == nil && string(drawn) == d.draw(p, l), "%s is not what pictures.yaml says: make pictures", file)
		}
	}
}

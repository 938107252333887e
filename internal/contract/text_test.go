package contract

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestAreas: README.md lists the areas of each chapter, an area is in one chapter,
// and its numbers have no gaps.
func TestAreas(t *testing.T) {
	chapters := assert.Get(Chapters()).Must(t)
	assert.True(t, len(chapters) >= 30, "%d chapters: README.md does not list them all", len(chapters))
	for _, c := range chapters {
		var areas []string
		last := map[string]int{}
		for _, rule := range c.Rules {
			area := rule.Area()
			if !slices.Contains(areas, area) {
				areas = append(areas, area)
			}
			suffix, examples := strings.CutPrefix(rule.Number[len(area)+1:], "E")
			n, _ := strconv.Atoi(suffix) // the pattern of numbers has made sure
			series := area + strconv.FormatBool(examples)
			if last[series]++; n != last[series] {
				t.Errorf("%s follows number %d of its area", rule.Number, last[series]-1)
			}
		}
		assert.True(t, slices.Equal(areas, c.Areas), "%s has the areas %v, README.md says %v", c.File, areas, c.Areas)
	}
}

// TestEveryFileIsAChapter: a file that README.md does not list is read by nobody.
func TestEveryFileIsAChapter(t *testing.T) {
	chapters := assert.Get(Chapters()).Must(t)
	assert.Must(t, fs.WalkDir(files(), ".", func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && file != "README.md" && file != "words.md" && !slices.ContainsFunc(chapters, func(c Chapter) bool { return c.File == file }) {
			t.Errorf("README.md does not list %s", file)
		}
		return err
	}))
}

var link = regexp.MustCompile(`\]\(([^)#:]*)(#[^)]*)?\)`)

// TestLinks: each link of the contract leads to a file, and to a heading in it.
func TestLinks(t *testing.T) {
	assert.Must(t, fs.WalkDir(files(), ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files(), file)
		if err != nil {
			return err
		}
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			target := filepath.Join(repository, "docs/contract", path.Dir(file), found[1])
			if found[1] == "" {
				target = filepath.Join(repository, "docs/contract", file)
			}
			data, err := os.ReadFile(target)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			if found[2] != "" && !strings.Contains(string(data), "\n### "+strings.ToUpper(found[2][1:])+"\n") {
				t.Errorf("%s: %s has no rule %s", file, found[1], found[2])
			}
		}
		return nil
	}))
}

// TestSources: the files that rules name as their source are Kubernetes', or JobSet's, and the
// functions, variables and types are in them.
func TestSources(t *testing.T) {
	rules := assert.Get(Rules()).Must(t)
	modules := moduleFolders{}
	for _, rule := range rules {
		for _, place := range rule.Places() {
			content, checked, err := modules.read(place)
			assert.NoError(t, err, rule.Number)
			for _, name := range place.Names {
				declared := regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type |var |const |\t)` + regexp.QuoteMeta(name) + `\b`)
				assert.True(t, !checked || declared.MatchString(content), "%s: its source declares no %s", rule.Number, name)
			}
		}
	}
}

// moduleFolders are the folders of modules, as far as somebody has asked.
type moduleFolders map[string]string

// jobSetFolder has the module for tests that builds JobSet, which is not among those of lifepod.
const jobSetFolder = repository + "/e2e/controlplane/jobset"

// read reads a rule's source. One of a module of which nothing is compiled here has no folder: it is not checked.
func (m moduleFolders) read(place Place) (content string, checked bool, err error) {
	module, name := place.Module()
	if module == "" {
		return "", false, nil
	}
	folder := repository + "/cluster" // whose modules are more
	if module == JobSet {
		folder = jobSetFolder
	}
	if _, known := m[module]; !known {
		list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module)
		list.Dir = folder
		out, err := list.Output()
		if err != nil {
			return "", false, fmt.Errorf("find module %s: %w", module, err)
		}
		m[module] = strings.TrimSpace(string(out))
	}
	if m[module] == "" {
		return "", false, nil
	}
	data, err := os.ReadFile(filepath.Join(m[module], name))
	return string(data), err == nil, err
}

// anyRule is a rule's number, alone or the beginning of a range such as B-RST-1..14;
// anyArea is the name of an area.
var (
	anyRule = regexp.MustCompile(number.String() + `(?:(?:\.\.|…)([0-9]+))?`)
	anyArea = regexp.MustCompile(`\b[AB]-[A-Z][A-Z0-9]+\b`)
)

// TestEveryCitedRuleExists: code, tests and documentation cite rules, and areas, that
// there are.
func TestEveryCitedRuleExists(t *testing.T) {
	rules := assert.Get(Rules()).Must(t)
	known, areas := map[string]bool{}, map[string]bool{}
	for _, rule := range rules {
		known[rule.Number], areas[rule.Area()] = true, true
	}
	cited := 0
	for file, text := range texts(t) {
		for _, found := range anyRule.FindAllStringSubmatch(text, -1) {
			cited++
			rule, last, _ := strings.Cut(strings.ReplaceAll(found[0], "…", ".."), "..")
			assert.True(t, last == "" || known[rule[:strings.LastIndex(rule, "-")+1]+last], "%s: %s goes beyond its area", file, found[0])
			assert.True(t, known[rule], "%s: there is no rule %s", file, rule)
		}
		for _, area := range anyArea.FindAllString(number.ReplaceAllString(text, ""), -1) {
			assert.True(t, areas[area], "%s: there are no rules %s", file, area)
		}
	}
	assert.True(t, cited >= 3000, "%d citations: not all files were found", cited)
}

// texts are the repository's text files but for this package's own, whose tests make
// rules up. What is built or downloaded is left out.
func texts(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	tree := os.DirFS(repository)
	assert.Must(t, fs.WalkDir(tree, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if file != "." && strings.HasPrefix(entry.Name(), ".") || slices.Contains([]string{"bin", "bundle/assets", "internal/contract"}, file) {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		data, err := fs.ReadFile(tree, file)
		if err == nil && utf8.Valid(data) {
			texts[file] = string(data)
		}
		return err
	}))
	return texts
}

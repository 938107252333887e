package contract

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/sentence"
)

func TestPlain(t *testing.T) {
	for name, tc := range map[string]struct{ markdown, want string }{
		"a paragraph is wrapped": {
			"**A container is restarted** if\n[A-RST-1](restarts.md#a-rst-1) says so: `exit code`.",
			"A container is restarted if A-RST-1 says\nso: `exit code`.",
		},
		"a list hangs": {
			"- one two three four five six seven eight\n  nine\n- ten\n\n1. first\n10. second one two three four five six",
			"- one two three four five six seven\n  eight nine\n- ten\n\n1. first\n10. second one two three four five six",
		},
		"a table is aligned": {
			"| a | longer |\n| --- | --- |\n| **b** | `c` |\n| | d |",
			"a  longer\nb  `c`\n   d",
		},
		"a wide column wraps": {
			"| | condition |\n| --- | --- |\n| x | one two three four five six seven eight nine |",
			"   condition\nx  one two three four five six seven\n   eight nine",
		},
		"code is shown as it is": {
			"Text:\n\n```\n# header\n\n1\ttwo\n```\n\nMore.",
			"Text:\n\n    # header\n    \n    1\ttwo\n\nMore.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Deep(t, "plain", tc.want, Plain(tc.markdown, 40))
		})
	}
}

// TestPlainRules: nothing of the mark-up is left in any rule, and lines fit, but for
// words that are longer.
func TestPlainRules(t *testing.T) {
	rules := assert.Get(Rules()).Must(t)
	const width = 80
	for _, rule := range rules {
		text := Plain(rule.Text, width)
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\n")
			if utf8.RuneCountInString(line) > width && strings.Contains(strings.TrimSpace(line), " ") && !strings.HasPrefix(line, "    ") && !strings.Contains(line, "  ") {
				t.Errorf("%s: a line of %d: %q", rule.Number, utf8.RuneCountInString(line), line)
			}
		}
		for _, mark := range []string{"**", "](", "| ---"} {
			assert.True(t, !strings.Contains(text, mark), "%s has %q:\n%s", rule.Number, mark, text)
		}
	}
}

func TestFind(t *testing.T) {
	rules := assert.Get(Rules()).Must(t)
	for name, want := range map[string]string{
		"A-RST-1":   "A-RST-1",
		"b-rac-e3":  "B-RAC-E3",
		"a-bo":      "A-BO-1 A-BO-2 A-BO-3 A-BO-4 A-BO-5 A-BO-6 A-BO-7 A-BO-8",
		"A-RST-99":  "there is no rule or word A-RST-99; did you mean A-RST-7?",
		"A-RTS-2":   "there is no rule or word A-RTS-2; did you mean A-RST-2?",
		"rst-3":     "there is no rule or word rst-3; did you mean A-RST-3 or B-RST-3?",
		"B-RAC-E20": "there is no rule or word B-RAC-E20; did you mean B-RAC-E8?",
		"restart":   "there is no rule or word restart: want a number such as A-RST-1, an area such as A-RST, or a word such as CrashLoopBackOff",
	} {
		found, err := Find(rules, name)
		var got []string
		for _, rule := range found {
			got = append(got, rule.Number)
		}
		if err != nil {
			got = append(got, err.Error())
		}
		assert.Deep(t, name, want, strings.Join(got, " "))
	}
}

// TestOpening: a title that is no whole sentence is shown with its paragraph, one that introduces a list or table with that.
func TestOpening(t *testing.T) {
	const source = "\n\n*Source:* `a.go`."
	for name, tc := range map[string]struct{ text, want string }{
		"a sentence":       {"**A pod ends.** It is killed.\n\n**lifepod:** At once.", "A pod ends."},
		"half a sentence":  {"**A pod ends,** and is\nkilled.\n\nThen it is gone.", "**A pod ends,** and is\nkilled."},
		"a colon":          {"**Some pods end:** those that are deleted.", "**Some pods end:** those that are deleted."},
		"a table":          {"**The first match decides.**\n\n| | phase |\n| --- | --- |\n| all | see below |\n\nBelow.\n\n**lifepod:** Above.", "**The first match decides.**\n\n| | phase |\n| --- | --- |\n| all | see below |\n\nBelow."},
		"a list":           {"**A restart has steps.** These are two:\n\n1. stop\n2. start", "**A restart has steps.** These are two:\n\n1. stop\n2. start"},
		"a table far away": {"**A pod ends.** It is killed.\n\nIn this way:\n\n| | |", "A pod ends."},
	} {
		rule := assert.Get(parseRule(Rule{Number: "A-RST-1"}, tc.text+source)).Must(t)
		assert.Deep(t, name, tc.want, rule.Opening)
	}
}

// TestOpeningsSayAllThatTheyAnnounce: none ends before what it introduces.
func TestOpeningsSayAllThatTheyAnnounce(t *testing.T) {
	rules := assert.Get(Rules()).Must(t)
	for _, rule := range rules {
		end := strings.TrimSpace(rule.Opening)
		assert.True(t, end != "" && !strings.HasSuffix(end, ":") && !strings.HasSuffix(end, ","), "%s: its opening %q is not all", rule.Number, rule.Opening)
	}
}

// TestWords: each word says which rules are behind it and how to look, and there are no two of a name.
func TestWords(t *testing.T) {
	words := assert.Get(Words(sentence.English)).Must(t)
	chinese, err := Words(sentence.Chinese)
	assert.Require(t, err == nil && len(chinese) == len(words), "%d words in Chinese: %v", len(chinese), err)
	seen := map[string]bool{}
	for i, w := range words {
		assert.Deep(t, "the same in Chinese", append(Numbers(w.Text), w.Names...), append(Numbers(chinese[i].Text), chinese[i].Names...))
		assert.True(t, regexp.MustCompile(`\n\nRules: ([AB]-[A-Z]+-[0-9]+(, |\. ))+Look: .+\.$`).MatchString(w.Text),
			"%v has no line of rules and of how to look at its end:\n%s", w.Names, w.Text)
		for _, name := range w.Names {
			name = strings.ToLower(name)
			assert.True(t, !seen[name], "%s is explained twice", name)
			seen[name] = true
		}
	}
	assert.True(t, seen["crashloopbackoff"] && seen["prestop"], "words: %v", seen)
}

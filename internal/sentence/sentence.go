// Package sentence has lifepod's sentences in the language of who reads them. A sentence is known by its English, a format of
// package fmt or a text with places such as {on}; zh.json has the same in Chinese. Data, names, errors, warnings and logs are
// English in every language.
package sentence

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/message/catalog"

	"github.com/lifepod/lifepod/internal/plain"
)

//go:embed zh.json
var chinese []byte

// printer is read for the first sentence, not whenever the program starts.
var printer = sync.OnceValue(func() *message.Printer {
	sentences := map[string]string{}
	if err := json.Unmarshal(chinese, &sentences); err != nil {
		panic(err) // it is part of the program
	}
	b := catalog.NewBuilder()
	for english, text := range sentences {
		if err := b.SetString(language.Chinese, english, text); err != nil {
			panic(err)
		}
	}
	return message.NewPrinter(language.Chinese, message.Catalog(b))
})

// Language is one of those that there are sentences in.
type Language string

// The languages. Chinese is the simplified one.
const (
	English Language = ""
	Chinese Language = "zh"
)

// OfEnvironment is the language of the locale: of LC_ALL, else of LC_MESSAGES, else of LANG.
func OfEnvironment() Language {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if locale := os.Getenv(name); locale != "" {
			if strings.HasPrefix(locale, "zh") {
				return Chinese
			}
			break
		}
	}
	return English
}

// matcher has the languages as browsers ask for them.
var matcher = sync.OnceValue(func() language.Matcher {
	return language.NewMatcher([]language.Tag{language.English, language.Chinese})
})

// Accepted is the best language for an Accept-Language header.
func Accepted(header string) Language {
	if _, i := language.MatchStrings(matcher(), header); i == 1 {
		return Chinese
	}
	return English
}

// Catalogue is a JSON object of the sentences in a language, for a program that has only them to make; there are none in English.
func (l Language) Catalogue() []byte {
	if l == English {
		return []byte("{}")
	}
	return chinese
}

// Say is a sentence with what stands in its places.
func (l Language) Say(format string, args ...any) string {
	if l == English {
		return fmt.Sprintf(format, args...)
	}
	with := make([]any, len(args))
	for i, arg := range args {
		with[i] = ungrouped{arg}
	}
	return printer().Sprintf(format, with...)
}

// Word is a sentence without places.
func (l Language) Word(english string) string {
	if l == English {
		return english // which need be no format
	}
	return l.Say(english, []any{}...)
}

// Count is plain.Count.
func (l Language) Count(n int, what string) string {
	if l == English {
		return plain.Count(n, what)
	}
	return l.Say("%d "+what, n)
}

// ungrouped is shown as package fmt shows it: package message writes 12,345 for a process ID.
type ungrouped struct{ any }

// Format implements fmt.Formatter.
func (u ungrouped) Format(to fmt.State, verb rune) {
	fmt.Fprintf(to, fmt.FormatString(to, verb), u.any)
}

// Set makes a Language a flag's value.
func (l *Language) Set(text string) error {
	if text != "en" && text != "zh" {
		return errors.New("en or zh")
	}
	*l = map[string]Language{"en": English, "zh": Chinese}[text]
	return nil
}

func (l *Language) String() string { return string(*l) }

// Type is what pflag calls it.
func (*Language) Type() string { return "string" }

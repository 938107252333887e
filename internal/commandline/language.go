package commandline

import (
	"github.com/spf13/pflag"

	"github.com/lifepod/lifepod/internal/sentence"
)

// LanguageVar adds --lang.
func LanguageVar(flags *pflag.FlagSet, l *sentence.Language) {
	*l = sentence.OfEnvironment()
	flags.Var(l, "lang", "`language` of what people read: en or zh (default: that of LC_ALL, LC_MESSAGES or LANG)")
	flags.Lookup("lang").DefValue = ""
}

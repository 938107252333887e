package commandline

import (
	"github.com/spf13/pflag"

	"github.com/lifepod/lifepod/internal/plain"
)

// ColourVar adds --color, which is for the whole process.
func ColourVar(flags *pflag.FlagSet) {
	flags.Var(plain.ColourFlag{}, "color", "`when` there are colours: auto, on a terminal unless NO_COLOR is set; always; never")
	flags.Lookup("color").NoOptDefVal = "always"
}

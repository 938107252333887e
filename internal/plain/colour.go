package plain

import (
	"errors"
	"io"
	"os"
	"slices"
)

// Tone is what a text means: what a terminal colours it by.
type Tone string

// The tones. Nothing is said by them alone.
const (
	Good   Tone = "32"
	Busy   Tone = "33"
	Bad    Tone = "31"
	Quiet  Tone = "35"
	Strong Tone = "1"
	Faint  Tone = "90"
)

// Paint is a text in a tone, for an output that has colours.
func (t Tone) Paint(coloured bool, text string) string {
	if !coloured || t == "" || text == "" {
		return text
	}
	return "\x1b[" + string(t) + "m" + text + "\x1b[m"
}

// Colouring are the values of --color.
var Colouring = []string{"auto", "always", "never"}

// colouring is one of them, for the whole process.
var colouring = Colouring[0]

// ColourFlag is the pflag.Value of --color.
type ColourFlag struct{}

func (ColourFlag) String() string { return colouring }

// Type is what pflag calls it.
func (ColourFlag) Type() string { return "string" }

// Set reads one.
func (ColourFlag) Set(text string) error {
	if !slices.Contains(Colouring, text) {
		return errors.New("auto, always or never")
	}
	colouring = text
	return nil
}

// Colours says whether what is written there has colours: on a terminal, unless NO_COLOR is set or --color says otherwise.
func Colours(out io.Writer) bool {
	if colouring != "auto" {
		return colouring == "always"
	}
	_, is := Terminal(out)
	return is && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/lifepod/lifepod/internal/plain"
)

var tones = map[Status]plain.Tone{OK: plain.Good, Warning: plain.Busy, Error: plain.Bad, NotChecked: plain.Quiet}

// Print writes a line per result, aligned, with its advice below it.
func Print(out io.Writer, results []Result) error {
	width, coloured := 0, plain.Colours(out)
	for _, result := range results {
		width = max(width, len(result.Name))
	}
	for _, result := range results {
		if _, err := fmt.Fprintf(out, "%s  %-*s  %s\n", tones[result.Status].Paint(coloured, fmt.Sprintf("%-11s", result.Status)), width, result.Name, plain.Text(result.Found)); err != nil {
			return err
		}
		for _, advice := range result.Advice {
			if _, err := fmt.Fprintf(out, "%*s→ %s\n", len("not checked")+2, "", plain.Text(advice)); err != nil {
				return err
			}
		}
	}
	return nil
}

// PrintJSON writes the results as one JSON array.
func PrintJSON(out io.Writer, results []Result) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(results); err != nil {
		return err
	}
	_, err := out.Write(plain.JSON(text.Bytes()))
	return err
}

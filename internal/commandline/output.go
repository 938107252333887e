package commandline

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
)

// CheckOutput refuses an output format that the command does not have.
func CheckOutput(output string, known ...string) error {
	if output == "" || slices.Contains(known, output) {
		return nil
	}
	return fmt.Errorf("unknown output %q: want %s", output, OneOf(known))
}

// Logger logs to stderr what is of a level, the value of --log-level, or above.
func Logger(level string) (*slog.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(strings.ToUpper(level))); err != nil {
		return nil, fmt.Errorf("--log-level %q: want debug, info, warn or error", level)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: least})), nil
}

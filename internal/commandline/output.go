package commandline

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
)

// CheckOutput refuses an output format that the command does not have. One that ends in = has a value.
func CheckOutput(output string, known ...string) error {
	var forms []string
	for _, k := range known {
		value, has := strings.CutPrefix(output, k)
		if output == "" || has && (value != "") == strings.HasSuffix(k, "=") {
			return nil
		}
		forms = append(forms, strings.Replace(k, "=", "=…", 1))
	}
	return fmt.Errorf("unknown output %q: want %s", output, OneOf(forms))
}

// Logger logs to stderr what is of a level, the value of --log-level, or above.
func Logger(level string) (*slog.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(strings.ToUpper(level))); err != nil {
		return nil, fmt.Errorf("--log-level %q: want debug, info, warn or error", level)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: least})), nil
}

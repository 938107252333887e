package lifecycle

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseBackoff reads "none", "constant=5s" or "initial=1s factor=1.5 max=30s reset=10m".
func ParseBackoff(text string) (BackoffPolicy, error) {
	p := DefaultBackoff()
	if text == "none" {
		return BackoffPolicy{Reset: p.Reset}, nil
	}
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return p, errors.New("empty; write for example: initial=1s factor=2 max=30s, constant=5s, or none")
	}
	for _, field := range fields {
		name, value, ok := strings.Cut(field, "=")
		if !ok {
			return p, fmt.Errorf("%q is not NAME=VALUE, such as initial=1s", field)
		}
		if err := p.set(name, value, len(fields)); err != nil {
			return p, err
		}
	}
	if p.Initial > p.Max {
		return p, fmt.Errorf("initial %v is longer than max %v", p.Initial, p.Max)
	}
	return p, nil
}

func (p *BackoffPolicy) set(name, value string, fields int) error {
	if name == "factor" {
		factor, err := parseFactor(value)
		p.FactorThousandths = factor
		return err
	}
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 || d > 24*time.Hour {
		return fmt.Errorf("%s=%s: not a duration between 0 and 24h, such as 1s or 5m", name, value)
	}
	switch name {
	case "initial":
		p.Initial = d
	case "max":
		p.Max = d
	case "reset":
		p.Reset = d
	case "constant":
		if fields > 1 {
			return errors.New("constant stands alone")
		}
		p.Initial, p.Max = d, d
	default:
		return fmt.Errorf("%q is none of initial, factor, max, reset and constant", name)
	}
	return nil
}

// parseFactor reads a number from 1 to 100 with up to three decimals.
func parseFactor(text string) (int64, error) {
	whole, decimals, _ := strings.Cut(text, ".")
	n, err := strconv.ParseUint(whole+(decimals + "000")[:3], 10, 32)
	if err != nil || len(decimals) > 3 || n < 1000 || n > 100_000 {
		return 0, fmt.Errorf("factor=%s: not a number from 1 to 100 with at most three decimals", text)
	}
	return int64(n), nil
}

package toolbox

import (
	"bufio"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// forever is how long `sleep infinity` lasts, about 292 years.
const forever = time.Duration(math.MaxInt64)

// parseDuration reads "5", "0.5", "3s", "2m" or "infinity"; a plain number is
// seconds.
func parseDuration(s string) (time.Duration, error) {
	if s == "infinity" || s == "inf" {
		return forever, nil
	}
	if seconds, err := strconv.ParseFloat(s, 64); err == nil {
		s += "s"
		if seconds > forever.Seconds() {
			return forever, nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("duration %q: want a number of seconds, a duration such as 1m30s, or infinity", s)
	}
	return d, nil
}

// sleep DURATION.
func sleep(c *Call) error {
	c.EndingFlags()
	args, err := c.Parse("DURATION", 1, 1)
	if err != nil {
		return err
	}
	d, err := parseDuration(args[0])
	if err != nil {
		return Usage(err)
	}
	time.Sleep(d)
	return nil
}

// dateLayouts are the directives of date +FORMAT, as Go writes them.
var dateLayouts = map[string]string{
	"%Y": "2006", "%m": "01", "%d": "02", "%H": "15", "%M": "04", "%S": "05",
	"%F": time.DateOnly, "%T": time.TimeOnly, "%Z": "MST", "%z": "-0700", "%a": "Mon", "%b": "Jan",
}

// date [-u] [+FORMAT].
func date(c *Call) error {
	utc := c.Flags.BoolP("utc", "u", false, "in UTC")
	args, err := c.Parse("[-u] [+FORMAT]", 0, 1)
	if err != nil {
		return err
	}
	now := time.Now()
	if *utc {
		now = now.UTC()
	}
	if len(args) == 0 {
		_, err = fmt.Fprintln(c.Stdout, now.Format(time.UnixDate))
		return err
	}
	format, ok := strings.CutPrefix(args[0], "+")
	if !ok {
		return Usage(fmt.Errorf("%q: want +FORMAT", args[0]))
	}
	values := []string{"%s", strconv.FormatInt(now.Unix(), 10), "%N", fmt.Sprintf("%09d", now.Nanosecond())}
	for directive, layout := range dateLayouts {
		values = append(values, directive, now.Format(layout))
	}
	_, err = fmt.Fprintln(c.Stdout, strings.NewReplacer(values...).Replace(format))
	return err
}

// seq [FIRST] LAST, whole numbers.
func seq(c *Call) error {
	args, err := c.Parse("[FIRST] LAST", 1, 2)
	if err != nil {
		return err
	}
	last, err := strconv.Atoi(args[len(args)-1])
	first := 1
	if err == nil && len(args) == 2 {
		first, err = strconv.Atoi(args[0])
	}
	if err != nil {
		return Usage(err)
	}
	out := bufio.NewWriter(c.Stdout)
	for n := first; n <= last; n++ {
		if _, err := fmt.Fprintln(out, n); err != nil {
			return err
		}
	}
	return out.Flush()
}

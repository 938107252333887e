package toolbox

import (
	"errors"
	"fmt"
	"math"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
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

// sleep DURATION…: all of them, one after the other.
func sleep(c *Call) int {
	flags := c.Flags("DURATION…")
	apply := c.EndingFlags(flags)
	if err := flags.Parse(c.Args); err != nil {
		return c.Fail(Usage, err)
	}
	apply()
	if flags.NArg() == 0 {
		return c.Fail(Usage, errors.New("how long? A number of seconds, a duration such as 1m30s, or infinity"))
	}
	var total time.Duration
	for _, arg := range flags.Args() {
		d, err := parseDuration(arg)
		if err != nil {
			return c.Fail(Usage, err)
		}
		if total += d; total < 0 || d == forever {
			total = forever
			break
		}
	}
	time.Sleep(total)
	return 0
}

// exit CODE [after DURATION].
func exit(c *Call) int {
	flags := c.Flags("CODE [after DURATION]")
	apply := c.EndingFlags(flags)
	if err := flags.Parse(c.Args); err != nil {
		return c.Fail(Usage, err)
	}
	apply()
	args := flags.Args()
	if len(args) != 1 && (len(args) != 3 || args[1] != "after") {
		return c.Fail(Usage, errors.New("want CODE [after DURATION]"))
	}
	code, err := strconv.ParseUint(args[0], 10, 8)
	if err != nil {
		return c.Fail(Usage, fmt.Errorf("exit code %q: want 0 to 255", args[0]))
	}
	if len(args) == 3 {
		d, err := parseDuration(args[2])
		if err != nil {
			return c.Fail(Usage, err)
		}
		time.Sleep(d)
	}
	return int(code)
}

// timeout DURATION COMMAND…: SIGTERM and code 124 when the time is over.
func timeout(c *Call) int {
	flags := c.Flags("DURATION COMMAND [ARG…]")
	flags.SetInterspersed(false)
	if err := flags.Parse(c.Args); err != nil {
		return c.Fail(Usage, err)
	}
	if flags.NArg() < 2 {
		return c.Fail(Usage, errors.New("want DURATION COMMAND [ARG…]"))
	}
	limit, err := parseDuration(flags.Arg(0))
	if err != nil {
		return c.Fail(Usage, err)
	}
	cmd := exec.Command(flags.Arg(1), flags.Args()[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	if err := StartChild(cmd); err != nil {
		return c.Fail(127, err)
	}
	over := time.AfterFunc(limit, func() { SignalChildren(syscall.SIGTERM) })
	err = WaitChild(cmd)
	if !over.Stop() {
		return 124
	}
	return ExitCode(err)
}

// ExitCode is the shell's view of how a command ended.
func ExitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		return 126
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}

// dateFormats are what date +FORMAT understands, as Go layouts.
var dateFormats = strings.NewReplacer("%Y", "2006", "%m", "01", "%d", "02", "%H", "15", "%M", "04", "%S", "05",
	"%N", "000000000", "%F", "2006-01-02", "%T", "15:04:05", "%Z", "MST", "%z", "-0700", "%a", "Mon", "%b", "Jan")

// date [-u] [+FORMAT].
func date(c *Call) int {
	flags := c.Flags("[-u] [+FORMAT]")
	utc := flags.BoolP("utc", "u", false, "in UTC")
	if err := flags.Parse(c.Args); err != nil {
		return c.Fail(Usage, err)
	}
	now := time.Now()
	if *utc {
		now = now.UTC()
	}
	format := flags.Arg(0)
	switch {
	case flags.NArg() == 0:
		fmt.Fprintln(c.Stdout, now.Format(time.UnixDate))
	case format == "+%s":
		fmt.Fprintln(c.Stdout, now.Unix())
	case strings.HasPrefix(format, "+") && !strings.Contains(dateFormats.Replace(format), "%"):
		// The fraction needs its dot in a layout, %N has none.
		out := now.Format(strings.ReplaceAll(dateFormats.Replace(format[1:]), "000000000", "%N"))
		fmt.Fprintln(c.Stdout, strings.ReplaceAll(out, "%N", fmt.Sprintf("%09d", now.Nanosecond())))
	default:
		return c.Fail(Usage, fmt.Errorf("format %q: known are %%s alone and %%Y %%m %%d %%H %%M %%S %%N %%F %%T %%Z %%z %%a %%b", format))
	}
	return 0
}

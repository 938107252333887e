package toolbox

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"
)

// inputs opens the named files, or gives standard input.
func (c *Call) inputs(names []string) (io.Reader, error) {
	if len(names) == 0 {
		return c.Stdin, nil
	}
	readers := make([]io.Reader, 0, len(names))
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		readers = append(readers, file)
	}
	return io.MultiReader(readers...), nil
}

// head [-n LINES] [FILE…].
func head(c *Call) error {
	count := c.Flags.IntP("lines", "n", 10, "how many lines")
	names, err := c.Parse("[-n LINES] [FILE…]", 0, -1)
	if err != nil {
		return err
	}
	in, err := c.inputs(names)
	if err != nil {
		return err
	}
	return copyLines(c.Stdout, in, *count)
}

// copyLines keeps no more than a buffer, however long a line is: /dev/zero is
// one without an end.
func copyLines(out io.Writer, in io.Reader, count int) error {
	for from := bufio.NewReaderSize(in, 64<<10); count > 0; {
		part, err := from.ReadSlice('\n')
		if _, err := out.Write(part); err != nil {
			return err
		}
		switch {
		case err == nil:
			count--
		case errors.Is(err, io.EOF):
			return nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
	return nil
}

// tail [-f] [-n LINES] [FILE].
func tail(c *Call) error {
	count := c.Flags.IntP("lines", "n", 10, "how many lines")
	follow := c.Flags.BoolP("follow", "f", false, "go on with what is added to FILE")
	names, err := c.Parse("[-f] [-n LINES] [FILE]", 0, 1)
	if err != nil {
		return err
	}
	in := c.Stdin
	if len(names) > 0 {
		if in, err = os.Open(names[0]); err != nil {
			return err
		}
	}
	last, err := lastLines(in, *count)
	if err != nil {
		return err
	}
	fmt.Fprint(c.Stdout, strings.Join(last, ""))
	// An applet for people, not a part of lifepod's hot path: ten times a second.
	for *follow && len(names) > 0 {
		if _, err := io.Copy(c.Stdout, in); err != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}

// longestLine is how long a line can be for what works on whole lines.
const longestLine = 16 << 20

// lastLines keeps no more than count lines at a time.
func lastLines(in io.Reader, count int) ([]string, error) {
	var last []string
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestLine)
	lines.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			return i + 1, data[:i+1], nil
		}
		if atEOF && len(data) > 0 {
			return len(data), data, nil
		}
		return 0, nil, nil
	})
	for lines.Scan() {
		last = append(last, lines.Text())
		if len(last) > count {
			last = last[1:]
		}
	}
	return last, lines.Err()
}

// grep [-qvicEF] PATTERN [FILE…]: patterns are Go's, which are extended ones.
func grep(c *Call) error {
	quiet := c.Flags.BoolP("quiet", "q", false, "print nothing")
	invert := c.Flags.BoolP("invert", "v", false, "lines that do not match")
	fold := c.Flags.BoolP("ignore-case", "i", false, "whatever the case")
	count := c.Flags.BoolP("count", "c", false, "print how many")
	c.Flags.BoolP("extended", "E", true, "extended patterns")
	fixed := c.Flags.BoolP("fixed", "F", false, "PATTERN is plain text")
	args, err := c.Parse("[-qvicEF] PATTERN [FILE…]", 1, -1)
	if err != nil {
		return err
	}
	pattern := args[0]
	if *fixed {
		pattern = regexp.QuoteMeta(pattern)
	}
	if *fold {
		pattern = "(?i)" + pattern
	}
	match, err := regexp.Compile(pattern)
	if err != nil {
		return Usage(err)
	}
	in, err := c.inputs(args[1:])
	if err != nil {
		return Usage(err) // as POSIX has it: 1 is for no match
	}
	matches, lines := 0, bufio.NewScanner(in)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		if match.Match(lines.Bytes()) == *invert {
			continue
		}
		if matches++; !*quiet && !*count {
			fmt.Fprintln(c.Stdout, lines.Text())
		}
	}
	if err := lines.Err(); err != nil {
		return Usage(err)
	}
	if *count {
		fmt.Fprintln(c.Stdout, matches)
	}
	if matches == 0 {
		return Exit(1)
	}
	return nil
}

// wc [-l] [-c] [FILE…], all files together.
func wc(c *Call) error {
	onlyLines := c.Flags.BoolP("lines", "l", false, "count lines")
	onlyBytes := c.Flags.BoolP("bytes", "c", false, "count bytes")
	names, err := c.Parse("[-l] [-c] [FILE…]", 0, -1)
	if err != nil {
		return err
	}
	in, err := c.inputs(names)
	if err != nil {
		return err
	}
	var lines counter
	size, err := io.Copy(&lines, in)
	switch {
	case err != nil:
		return err
	case *onlyLines == *onlyBytes:
		_, err = fmt.Fprintln(c.Stdout, lines, size)
	case *onlyLines:
		_, err = fmt.Fprintln(c.Stdout, lines)
	default:
		_, err = fmt.Fprintln(c.Stdout, size)
	}
	return err
}

// counter counts the lines that are written to it.
type counter int

func (n *counter) Write(p []byte) (int, error) {
	*n += counter(bytes.Count(p, []byte{'\n'}))
	return len(p), nil
}

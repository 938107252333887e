package toolbox

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
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
func head(c *Call) int {
	flags := c.Flags("[-n LINES] [FILE…]")
	count := flags.IntP("lines", "n", 10, "how many lines")
	if err := flags.Parse(c.Args); err != nil {
		return c.Fail(Usage, err)
	}
	in, err := c.inputs(flags.Args())
	if err != nil {
		return c.Fail(1, err)
	}
	if err := copyLines(c.Stdout, in, *count); err != nil {
		return c.Fail(1, err)
	}
	return 0
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
func tail(c *Call) int {
	flags := c.Flags("[-f] [-n LINES] [FILE]")
	count := flags.IntP("lines", "n", 10, "how many lines")
	follow := flags.BoolP("follow", "f", false, "go on with what is added")
	flags.BoolVarP(follow, "retry", "F", false, "the same")
	apply := c.EndingFlags(flags)
	if err := flags.Parse(c.Args); err != nil {
		return c.Fail(Usage, err)
	}
	apply()
	in, err := c.inputs(flags.Args())
	if err != nil {
		return c.Fail(1, err)
	}
	last, size, err := lastLines(in, *count)
	if err != nil {
		return c.Fail(1, err)
	}
	fmt.Fprint(c.Stdout, strings.Join(last, ""))
	if !*follow || flags.NArg() == 0 {
		return 0
	}
	return c.follow(flags.Arg(0), size)
}

// longestLine is how long a line can be for what works on whole lines.
const longestLine = 16 << 20

// lastLines keeps no more than count lines at a time.
func lastLines(in io.Reader, count int) (last []string, size int64, err error) {
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
		size += int64(len(lines.Bytes()))
		last = append(last, lines.Text())
		if len(last) > count {
			last = last[1:]
		}
	}
	return last, size, lines.Err()
}

// follow looks for additions ten times a second; an applet for people, not a
// part of lifepod's hot path.
func (c *Call) follow(name string, from int64) int {
	file, err := os.Open(name)
	if err != nil {
		return c.Fail(1, err)
	}
	for {
		n, err := io.Copy(c.Stdout, io.NewSectionReader(file, from, 1<<62))
		if err != nil {
			return c.Fail(1, err)
		}
		from += n
		time.Sleep(100 * time.Millisecond)
	}
}

// grep [-qvicEF] PATTERN [FILE…]: patterns are Go's, which are extended ones.
func grep(c *Call) int {
	flags := c.Flags("[-qvicEF] PATTERN [FILE…]")
	quiet := flags.BoolP("quiet", "q", false, "print nothing")
	invert := flags.BoolP("invert", "v", false, "lines that do not match")
	fold := flags.BoolP("ignore-case", "i", false, "whatever the case")
	count := flags.BoolP("count", "c", false, "print how many")
	flags.BoolP("extended", "E", true, "extended patterns")
	fixed := flags.BoolP("fixed", "F", false, "PATTERN is plain text")
	if err := flags.Parse(c.Args); err != nil {
		return c.Fail(Usage, err)
	}
	pattern := flags.Arg(0)
	if *fixed {
		pattern = regexp.QuoteMeta(pattern)
	}
	if *fold {
		pattern = "(?i)" + pattern
	}
	match, err := regexp.Compile(pattern)
	if err != nil || flags.NArg() == 0 {
		return c.Fail(Usage, fmt.Errorf("pattern %q: %w", pattern, err))
	}
	in, err := c.inputs(flags.Args()[1:])
	if err != nil {
		return c.Fail(Usage, err)
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
		return c.Fail(Usage, err)
	}
	if *count {
		fmt.Fprintln(c.Stdout, matches)
	}
	if matches == 0 {
		return 1
	}
	return 0
}

// wc [-lwc] [FILE…], all files together.
func wc(c *Call) int {
	flags := c.Flags("[-lwc] [FILE…]")
	showLines := flags.BoolP("lines", "l", false, "count lines")
	showWords := flags.BoolP("words", "w", false, "count words")
	showBytes := flags.BoolP("bytes", "c", false, "count bytes")
	if err := flags.Parse(c.Args); err != nil {
		return c.Fail(Usage, err)
	}
	in, err := c.inputs(flags.Args())
	if err != nil {
		return c.Fail(1, err)
	}
	lines, words, size, err := count(in)
	if err != nil {
		return c.Fail(1, err)
	}
	all := !*showLines && !*showWords && !*showBytes
	var out []string
	for _, part := range []struct {
		show bool
		n    int
	}{
		{*showLines, lines}, {*showWords, words}, {*showBytes, size},
	} {
		if part.show || all {
			out = append(out, strconv.Itoa(part.n))
		}
	}
	fmt.Fprintln(c.Stdout, strings.Join(out, " "))
	return 0
}

func count(in io.Reader) (lines, words, size int, err error) {
	inWord := false
	for from := bufio.NewReaderSize(in, 64<<10); ; size++ {
		b, err := from.ReadByte()
		if errors.Is(err, io.EOF) {
			return lines, words, size, nil
		}
		if err != nil {
			return lines, words, size, err
		}
		if b == '\n' {
			lines++
		}
		blank := strings.IndexByte(" \t\n\r\v\f", b) >= 0
		if !blank && !inWord {
			words++
		}
		inWord = !blank
	}
}

// tee [-a] FILE….
func tee(c *Call) int {
	flags := c.Flags("[-a] FILE…")
	add := flags.BoolP("append", "a", false, "add to the files")
	if err := flags.Parse(c.Args); err != nil {
		return c.Fail(Usage, err)
	}
	mode := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if *add {
		mode = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	outs := []io.Writer{c.Stdout}
	for _, name := range flags.Args() {
		file, err := os.OpenFile(name, mode, 0o666)
		if err != nil {
			return c.Fail(1, err)
		}
		outs = append(outs, file)
	}
	if _, err := io.Copy(io.MultiWriter(outs...), c.Stdin); err != nil {
		return c.Fail(1, err)
	}
	return 0
}

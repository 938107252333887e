package toolbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// echo [-n] [-e] ARG….
func echo(c *Call) int {
	args, end, escapes := c.Args, "\n", false
	for ; len(args) > 0; args = args[1:] {
		if args[0] == "-n" {
			end = ""
		} else if args[0] == "-e" {
			escapes = true
		} else {
			break
		}
	}
	out := strings.Join(args, " ")
	if escapes {
		out = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`).Replace(out)
	}
	if _, err := io.WriteString(c.Stdout, out+end); err != nil {
		return c.Fail(1, err)
	}
	return 0
}

// env [-i] [NAME=VALUE…] [COMMAND…].
func env(c *Call) int {
	vars, args := os.Environ(), c.Args
	if len(args) > 0 && args[0] == "-i" {
		vars, args = nil, args[1:]
	}
	for len(args) > 0 && strings.Contains(args[0], "=") {
		vars, args = append(vars, args[0]), args[1:]
	}
	if len(args) == 0 {
		for _, v := range vars {
			fmt.Fprintln(c.Stdout, v)
		}
		return 0
	}
	path, err := lookPath(args[0])
	if err == nil {
		err = syscall.Exec(path, args, vars)
	}
	return c.Fail(127, err)
}

// printenv [NAME…]: 1 if one is not set.
func printenv(c *Call) int {
	if len(c.Args) == 0 {
		return env(c)
	}
	code := 0
	for _, name := range c.Args {
		if value, set := os.LookupEnv(name); set {
			fmt.Fprintln(c.Stdout, value)
		} else {
			code = 1
		}
	}
	return code
}

// seq [FIRST [STEP]] LAST, whole numbers.
func seq(c *Call) int {
	first, step, last := 1, 1, 0
	targets := map[int][]*int{1: {&last}, 2: {&first, &last}, 3: {&first, &step, &last}}[len(c.Args)]
	if targets == nil {
		return c.Fail(Usage, errors.New("want [FIRST [STEP]] LAST"))
	}
	for i, target := range targets {
		n, err := strconv.Atoi(c.Args[i])
		if err != nil {
			return c.Fail(Usage, fmt.Errorf("%q is not a whole number", c.Args[i]))
		}
		*target = n
	}
	if step == 0 {
		return c.Fail(Usage, errors.New("the step is 0"))
	}
	for n := first; step > 0 && n <= last || step < 0 && n >= last; n += step {
		fmt.Fprintln(c.Stdout, n)
	}
	return 0
}

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
	lines := bufio.NewReader(in)
	for range *count {
		line, err := lines.ReadString('\n')
		io.WriteString(c.Stdout, line)
		if err != nil {
			break
		}
	}
	return 0
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
	data, err := io.ReadAll(in)
	if err != nil {
		return c.Fail(1, err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	io.WriteString(c.Stdout, strings.Join(lines[max(0, len(lines)-*count):], ""))
	if !*follow || flags.NArg() == 0 {
		return 0
	}
	return c.follow(flags.Arg(0), int64(len(data)))
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
	matches := 0
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if match.Match(lines.Bytes()) == *invert {
			continue
		}
		if matches++; !*quiet && !*count {
			fmt.Fprintln(c.Stdout, lines.Text())
		}
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
	data, err := io.ReadAll(in)
	if err != nil {
		return c.Fail(1, err)
	}
	all := !*showLines && !*showWords && !*showBytes
	var out []string
	for _, part := range []struct {
		show bool
		n    int
	}{
		{*showLines, strings.Count(string(data), "\n")},
		{*showWords, len(strings.Fields(string(data)))},
		{*showBytes, len(data)},
	} {
		if part.show || all {
			out = append(out, strconv.Itoa(part.n))
		}
	}
	fmt.Fprintln(c.Stdout, strings.Join(out, " "))
	return 0
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

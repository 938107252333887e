package toolbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// echo [-n] [-e] ARG….
func echo(c *Call) int {
	args, end, escapes := c.Args, "\n", false
	for ; len(args) > 0; args = args[1:] {
		if args[0] != "-n" && args[0] != "-e" {
			break
		}
		if args[0] == "-e" {
			escapes = true
		} else {
			end = ""
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
	out := bufio.NewWriter(c.Stdout)
	for n := first; step > 0 && n <= last || step < 0 && n >= last; n += step {
		if _, err := fmt.Fprintln(out, n); err != nil {
			return c.Fail(1, err)
		}
	}
	if err := out.Flush(); err != nil {
		return c.Fail(1, err)
	}
	return 0
}

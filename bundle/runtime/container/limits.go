package container

import (
	"fmt"
	"os"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// What the kernel takes of arguments and variables together: a quarter of the stack's limit, within these bounds.
const (
	leastTotal = 128 << 10
	mostTotal  = 6 << 20
)

// tooLarge is an error for arguments and variables that the kernel would refuse (A-ENV-11). Runc finds that out from execve, when
// the start of the container has been answered: its error would be a line of the container's output.
func tooLarge(p *specs.Process) error {
	if p == nil {
		return nil
	}
	most := 32 * os.Getpagesize() // the kernel's MAX_ARG_STRLEN, the final zero byte included
	total, largest, of := 0, 0, ""
	count := func(text, kind, name string) error {
		size := len(text) + 1
		if total += size + 8; size > largest { // and a pointer to it
			largest, of = size, fmt.Sprintf("%s %s", kind, name)
		}
		if size > most {
			return fmt.Errorf("argument list too long: %s %s needs %d bytes, the kernel takes %d", kind, name, size, most)
		}
		return nil
	}
	for i, arg := range p.Args {
		if err := count(arg, "argument", fmt.Sprint(i)); err != nil {
			return err
		}
	}
	for _, variable := range p.Env {
		name, _, _ := strings.Cut(variable, "=")
		if err := count(variable, "environment variable", fmt.Sprintf("%.256q", name)); err != nil {
			return err
		}
	}
	if limit := totalLimit(p); total > limit {
		return fmt.Errorf("argument list too long: %d arguments and %d environment variables need %d bytes, the kernel takes %d, a quarter of the stack's limit; the largest is %s with %d",
			len(p.Args), len(p.Env), total, limit, of, largest)
	}
	return nil
}

// totalLimit is how many bytes the kernel takes of all arguments and variables, with a pointer of eight bytes to each.
func totalLimit(p *specs.Process) int {
	var stack unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_STACK, &stack) != nil {
		stack.Cur = unix.RLIM_INFINITY // it never fails
	}
	for _, limit := range p.Rlimits {
		if limit.Type == "RLIMIT_STACK" {
			stack.Cur = limit.Soft
		}
	}
	return int(max(min(stack.Cur/4, mostTotal), leastTotal))
}

// withLimit adds the memory limit to an error of runc's library that asks whether it is too low.
func withLimit(err error, spec *specs.Spec) error {
	if r := spec.Linux.Resources; strings.Contains(err.Error(), "memory limit too low") && r != nil && r.Memory != nil && r.Memory.Limit != nil {
		return fmt.Errorf("%w: the limit is %d bytes", err, *r.Memory.Limit)
	}
	return err
}

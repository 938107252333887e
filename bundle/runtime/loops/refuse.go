package loops

import (
	"math"
	"slices"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// The loop driver's requests are 0x4c00 to 0x4cff. The kernel looks at the lower 32 bits of the argument only.
const (
	call     = "ioctl"
	argument = 1
	mask     = 0xffffff00
	requests = 0x4c00
)

// refuse has a profile refuse the loop driver's requests.
func refuse(profile *specs.LinuxSeccomp) {
	var rules []specs.LinuxSyscall
	for _, rule := range profile.Syscalls {
		if !permits(rule.Action) || !slices.Contains(rule.Names, call) {
			rules = append(rules, rule)
			continue
		}
		for _, args := range others(rule.Args) {
			other := rule
			other.Names, other.Args = []string{call}, args
			rules = append(rules, other)
		}
		rule.Names = slices.DeleteFunc(slices.Clone(rule.Names), func(name string) bool { return name == call })
		if len(rule.Names) > 0 {
			rules = append(rules, rule)
		}
	}
	if permits(profile.DefaultAction) {
		errno := uint(unix.EPERM)
		rules = append(rules, specs.LinuxSyscall{
			Names: []string{call}, Action: specs.ActErrno, ErrnoRet: &errno,
			Args: []specs.LinuxSeccompArg{{Index: argument, Op: specs.OpMaskedEqual, Value: mask, ValueTwo: requests}},
		})
	}
	profile.Syscalls = rules
}

// permits says whether the kernel may carry a call out.
func permits(action specs.LinuxSeccompAction) bool {
	switch action {
	case specs.ActErrno, specs.ActKill, specs.ActKillProcess, specs.ActKillThread, specs.ActTrap:
		return false
	default:
		return true
	}
}

// others are the conditions of a rule, without the loop driver's requests. A filter can't ask for what differs from
// something below a mask. So there is one for each bit that differs.
func others(args []specs.LinuxSeccompArg) (all [][]specs.LinuxSeccompArg) {
	rest := slices.DeleteFunc(slices.Clone(args), func(a specs.LinuxSeccompArg) bool { return a.Index == argument })
	var known, value uint64 // bits of the request, and what they are
	switch {
	case len(args) > len(rest)+1:
		return nil // one or the other: this can't be had in one rule
	case len(args) == len(rest)+1:
		a := args[slices.IndexFunc(args, func(a specs.LinuxSeccompArg) bool { return a.Index == argument })]
		switch a.Op {
		case specs.OpEqualTo:
			known, value = math.MaxUint64, a.Value
		case specs.OpMaskedEqual:
			known, value = a.Value, a.ValueTwo
		default:
			return nil // as little can a range
		}
	}
	if known&mask&(value^requests) != 0 {
		return [][]specs.LinuxSeccompArg{args} // it permits none of them
	}
	for bit := uint64(1); bit <= mask; bit <<= 1 {
		if bit&mask&^known != 0 {
			differs := specs.LinuxSeccompArg{Index: argument, Op: specs.OpMaskedEqual, Value: known | bit, ValueTwo: value | bit&^requests}
			all = append(all, append(slices.Clone(rest), differs))
		}
	}
	return all
}

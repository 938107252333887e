package space

import (
	"regexp"
	"strconv"
)

// OOMVictim is a process that was killed because the machine was out of memory.
type OOMVictim struct {
	Process string
	PID     int
}

// parser finds the victims in the messages of the kernel's log, in their order. Each kill
// takes several lines: one that begins it, one that says whose limit was reached, and one
// that names the process.
type parser struct {
	begun bool // a kill, whose process is not named yet
}

var (
	begins = regexp.MustCompile(`invoked oom-killer:`)
	// limited are the lines that say which cgroup's limit was reached: of Linux from 5.0 on,
	// and of those before. When all memory is used, there is none.
	limited = regexp.MustCompile(`oom-kill:constraint=.*,oom_memcg=(.*),task_memcg=|Task in .* killed as a result of limit of (.*)`)
	killed  = regexp.MustCompile(`Killed process ([0-9]+) \((.+)\)`)
)

// next takes a message, and returns the victim that it names.
func (p *parser) next(message string) (OOMVictim, bool) {
	if begins.MatchString(message) {
		p.begun = true
		return OOMVictim{}, false
	}
	if !p.begun {
		return OOMVictim{}, false
	}
	if found := limited.FindStringSubmatch(message); found != nil {
		p.begun = found[1]+found[2] == "/"
		return OOMVictim{}, false
	}
	found := killed.FindStringSubmatch(message)
	if found == nil {
		return OOMVictim{}, false
	}
	p.begun = false
	pid, err := strconv.Atoi(found[1])
	return OOMVictim{Process: found[2], PID: pid}, err == nil
}

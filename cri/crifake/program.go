package crifake

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Program is what a container's process does.
type Program struct {
	Exits      bool          // by itself, After its start; else it runs until it is stopped
	After      time.Duration // 0: before StartContainer has answered
	Code       int32
	IgnoreTERM bool
	TermTakes  time.Duration // between the stop signal and the exit
	TermCode   int32
	OOM        bool   // its own exit is a kill for memory
	StartError string // it can't be started
	Message    string // what it leaves as its termination message
	Output     []Line // what it writes, since its start
	Says       string // a line that it writes when it begins; it then answers an ignored stop signal with "told"
}

// Line is a line of a log.
type Line struct {
	At           time.Duration
	Stream, Text string
}

// ParseProgram reads a program: words of
//
//	run            runs until it is stopped; the stop signal ends it at once, code 143
//	exit=N after=D ends by itself
//	oom            that end is a kill for memory, code 137
//	term=ignore    only a kill ends it
//	term=D         the stop signal ends it after D
//	term-code=N    with this code
//	start-error=T  it can't be started; _ stands for a space
//	message=T      it leaves a termination message
//	says=T         it writes this line to its log, and "told" at a stop signal that it ignores
func ParseProgram(text string) (Program, error) {
	p := Program{TermCode: 143}
	for word := range strings.FieldsSeq(text) {
		if err := p.parseWord(word); err != nil {
			return p, fmt.Errorf("program %q: %w", text, err)
		}
	}
	return p, nil
}

func (p *Program) parseWord(word string) (err error) {
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "run":
	case "exit":
		p.Exits = true
		err = parseExitCode(&p.Code, value)
	case "after":
		p.After, err = time.ParseDuration(value)
	case "oom":
		p.OOM = true
	case "term":
		if value == "ignore" {
			p.IgnoreTERM = true
			return nil
		}
		p.TermTakes, err = time.ParseDuration(value)
	case "term-code":
		err = parseExitCode(&p.TermCode, value)
	case "start-error":
		p.StartError = strings.ReplaceAll(value, "_", " ")
	case "message":
		p.Message = strings.ReplaceAll(value, "_", " ")
	case "says":
		p.Says = strings.ReplaceAll(value, "_", " ")
	default:
		err = fmt.Errorf("there is no word %q", word)
	}
	return err
}

func parseExitCode(to *int32, text string) error {
	n, err := strconv.ParseInt(text, 10, 32)
	*to = int32(n)
	return err
}

// Program says what the instances of a container do, the first, the second and
// so on; the last text holds for all that follow. The container is named alone,
// or as pod/container. A text that can't be read panics: it is part of a test.
func (r *Runtime) Program(container string, texts ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.programs[container] = nil
	for _, text := range texts {
		p, err := ParseProgram(text)
		if err != nil {
			panic("crifake: " + err.Error())
		}
		r.programs[container] = append(r.programs[container], p)
	}
}

// nextProgram is what a new instance does: as Program said, or as its command
// says, for which the words of a program stand after "program"; needs mu.
func (r *Runtime) nextProgram(c *container) (Program, error) {
	if r.play != nil {
		return r.play.Program(c.sandbox.config, c.config)
	}
	for _, key := range []string{c.subject().text, c.config.Metadata.Name} {
		list := r.programs[key]
		if len(list) == 0 {
			continue
		}
		if len(list) > 1 {
			r.programs[key] = list[1:]
		}
		return list[0], nil
	}
	if words := c.config.Command; len(words) > 0 && words[0] == "program" {
		return ParseProgram(strings.Join(words[1:], " "))
	}
	return ParseProgram("run")
}

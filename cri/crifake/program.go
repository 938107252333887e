package crifake

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lifepod/lifepod/sim/scenario"
)

// program is what a container's process does.
type program struct {
	run  scenario.Run
	says string // a line that it writes when it begins; it then answers an ignored stop signal with "told"
}

// parseProgram reads a program: words of
//
//	run            runs until it is stopped; the stop signal ends it at once, code 143
//	exit=N after=D ends by itself; without a time before StartContainer has answered
//	oom            that end is a kill for memory, code 137
//	term=ignore    only a kill ends it
//	term=D         the stop signal ends it after D
//	term-code=N    with this code
//	start-error=T  it can't be started; _ stands for a space
//	message=T      it leaves a termination message
//	says=T         it writes this line to its log, and "told" at a stop signal that it ignores
func parseProgram(text string) (program, error) {
	p := program{run: scenario.Run{Stop: &scenario.Stop{After: scenario.Fixed(0), Exit: new(int32(143))}}}
	for word := range strings.FieldsSeq(text) {
		if err := p.parseWord(word); err != nil {
			return p, fmt.Errorf("program %q: %w", text, err)
		}
	}
	if p.run.Run == nil && p.run.Exit != nil {
		p.run.Run = scenario.Fixed(0)
	}
	return p, nil
}

func (p *program) parseWord(word string) (err error) {
	key, value, _ := strings.Cut(word, "=")
	spaced := strings.ReplaceAll(value, "_", " ")
	switch key {
	case "run":
	case "exit":
		p.run.Exit = new(int32)
		err = parseExitCode(p.run.Exit, value)
	case "after":
		p.run.Run, err = parseTime(value)
	case "oom":
		p.run.OOM = true
	case "term":
		if p.run.Stop.Ignore = value == "ignore"; !p.run.Stop.Ignore {
			p.run.Stop.After, err = parseTime(value)
		}
	case "term-code":
		err = parseExitCode(p.run.Stop.Exit, value)
	case "start-error":
		p.run.StartError = spaced
	case "message":
		p.run.Message = spaced
	case "says":
		p.says = spaced
	default:
		err = fmt.Errorf("there is no word %q", word)
	}
	return err
}

func parseTime(text string) (*scenario.Span, error) {
	d, err := time.ParseDuration(text)
	return scenario.Fixed(d), err
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
		p, err := parseProgram(text)
		if err != nil {
			panic("crifake: " + err.Error())
		}
		r.programs[container] = append(r.programs[container], p)
	}
}

// nextProgram is what a new instance does: as Program said, or as its command
// says, for which the words of a program stand after "program"; needs mu.
func (r *Runtime) nextProgram(c *container) (program, error) {
	if r.play != nil {
		return r.playedProgram(c), nil
	}
	if p, is := next(r.programs, c); is {
		return p, nil
	}
	if words := c.config.Command; len(words) > 0 && words[0] == "program" {
		return parseProgram(strings.Join(words[1:], " "))
	}
	return parseProgram("run")
}

// next is what was said of a container's next instance or command: by pod/container, or by its name alone; needs mu.
func next[T any](said map[string][]T, c *container) (what T, is bool) {
	for _, key := range []string{c.subject().text, c.config.Metadata.Name} {
		list := said[key]
		if len(list) == 0 {
			continue
		}
		if len(list) > 1 {
			said[key] = list[1:]
		}
		return list[0], true
	}
	return what, false
}

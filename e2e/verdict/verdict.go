package verdict

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
)

// Tests are a package's, as testing.M runs them.
type Tests interface{ Run() int }

// Run runs the tests and returns their exit code. When one fails show, if it isn't
// nil, prints what helps to understand it, and after that comes a summary of what
// has failed, on stderr. All that the tests print to stdout passes through as it is.
func Run(tests Tests, show func()) int {
	through, err := redirect()
	if err != nil {
		fmt.Fprintln(os.Stderr, "what fails is not repeated at the end:", err)
		return tests.Run()
	}
	code := tests.Run()
	text := through.end().String()
	if code == 0 {
		return 0
	}
	if show != nil {
		show()
	}
	_, _ = io.WriteString(os.Stderr, text) // there is nobody else to tell
	return code
}

// redirected is a stdout that is read on its way.
type redirected struct {
	stdout, write *os.File
	found         summary
	ended         chan struct{}
}

// lastLine ends what is read: a process that was started with this stdout may hold
// it open for longer than the tests run.
const lastLine = "\x00the tests have ended\n"

func redirect() (*redirected, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	r := &redirected{stdout: os.Stdout, write: write, ended: make(chan struct{})}
	os.Stdout = write
	go func() {
		defer close(r.ended)
		defer read.Close()
		r.copy(read)
	}()
	return r, nil
}

func (r *redirected) copy(from io.Reader) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		line, last := strings.CutSuffix(line, lastLine)
		_, _ = io.WriteString(r.stdout, line) // as the tests would: unchecked
		r.found.line(line)
		if last || err != nil {
			return
		}
	}
}

// end gives stdout back and returns what was found.
func (r *redirected) end() *summary {
	os.Stdout = r.stdout
	_, _ = io.WriteString(r.write, lastLine)
	_ = r.write.Close()
	<-r.ended
	return &r.found
}

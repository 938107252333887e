package netbox

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/lifepod/lifepod/bundle/runtime/toolbox"
)

// request is what fetch and wget ask for.
type request struct {
	method, url, body string
	headers           []string
	timeout           time.Duration
	// out is the file for the answer; "-" is standard output, "" nowhere.
	out string
}

// fetch URL: the answer on standard output, 1 if its status is 400 or more.
func fetch(c *toolbox.Call) int {
	r := request{}
	flags := c.Flags("[--method NAME] [--header 'NAME: VALUE']… [--body TEXT] [-o FILE] URL")
	flags.StringVar(&r.method, "method", http.MethodGet, "HTTP method")
	flags.StringVar(&r.body, "body", "", "what to send")
	flags.StringArrayVar(&r.headers, "header", nil, "a header to send")
	flags.DurationVar(&r.timeout, "timeout", 10*time.Second, "for the whole exchange")
	flags.StringVarP(&r.out, "output", "o", "-", "file for the answer")
	if err := flags.Parse(c.Args); err != nil {
		return c.Fail(toolbox.Usage, err)
	}
	if flags.NArg() != 1 {
		return c.Fail(toolbox.Usage, errors.New("want URL"))
	}
	r.url = flags.Arg(0)
	return r.do(c)
}

// wget [-q] [-O FILE] [-T SECONDS] [--spider] URL, as scripts know it.
func wget(c *toolbox.Call) int {
	r := request{method: http.MethodGet}
	flags := c.Flags("[-q] [-O FILE] [-T SECONDS] [--spider] [--post-data TEXT] URL")
	flags.BoolP("quiet", "q", false, "it always is")
	flags.StringVarP(&r.out, "output-document", "O", "-", "file for the answer")
	flags.StringVar(&r.body, "post-data", "", "POST this text")
	seconds := flags.IntP("timeout", "T", 10, "seconds for the whole exchange")
	spider := flags.Bool("spider", false, "only whether it is there")
	if err := flags.Parse(c.Args); err != nil {
		return c.Fail(toolbox.Usage, err)
	}
	if flags.NArg() != 1 {
		return c.Fail(toolbox.Usage, errors.New("want URL"))
	}
	if r.body != "" {
		r.method = http.MethodPost
	}
	if *spider {
		r.out = ""
	}
	r.url, r.timeout = flags.Arg(0), time.Duration(*seconds)*time.Second
	return r.do(c)
}

func (r request) do(c *toolbox.Call) int {
	if !strings.Contains(r.url, "://") {
		r.url = "http://" + r.url
	}
	ask, err := http.NewRequest(r.method, r.url, strings.NewReader(r.body))
	if err != nil {
		return c.Fail(toolbox.Usage, err)
	}
	for _, header := range r.headers {
		name, value, found := strings.Cut(header, ":")
		if !found {
			return c.Fail(toolbox.Usage, fmt.Errorf("header %q: want NAME: VALUE", header))
		}
		ask.Header.Add(name, strings.TrimSpace(value))
	}
	answer, err := (&http.Client{Timeout: r.timeout}).Do(ask)
	if err != nil {
		return c.Fail(1, err)
	}
	defer answer.Body.Close()
	if err := r.save(c, answer.Body); err != nil {
		return c.Fail(1, err)
	}
	if answer.StatusCode >= http.StatusBadRequest {
		return c.Fail(1, fmt.Errorf("%s %s: %s", r.method, r.url, answer.Status))
	}
	return 0
}

func (r request) save(c *toolbox.Call, body io.Reader) error {
	out := c.Stdout
	switch r.out {
	case "":
		out = io.Discard
	case "-":
	default:
		file, err := os.Create(r.out)
		if err != nil {
			return err
		}
		defer file.Close()
		out = file
	}
	_, err := io.Copy(out, body)
	return err
}

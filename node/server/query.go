package server

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What the kubelet lets a query have (A-NODE-3).
const (
	mostServices   = 4
	longestService = 256
	mostLines      = 100000
)

// unsafe is what a unit's name does not have.
var unsafe = regexp.MustCompile(`[^a-zA-Z0-9\-_.:@]`)

// query is what somebody wants to see of the logs.
type query struct {
	services, files []string
	filter
}

// filter is what of a service's log is wanted.
type filter struct {
	since, until *time.Time
	lines, boot  *int
	pattern      string
}

func (q query) empty() bool {
	return len(q.services) == 0 && len(q.files) == 0 && q.filter == filter{}
}

// parse reads a query; the errors are about what is not well formed.
func parse(values url.Values) (q query, errs field.ErrorList) {
	asked, given := values["query"]
	for _, one := range asked {
		switch {
		case strings.ContainsAny(one, `/\`):
			q.files = append(q.files, one)
		case strings.TrimSpace(one) != "":
			q.services = append(q.services, one)
		}
	}
	if given && len(q.files) == 0 && len(q.services) == 0 {
		errs = append(errs, field.Invalid(field.NewPath("query"), asked, "may not be empty"))
	}
	value := func(name string, read func(text string) error) {
		if text := values.Get(name); text != "" {
			if err := read(text); err != nil {
				errs = append(errs, field.Invalid(field.NewPath(name), text, err.Error()))
			}
		}
	}
	value("sinceTime", instant(&q.since))
	value("untilTime", instant(&q.until))
	value("boot", number(&q.boot))
	value("tailLines", number(&q.lines))
	q.pattern = values.Get("pattern")
	return q, errs
}

func instant(to **time.Time) func(string) error {
	return func(text string) error {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return errors.New("invalid time format")
		}
		*to = &at
		return nil
	}
}

func number(to **int) func(string) error {
	return func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		*to = &n
		return nil
	}
}

// validate refuses what makes no sense. exists is the failure of a look at a file.
func (q query) validate(exists func(file string) error) (errs field.ErrorList) {
	at := field.NewPath("query")
	for _, service := range q.services {
		switch {
		case len(service) > longestService:
			errs = append(errs, field.Invalid(at, service, fmt.Sprintf("length must be less than %d", longestService)))
		case unsafe.MatchString(service):
			errs = append(errs, field.Invalid(at, service, "input contains unsupported characters"))
		}
	}
	if len(q.services) > mostServices {
		errs = append(errs, field.TooMany(at, len(q.services), mostServices))
	}
	errs = append(errs, q.validateFiles(exists)...)
	return append(errs, q.filter.validate()...)
}

func (q query) validateFiles(exists func(file string) error) field.ErrorList {
	at := field.NewPath("query")
	switch {
	case len(q.files) == 0 && len(q.services) == 0:
		return field.ErrorList{field.Required(at, "cannot be empty with options")}
	case len(q.files) == 0:
		return nil
	case len(q.services) > 0:
		return field.ErrorList{field.Invalid(at, fmt.Sprintf("%v, %v", q.files, q.services), "cannot specify a file and service")}
	case len(q.files) > 1:
		return field.ErrorList{field.Invalid(at, q.files, "cannot specify more than one file")}
	case q.filter != filter{}:
		return field.ErrorList{field.Invalid(at, q.files, "cannot specify file with options")}
	}
	if err := exists(q.files[0]); err != nil {
		return field.ErrorList{field.Invalid(at, q.files, err.Error())}
	}
	return nil
}

func (f filter) validate() (errs field.ErrorList) {
	if f.since != nil && f.until != nil && f.since.After(*f.until) {
		errs = append(errs, field.Invalid(field.NewPath("untilTime"), f.until, "must be after `sinceTime`"))
	}
	if f.boot != nil && *f.boot > 0 {
		errs = append(errs, field.Invalid(field.NewPath("boot"), *f.boot, "must be less than 1"))
	}
	if f.lines != nil {
		for _, wrong := range validation.IsInRange(*f.lines, 0, mostLines) {
			errs = append(errs, field.Invalid(field.NewPath("tailLines"), *f.lines, wrong))
		}
	}
	if _, err := syntax.Parse(f.pattern, syntax.Perl); err != nil {
		errs = append(errs, field.Invalid(field.NewPath("pattern"), f.pattern, err.Error()))
	}
	return errs
}

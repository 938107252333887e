package ui

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/lifepod/lifepod/internal/contract"
	"github.com/lifepod/lifepod/internal/plain"
)

// rules are the contract's.
var rules = sync.OnceValues(contract.Rules)

// rule quotes a rule of the contract.
func rule(r *http.Request) (any, error) {
	const width = 72
	all, err := rules()
	if err != nil {
		return nil, err
	}
	for _, rule := range all {
		if rule.Number == r.PathValue("number") {
			return map[string]string{"number": rule.Number, "text": contract.Plain(rule.Text, width)}, nil
		}
	}
	return nil, fmt.Errorf("there is no rule %s", plain.Line(r.PathValue("number")))
}

package stages

import (
	"strconv"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Stage is one that is about pods.
type Stage struct {
	Name string
	file string
	node *yaml.Node // its document, for the lines of fields

	spec  spec
	steps []step // what it does, in order

	selects  []requirement
	duration value
	jitter   value
	weight   value
	matched  bool // it has selected the pod at some time
}

// Spec is that of KWOK's Stage, with the fields that have been replaced.
type spec struct {
	ResourceRef        resourceRef `json:"resourceRef"`
	Selector           *selector   `json:"selector"`
	Weight             int64       `json:"weight"`
	WeightFrom         *expression `json:"weightFrom"`
	Delay              *delay      `json:"delay"`
	Next               *next       `json:"next"`
	ImmediateNextStage *bool       `json:"immediateNextStage"`
	Steps              []step      `json:"steps"`
}

type resourceRef struct {
	APIGroup string `json:"apiGroup"`
	Kind     string `json:"kind"`
}

type selector struct {
	MatchLabels      map[string]string `json:"matchLabels"`
	MatchAnnotations map[string]string `json:"matchAnnotations"`
	MatchExpressions []matchExpression `json:"matchExpressions"`
}

type matchExpression struct {
	CEL      *cel     `json:"cel"`
	JQ       *match   `json:"jq"`
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}

type match struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}

type cel struct {
	Expression string `json:"expression"`
}

// expression takes a value from the pod.
type expression struct {
	CEL            *cel   `json:"cel"`
	JQ             *cel   `json:"jq"` // of the same form
	ExpressionFrom string `json:"expressionFrom"`
}

type delay struct {
	DurationMilliseconds       *int64      `json:"durationMilliseconds"`
	DurationFrom               *expression `json:"durationFrom"`
	JitterDurationMilliseconds *int64      `json:"jitterDurationMilliseconds"`
	JitterDurationFrom         *expression `json:"jitterDurationFrom"`
}

// next is the older form of steps.
type next struct {
	Event             *event         `json:"event"`
	Finalizers        *finalizers    `json:"finalizers"`
	Delete            bool           `json:"delete"`
	Patches           []patch        `json:"patches"`
	StatusTemplate    string         `json:"statusTemplate"`
	StatusSubresource *string        `json:"statusSubresource"`
	StatusPatchAs     *impersonation `json:"statusPatchAs"`
}

type step struct {
	Patch      *patch      `json:"patch"`
	Event      *event      `json:"event"`
	Finalizers *finalizers `json:"finalizers"`
	Delete     bool        `json:"delete"`
	Apply      *apply      `json:"apply"`

	at []string // its field
}

type patch struct {
	Subresource   string         `json:"subresource"`
	Root          string         `json:"root"`
	Template      string         `json:"template"`
	Type          string         `json:"type"`
	Impersonation *impersonation `json:"impersonation"`
}

type apply struct {
	Template      string         `json:"template"`
	Subresource   string         `json:"subresource"`
	Type          string         `json:"type"`
	Impersonation *impersonation `json:"impersonation"`
}

type impersonation struct {
	Username string `json:"username"`
}

type event struct {
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

type finalizers struct {
	Add    []finalizer `json:"add"`
	Remove []finalizer `json:"remove"`
	Empty  bool        `json:"empty"`
}

type finalizer struct {
	Value string `json:"value"`
}

// object is a document of a file.
type object struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              spec           `json:"spec"`
	Status            map[string]any `json:"status"`
}

// prepare puts the steps in KWOK's order, and compiles expressions. An error says what KWOK could not do either.
func (s *Stage) prepare() error {
	s.steps = s.spec.Steps
	for i := range s.steps {
		s.steps[i].at = []string{"spec", "steps", strconv.Itoa(i)}
	}
	if n := s.spec.Next; n != nil && len(s.steps) == 0 {
		s.steps = n.steps()
	}
	return s.compile()
}

// steps are the steps that KWOK makes of next: of patches and a status template, patches count.
func (n *next) steps() (list []step) {
	at := func(field string) []string { return []string{"spec", "next", field} }
	if n.Event != nil {
		list = append(list, step{Event: n.Event, at: at("event")})
	}
	if n.Finalizers != nil {
		list = append(list, step{Finalizers: n.Finalizers, at: at("finalizers")})
	}
	for i := range n.Patches {
		list = append(list, step{Patch: &n.Patches[i], at: append(at("patches"), strconv.Itoa(i))})
	}
	if n.StatusTemplate != "" && len(n.Patches) == 0 {
		p := &patch{Subresource: "status", Root: "status", Template: n.StatusTemplate, Impersonation: n.StatusPatchAs}
		if n.StatusSubresource != nil {
			p.Subresource = *n.StatusSubresource
		}
		list = append(list, step{Patch: p, at: at("statusTemplate")})
	}
	if n.Delete {
		list = append(list, step{Delete: true, at: at("delete")})
	}
	return list
}

// line is that of a field in the file, or of what is nearest above it.
func (s *Stage) line(field ...string) int { return lineOf(s.node, field) }

func lineOf(node *yaml.Node, field []string) int {
	line := node.Line
	for _, name := range field {
		var key, below *yaml.Node
		switch i, err := strconv.Atoi(name); {
		case node.Kind == yaml.SequenceNode && err == nil && i < len(node.Content):
			below = node.Content[i]
			key = below
		case node.Kind == yaml.MappingNode:
			for i := 0; i+1 < len(node.Content); i += 2 {
				if node.Content[i].Value == name {
					key, below = node.Content[i], node.Content[i+1]
				}
			}
		}
		if below == nil {
			break
		}
		line, node = key.Line, below
	}
	return line
}

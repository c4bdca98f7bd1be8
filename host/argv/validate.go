package argv

import (
	"encoding/json"
	"fmt"

	"github.com/toolhost/toolhost/host/schema"
)

// Problem is a mistake in a spec.
type Problem struct {
	// Pos is the place, "agent.hcl:12"; may be empty.
	Pos string
	// Message says what is wrong, Suggestion what to do.
	Message, Suggestion string
}

// CheckExamples checks that the spec's examples are accepted and its rejects refused. Nothing is run.
func (s *Spec) CheckExamples(paths Paths) []Problem {
	var problems []Problem
	for _, e := range s.Examples {
		if err := s.try(e, paths); err != nil {
			problems = append(problems, Problem{e.Pos,
				fmt.Sprintf("an example of %q is refused: %v", s.Name, err),
				"Correct the example, or declare what it uses."})
		}
	}
	for _, e := range s.Rejects {
		if s.try(e, paths) == nil {
			problems = append(problems, Problem{e.Pos,
				fmt.Sprintf("a reject of %q is accepted: %s", s.Name, e.text()),
				"Forbid the option or narrow the parameter that it uses, or remove the line."})
		}
	}
	return problems
}

func (e Example) text() string {
	if e.Params != nil {
		return string(e.Params)
	}
	return e.Args
}

// try resolves one example as a call would.
func (s *Spec) try(e Example, paths Paths) error {
	raw := e.Params
	if s.Passthrough != nil {
		raw, _ = json.Marshal(map[string]string{"args": e.Args})
	}
	compiled, err := schema.Compile(s.Schema())
	if err != nil {
		return err
	}
	_, params, violations := compiled.Decode(raw)
	if len(violations) > 0 {
		return fmt.Errorf("%s", schema.Join(violations))
	}
	_, err = s.Resolve(params, paths)
	return err
}

package ocode

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/background"
)

type agentParams struct {
	Action string `json:"action"`
	Type   string `json:"agent_type"`
	Task   string `json:"task"`
	ID     string `json:"agent_id"`
}

func runAgent(ctx context.Context, deps Deps, call *tool.Call, p agentParams) (*outcome, error) {
	switch p.Action {
	case "list":
		return listAgents(ctx, deps, call)
	case "create":
		a, err := p.create(ctx, deps, call)
		if err != nil {
			return nil, err
		}
		return &outcome{output: fmt.Sprintf("Created agent %s", a.ID), metadata: a.facts(nil)}, nil
	case "delegate":
		return p.delegate(ctx, deps, call)
	}
	a, err := p.find(ctx, call)
	if err != nil {
		return nil, err
	}
	if p.Action == "terminate" {
		return a.terminate(ctx, deps, call)
	}
	return a.tell(deps)
}

// create makes an agent: a name for a type, until it is given a task.
func (p agentParams) create(ctx context.Context, deps Deps, call *tool.Call) (*agentRecord, error) {
	if p.Type == "" {
		p.Type = "general"
	}
	if _, _, err := deps.agentFor(p.Type); err != nil {
		return nil, err
	}
	return newAgent(ctx, call, p.Type)
}

func (p agentParams) find(ctx context.Context, call *tool.Call) (*agentRecord, error) {
	if p.ID == "" {
		return nil, invalid("Name the agent; action list shows them.", "Agent_id is required for action %s", p.Action)
	}
	return loadAgent(ctx, call, p.ID)
}

// delegate starts the agent's program on a task.
func (p agentParams) delegate(ctx context.Context, deps Deps, call *tool.Call) (*outcome, error) {
	if strings.TrimSpace(p.Task) == "" {
		return nil, invalid("Say what the agent is to do.", "Task is required for action delegate")
	}
	var a *agentRecord
	var err error
	if p.ID == "" {
		a, err = p.create(ctx, deps, call)
	} else {
		a, err = p.find(ctx, call)
	}
	if err != nil {
		return nil, err
	}
	if p.ID != "" && p.Type != "" && p.Type != a.Type {
		return nil, invalid("Leave agent_type out, or leave agent_id out to have a new agent made.",
			"Agent %s is a %s, not a %s", a.ID, a.Type, p.Type)
	}
	task, err := a.start(ctx, deps, call, p.Task)
	if err != nil && p.ID == "" {
		err = errors.Join(err, a.forget(ctx, call)) // one that nobody was told about
	}
	if err != nil {
		return nil, err
	}
	return &outcome{
		output:   fmt.Sprintf("Delegated to agent %s, which works on it now. Action status tells how it goes.", a.ID),
		metadata: a.facts(task),
	}, nil
}

// tell says how an agent's task goes.
func (a *agentRecord) tell(deps Deps) (*outcome, error) {
	task, err := a.task(deps)
	if err != nil {
		return nil, err
	}
	o := &outcome{metadata: a.facts(task)}
	o.output = fmt.Sprintf("Agent %s is %s", a.ID, a.state(task))
	if task == nil {
		return o, nil
	}
	printed, err := deps.Tasks.Output(task.ID)
	if err != nil {
		return nil, err
	}
	o.Truncated = printed.Stdout.Truncated() || printed.Stderr.Truncated()
	o.set("stderr", strings.ToValidUTF8(printed.Stderr.String(), "\uFFFD"))
	if text := printed.Stdout.String(); text != "" {
		o.output += ". It has said:\n" + text
	}
	if task.Done() && a.state(task) != string(background.Completed) {
		reason := task.Reason
		if reason == "" && task.ExitCode != nil {
			reason = fmt.Sprintf("its program ended with exit code %d", *task.ExitCode)
		}
		o.warn(fmt.Sprintf("agent %s has not finished its task: %s", a.ID, reason) + indented(printed.Stderr.String()))
	}
	return o, nil
}

// indented puts a text on lines below.
func indented(text string) string {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return ""
	}
	return "\n" + text
}

func (a *agentRecord) terminate(ctx context.Context, deps Deps, call *tool.Call) (*outcome, error) {
	task, err := a.task(deps)
	if err != nil {
		return nil, err
	}
	if task != nil && !task.Done() {
		if task, _, err = deps.Tasks.Kill(ctx, task.ID); err != nil {
			return nil, err
		}
	}
	said := fmt.Sprintf("Terminated agent %s", a.ID)
	if a.Terminated {
		said = fmt.Sprintf("Agent %s was terminated already", a.ID)
	}
	a.Terminated = true
	if err := a.save(ctx, call); err != nil {
		return nil, err
	}
	return &outcome{output: said, metadata: a.facts(task)}, nil
}

func listAgents(ctx context.Context, deps Deps, call *tool.Call) (*outcome, error) {
	all, err := loadAgents(ctx, call)
	if err != nil {
		return nil, err
	}
	var lines []string
	list := []facts{}
	for _, a := range all {
		task, err := a.task(deps)
		if err != nil {
			return nil, err
		}
		line := fmt.Sprintf("%s (%s): %s", a.ID, a.Type, a.state(task))
		if a.Task != "" {
			line += ", " + oneLine(a.Task)
		}
		lines, list = append(lines, line), append(list, a.facts(task))
	}
	o := &outcome{output: strings.Join(lines, "\n"),
		metadata: facts{"count": len(list), "agents": list, "agent_types": deps.agentTypes()}}
	if len(list) == 0 {
		o.output = "No agents"
	}
	return o, nil
}

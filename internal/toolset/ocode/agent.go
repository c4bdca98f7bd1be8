package ocode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/background"
	"github.com/toolhost/toolhost/internal/run/subagent"
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
	return a.statusReport(deps)
}

// create makes an agent of a type, with a name and no task.
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
		err = errors.Join(err, call.State(tool.SessionScope).Delete(ctx, agentPrefix+a.ID)) // its ID was not told
	}
	if err != nil {
		return nil, err
	}
	return &outcome{
		output:   fmt.Sprintf("Delegated to agent %s, which works on it now. Action status tells how it goes.", a.ID),
		metadata: a.facts(task),
	}, nil
}

func (a *agentRecord) statusReport(deps Deps) (*outcome, error) {
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

const (
	agentPrefix   = "agent/"
	agentCountKey = "agents"
	agentTaskKind = "agent"
)

type agentRecord struct {
	ID      string    `json:"id"`
	Type    string    `json:"type"`
	Created time.Time `json:"created"`
	// Task is the last task, TaskID the process that works on it.
	Task       string `json:"task,omitempty"`
	TaskID     string `json:"task_id,omitempty"`
	Terminated bool   `json:"terminated,omitempty"`
}

func (d Deps) agentTypes() []string {
	return slices.DeleteFunc([]string{"reviewer", "coder", "tester", "analyzer", "general"}, func(name string) bool {
		_, _, err := d.agentFor(name)
		return err != nil
	})
}

// agentFor returns the program for a type: the one of that role, or the general one, to which the
// role must be told.
func (d Deps) agentFor(name string) (a *subagent.Agent, told bool, err error) {
	if slices.Contains(d.Agents.Roles(), name) {
		a, err = d.Agents.Find(name)
		return a, false, err
	}
	a, err = d.Agents.Find("")
	if err != nil {
		return nil, false, tool.Errorf(tool.Unavailable, "No agent is configured for type %s", name).
			Suggest("The operator adds one to agent.hcl: agent %q { command = [\"claude\", \"-p\"] }, or agent { "+
				"command = [...] } for all types.", name)
	}
	return a, name != "general", nil
}

func newAgent(ctx context.Context, call *tool.Call, name string) (*agentRecord, error) {
	n := 0
	state := call.State(tool.SessionScope)
	err := state.Update(ctx, agentCountKey, func(old []byte) ([]byte, error) {
		counts := make(map[string]int)
		if old != nil {
			if err := json.Unmarshal(old, &counts); err != nil {
				return nil, fmt.Errorf("the session's agents: %w", err)
			}
		}
		counts[name]++
		n = counts[name]
		return tool.MustMarshal(counts), nil
	})
	if err != nil {
		return nil, err
	}
	a := &agentRecord{ID: fmt.Sprintf("%s-%d", name, n), Type: name, Created: time.Now().UTC()}
	return a, a.save(ctx, call)
}

func (a *agentRecord) save(ctx context.Context, call *tool.Call) error {
	return call.State(tool.SessionScope).Set(ctx, agentPrefix+a.ID, tool.MustMarshal(a))
}

func loadAgent(ctx context.Context, call *tool.Call, id string) (*agentRecord, error) {
	raw, ok, err := call.State(tool.SessionScope).Get(ctx, agentPrefix+id)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, tool.Errorf(tool.NotFound, "Agent not found: %s", id).
			Suggest("Action list shows the agents of this session.")
	}
	a := new(agentRecord)
	if err := json.Unmarshal(raw, a); err != nil {
		return nil, fmt.Errorf("the agent %s: %w", id, err)
	}
	return a, nil
}

// loadAgents returns the session's agents, oldest first.
func loadAgents(ctx context.Context, call *tool.Call) ([]*agentRecord, error) {
	keys, err := call.State(tool.SessionScope).Keys(ctx, agentPrefix)
	if err != nil {
		return nil, err
	}
	var all []*agentRecord
	for _, key := range keys {
		a, err := loadAgent(ctx, call, strings.TrimPrefix(key, agentPrefix))
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	slices.SortStableFunc(all, func(a, b *agentRecord) int { return a.Created.Compare(b.Created) })
	return all, nil
}

// task returns the process of the agent's task, nil if there is none.
func (a *agentRecord) task(deps Deps) (*background.Task, error) {
	if a.TaskID == "" {
		return nil, nil
	}
	t, err := deps.Tasks.Get(a.TaskID)
	if tool.CodeOf(err) == tool.NotFound {
		return nil, nil // removed as too old
	}
	return t, err
}

func (a *agentRecord) state(t *background.Task) string {
	switch {
	case a.Terminated:
		return "terminated"
	case t == nil && a.TaskID != "":
		return "lost"
	case t == nil:
		return "idle"
	case t.State == background.Killed:
		return "terminated"
	case t.State == background.Completed && t.ExitCode != nil && *t.ExitCode != 0:
		return string(background.Failed)
	}
	return string(t.State)
}

func (a *agentRecord) facts(t *background.Task) facts {
	f := facts{"agent_id": a.ID, "agent_type": a.Type, "state": a.state(t), "created": a.Created}
	if a.Task != "" {
		f["task"], f["task_id"] = a.Task, a.TaskID
	}
	if t != nil {
		f["started"] = t.Started
		if t.Ended != nil {
			f["ended"] = t.Ended
		}
		if t.ExitCode != nil {
			f["exit_code"] = *t.ExitCode
		}
	}
	return f
}

func (a *agentRecord) start(ctx context.Context, deps Deps, call *tool.Call, text string) (*background.Task, error) {
	running, err := a.task(deps)
	switch {
	case err != nil:
		return nil, err
	case a.Terminated:
		return nil, tool.Errorf(tool.Conflict, "Agent %s was terminated", a.ID).Suggest("Create another one.")
	case running != nil && !running.Done():
		return nil, tool.Errorf(tool.Conflict, "Agent %s is still at work", a.ID).
			Suggest("Wait for it, with action status; terminate it; or delegate to another agent.")
	}
	program, told, err := deps.agentFor(a.Type)
	if err != nil {
		return nil, err
	}
	prompt := text
	if told {
		prompt = fmt.Sprintf("You are the %s.\n\n%s", a.Type, text)
	}
	spec, err := program.Spec(prompt, deps.Place)
	if err != nil {
		return nil, err
	}
	spec.Session, spec.Call, spec.Kind, spec.Prefix, spec.Title = call.Session, call.RequestID, agentTaskKind, agentTaskKind,
		a.ID+": "+oneLine(text)
	task, err := deps.Tasks.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	a.Task, a.TaskID = text, task.ID
	return task, a.save(ctx, call)
}

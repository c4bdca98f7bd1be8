package ocode

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/background"
	"github.com/toolhost/toolhost/internal/run/subagent"
)

const (
	agentPrefix   = "agent/"
	agentCountKey = "agents"
	agentTaskKind = "agent"
)

// agentRecord is what is kept of an agent, in its session.
type agentRecord struct {
	ID      string    `json:"id"`
	Type    string    `json:"type"`
	Created time.Time `json:"created"`
	// Task is what it was given last, TaskID the process that works on it.
	Task       string `json:"task,omitempty"`
	TaskID     string `json:"task_id,omitempty"`
	Terminated bool   `json:"terminated,omitempty"`
}

// agentTypes are the types of the contract.
func agentTypeNames() []string {
	return []string{"reviewer", "coder", "tester", "analyzer", "general"}
}

// agentTypes are the types that there is a program for.
func (d Deps) agentTypes() []string {
	return slices.DeleteFunc(agentTypeNames(), func(name string) bool {
		_, _, err := d.agentFor(name)
		return err != nil
	})
}

// agentFor finds the program for a type: the one of that role, or the one for
// all, which then has to be told the role.
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

// newAgent makes an agent with a name that the session has not used.
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

func (a *agentRecord) forget(ctx context.Context, call *tool.Call) error {
	return call.State(tool.SessionScope).Delete(ctx, agentPrefix+a.ID)
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

// loadAgents gives the agents of the session, the oldest first.
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

// task is the process that works on the agent's task, nil when it has none.
func (a *agentRecord) task(deps Deps) (*background.Task, error) {
	if a.TaskID == "" {
		return nil, nil
	}
	t, err := deps.Tasks.Get(a.TaskID)
	if tool.CodeOf(err) == tool.NotFound {
		return nil, nil // swept away after a long time
	}
	return t, err
}

// state says what an agent is doing.
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

// start has the agent's program work on a task.
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
	spec.Session, spec.Kind, spec.Prefix, spec.Title = call.Session, agentTaskKind, agentTaskKind,
		a.ID+": "+oneLine(text)
	task, err := deps.Tasks.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	a.Task, a.TaskID = text, task.ID
	return task, a.save(ctx, call)
}

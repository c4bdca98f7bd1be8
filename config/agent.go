package config

import (
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Agent is an agent block: a program that gets its task as a text, for tools that delegate.
type Agent struct {
	// Role names it; empty is the agent for tasks without a role.
	Role string
	// Description says, for the model that must choose, what it is good at.
	Description string
	// Command is the program and its arguments.
	Command []string
	// Prompt is "stdin", or "argument": in place of the word PromptWord of Command, else the last one.
	Prompt string
	// Env is added to its environment.
	Env map[string]string
	// Timeout bounds a run; zero is the default.
	Timeout time.Duration
	Access  Access
	Pos     string
}

// PromptWord is the word in an agent's command that is replaced by its task.
const PromptWord = "{prompt}"

// defaultRole is the label of an agent block without one.
const defaultRole = "default"

// labelAgents gives unlabelled agent blocks a label.
func (r *reader) labelAgents() {
	body := r.file.Body.(*hclsyntax.Body)
	for _, b := range body.Blocks {
		if b.Type == "agent" && len(b.Labels) == 0 {
			b.Labels, b.LabelRanges = []string{defaultRole}, []hcl.Range{b.TypeRange}
		}
	}
}

func (r *reader) agent(b *hcl.Block) {
	r.name("agent", b.Labels[0], b.LabelRanges[0])
	blk := r.open(b, "agent")
	blk.require("command")
	a := Agent{Role: b.Labels[0], Prompt: "stdin", Access: blk.access(), Pos: pos(b.DefRange)}
	if a.Role == defaultRole {
		a.Role = ""
	}
	if blk.texts("command", &a.Command) && (len(a.Command) == 0 || a.Command[0] == "") {
		r.fail(blk.where("command"), "No program", `Write command = ["PROGRAM", ...].`, "command is empty.")
	}
	blk.oneOf("prompt", &a.Prompt, "stdin", "argument")
	if at := slices.Index(a.Command, PromptWord); at >= 0 && a.Prompt == "stdin" {
		r.fail(blk.where("command"), "Place for a prompt that is not there",
			`Add prompt = "argument", or leave the word out.`,
			"%s stands for the prompt, which this agent gets on its standard input.", PromptWord)
	} else if at == 0 {
		r.fail(blk.where("command"), "No program", `Write command = ["PROGRAM", ...].`,
			"The prompt cannot be the program.")
	}
	blk.text("description", &a.Description)
	blk.environment(&a.Env)
	blk.duration("timeout", &a.Timeout)
	r.cfg.Agents = append(r.cfg.Agents, a)
}

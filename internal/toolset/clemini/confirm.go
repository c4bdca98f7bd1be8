package clemini

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/policy/danger"
)

const confirmKey = "confirm_command"

const maxScript = 256 << 10 // bytes

// clear returns nil if the command may run. A command of class caution needs the user: by a
// question or, if that is impossible, through the caller, who may confirm only what was refused
// earlier in this session.
func (in bashInput) clear(ctx context.Context, deps Deps, call *tool.Call) error {
	verdict := danger.Judge(in.Command, danger.Options{Root: deps.Workspace.Root(), Dir: in.dir, ReadFile: deps.script})
	switch verdict.Class {
	case danger.Fine:
		return nil
	case danger.Blocked:
		return blocked(verdict)
	}
	flags := flags{call.State(tool.SessionScope), in.flag()}
	if in.Confirmed && flags.set(ctx) {
		return nil
	}
	answer, err := call.Ask(ctx, confirmKey, tool.Form{Message: in.question(verdict)})
	switch {
	case isQuestion(err):
		return err
	case err == nil && answer.Accepted():
		return nil
	case err == nil:
		_ = flags.state.Delete(ctx, flags.key) // a later confirmation by the caller no longer counts
		return coded(codeBlocked, tool.Errorf(tool.Denied, "Command blocked: the user did not agree to it").
			Suggest("Do not repeat it; ask the user what to do instead.").With("reason", verdict.Reason))
	}
	if err := flags.state.Set(ctx, flags.key, []byte("1")); err != nil {
		return err
	}
	return coded(codeNeedsConfirmation,
		tool.Errorf(tool.NeedsConfirmation, "Command requires confirmation. Re-run with confirmed=true").
			Suggest("Ask the user whether this command may run. If so, call again with the same command and confirmed=true.").
			With("reason", verdict.Reason).With("command", verdict.Command)).with("needs_confirmation", true)
}

func blocked(v danger.Verdict) error {
	return coded(codeBlocked, tool.Errorf(tool.Blocked, "Command blocked: %s", v.Reason).
		Suggest("It is never run here. Do what is needed in a narrower way, inside the workspace.").
		With("command", v.Command))
}

func (in bashInput) question(v danger.Verdict) string {
	text := fmt.Sprintf("Run this command? You are asked because: %s.\n\n$ %s\n\nin %s", v.Reason, in.Command, in.dir)
	if in.Description != "" {
		text += "\n\n" + in.Description
	}
	return text
}

func (in bashInput) flag() string {
	sum := sha256.Sum256([]byte(in.dir + "\x00" + in.Command))
	return "flagged/" + hex.EncodeToString(sum[:])
}

// flags stores that an unconfirmed command was refused.
type flags struct {
	state tool.State
	key   string
}

func (f flags) set(ctx context.Context) bool {
	_, found, err := f.state.Get(ctx, f.key)
	return err == nil && found
}

// script reads a file of the workspace that a command would run.
func (d Deps) script(name string) (string, bool) {
	in, err := d.Workspace.Open(name)
	if err != nil {
		return "", false
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, maxScript))
	return string(data), err == nil
}

package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins/pluginclient"
	"github.com/toolhost/toolhost/internal/source/plugins/toolpb"
)

func callChecks() []check {
	return []check{
		{"call.examples", "answer its own examples with a result, an error or a question", checkCallExamples},
		{"call.results", "give structured results that the tool's returns schema allows", checkResults},
		{"call.declared", "use no service that it does not declare", checkDeclared},
		{"call.plans", "answer Plan for tools that say they plan", checkPlans},
		{"call.unknown_tool", "answer a call of a tool that it does not have with an error", checkUnknownTool},
		{"call.bad_params", "answer parameters that are not valid JSON with an error, and go on", checkBadParams},
		{"call.unknown_fields", "pass over fields that it does not know", checkUnknownFields},
		{"call.concurrent", "run several calls at the same time", checkConcurrent},
		{"call.cancel", "end a call soon after it is cancelled", checkCancel},
		{"call.abandoned", "survive a host that breaks off a call", checkAbandoned},
		{"call.large", "take messages of more than 4 MiB", checkLarge},
	}
}

type example struct {
	tool   *described
	params json.RawMessage
}

func (e example) String() string { return e.tool.Definition.Name + " " + string(e.params) }

// examples returns the calls that may be made: those of read-only tools, unless all were requested.
func (k *kit) examples() (all []example) {
	for _, t := range k.plugin.Tools {
		known := k.plugin.tools[t.Definition.Name]
		if known == nil || t.Definition.Risk != tool.ReadOnly && !k.options.All {
			continue
		}
		for _, e := range t.Definition.Examples {
			params := e.Params
			if !t.Normalizes {
				params, _, _ = known.params.Decode(e.Params)
			}
			all = append(all, example{known, params})
		}
	}
	return all
}

// someExample returns a call for experiments, or skips the check if there is none.
func (k *kit) someExample() (*process, example, error) {
	p, _, err := k.ready()
	if err != nil {
		return nil, example{}, err
	}
	all := k.examples()
	if len(all) == 0 {
		return nil, example{}, skip("no tool that only reads has an example")
	}
	return p, all[0], nil
}

func (k *kit) newCall(name string, params json.RawMessage, host tool.Services) *tool.Call {
	return &tool.Call{Tool: name, Session: "conformance", RequestID: "conformance", Step: 1, Params: params,
		Workspace: k.workspace, Host: host}
}

func (k *kit) call(ctx context.Context, p *process, name string, params json.RawMessage,
	host tool.Services) (*tool.Result, error) {
	ctx, cancel := k.step(ctx)
	defer cancel()
	r, err := p.client.Call(ctx, k.newCall(name, params, host))
	if errors.Is(err, pluginclient.ErrConnection) {
		p.ends(100 * time.Millisecond) // to read its last lines
		return nil, fmt.Errorf("%w%s", err, p.lastWords())
	}
	return r, err
}

func checkCallExamples(ctx context.Context, k *kit) error {
	p, _, err := k.ready()
	if err != nil {
		return err
	}
	if len(k.examples()) == 0 {
		return skip("no tool that only reads has an example")
	}
	var wrong []error
	for _, e := range k.examples() {
		if _, err := k.call(ctx, p, e.tool.Definition.Name, e.params, newServices()); !answered(err) {
			wrong = append(wrong, fmt.Errorf("%s: %w", e, err))
		}
	}
	return errors.Join(wrong...)
}

// answered reports whether err is a valid answer of the plugin: nil, an error of the tool or a question.
func answered(err error) bool {
	var told *tool.Error
	return err == nil || errors.As(err, &told) || errors.Is(err, tool.ErrInputRequired)
}

func checkResults(ctx context.Context, k *kit) error {
	p, _, err := k.ready()
	if err != nil {
		return err
	}
	var wrong []error
	checked := 0
	for _, e := range k.examples() {
		if e.tool.returns == nil {
			continue
		}
		r, err := k.call(ctx, p, e.tool.Definition.Name, e.params, newServices())
		if err != nil || r.Failed != nil || r.Structured == nil {
			continue
		}
		checked++
		if !bytes.HasPrefix(bytes.TrimSpace(r.Structured), []byte("{")) {
			continue // the validator takes only objects
		}
		if _, _, violations := e.tool.returns.Decode(r.Structured); len(violations) > 0 {
			wrong = append(wrong, fmt.Errorf("%s gave %s: %s", e, r.Structured, violations[0]))
		}
	}
	if checked == 0 {
		return skip("no example gave a structured result under a schema")
	}
	return errors.Join(wrong...)
}

func checkDeclared(ctx context.Context, k *kit) error {
	p, described, err := k.ready()
	if err != nil {
		return err
	}
	if p.version < 2 {
		return skip("version 1 declares none")
	}
	used := newServices()
	for _, e := range k.examples() {
		_, err := k.call(ctx, p, e.tool.Definition.Name, e.params, used)
		if tool.CodeOf(err) == tool.PermissionDenied && strings.Contains(err.Error(), "without having declared it") {
			return fmt.Errorf("%s: %w", e, err)
		}
	}
	if len(described.Services) == 0 {
		return skip("it declares none and uses none")
	}
	return nil
}

func checkPlans(ctx context.Context, k *kit) error {
	p, _, err := k.ready()
	if err != nil {
		return err
	}
	planned := 0
	for _, t := range k.plugin.Tools {
		known := k.plugin.tools[t.Definition.Name]
		if !t.Plans || known == nil || len(t.Definition.Examples) == 0 {
			continue
		}
		planned++
		ctx, cancel := k.step(ctx)
		params, _, _ := known.params.Decode(t.Definition.Examples[0].Params)
		_, err := p.client.Plan(ctx, k.newCall(t.Definition.Name, params, nil))
		cancel()
		if !answered(err) {
			return fmt.Errorf("%s: %w", t.Definition.Name, err)
		}
	}
	if planned == 0 {
		return skip("no tool plans")
	}
	return nil
}

// survives repeats an example call, to check that the plugin still works.
func (k *kit) survives(ctx context.Context, p *process) error {
	if !p.alive() {
		return fmt.Errorf("it ended%s", p.lastWords())
	}
	if all := k.examples(); len(all) > 0 {
		if _, err := k.call(ctx, p, all[0].tool.Definition.Name, all[0].params, newServices()); !answered(err) {
			return fmt.Errorf("the next call fails: %w", err)
		}
	}
	return nil
}

func checkUnknownTool(ctx context.Context, k *kit) error {
	p, _, err := k.ready()
	if err != nil {
		return err
	}
	_, err = k.call(ctx, p, "no_such_tool_here", json.RawMessage("{}"), newServices())
	if err == nil {
		return errors.New("it gave a result")
	}
	return k.survives(ctx, p)
}

func checkBadParams(ctx context.Context, k *kit) error {
	p, e, err := k.someExample()
	if err != nil {
		return err
	}
	for _, params := range []string{"{broken", "[]", "null", ""} {
		if _, err := k.call(ctx, p, e.tool.Definition.Name, json.RawMessage(params), newServices()); err == nil &&
			params == "{broken" {
			return errors.New("it gave a result for {broken")
		}
	}
	return k.survives(ctx, p)
}

func checkUnknownFields(ctx context.Context, k *kit) error {
	p, e, err := k.someExample()
	if err != nil {
		return err
	}
	ctx, cancel := k.step(ctx)
	defer cancel()
	stream, err := p.rpc.Call(ctx)
	if err != nil {
		return err
	}
	start := &toolpb.Call{Tool: e.tool.Definition.Name, Params: e.params, Workspace: k.workspace}
	unknown := protowire.AppendString(protowire.AppendTag(nil, 999, protowire.BytesType), "from a newer host")
	start.ProtoReflect().SetUnknown(unknown)
	request := &toolpb.CallRequest{Message: &toolpb.CallRequest_Start{Start: start}}
	request.ProtoReflect().SetUnknown(unknown)
	if err := stream.Send(request); err != nil {
		return err
	}
	_, err = stream.Recv()
	return err
}

const concurrentCalls = 16

func checkConcurrent(ctx context.Context, k *kit) error {
	p, e, err := k.someExample()
	if err != nil {
		return err
	}
	failures := make([]error, concurrentCalls)
	var all sync.WaitGroup
	for i := range failures {
		all.Go(func() {
			if _, err := k.call(ctx, p, e.tool.Definition.Name, e.params, newServices()); !answered(err) {
				failures[i] = err
			}
		})
	}
	all.Wait()
	failures = slices.DeleteFunc(failures, func(err error) bool { return err == nil })
	if len(failures) > 0 {
		return fmt.Errorf("%d of %d calls at the same time failed; the first error: %w", len(failures), concurrentCalls, failures[0])
	}
	return nil
}

func checkCancel(ctx context.Context, k *kit) error {
	p, e, err := k.someExample()
	if err != nil {
		return err
	}
	cancelled, cancel := context.WithCancel(ctx)
	time.AfterFunc(5*time.Millisecond, cancel)
	_, err = p.client.Call(cancelled, k.newCall(e.tool.Definition.Name, e.params, newServices()))
	if errors.Is(err, pluginclient.ErrHung) {
		return fmt.Errorf("no answer within %s", k.options.Timeout)
	}
	return k.survives(ctx, p)
}

func checkAbandoned(ctx context.Context, k *kit) error {
	p, e, err := k.someExample()
	if err != nil {
		return err
	}
	for range 5 {
		broken, cancel := context.WithCancel(ctx)
		stream, err := p.rpc.Call(broken)
		if err == nil {
			_ = stream.Send(&toolpb.CallRequest{Message: &toolpb.CallRequest_Start{Start: &toolpb.Call{
				Tool: e.tool.Definition.Name, Params: e.params, Workspace: k.workspace,
			}}})
		}
		cancel()
	}
	return k.survives(ctx, p)
}

func checkLarge(ctx context.Context, k *kit) error {
	p, _, err := k.ready()
	if err != nil {
		return err
	}
	params := json.RawMessage(`{"text":"` + strings.Repeat("x", 5<<20) + `"}`)
	_, err = k.call(ctx, p, "no_such_tool_here", params, newServices())
	var told *tool.Error
	if !errors.As(err, &told) {
		return fmt.Errorf("5 MiB of parameters were not answered: %w", err)
	}
	return k.survives(ctx, p)
}

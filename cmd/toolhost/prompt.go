package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/project"
)

// callAsking calls a tool and asks its questions on the terminal until there is an outcome, showing
// progress if watched.
func (a *app) callAsking(ctx context.Context, p *project.Project, s *host.Session, request host.Request,
	watched bool) (*host.Outcome, error) {
	own := request.AskNow
	for {
		end := func() {}
		if watched {
			request.Progress, end = a.watch(ctx)
		}
		if request.CanAsk && own == nil {
			request.AskNow = func(ctx context.Context, form tool.Form) (tool.Answer, error) {
				end() // the status gives way to the question
				return a.askForm(ctx, form)
			}
		}
		outcome := s.Call(ctx, request)
		end()
		if outcome.Input == nil {
			return outcome, nil
		}
		answer, err := a.ask(ctx, outcome, p.KeepQuestion)
		if err != nil {
			return nil, err
		}
		request = outcome.Again(request, map[string]tool.Answer{outcome.Input.Key: answer})
	}
}

func (a *app) ask(ctx context.Context, o *host.Outcome, keep keeper) (tool.Answer, error) {
	if host.IsApproval(o.Input) {
		if err := a.showApproval(ctx, o, keep); err != nil {
			return tool.Answer{}, err
		}
		verdict, reason, err := a.askVerdict(ctx)
		return host.Approval(verdict, reason), err
	}
	return a.askForm(ctx, o.Input.Form)
}

// askVerdict asks whether a call may run until the answer is valid. End of input refuses.
func (a *app) askVerdict(ctx context.Context) (v host.Verdict, reason string, err error) {
	for {
		line, ended, err := a.readLine(ctx, "Approve? (y/n/always): ")
		if err != nil {
			return host.Refuse, "", err
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return host.ApproveOnce, "", nil
		case "always":
			return host.ApproveAlways, "", nil
		case "n", "no":
			reason, _, err := a.readLine(ctx, "Why not? The agent is told (Enter for no reason): ")
			return host.Refuse, strings.TrimSpace(reason), err
		case "":
			return host.Refuse, "", nil
		}
		if ended {
			return host.Refuse, "", nil
		}
		fmt.Fprintln(a.err,
			a.painter.yellow("! ")+"Answer y for this once, always for exactly this call from now on, or n.")
	}
}

// keeper stores a text that is too long for a screen, and returns the file.
type keeper func(text string) (file string, err error)

// showApproval shows a call before its approval. If the first lines have scrolled away, the last repeat
// what it is about.
func (a *app) showApproval(ctx context.Context, o *host.Outcome, keep keeper) error {
	q, width := o.Question(), cmp.Or(terminalWidth(a.err), show.Width)
	body := q.Body(width)
	if err := a.page(ctx, a.err, body); err != nil {
		return err
	}
	if lines := strings.Count(body, "\n"); lines > mostLines {
		where := "above"
		if file, err := keep(body); err == nil {
			where = "above, or in " + show.Word(file)
		}
		fmt.Fprintf(a.err, "\nRead all %d lines %s (sha256 %s).\n%s\n", lines, where, show.Digest(body),
			noted(a.err, q.Headline(), 2))
	}
	fmt.Fprintln(a.err)
	return nil
}

// mostLines is roughly how many lines of a question a terminal shows at a time.
const mostLines = 30

// readLine prompts and reads a line, unless ctx ends first. ended reports the end of input.
func (a *app) readLine(ctx context.Context, prompt string) (line string, ended bool, err error) {
	type reading struct {
		line string
		err  error
	}
	fmt.Fprint(a.err, prompt)
	read := make(chan reading, 1)
	go func() {
		text, err := bufio.NewReader(oneByte{a.in}).ReadString('\n')
		read <- reading{text, err}
	}()
	select {
	case r := <-read:
		if r.err != nil {
			fmt.Fprintln(a.err) // ends the prompt's line
		}
		return r.line, r.err != nil, nil
	case <-ctx.Done():
		fmt.Fprintln(a.err)
		return "", true, tool.Errorf(tool.Cancelled, "interrupted at the question").Suggest("Nothing was run.")
	}
}

// oneByte reads byte by byte, so that a line reader takes no more input than its line.
type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return o.r.Read(p[:1])
}

package console

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/store/record"
	"github.com/toolhost/toolhost/internal/store/redact"
)

// Bounds of a session's report.
const (
	mostReported     = 2000
	mostReportedText = 20_000
)

//go:embed report.html
var reportHTML string

var reportPage = template.Must(template.New("report").Parse(reportHTML))

// report is what one session did.
type report struct {
	Project, Session, Client string
	From, To                 time.Time
	Calls                    []reportedCall // oldest first
	Failed, Denied, Files    int
	More                     bool // earlier calls are left out
}

type reportedCall struct {
	Time, Tool, Status, Took, Decision, Problem string
	Good                                        bool
	Params                                      []show.PartText
	Result                                      string
	Files                                       []string
}

// showReport serves a session as one HTML file to send: without scripts, loads, or what looks like a
// secret.
func (s *Server) showReport(w http.ResponseWriter, r *http.Request) error {
	found, err := s.spaces.find(r.FormValue("space"))
	if err != nil {
		return err
	}
	session := r.FormValue("session")
	if err := record.ValidSession(session); err != nil {
		return err
	}
	told, err := reportOf(r.Context(), found, session)
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if err := reportPage.Execute(&page, told); err != nil {
		return err
	}
	return give(w, map[string]string{"html": page.String(), "name": session + ".html"}, nil)
}

func reportOf(ctx context.Context, found *space, session string) (*report, error) {
	calls, err := found.recorder.Calls(ctx, record.Filter{Session: session, Last: mostReported})
	if err == nil && len(calls) == 0 {
		err = tool.Errorf(tool.NotFound, "session %s has no record", show.Line(session)).Suggest("Reload the page.")
	}
	if err != nil {
		return nil, err
	}
	slices.Reverse(calls)
	last := calls[len(calls)-1]
	// The record has no known secrets; this removes what looks like one, too.
	out := cleaner{redact.WithShapes(nil)}
	told := &report{Project: out.line(projectName(found.root)), Session: show.Line(session), From: calls[0].Began,
		To: last.Began.Add(last.Took), More: len(calls) == mostReported}
	for _, c := range calls {
		if told.Client == "" {
			told.Client = out.line(c.Client)
		}
		d, err := found.recorder.Show(ctx, record.Filter{Session: session, Request: c.Request,
			Until: c.Began.Add(time.Millisecond)})
		if err != nil {
			continue // pruned meanwhile
		}
		told.add(out.call(&c, d))
		told.Files += c.Files
	}
	return told, nil
}

func (r *report) add(c reportedCall) {
	r.Calls = append(r.Calls, c)
	switch {
	case c.Status == string(tool.Denied):
		r.Denied++
	case !c.Good:
		r.Failed++
	}
}

func projectName(root string) string { return root[strings.LastIndexAny(root, `/\`)+1:] }

// cleaner redacts secrets.
type cleaner struct{ *redact.Redactor }

func (c cleaner) line(text string) string { return show.Line(c.String(text)) }

func (c cleaner) text(text string) string {
	text = show.Text(c.String(text))
	if len(text) > mostReportedText {
		text = strings.ToValidUTF8(text[:mostReportedText], "") + "\n[cut]"
	}
	return text
}

func (c cleaner) call(ran *record.Call, d *record.Detail) reportedCall {
	one := reportedCall{Time: ran.Began.Format(time.TimeOnly), Tool: c.line(ran.Tool), Status: show.Line(ran.Status),
		Good: ran.Status == record.StatusSuccess || ran.Status == record.StatusDryRun ||
			ran.Status == record.StatusRunning,
		Took: ran.Took.Round(time.Millisecond).String()}
	for _, p := range (show.Question{Params: paramsOf(c.JSON(d.Params))}).Parts().Params {
		one.Params = append(one.Params, show.PartText{Name: p.Name, Value: c.text(p.Value)})
	}
	var result struct {
		Contents []tool.Content `json:"contents"`
	}
	if json.Unmarshal(d.Result, &result) == nil {
		for _, content := range result.Contents {
			if content.Text != "" {
				one.Result += content.Text + "\n"
			}
		}
	}
	one.Result = c.text(strings.TrimSuffix(one.Result, "\n"))
	one.Problem = c.text(textIn(d.Facts["message"]))
	by := map[string]string{"person": "by a person", "person, always": "by a person, for good", "rule": "by a rule"}
	one.Decision = by[textIn(d.Facts["decided_by"])]
	var files []string
	if json.Unmarshal(d.Facts["files_affected"], &files) == nil {
		for _, file := range files {
			one.Files = append(one.Files, c.line(file))
		}
	}
	return one
}

// textIn decodes a JSON string; "" for other values.
func textIn(data json.RawMessage) (text string) {
	_ = json.Unmarshal(data, &text)
	return text
}

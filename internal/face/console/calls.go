package console

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/policy"
	"github.com/toolhost/toolhost/internal/run/background"
	"github.com/toolhost/toolhost/internal/store/record"
)

// Bounds of one answer's calls.
const (
	someCalls = 200
	mostCalls = 1000
	// mostAbout bounds ranCall.About, in columns.
	mostAbout = 120
)

type ranCall struct {
	Space   string  `json:"space"`
	Root    string  `json:"root"`
	Session string  `json:"session"`
	ID      string  `json:"id"`
	Tool    string  `json:"tool"`
	Call    string  `json:"call"`
	About   string  `json:"about,omitempty"`
	Status  string  `json:"status"`
	Began   int64   `json:"began"` // microseconds
	Took    float64 `json:"took"`  // milliseconds
	Waited  float64 `json:"waited,omitempty"`
	Client  string  `json:"client,omitempty"`
	Files   int     `json:"files,omitempty"`
	says    bool    // matches the filter's text
}

func (s *Server) listSpaces(w http.ResponseWriter, _ *http.Request) error {
	type line struct {
		ID   string `json:"id"`
		Root string `json:"root"`
	}
	lines := []line{}
	for _, found := range s.spaces.all() {
		lines = append(lines, line{found.id, found.title()})
	}
	return give(w, lines, nil)
}

func (s *Server) chosenSpaces(r *http.Request) ([]*space, error) {
	id := r.FormValue("space")
	if id == "" {
		return s.spaces.all(), nil
	}
	found, err := s.spaces.find(id)
	return []*space{found}, err
}

// searchTime bounds a text search in one request; the next one continues.
const searchTime = 250 * time.Millisecond

func callsAsked(r *http.Request) (filter record.Filter, text string, err error) {
	filter = record.Filter{Session: r.FormValue("session"), Tool: r.FormValue("tool"), Status: r.FormValue("status"),
		Path: r.FormValue("path"), Last: someCalls}
	if n, err := strconv.Atoi(r.FormValue("limit")); err == nil {
		filter.Last = min(max(n, 1), mostCalls)
	}
	for name, at := range map[string]*time.Time{"before": &filter.Until, "since": &filter.Since} {
		if micro, err := strconv.ParseInt(r.FormValue(name), 10, 64); err == nil && micro > 0 {
			*at = time.UnixMicro(micro)
		}
	}
	if filter.Session != "" {
		err = record.ValidSession(filter.Session)
	}
	return filter, strings.ToLower(r.FormValue("text")), err
}

// listCalls serves the last calls before a time, newest first, and how far back it searched.
func (s *Server) listCalls(w http.ResponseWriter, r *http.Request) error {
	spaces, err := s.chosenSpaces(r)
	if err != nil {
		return err
	}
	filter, text, err := callsAsked(r)
	if err != nil {
		return err
	}
	found, limit, end := []ranCall{}, filter.Last, time.Now().Add(searchTime)
	if text != "" {
		filter.Last, filter.Text = mostCalls, text
	}
	for {
		all, err := callsOf(r.Context(), spaces, filter)
		if err != nil {
			return err
		}
		for _, c := range all {
			if c.says || strings.Contains(strings.ToLower(c.Session+" "+c.Status+" "+c.Root+" "+c.Call), text) {
				found = append(found, c)
			}
		}
		more, back := len(all) >= filter.Last, int64(0)
		if len(all) > 0 {
			back = all[len(all)-1].Began
		}
		if text == "" || !more || len(found) >= limit || time.Now().After(end) {
			return give(w, map[string]any{"calls": found, "more": more, "back": back}, nil)
		}
		filter.Until = time.UnixMicro(back - 1)
	}
}

func callsOf(ctx context.Context, spaces []*space, filter record.Filter) ([]ranCall, error) {
	all := []ranCall{}
	for _, found := range spaces {
		calls, err := found.recorder.Calls(ctx, filter)
		if err != nil {
			return nil, err
		}
		for _, c := range calls {
			all = append(all, ranLine(found, &c))
		}
	}
	slices.SortStableFunc(all, func(a, b ranCall) int { return cmp.Compare(b.Began, a.Began) })
	return all[:min(len(all), filter.Last)], nil
}

func ranLine(found *space, c *record.Call) ranCall {
	return ranCall{Space: found.id, Root: found.title(), Session: c.Session, ID: c.Request,
		Tool: show.Page.Line(c.Tool), About: about(c.Params), Status: show.Page.Line(c.Status),
		Call:  show.Fit(show.Call(c.Tool, c.Params), mostLine),
		Began: c.Began.UnixMicro(), Took: milliseconds(c.Took), Waited: milliseconds(c.Waited), Files: c.Files,
		Client: show.SanitizeLine(c.Client, show.MostName), says: c.Says}
}

var aboutNames = []string{"path", "file_path", "absolute_path", "filePath", "command", "args", "pattern", "query", "url",
	"name"}

// about returns the parameter that best describes a call, "" if unknown.
func about(params json.RawMessage) string {
	var values map[string]json.RawMessage
	if json.Unmarshal(params, &values) != nil {
		return ""
	}
	for _, name := range aboutNames {
		var text string
		if json.Unmarshal(values[name], &text) == nil && text != "" {
			return show.Fit(show.Page.Line(text), mostAbout)
		}
	}
	return ""
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// callPage is a call with all details.
type callPage struct {
	ranCall
	Facts  json.RawMessage `json:"facts,omitempty"`
	Params []show.PartText `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Plan   json.RawMessage `json:"plan,omitempty"`
	// JSON and CLI repeat the call exactly; non-ASCII is escaped.
	JSON string `json:"json,omitempty"`
	CLI  string `json:"cli,omitempty"`
	// Rule is a rule for agent.hcl that allows exactly this call.
	Rule string `json:"rule,omitempty"`
	// Pieces are the sizes, in bytes, of contents too large to be sent whole.
	Pieces   map[string]int `json:"pieces,omitempty"`
	Problems []string       `json:"problems,omitempty"`
	Events   []string       `json:"events,omitempty"`
}

func (s *Server) showCall(w http.ResponseWriter, r *http.Request) error {
	found, err := s.spaces.find(r.FormValue("space"))
	if err != nil {
		return err
	}
	d, err := found.recorder.Show(r.Context(), record.Filter{Session: r.FormValue("session"),
		Request: r.FormValue("id")})
	if err != nil {
		return err
	}
	tasks := background.Open(filepath.Join(found.dir, background.DirName), background.Options{})
	if reached := tasks.Reached(d.Session, d.Request, d.Facts["connections"]); reached != nil {
		d.Facts["connections"] = found.recorder.Redactor().JSON(reached)
	}
	page := callPage{ranCall: ranLine(found, &record.Call{Session: d.Session, Request: d.Request, Tool: d.Tool,
		Status: d.Status, Began: d.Began}), Facts: shownJSON(tool.MustMarshal(d.Facts)), Pieces: make(map[string]int)}
	page.Result, page.Plan = page.whole("result", d.Result), page.whole("plan", d.Plan)
	if page.whole("params", d.Params) != nil {
		page.again(d)
	}
	for _, problem := range d.Problems {
		page.Problems = append(page.Problems, show.Text(problem))
	}
	for _, event := range d.Events {
		page.Events = append(page.Events, show.Text(string(event)))
	}
	return give(w, page, nil)
}

// whole returns the content, or nil if it is sent in pieces.
func (p *callPage) whole(name string, data json.RawMessage) json.RawMessage {
	if len(data) > mostWhole {
		p.Pieces[name] = len(data)
		return nil
	}
	shown := shownJSON(data)
	if shown == nil && len(data) > 0 {
		p.Problems = append(p.Problems, "The "+name+" of the call cannot be shown: it is nested too deeply, or no JSON. "+
			"`toolhost show` prints it as it is.")
	}
	return shown
}

// again sets how to repeat the call.
func (p *callPage) again(d *record.Detail) {
	p.Call = show.Fit(show.Call(d.Tool, d.Params), mostLine)
	p.JSON = plain(d.Params)
	p.Params = show.Question{Params: paramsOf(d.Params)}.Parts().Params
	p.CLI = "toolhost call " + show.Page.Word(d.Tool) + " --params '" + strings.ReplaceAll(p.JSON, "'", `'\''`) + "'"
	p.Rule = ruleText(policy.Exactly("", d.Tool, d.Params))
}

func ruleText(rule policy.Rule) string {
	return fmt.Sprintf("policy {\n  rule %s {\n    tool   = %s\n    params = %s\n    action = %s\n  }\n}\n",
		hclText(rule.Name),
		hclText(rule.Tool), hclText(rule.Params), hclText(string(rule.Action)))
}

// hclText quotes a text for HCL, in ASCII only.
func hclText(text string) string {
	var b strings.Builder
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			b.WriteString("\\" + string(c))
		case c >= ' ' && c <= '~':
			b.WriteRune(c)
		case c <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			fmt.Fprintf(&b, `\U%08x`, c)
		}
	}
	// No templates.
	return `"` + strings.NewReplacer("${", "$${", "%{", "%%{").Replace(b.String()) + `"`
}

// plain returns the same JSON in ASCII only, so that nothing is hidden.
func plain(data json.RawMessage) string {
	var b strings.Builder
	for _, c := range string(compacted(data)) {
		switch {
		case c == 0x7f || c > 0x7e && c <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, c)
		case c > 0xffff:
			high, low := utf16.EncodeRune(c)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// callNamed returns the flags that select one call: an ID chosen by a client must not be read as a
// flag.
func callNamed(session, id string) ([]string, error) {
	if err := record.ValidSession(session); err != nil {
		return nil, err
	}
	if id == "" || strings.ContainsRune(id, 0) {
		return nil, tool.Errorf(tool.InvalidArgument, "there is no call without a name").Suggest("Name one.")
	}
	return []string{"--json", "--session=" + session, "--call=" + id}, nil
}

// changed describes what a call changed in files.
type changed struct {
	// Diff compares the files before and after the call.
	Diff string `json:"diff,omitempty"`
	// UndoneBy is the call that undid it.
	UndoneBy string `json:"undone_by,omitempty"`
	// Since lists the files changed since.
	Since []string `json:"since,omitempty"`
}

func (s *Server) showDiff(w http.ResponseWriter, r *http.Request) error {
	found, err := s.spaces.find(r.FormValue("space"))
	if err != nil {
		return err
	}
	flags, err := callNamed(r.FormValue("session"), r.FormValue("id"))
	if err != nil {
		return err
	}
	var c changed
	session, id := "--session="+r.FormValue("session"), r.FormValue("id")
	if err := s.askJSON(r.Context(), found, nil, &c, "show", "--json", "--patch", session, "--", id); err != nil {
		return err
	}
	if c.UndoneBy == "" {
		// If the present content cannot be compared, the call's own diff stands.
		_ = s.askJSON(r.Context(), found, nil, &struct{ Since *[]string }{&c.Since}, append([]string{"diff"}, flags...)...)
	}
	return give(w, shownJSON(tool.MustMarshal(c)), nil)
}

// scope selects changes: of a call, a session, or all calls since a time; and files, all if empty.
type scope struct {
	Space   string   `json:"space"`
	Session string   `json:"session"`
	ID      string   `json:"id"`
	Since   string   `json:"since"`
	Paths   []string `json:"paths"`
}

func (c scope) flags() (flags []string, err error) {
	if c.Session != "" {
		err = record.ValidSession(c.Session)
	}
	switch {
	case err != nil:
		return nil, err
	case c.Since != "":
		var since time.Time
		if since, err = time.Parse(time.RFC3339Nano, c.Since); err != nil {
			return nil, tool.Errorf(tool.InvalidArgument, "%.40q is not a valid time", c.Since).Suggest("Reload the page.")
		}
		flags = []string{"--json", "--since=" + since.UTC().Format(time.RFC3339Nano)}
	case c.ID == "":
		if c.Session == "" {
			return nil, tool.Errorf(tool.InvalidArgument, "no changes are named").Suggest("Reload the page.")
		}
		flags = []string{"--json", "--all", "--session=" + c.Session}
	default:
		if flags, err = callNamed(c.Session, c.ID); err != nil {
			return nil, err
		}
	}
	for _, path := range c.Paths {
		if path == "" || strings.ContainsRune(path, 0) {
			return nil, tool.Errorf(tool.InvalidArgument, "%.80q is not a valid path", path).Suggest("Reload the page.")
		}
		flags = append(flags, "--path="+path)
	}
	return flags, nil
}

// undoing requests an undo or a redo.
type undoing struct {
	scope
	Redo bool `json:"redo"`
	// Conflicts is the treatment of files changed since: "" refuses, else "skip" or "ours".
	Conflicts string `json:"conflicts"`
	// Shown is the digest of the plan that was shown; empty only shows it.
	Shown string `json:"shown"`
}

func (u undoing) args() ([]string, error) {
	flags, err := u.flags()
	args := append([]string{"undo"}, flags...)
	if u.Redo {
		args = append(args, "--redo")
	}
	switch u.Conflicts {
	case "":
	case "skip", "ours":
		args = append(args, "--"+u.Conflicts)
	default:
		err = tool.Errorf(tool.InvalidArgument, "conflicts are skipped or replaced").Suggest("Say skip or ours.")
	}
	return args, err
}

// showNet serves the remaining changes of a scope: a diff for each file, from before the first call to
// now.
func (s *Server) showNet(w http.ResponseWriter, r *http.Request) error {
	c := scope{Space: r.FormValue("space"), Session: r.FormValue("session"), Since: r.FormValue("since")}
	found, err := s.spaces.find(c.Space)
	if err != nil {
		return err
	}
	flags, err := c.flags()
	if err != nil {
		return err
	}
	out, _, err := s.ask(r.Context(), found, nil, nil, append([]string{"diff"}, flags...)...)
	if tool.CodeOf(err) == tool.NotFound { // nothing was changed
		return give(w, map[string]any{"files": []string{}}, nil)
	}
	return give(w, shownJSON(out), err)
}

// undo shows what an undo would do, and does it if that was shown.
func (s *Server) undo(w http.ResponseWriter, r *http.Request) error {
	var u undoing
	if err := given(r, &u); err != nil {
		return err
	}
	found, err := s.spaces.find(u.Space)
	if err != nil {
		return err
	}
	args, err := u.args()
	if err != nil {
		return err
	}
	plan, _, err := s.ask(r.Context(), found, nil, nil, append(slices.Clip(args), "--dry-run")...)
	if since, back := conflictIn(plan); err != nil && since+back != "" {
		e := tool.AsError(err)
		writeJSON(w, statusOf(err), map[string]any{"error": map[string]any{"code": e.Code, "message": shownText(e.Message),
			"suggestion": shownText(e.Suggestion), "since": shownText(since), "back": shownText(back)}})
		return nil
	}
	if err != nil {
		return err
	}
	digest := digestOf(compacted(plan))
	if u.Shown == "" {
		return give(w, map[string]any{"plan": shownJSON(plan), "shown": digest}, nil)
	}
	if u.Shown != digest {
		return changedSince()
	}
	done, _, err := s.ask(r.Context(), found, nil, nil, args...)
	return give(w, map[string]any{"done": shownJSON(done)}, err)
}

// conflictIn returns the diffs in toolhost's error: from what the call left to now, and from now to
// what undo would restore.
func conflictIn(out []byte) (since, back string) {
	var told struct {
		Error struct {
			Details struct {
				Since string `json:"since"`
				Back  string `json:"back"`
			} `json:"details"`
		} `json:"error"`
	}
	_ = json.Unmarshal(out, &told)
	return told.Error.Details.Since, told.Error.Details.Back
}

func (s *Server) listChanges(w http.ResponseWriter, r *http.Request) error {
	spaces, err := s.chosenSpaces(r)
	if err != nil {
		return err
	}
	type change struct {
		Space string          `json:"space"`
		Root  string          `json:"root"`
		Call  json.RawMessage `json:"call"`
		Time  time.Time       `json:"time"`
	}
	all, problems := []change{}, []string{}
	for _, found := range spaces {
		calls, err := found.changes(r.Context())
		if err != nil {
			problems = append(problems, show.Text(found.title()+": "+err.Error()))
		}
		for _, c := range calls {
			all = append(all, change{found.id, found.title(), shownJSON(tool.MustMarshal(c)), c.Time})
		}
	}
	slices.SortStableFunc(all, func(a, b change) int { return b.Time.Compare(a.Time) })
	return give(w, map[string]any{"changes": all[:min(len(all), mostCalls)], "problems": problems}, nil)
}

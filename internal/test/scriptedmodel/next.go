package scriptedmodel

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

type request struct {
	api     string
	number  int
	model   string
	stream  bool
	tools   []offer
	results []result
	said    []string // by the model
	body    []byte
}

// offer is a tool that the client offers. OpenAI's responses put tools into namespaces.
type offer struct{ namespace, name string }

func (o offer) String() string {
	if o.namespace == "" {
		return o.name
	}
	return o.namespace + "." + o.name
}

type result struct {
	id, text string
	failed   bool
}

// reply is a call, or a text if there is no tool.
type reply struct {
	id        string
	tool      offer
	arguments json.RawMessage
	text      string
}

// callID is the ID of a step's call; searchID that of a search before it.
func callID(step int) string   { return fmt.Sprintf("call_step_%d", step) }
func searchID(step int) string { return fmt.Sprintf("call_search_%d", step) }

// next plays the step that the conversation has come to.
func (m *Model) next(r *request) reply {
	if len(r.tools) == 0 && len(r.results) == 0 {
		return reply{text: "ok"}
	}
	names := make([]string, len(r.tools))
	for i, t := range r.tools {
		names[i] = t.String()
	}
	m.record(Record{Event: "tools", API: r.api, Step: -1, Tools: names})
	position := 0
	for number, step := range m.script.Steps {
		if step.Say != "" {
			if !slices.ContainsFunc(r.said, func(s string) bool { return strings.Contains(s, step.Say) }) {
				m.record(Record{Event: "say", API: r.api, Step: number, Text: step.Say})
				return reply{text: step.Say}
			}
			continue
		}
		back := r.result(number, position)
		if back == nil {
			return m.call(r, number, step, names)
		}
		position++
		m.record(Record{Event: "result", API: r.api, Step: number, Text: back.text, Failed: back.failed})
	}
	return reply{text: "The script is over."}
}

// result returns a step's result: by the ID of its call or, if the client has
// its own IDs, by its position among all results.
func (r *request) result(step, position int) *result {
	own := slices.ContainsFunc(r.results, func(b result) bool { return strings.HasPrefix(b.id, "call_") })
	if !own && position < len(r.results) {
		return &r.results[position]
	}
	return r.byID(callID(step))
}

func (r *request) byID(id string) *result {
	for i := range r.results {
		if r.results[i].id == id {
			return &r.results[i]
		}
	}
	return nil
}

// call calls the tool of a step, if necessary after a search for it.
func (m *Model) call(r *request, number int, step Step, names []string) reply {
	call := reply{id: callID(number), arguments: step.Arguments}
	if len(call.arguments) == 0 {
		call.arguments = json.RawMessage("{}")
	}
	event := "call"
	if tool, ok := m.find(r.tools, step.Tool); ok {
		call.tool = tool
	} else if hidden, ok := m.hidden(r, number, step.Tool, call.arguments); ok {
		call = hidden
		if call.id == searchID(number) {
			event = "search"
		}
	} else {
		m.record(Record{Event: "missing", API: r.api, Step: number, Tool: step.Tool, Tools: names})
		return reply{text: "No tool " + step.Tool + " is offered."}
	}
	m.record(Record{Event: event, API: r.api, Step: number, Tool: call.tool.String(), Arguments: call.arguments})
	return call
}

func (m *Model) find(tools []offer, name string) (best offer, found bool) {
	rank := func(o offer) int {
		full := o.String()
		lead, ends := strings.CutSuffix(full, name)
		switch {
		case !ends || lead != "" && !strings.ContainsAny(lead[len(lead)-1:], "_-.:/"):
			return 0
		case strings.Contains(spell(lead), spell(m.script.Server)):
			return 3
		case lead == "":
			return 2
		}
		return 1
	}
	if len(tools) == 0 {
		return offer{}, false
	}
	best = slices.MaxFunc(tools, func(a, b offer) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(len(b.name), len(a.name)))
	})
	return best, rank(best) > 0
}

// spell normalizes clients' changes of server names.
func spell(s string) string { return strings.ToLower(strings.ReplaceAll(s, "-", "_")) }

// hidden reaches a tool that a client offers only after a search: Claude Code's
// ToolSearch offers it from then on, Qwen Code has one tool that calls any
// other.
func (m *Model) hidden(r *request, number int, name string, arguments json.RawMessage) (reply, bool) {
	full := m.mentioned(r.body, name)
	if full == "" {
		return reply{}, false
	}
	search, can := exact(r.tools, "ToolSearch", "tool_search")
	if can && r.byID(searchID(number)) == nil {
		return reply{id: searchID(number), tool: search, arguments: object("query", quote("select:"+full))}, true
	}
	if caller, ok := exact(r.tools, "tool_call"); ok {
		return reply{id: callID(number), tool: caller,
			arguments: object("name", quote(full), "arguments", string(arguments))}, true
	}
	return reply{}, false
}

func exact(tools []offer, names ...string) (offer, bool) {
	i := slices.IndexFunc(tools, func(o offer) bool { return slices.Contains(names, o.name) })
	if i < 0 {
		return offer{}, false
	}
	return tools[i], true
}

// mentioned finds the client's name of a tool in the texts of a request.
func (m *Model) mentioned(body []byte, name string) string {
	words := regexp.MustCompile(`[A-Za-z0-9_.:-]+`).FindAllString(strings.ReplaceAll(string(body), `\n`, " "), -1)
	tools := make([]offer, 0, len(words))
	for _, word := range words {
		word = strings.Trim(word, ".:-")
		if strings.Contains(spell(word), spell(m.script.Server)) {
			tools = append(tools, offer{name: word})
		}
	}
	tool, _ := m.find(tools, name)
	if !strings.HasSuffix(tool.name, name) {
		return ""
	}
	return tool.name
}

// object returns an object of keys and values that are already JSON.
func object(pairs ...string) json.RawMessage {
	parts := make([]string, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		parts = append(parts, quote(pairs[i])+":"+pairs[i+1])
	}
	return json.RawMessage("{" + strings.Join(parts, ",") + "}")
}

func quote(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

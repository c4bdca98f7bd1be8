package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/evanw/esbuild/pkg/api"
)

type publicTool struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
}

// publicTools reads the tools of public servers (testdata/schemas.json) and gives each a unique name.
func publicTools(t *testing.T) (all []publicTool) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "schemas.json"))
	if err != nil {
		t.Fatal(err)
	}
	var servers []struct {
		Repository, Package string
		Tools               []publicTool
	}
	if err := json.Unmarshal(data, &servers); err != nil {
		t.Fatal(err)
	}
	for i, server := range servers {
		if !strings.HasPrefix(server.Repository, "github.com/") || len(server.Tools) == 0 {
			t.Errorf("%+v names no repository, or has no tools", server)
		}
		for _, tool := range server.Tools {
			tool.Name = fmt.Sprintf("s%d_%s", i, tool.Name)
			all = append(all, tool)
		}
	}
	if len(all) < 300 {
		t.Fatalf("%d schemas are too few", len(all))
	}
	return all
}

// serveTools serves the tools of a file over standard input.
func serveTools(path string) error {
	tools, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	say()
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil
		}
		var r struct {
			ID     json.RawMessage
			Method string
			Params struct{ ProtocolVersion, Name string }
		}
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		result := any(map[string]any{})
		switch r.Method {
		case "initialize":
			result = map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{"tools": map[string]any{}},
				"serverInfo": map[string]string{"name": "public", "version": "1"}}
		case "tools/list":
			result = map[string]any{"tools": json.RawMessage(tools)}
		case "tools/call":
			result = map[string]any{"content": []any{map[string]string{"type": "text", "text": "done"}}}
			if r.Params.Name == "shows" {
				result = map[string]any{"content": shownContents}
			}
		}
		if r.ID == nil {
			continue
		}
		answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": r.ID, "result": result})
		if err != nil {
			return err
		}
		fmt.Printf("%s\n", answer)
	}
}

type example struct{ root map[string]any }

func (e example) of(schema any, depth int) any {
	s, ok := schema.(map[string]any)
	if !ok {
		return "anything"
	}
	if ref, ok := s["$ref"].(string); ok {
		return e.of(e.at(ref), depth+1)
	}
	if v, ok := s["const"]; ok {
		return v
	}
	if all, ok := s["enum"].([]any); ok {
		return all[0]
	}
	for _, name := range []string{"oneOf", "anyOf"} {
		if forms, ok := s[name].([]any); ok {
			form := maps.Clone(s)
			delete(form, name)
			first, _ := forms[0].(map[string]any)
			if _, inner := first["required"]; inner && first["type"] == nil { // properties that go together
				return e.of(form, depth)
			}
			maps.Copy(form, first)
			return e.of(form, depth+1)
		}
	}
	if kinds, ok := s["type"].([]any); ok {
		s = maps.Clone(s)
		s["type"] = kinds[0]
	}
	switch s["type"] {
	case "string":
		return e.text(s)
	case "integer", "number":
		return number(s)
	case "boolean":
		return true
	case "null":
		return nil
	case "array":
		list := []any{}
		for range max(1, int(float(s["minItems"], 1))) {
			list = append(list, e.of(s["items"], depth+1))
		}
		if depth > 6 && float(s["minItems"], 0) == 0 {
			return []any{}
		}
		return list
	}
	return e.object(s, depth)
}

func (e example) object(s map[string]any, depth int) any {
	properties, _ := s["properties"].(map[string]any)
	if s["type"] != "object" && properties == nil {
		return "anything"
	}
	required, _ := s["required"].([]any)
	v := map[string]any{}
	for name, inner := range properties {
		if depth < 4 || slices.Contains(required, any(name)) {
			v[name] = e.of(inner, depth+1)
		}
	}
	if inner, ok := s["additionalProperties"].(map[string]any); ok && depth < 4 {
		v["more"] = e.of(inner, depth+1)
	}
	return v
}

func (e example) at(ref string) (found any) {
	found = e.root
	for part := range strings.SplitSeq(strings.TrimPrefix(strings.TrimPrefix(ref, "#"), "/"), "/") {
		switch v := found.(type) {
		case map[string]any:
			if part != "" {
				found = v[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
			}
		case []any:
			var n int
			_, _ = fmt.Sscan(part, &n)
			found = v[n]
		}
	}
	return found
}

// texts match patterns and formats in schemas.
var texts = []string{"text", "1", "10", "2026-01-02", "2026-01-02T15:04:05Z", "https://example.com/a", "a@example.com",
	"123e4567-e89b-42d3-a456-426614174000", "a.png", "example.com", "2026-01-02to2026-01-03",
	"#a1b2c3", "1:2", "1-2", "0123456789abcdef0123456789abcdef"}

func (e example) text(s map[string]any) string {
	text := "text"
	if format, ok := s["format"].(string); ok {
		text = map[string]string{"uri": texts[5], "url": texts[5], "date": texts[3], "date-time": texts[4], "email": texts[6],
			"uuid": texts[7]}[format]
	}
	if pattern, ok := s["pattern"].(string); ok {
		for _, t := range texts {
			if ok, err := regexp.MatchString(pattern, t); ok && err == nil {
				text = t
				break
			}
		}
	}
	for float64(len(text)) < float(s["minLength"], 0) {
		text += "x"
	}
	if most := int(float(s["maxLength"], 1e6)); len(text) > most {
		text = text[:most]
	}
	return text
}

func number(s map[string]any) any {
	low := float(s["minimum"], 1)
	if _, ok := s["exclusiveMinimum"]; ok {
		low = max(low, float(s["exclusiveMinimum"], 0)+1)
	}
	return min(low, float(s["maximum"], 1e9))
}

func float(v any, otherwise float64) float64 {
	if f, ok := v.(float64); ok {
		return f
	}
	return otherwise
}

// fieldsOf loads the page's code for form fields into a browser.
func fieldsOf(t *testing.T, ctx context.Context) {
	t.Helper()
	dir, err := filepath.Abs("../page")
	if err != nil {
		t.Fatal(err)
	}
	made := api.Build(api.BuildOptions{Bundle: true, Format: api.FormatIIFE, Stdin: &api.StdinOptions{ResolveDir: dir, Contents: `
		import { field, first, fits, itemOf } from "./schema.js";
		import { read, write } from "./values.js";
		const walk = (schema, root, path, depth, found) => {
			const f = field(schema, root, depth);
			found.push([path, f.kind, f.reason || ""]);
			if (depth > 6) return found;
			if (f.kind === "object") for (const n of f.names) walk(f.s.properties[n], root, path + "." + n, depth + 1, found);
			if (f.kind === "array") walk(itemOf(f.s, 0), root, path + "[0]", depth + 1, found);
			if (f.kind === "choice") f.forms.forEach((g, i) => walk(g, root, path + "|" + i, depth + 1, found));
			return found;
		};
		window.fieldsOf = (schema) => walk(schema, schema, "", 0, []);
		window.begins = (schema) => write(first(schema, schema));
		window.again = (schema, json) => [write(read(json)), fits(schema, schema, read(json))];`}})
	if len(made.Errors) > 0 {
		t.Fatal(made.Errors)
	}
	do(t, ctx, chromedp.Navigate("about:blank"), chromedp.Evaluate[chromedp.Void](string(made.OutputFiles[0].Contents)))
}

// Every schema of a public server gives a form: every field can be typed in, or takes JSON and says
// why; and every valid value is read and written unchanged.
func TestFormsOfPublicSchemas(t *testing.T) {
	ctx := browser(t)
	fieldsOf(t, ctx)
	all, kinds := publicTools(t), map[string]int{}
	for _, tool := range all {
		fields := value[[][3]string](t, ctx, fmt.Sprintf("fieldsOf(%s)", tool.Schema))
		if fields[0][1] != "object" && fields[0][1] != "choice" && fields[0][2] == "" {
			t.Errorf("%s: no form, and no reason", tool.Name)
		}
		for _, f := range fields {
			kinds[f[1]]++
			if (f[1] == "json") != (f[2] != "") ||
				!slices.Contains([]string{"object", "array", "string", "number", "enum", "choice", "json"}, f[1]) {
				t.Errorf("%s: %q", tool.Name, f)
			}
		}
		if begins := value[string](t, ctx, fmt.Sprintf("begins(%s)", tool.Schema)); !strings.HasPrefix(begins, "{") {
			t.Errorf("%s begins as %s", tool.Name, begins)
		}
		_, params := tool.example(t)
		quoted, _ := json.Marshal(string(params))
		again := value[[]any](t, ctx, fmt.Sprintf("again(%s, %s)", tool.Schema, quoted))
		same(t, tool.Name, again[0].(string), params)
		if fits := again[1].(float64); fits <= 0 {
			t.Errorf("%s: the form takes %s for another's (%v)", tool.Name, params, fits)
		}
	}
	t.Logf("%d schemas, fields: %v", len(all), kinds)
}

func (p publicTool) example(t *testing.T) (schema map[string]any, params []byte) {
	t.Helper()
	if err := json.Unmarshal(p.Schema, &schema); err != nil {
		t.Fatal(p.Name, err)
	}
	params, err := json.Marshal(example{schema}.object(schema, 0))
	if err != nil {
		t.Fatal(err)
	}
	return schema, params
}

// wrong returns a call with values of other types and an unknown name.
func wrong(schema map[string]any) []byte {
	params := map[string]any{"zz_no_such": 1}
	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		s, _ := p.(map[string]any)
		if s["type"] == "object" {
			params[name] = "text"
		} else {
			params[name] = map[string]any{"wrong": true}
		}
	}
	data, _ := json.Marshal(params)
	return data
}

// typed reports whether a schema has a property's type.
func typed(schema map[string]any) bool {
	properties, _ := schema["properties"].(map[string]any)
	for _, p := range properties {
		if s, _ := p.(map[string]any); s["type"] != nil {
			return true
		}
	}
	return false
}

// Tools of public servers, offered by a connected server: every example can be filled in and is valid,
// and every violation is at its field. TOOLHOST_TEST_LONG=1 tests all of them, otherwise a sample.
func TestFormsOfPublicServers(t *testing.T) {
	all, step := publicTools(t), 20
	if os.Getenv("TOOLHOST_TEST_LONG") == "1" {
		step = 1
	}
	u, ctx := newUser(t), browser(t)
	u.env = append(u.env, "TOOLHOST_TRUST=1")
	var offered []map[string]any
	for i := 0; i < len(all); i += step {
		offered = append(offered, map[string]any{"name": all[i].Name, "inputSchema": all[i].Schema})
	}
	data, _ := json.Marshal(offered)
	u.write("tools.json", string(data))
	u.servePublic()
	space := u.openTools(ctx)
	for i := 0; i < len(all); i += step {
		tryPublic(t, ctx, space, all[i])
	}
	t.Logf("%d of %d tools", len(offered), len(all))
}

// servePublic adds an MCP server with the tools of tools.json.
func (u *user) servePublic() {
	u.t.Helper()
	var data []byte
	self, err := os.Executable()
	if err == nil {
		data, err = os.ReadFile(self)
	}
	if err != nil {
		u.t.Fatal(err)
	}
	program(u.t, filepath.Join(u.dir, "server"), data)
	u.write("agent.hcl", "mcp \"public\" {\n  command = [\"./server\"]\n  env = { CONSOLE_TEST_TOOLS = \"tools.json\" }\n}\n")
}

func tryPublic(t *testing.T, ctx context.Context, space string, tool publicTool) {
	t.Helper()
	schema, params := tool.example(t)
	query := url.Values{"space": {space}, "tool": {tool.Name}}
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`location.hash = "#/tools?`+query.Encode()+`"`),
		until(`document.querySelector(".detail h2")?.innerText.split(" · ")[0] == `+fmt.Sprintf("%q", tool.Name)+
			` && document.querySelector(".detail .form")`),
		press("As JSON"), until(`document.querySelector("textarea.json")`), typeJSON(string(params)), press("As a form"),
		until(`document.querySelector(".detail .form")`), press("As JSON"), until(`document.querySelector("textarea.json")`))
	same(t, tool.Name, value[string](t, ctx, `document.querySelector("textarea.json").value`), params)
	tries := chromedp.Steps(press("As a form"), until(`document.querySelector(".detail .form")`), check)
	do(t, ctx, tries)
	if value[bool](t, ctx, `!document.querySelector(".outcome")`) {
		t.Errorf("%s: %s cannot be sent: %s", tool.Name, params,
			value[string](t, ctx, `JSON.stringify(window.tried)`))
	}
	do(t, ctx, press("Clear"), until(`!document.querySelector(".outcome")`), press("As JSON"),
		typeJSON(string(wrong(schema))), tries)
	found := value[[]struct{ Path, Message string }](t, ctx, `window.tried.violations || []`)
	shown := value[[]string](t, ctx, `[...document.querySelectorAll(".form .wrong div")].map(d =>
		(d.closest("[data-path]")?.dataset.path ?? "") + ": " + d.innerText)`)
	if len(found) == 0 && typed(schema) {
		t.Errorf("%s: %s is taken for valid", tool.Name, wrong(schema))
	}
	if len(shown) != len(found) {
		t.Errorf("%s: %d violations are shown, %d were found: %q", tool.Name, len(shown), len(found), shown)
	}
	for _, v := range found {
		if !slices.ContainsFunc(shown, func(s string) bool {
			return strings.Join(strings.Fields(s), " ") == strings.Join(strings.Fields(v.Path+": "+v.Message), " ")
		}) {
			t.Errorf("%s: %v is not at its field: %q", tool.Name, v, shown)
		}
	}
}

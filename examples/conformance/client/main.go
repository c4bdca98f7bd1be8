// Command conformance-client is what the MCP conformance suite runs to test a
// client: toolhost's own, which is what reaches the servers of mcp blocks. It
// does with the server at the given URL what the scenario is about: lists its
// tools, calls them, reads a resource and gets a prompt.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/mcpclient"
	"github.com/toolhost/toolhost/internal/source/mcpclient/oauth"
)

// server is the name under which the suite's server is known.
const server = "suite"

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("usage: conformance-client URL")
	}
	ctx, cancel := context.WithTimeout(ctx, 25*time.Second)
	defer cancel()
	dir, err := os.MkdirTemp("", "conformance-client-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	config, err := known(dir)
	if err != nil {
		return err
	}
	client := mcpclient.New(mcpclient.Options{Version: "test", Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Visit: visit})
	defer client.Close()
	spec := mcpclient.Spec{Name: server, URL: args[0], Protocol: os.Getenv("MCP_CONFORMANCE_PROTOCOL_VERSION"),
		OAuth: config}
	if err := client.Add(spec); err != nil {
		return err
	}
	tools, _, err := client.Tools(ctx, server)
	if err != nil {
		return err
	}
	for _, call := range calls(tools) {
		result, err := client.Call(ctx, server, call.Name, call.Arguments, &tool.Call{Tool: call.Name, Host: user{}})
		fmt.Fprintln(os.Stderr, "call", call.Name, text(result), err)
	}
	return readResourceAndPrompt(ctx, client)
}

// visit is the person at the browser: the page of the suite agrees at once and
// redirects to where the client waits.
func visit(ctx context.Context, page oauth.Page) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, page.URL, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err == nil {
		_ = response.Body.Close()
	}
	return err
}

// known is what a scenario says of the client: that it was registered by hand,
// that its metadata are published at a URL, or what it shows instead. What has
// to be in files goes into dir.
func known(dir string) (c oauth.Config, err error) {
	var given struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
		Issuer string `json:"issuer"`
		Key    string `json:"private_key_pem"`
		JWT    string `json:"valid_jwt"`
	}
	_ = json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &given)
	c.ClientID, c.ClientSecret, c.Issuer = given.ID, given.Secret, given.Issuer
	switch os.Getenv("MCP_CONFORMANCE_SCENARIO") {
	case "auth/basic-cimd":
		c.ClientMetadataURL = "https://conformance-test.local/client-metadata.json"
	case "auth/client-credentials-basic":
		c.Grant = oauth.ClientCredentials
	case "auth/client-credentials-jwt":
		c.Grant, c.PrivateKeyFile = oauth.ClientCredentials, filepath.Join(dir, "key")
		err = os.WriteFile(c.PrivateKeyFile, []byte(given.Key), 0o600)
	case "auth/wif-jwt-bearer":
		c.Grant, c.AssertionFile = oauth.JWTBearer, filepath.Join(dir, "jwt")
		err = os.WriteFile(c.AssertionFile, []byte(given.JWT), 0o600)
	}
	return c, err
}

func text(r *tool.Result) string {
	if r == nil {
		return ""
	}
	return r.Text()
}

// readResourceAndPrompt reads the first resource and gets the first prompt, where there are any.
func readResourceAndPrompt(ctx context.Context, client *mcpclient.Client) error {
	resources, _, err := client.Resources(ctx, server)
	if err == nil && len(resources) > 0 && !resources[0].Template {
		_, err = client.ReadResource(ctx, server, resources[0].URI)
	}
	if err != nil {
		return err
	}
	prompts, _, err := client.Prompts(ctx, server)
	if err == nil && len(prompts) > 0 {
		_, err = client.GetPrompt(ctx, server, prompts[0].Name, map[string]string{})
	}
	return err
}

// toolCall is a call to make.
type toolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// calls are what a scenario wants called: what it says itself, else every tool
// that the server lists, and those that it knows without listing them.
func calls(tools []*tool.Definition) []toolCall {
	var given struct {
		ToolCalls []toolCall `json:"toolCalls"`
	}
	_ = json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &given)
	if len(given.ToolCalls) > 0 {
		return given.ToolCalls
	}
	var all []toolCall
	for _, t := range tools {
		if t.Name == "json_schema_2020_12_tool" {
			all = append(all, toolCall{"json_schema_echo", tool.MustMarshal(map[string]any{"schema": t.Parameters})})
		}
		all = append(all, toolCall{t.Name, arguments(t)})
	}
	if os.Getenv("MCP_CONFORMANCE_SCENARIO") == "sep-2322-client-request-state" && len(all) == 0 {
		for _, name := range []string{"echo_state", "no_state", "unrelated", "no_result_type"} {
			all = append(all, toolCall{"test_mrtr_" + name, json.RawMessage(`{}`)})
		}
	}
	return all
}

// arguments gives every parameter of a tool a value of its type.
func arguments(t *tool.Definition) json.RawMessage { return fill(t.Parameters, false) }

// fill makes an object that fits a flat schema; of a form only what is
// required is filled in, the rest is left to its defaults.
func fill(schema json.RawMessage, requiredOnly bool) json.RawMessage {
	var object struct {
		Properties map[string]struct {
			Type any   `json:"type"`
			Enum []any `json:"enum"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	_ = json.Unmarshal(schema, &object)
	values := make(map[string]any)
	for name, p := range object.Properties {
		if requiredOnly && !strings.Contains(" "+strings.Join(object.Required, " ")+" ", " "+name+" ") {
			continue
		}
		switch {
		case len(p.Enum) > 0:
			values[name] = p.Enum[0]
		case p.Type == "integer" || p.Type == "number":
			values[name] = 5
		case p.Type == "boolean":
			values[name] = true
		case p.Type == "string":
			values[name] = "us-west1"
		}
	}
	return tool.MustMarshal(values)
}

// user answers what servers ask.
type user struct{ tool.Services }

func (user) Progress(context.Context, tool.Progress) {}

func (user) Log(_ context.Context, _ slog.Level, message string, _ ...slog.Attr) {
	fmt.Fprintln(os.Stderr, cmp.Or(message, "(empty)"))
}

func (user) Ask(_ context.Context, _ string, form tool.Form) (tool.Answer, error) {
	return tool.Answer{Action: "accept", Content: fill(form.Schema, true)}, nil
}

func (user) Sample(context.Context, tool.SampleRequest) (*tool.SampleResponse, error) {
	return nil, tool.Errorf(tool.Unavailable, "there is no model here").Suggest("Go on without.")
}

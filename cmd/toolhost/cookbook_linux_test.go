package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// kitchen is a project with one recipe as its approved agent.hcl, and the variables of more.
func kitchen(t *testing.T, recipe string, files texts, more ...string) *exampleProject {
	t.Helper()
	text, there := recipes(t)[recipe]
	require.True(t, there, "the cookbook has no recipe that begins with %q", recipe)
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": text})
	plant(t, dir, files)
	path := "PATH=" + binaries + string(os.PathListSeparator) + os.Getenv("PATH")
	p := &exampleProject{t, dir, environment(t.TempDir(), append([]string{path}, more...)...)}
	return p
}

// standIn puts a script outside the workspace on the PATH under this name. It replaces a program that
// contacts a server or takes long.
func (p *exampleProject) standIn(name, script string) {
	p.t.Helper()
	dir := testneed.VisibleDir(p.t)
	testfile.Program(p.t, filepath.Join(dir, name), "#!/bin/sh\n"+script)
	p.env = append(p.env, "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestCookbookDatabases(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	t.Run("file", func(t *testing.T) {
		const recipe = `tool "query_db" {`
		installed(t, "sqlite3")
		p := kitchen(t, recipe, texts{})
		_, stderr, code := p.run("sqlite3", "app.db", "CREATE TABLE users (name); INSERT INTO users VALUES ('ann')")
		require.Zero(t, code, stderr)
		p.calls([]projectCall{
			{[]string{"query_db", "sql=SELECT * FROM users LIMIT 5"}, `^\[\{"name":"ann"\}\]\n$`, false},
			{[]string{"query_db", "sql=SELECT * FROM users LIMIT 0"}, `^\[\]\n$`, false},
			{[]string{"query_db", "sql=WITH x AS (SELECT 1) DELETE FROM users"}, `readonly`, true},
			{[]string{"query_db", "sql=.shell id"}, `must match the pattern`, true},
		})
	})
	t.Run("server", func(t *testing.T) {
		needsFull(t)
		const recipe = `tool "query_orders" {`
		p := kitchen(t, recipe, texts{}, "ORDERS_DB_PASSWORD=swordfish-1234")
		p.standIn("psql", `[ "$PGPASSWORD" = swordfish-1234 ] && echo "$PGUSER@$PGHOST/$PGDATABASE: $4 $PGPASSWORD"`)
		p.calls([]projectCall{
			{[]string{"query_orders", "sql=SELECT 1"}, `^reader@db\.example\.com/orders: --command=SELECT 1 \S*\n$`,
				false},
			{[]string{"query_orders", `sql=\! id`}, `must match the pattern`, true},
		})
		stdout, _, _ := p.toolhost("call", "query_orders", "sql=SELECT 1", "--json")
		assert.NotContains(t, stdout, "swordfish")
	})
}

func TestCookbookMonorepo(t *testing.T) {
	testneed.NotShort(t, "needs other programs and packages")
	p := kitchen(t, "# agent.hcl", texts{"libs/note.txt": "shared\n", "other.txt": "not shared\n"})
	page, err := os.ReadFile("../../docs/COOKBOOK.md")
	require.NoError(t, err)
	for _, block := range fenced(string(page), "yaml") {
		name, _, _ := strings.Cut(strings.TrimPrefix(block, "# "), "\n")
		plant(t, p.dir, texts{name: block})
	}
	p.standIn("go", `echo go "$@"`)
	p.calls([]projectCall{
		{[]string{"list_commands"}, `"name":"api:where"`, false},
		{[]string{"run_command", "command=api:where"}, `(?m)^api$`, false},
		{[]string{"go_test", "service=api"}, `^go -C services/api test \./\.\.\.\n$`, false},
		{[]string{"go_test", "service=../x"}, `api`, true},
		{[]string{"write_file", "path=services/api/Taskfile.yml", "content=x"}, `protected`, true},
	})

	const nested = "# services/api/agent.hcl"
	part := kitchen(t, nested, texts{})
	plant(t, p.dir, texts{"services/api/agent.hcl": part.read("agent.hcl")})
	part.dir = filepath.Join(p.dir, "services/api")
	part.calls([]projectCall{
		{[]string{"list_commands"}, `"name":"where"`, false},
		{[]string{"run_command", "command=where"}, `(?m)^api$`, false},
		{[]string{"read_file", "path=../../libs/note.txt"}, `shared`, false},
		{[]string{"read_file", "path=../../other.txt"}, `outside the workspace`, true},
		{[]string{"go_test", "service=api"}, `no tool named`, true},
	})
}

func TestCookbookHTTP(t *testing.T) {
	testneed.NotShort(t, "one recipe of the cookbook stays")
	t.Run("web_fetch", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
			_ *http.Request) {
			fmt.Fprintln(w, "a page of the wiki")
		}))
		defer server.Close()
		p := kitchen(t, `variable "wiki" { default = "wiki.example.internal" }`, texts{})
		p.calls([]projectCall{{[]string{"web_fetch", "url=" + server.URL}, `127\.0\.0\.1`, true}})
		p.env = append(p.env, "TOOLHOST_VAR_wiki=127.0.0.1")
		p.calls([]projectCall{{[]string{"web_fetch", "url=" + server.URL}, `\.agent/cache/webfetch/`, false}})
	})
	t.Run("token", func(t *testing.T) {
		needsFull(t)
		const recipe = `variable "tracker" { default = "https://tracker.example.com/api" }`
		installed(t, "curl")
		var asked []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer s3cret-token" {
				http.Error(w, `{"error":"who are you?"}`, http.StatusUnauthorized)
				return
			}
			asked = append(asked, r.Method+" "+r.URL.Path+" "+r.FormValue("q")+r.FormValue("text"))
			fmt.Fprintf(w, "[{\"id\":7,\"state\":%q,\"seen\":%q}]\n", r.FormValue("state"),
				r.Header.Get("Authorization"))
		}))
		defer server.Close()
		p := kitchen(t, recipe, texts{}, "TOOLHOST_VAR_tracker="+server.URL)
		host := strings.TrimPrefix(server.URL, "http://")
		plant(t, p.dir, texts{"agent.hcl": strings.ReplaceAll(p.read("agent.hcl"), "tracker.example.com\"]", host+"\"]")})
		p.calls([]projectCall{{[]string{"search_issues", "text=x"}, `who are you\?`, true}})
		p.env = append(p.env, "TRACKER_TOKEN=s3cret-token")
		p.calls([]projectCall{
			{[]string{"search_issues", "text=@/etc/passwd & more"}, `"id":7,"state":"open"`, false},
			{[]string{"comment", "issue=7", "text=--help 'me'", "--yes"}, `"id":7`, false},
			{[]string{"comment", "issue=0", "text=x", "--yes"}, `issue`, true},
		})
		assert.Equal(t, []string{"GET /issues @/etc/passwd & more", "POST /issues/7/comments --help 'me'"}, asked)
		_, _, code := p.toolhost("call", "comment", "issue=7", "text=x")
		assert.Equal(t, exitDenied, code, "a comment waits for a person")
		stdout, _, _ := p.toolhost("call", "search_issues", "text=x", "--json")
		assert.Contains(t, stdout, `"success":true`)
		p.keeps("s3cret-token", stdout)
	})
}

// keeps checks that a secret is neither printed nor recorded.
func (p *exampleProject) keeps(secret string, printed ...string) {
	p.t.Helper()
	for _, args := range [][]string{{"events"}, {"trust", "--show"}, {"events", "--json"}} {
		stdout, stderr, _ := p.toolhost(args...)
		printed = append(printed, stdout, stderr)
	}
	assert.NotContains(p.t, strings.Join(printed, "\n"), secret)
	testproc.Files(p.t, filepath.Join(p.dir, ".agent"), func(path string, content []byte) {
		assert.NotContains(p.t, string(content), secret, path)
	})
}

func TestCookbookSecrets(t *testing.T) {
	testneed.NotShort(t, "one recipe of the cookbook stays")
	needsFull(t)
	p := kitchen(t, `variable "deploy_key" {`, texts{
		"scripts/deploy.sh": "echo \"deploying $1 with $DEPLOY_KEY\"\necho \"token: $SLACK_TOKEN, mine: $MY_TOKEN\"\nexit 3\n",
		".env":              "PASSWORD=in-a-file\n",
	}, "TOOLHOST_VAR_deploy_key=k3y-of-the-door", "SLACK_TOKEN=xoxb-12345", "MY_TOKEN=of-the-shell")
	_, _, code := p.toolhost("call", "deploy", "version=v1.2.3")
	assert.Equal(t, exitDenied, code, "a person decides")
	stdout, stderr, code := p.toolhost("call", "deploy", "version=v1.2.3", "--yes")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stdout+stderr, "deploying v1.2.3 with ")
	assert.Regexp(t, `token: \S+, mine: \n`, stdout+stderr)
	p.keeps("k3y-of-the-door", stdout, stderr)
	p.keeps("xoxb-12345", stdout, stderr)
	p.keeps("of-the-shell", stdout, stderr)
	p.calls([]projectCall{
		{[]string{"write_file", "path=scripts/deploy.sh", "content=env"}, `protected`, true},
		{[]string{"deploy", "version=v1; env", "--yes"}, `must match the pattern`, true},
		{[]string{"read_file", "path=.env"}, `.`, true},
	})
	stdout, stderr, _ = p.toolhost("call", "head", "args=.env")
	assert.NotContains(t, stdout+stderr, "in-a-file")
}

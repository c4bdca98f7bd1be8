package mcpclient_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/mcpclient"
	"github.com/toolhost/toolhost/internal/source/mcpclient/oauth"
	"github.com/toolhost/toolhost/internal/test/oauthtest"
)

// guarded starts an MCP server that requires a login, and a store for logins.
func guarded(t *testing.T) (*oauthtest.Server, *oauth.Store, string) {
	t.Helper()
	server, stop := oauthtest.New()
	t.Cleanup(stop)
	dir := filepath.Join(t.TempDir(), "logins")
	store, err := oauth.Open(dir)
	require.NoError(t, err)
	return server, store, dir
}

// agree is a user who consents to everything.
func agree(ctx context.Context, page oauth.Page) error { return oauthtest.Visit(ctx, page.URL) }

// whoami calls the server's tool, with a client of its own.
func whoami(t *testing.T, server *oauthtest.Server, options mcpclient.Options, config oauth.Config) (string, error) {
	t.Helper()
	client := open(t, options,
		mcpclient.Spec{Name: "docs", URL: server.URL, OAuth: config, StartTimeout: time.Minute})
	result, err := client.Call(t.Context(), "docs", "whoami", nil, newCall("{}"))
	if err != nil {
		return "", err
	}
	return result.Text(), nil
}

// login logs in as toolhost mcp login does.
func login(t *testing.T, server *oauthtest.Server, store *oauth.Store, config oauth.Config, scopes ...string) error {
	t.Helper()
	client := open(t, mcpclient.Options{Logins: store}, mcpclient.Spec{Name: "docs", URL: server.URL, OAuth: config})
	return client.Login(t.Context(), "docs", scopes, agree)
}

func TestLoginIsKeptForOtherProcesses(t *testing.T) {
	server, store, dir := guarded(t)
	_, err := whoami(t, server, mcpclient.Options{Logins: store}, oauth.Config{})
	require.ErrorIs(t, err, &tool.Error{Code: tool.PermissionDenied})
	assert.Equal(t, "the MCP server docs wants a login", err.Error())
	assert.Equal(t, "Run toolhost mcp login docs in a terminal, then call again.", tool.AsError(err).Suggestion)
	assert.Zero(t, server.Count("authorize")+server.Count("register"), "nothing is begun by itself")

	require.NoError(t, login(t, server, store, oauth.Config{}))
	text, err := whoami(t, server, mcpclient.Options{Logins: store}, oauth.Config{})
	require.NoError(t, err)
	assert.Equal(t, "you sent Bearer [redacted]", text)
	assert.Equal(t, 1, server.Count("authorize"))

	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	parent, err := os.Stat(dir)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), parent.Mode().Perm())
}

func TestRequestsCanAskForALogin(t *testing.T) {
	server, _, _ := guarded(t)
	text, err := whoami(t, server, mcpclient.Options{Visit: agree}, oauth.Config{})
	require.NoError(t, err)
	assert.Equal(t, "you sent Bearer [redacted]", text)
	assert.Equal(t, 1, server.Count("authorize"))
}

func TestAServerThatRefusesEveryTokenIsNotBelievedForEver(t *testing.T) {
	server, _, _ := guarded(t)
	client := open(t, mcpclient.Options{Visit: agree},
		mcpclient.Spec{Name: "docs", URL: server.URL, StartTimeout: time.Minute})
	for range 6 {
		_, _ = client.Call(t.Context(), "docs", "whoami", nil, newCall("{}"))
		server.Forget()
	}
	assert.LessOrEqual(t, server.Count("authorize"), 3)
}

func TestTokensAreRenewed(t *testing.T) {
	server, store, _ := guarded(t)
	require.NoError(t, login(t, server, store, oauth.Config{}))

	server.Revoke() // the server refuses a token that should have been valid
	_, err := whoami(t, server, mcpclient.Options{Logins: store}, oauth.Config{})
	require.NoError(t, err)
	assert.Equal(t, 1, server.Count("refresh_token"))
	assert.Equal(t, server.URL, server.Last().Get("resource"))

	server.Set(func(b *oauthtest.Behaviour) { b.ExpiresIn = 1 })
	server.Revoke()
	_, err = whoami(t, server, mcpclient.Options{Logins: store}, oauth.Config{})
	require.NoError(t, err, "a token is renewed before its end")
	assert.Greater(t, server.Count("refresh_token"), 2)
	assert.Zero(t, server.Count("reuse"))
	assert.Equal(t, 1, server.Count("authorize"))
}

func TestALoginThatIsOverSaysSo(t *testing.T) {
	server, store, _ := guarded(t)
	require.NoError(t, login(t, server, store, oauth.Config{}))
	server.Forget()
	for range 2 {
		_, err := whoami(t, server, mcpclient.Options{Logins: store}, oauth.Config{})
		require.ErrorIs(t, err, &tool.Error{Code: tool.PermissionDenied})
		assert.Contains(t, err.Error(), "the MCP server docs wants a new login: the one of 20")
	}
	assert.Equal(t, 1, server.Count("refresh_token"), "a refresh token that was refused is not tried again")

	client := open(t, mcpclient.Options{Logins: store}, mcpclient.Spec{Name: "docs", URL: server.URL})
	state, err := client.LoginState("docs")
	require.NoError(t, err)
	assert.False(t, state.LoggedIn)
	require.NoError(t, login(t, server, store, oauth.Config{}))
	state, err = client.LoginState("docs")
	require.NoError(t, err)
	assert.True(t, state.LoggedIn && state.Renews)
	assert.WithinDuration(t, time.Now().Add(time.Hour), state.Expires, time.Minute)
}

func TestAnUnreachableAuthorizationServerEndsNoLogin(t *testing.T) {
	server, store, _ := guarded(t)
	server.Set(func(b *oauthtest.Behaviour) { b.ExpiresIn = 1 })
	require.NoError(t, login(t, server, store, oauth.Config{}))
	server.Set(func(b *oauthtest.Behaviour) { b.Down = true })
	_, err := whoami(t, server, mcpclient.Options{Logins: store}, oauth.Config{})
	require.ErrorIs(t, err, &tool.Error{Code: tool.Unavailable})
	assert.Contains(t, err.Error(), "503")
	server.Set(func(b *oauthtest.Behaviour) { b.Down = false })
	_, err = whoami(t, server, mcpclient.Options{Logins: store}, oauth.Config{})
	require.NoError(t, err)
}

// TestProcessesShareOneRefreshToken has several processes find an expired access token. The server
// takes a refresh token once, and ends the login if it is used again.
func TestProcessesShareOneRefreshToken(t *testing.T) {
	server, store, dir := guarded(t)
	server.Set(func(b *oauthtest.Behaviour) { b.ExpiresIn = 1 })
	require.NoError(t, login(t, server, store, oauth.Config{}))
	server.Set(func(b *oauthtest.Behaviour) { b.ExpiresIn = 3600 })

	self, err := os.Executable()
	require.NoError(t, err)
	var processes []*exec.Cmd
	for range 4 {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "TEST_LOGIN_URL="+server.URL, "TEST_LOGIN_DIR="+dir)
		cmd.Stderr = os.Stderr
		require.NoError(t, cmd.Start())
		processes = append(processes, cmd)
	}
	for _, cmd := range processes {
		require.NoError(t, cmd.Wait())
	}
	assert.Equal(t, 1, server.Count("refresh_token"))
	assert.Zero(t, server.Count("reuse"))

	// If each token expires at once, all renew in turn.
	server.Set(func(b *oauthtest.Behaviour) { b.ExpiresIn = 1 })
	server.Revoke()
	for i := range processes {
		processes[i] = exec.Command(self)
		processes[i].Env = append(os.Environ(), "TEST_LOGIN_URL="+server.URL, "TEST_LOGIN_DIR="+dir)
		processes[i].Stderr = os.Stderr
		require.NoError(t, processes[i].Start())
	}
	for _, cmd := range processes {
		require.NoError(t, cmd.Wait())
	}
	assert.Greater(t, server.Count("refresh_token"), 4)
	assert.Zero(t, server.Count("reuse"))
}

// callWithLogin is the child of that test.
func callWithLogin() int {
	store, err := oauth.Open(os.Getenv("TEST_LOGIN_DIR"))
	if err != nil {
		return 1
	}
	failed := make(chan error, 4)
	client := mcpclient.New(mcpclient.Options{Logins: store})
	defer client.Close()
	_ = client.Add(mcpclient.Spec{Name: "docs", URL: os.Getenv("TEST_LOGIN_URL"), StartTimeout: time.Minute})
	for range cap(failed) {
		go func() {
			_, err := client.Call(context.Background(), "docs", "whoami", nil, newCall("{}"))
			failed <- err
		}()
	}
	for range cap(failed) {
		err = errors.Join(err, <-failed)
	}
	if err != nil {
		println(err.Error())
		return 1
	}
	return 0
}

func TestMoreScopesAreAskedForByName(t *testing.T) {
	server, store, _ := guarded(t)
	server.Set(func(b *oauthtest.Behaviour) { b.Scopes, b.ToolScopes = []string{"read"}, []string{"write", "admin"} })
	require.NoError(t, login(t, server, store, oauth.Config{}))
	_, err := whoami(t, server, mcpclient.Options{Logins: store}, oauth.Config{})
	require.ErrorIs(t, err, &tool.Error{Code: tool.PermissionDenied})
	assert.Equal(t, "the MCP server docs wants a login that also has the scopes write admin", err.Error())
	assert.Equal(t, "Run toolhost mcp login docs --scope write --scope admin in a terminal, then call again.",
		tool.AsError(err).Suggestion)

	require.NoError(t, login(t, server, store, oauth.Config{}, "write", "admin"))
	_, err = whoami(t, server, mcpclient.Options{Logins: store}, oauth.Config{})
	require.NoError(t, err)

	// With a user, the login grows by itself, and keeps its scopes.
	_, err = whoami(t, server, mcpclient.Options{Visit: agree}, oauth.Config{})
	require.NoError(t, err)
	assert.Equal(t, 4, server.Count("authorize"), "twice for the login that grew")
}

// TestScopesThatALoginHasAreNotAskedForAgain has a server refuse for a missing scope that it has
// granted.
func TestScopesThatALoginHasAreNotAskedForAgain(t *testing.T) {
	server, _, _ := guarded(t)
	server.Set(func(b *oauthtest.Behaviour) { b.Scopes, b.Stubborn = []string{"read"}, true })
	_, err := whoami(t, server, mcpclient.Options{Visit: agree}, oauth.Config{})
	require.ErrorIs(t, err, &tool.Error{Code: tool.PermissionDenied})
	assert.Contains(t, err.Error(), "because of scopes that the login has already (read)")
	assert.Equal(t, 1, server.Count("authorize"))
}

func TestClientCredentialsNeedNobody(t *testing.T) {
	server, store, _ := guarded(t)
	server.Set(func(b *oauthtest.Behaviour) { b.Secret, b.ExpiresIn, b.ToolScopes = "s3cret", 1, []string{"write"} })
	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte("s3cret\n"), 0o600))
	config := oauth.Config{Grant: oauth.ClientCredentials, ClientID: "machine", ClientSecretFile: file,
		Issuer: server.Issuer}
	_, err := whoami(t, server, mcpclient.Options{Logins: store}, config)
	require.NoError(t, err)
	assert.Positive(t, server.Count("client_credentials"))

	require.NoError(t, os.Chmod(file, 0o644))
	_, err = whoami(t, server, mcpclient.Options{}, config)
	require.ErrorContains(t, err, "can be read by others")
	config.ClientSecretFile, config.ClientSecret = "", "wrong"
	_, err = whoami(t, server, mcpclient.Options{}, config)
	require.ErrorContains(t, err, "invalid_client: this is why")
}

// TestWhatAPlatformWritesIsReadAgain replaces the platform's assertion file.
func TestWhatAPlatformWritesIsReadAgain(t *testing.T) {
	server, store, _ := guarded(t)
	file := filepath.Join(t.TempDir(), "token")
	config := oauth.Config{Grant: oauth.JWTBearer, ClientID: "workload", AssertionFile: file, Issuer: server.Issuer}
	for _, written := range []string{"first-assertion", "second-assertion"} {
		server.Forget()
		server.Set(func(b *oauthtest.Behaviour) { b.Assertion = written })
		require.NoError(t, os.WriteFile(file, []byte(written+"\n"), 0o644))
		_, err := whoami(t, server, mcpclient.Options{Logins: store}, config)
		require.NoError(t, err)
	}
	server.Forget()
	require.NoError(t, os.Remove(file))
	_, err := whoami(t, server, mcpclient.Options{Logins: store}, config)
	require.ErrorContains(t, err, "assertion_file")
}

func TestAServerMayNotChangeItsAuthorizationServerUnderAPinnedOne(t *testing.T) {
	server, store, _ := guarded(t)
	other, stop := oauthtest.New()
	t.Cleanup(stop)
	server.Set(func(b *oauthtest.Behaviour) {
		b.Resource = map[string]any{"authorization_servers": []string{other.Issuer}}
	})
	err := login(t, server, store, oauth.Config{ClientID: "by-hand", ClientSecret: "s3cret", Issuer: server.Issuer})
	require.ErrorIs(t, err, &tool.Error{Code: tool.Blocked})
	assert.Zero(t, other.Count("authorize"))
}

func TestLoginsThatMustFail(t *testing.T) {
	for _, test := range []struct {
		name    string
		change  func(s *oauthtest.Server, b *oauthtest.Behaviour)
		config  oauth.Config
		code    tool.Code
		message string
	}{
		{"another issuer", func(_ *oauthtest.Server, b *oauthtest.Behaviour) { b.Iss = "https://evil.example" },
			oauth.Config{},
			tool.Blocked, `the answer is from "https://evil.example" and not from`},
		{"the issuer with a slash", func(s *oauthtest.Server, b *oauthtest.Behaviour) { b.Iss = s.Issuer + "/" },
			oauth.Config{},
			tool.Blocked, "and not from"},
		{"no issuer", func(_ *oauthtest.Server, b *oauthtest.Behaviour) { b.Iss = "none" }, oauth.Config{},
			tool.Blocked, "does not say that it is from"},
		{"metadata of another issuer", func(_ *oauthtest.Server, b *oauthtest.Behaviour) {
			b.Metadata = map[string]any{"issuer": "https://evil.example"}
		}, oauth.Config{}, tool.Unavailable, "does not match issuer"},
		{"no PKCE", func(_ *oauthtest.Server, b *oauthtest.Behaviour) {
			b.Metadata = map[string]any{"code_challenge_methods_supported": nil}
		}, oauth.Config{}, tool.Unavailable, "PKCE"},
		{"another resource", func(_ *oauthtest.Server, b *oauthtest.Behaviour) {
			b.Resource = map[string]any{"resource": "https://evil.example/mcp"}
		}, oauth.Config{}, tool.Blocked, "another resource"},
		{"a resource beside it", func(s *oauthtest.Server, b *oauthtest.Behaviour) {
			b.Resource = map[string]any{"resource": strings.TrimSuffix(s.URL, "p")}
		}, oauth.Config{}, tool.Blocked, "another resource"},
		{"no registration", func(_ *oauthtest.Server, b *oauthtest.Behaviour) {
			b.Metadata = map[string]any{"registration_endpoint": nil}
		}, oauth.Config{}, tool.Unsupported, "lets no client register itself"},
		{"a token endpoint without TLS", func(_ *oauthtest.Server, b *oauthtest.Behaviour) {
			b.Metadata = map[string]any{"token_endpoint": "http://93.184.216.34/token"}
		}, oauth.Config{}, tool.Unavailable, "HTTPS"},
		{"a revocation endpoint in the network", func(_ *oauthtest.Server, b *oauthtest.Behaviour) {
			b.Metadata = map[string]any{"revocation_endpoint": "https://10.0.0.1/revoke"}
		}, oauth.Config{}, tool.Blocked, "10.0.0.1 is not a public address"},
		{"an authorization endpoint that is no page", func(_ *oauthtest.Server, b *oauthtest.Behaviour) {
			b.Metadata = map[string]any{"authorization_endpoint": "javascript:alert(1)"}
		}, oauth.Config{}, tool.Unavailable, "javascript"},
		{"metadata in the network", func(_ *oauthtest.Server, b *oauthtest.Behaviour) {
			b.Challenge = "https://169.254.169.254/latest/meta-data"
		}, oauth.Config{}, tool.Blocked, "169.254.169.254 is not a public address"},
		{"metadata without TLS", func(_ *oauthtest.Server, b *oauthtest.Behaviour) {
			b.Challenge = "http://93.184.216.34/meta"
		}, oauth.Config{}, tool.Blocked, "is not an https URL"},
		{"a refused code", func(_ *oauthtest.Server, b *oauthtest.Behaviour) { b.TokenError = "invalid_grant" },
			oauth.Config{},
			tool.PermissionDenied, "invalid_grant: this is why"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server, store, dir := guarded(t)
			server.Set(func(b *oauthtest.Behaviour) { test.change(server, b) })
			err := login(t, server, store, test.config)
			require.ErrorContains(t, err, test.message)
			assert.Equal(t, test.code, tool.CodeOf(err))
			assert.NotEmpty(t, tool.AsError(err).Suggestion)
			files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
			assert.Empty(t, files, "nothing is kept")
		})
	}
}

// TestAResourceMayBeADirectoryAbove has a server publish its root as the tokens' resource, as many do.
func TestAResourceMayBeADirectoryAbove(t *testing.T) {
	server, store, _ := guarded(t)
	server.Set(func(b *oauthtest.Behaviour) {
		b.Resource = map[string]any{"resource": server.Issuer}
		b.TokenError = "invalid_grant"
	})
	require.Error(t, login(t, server, store, oauth.Config{}))
	assert.Equal(t, server.Issuer, server.Last().Get("resource"))
}

func TestLogout(t *testing.T) {
	server, store, dir := guarded(t)
	require.NoError(t, login(t, server, store, oauth.Config{}))
	client := open(t, mcpclient.Options{Logins: store}, mcpclient.Spec{Name: "docs", URL: server.URL})
	was, err := client.Logout(t.Context(), "docs")
	require.NoError(t, err)
	assert.True(t, was)
	assert.Equal(t, 1, server.Count("revoke"))
	files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	assert.Empty(t, files)
	was, err = client.Logout(t.Context(), "docs")
	require.NoError(t, err)
	assert.False(t, was)
}

func TestWhatIsNotLoggedInTo(t *testing.T) {
	server, store, _ := guarded(t)
	client := open(t, mcpclient.Options{Logins: store},
		mcpclient.Spec{Name: "program", Command: []string{"true"}},
		mcpclient.Spec{Name: "header", URL: server.URL, Headers: map[string]string{"authorization": "Bearer x"},
			StartTimeout: time.Minute})
	for name, message := range map[string]string{"program": "is a program", "header": "from the headers",
		"none": "no MCP server named"} {
		err := client.Login(t.Context(), name, nil, agree)
		require.ErrorContains(t, err, message)
	}
	_, _, err := client.Tools(t.Context(), "header")
	require.ErrorContains(t, err, "refused the connection: 401 Unauthorized")
}

func TestTokensAreShownNowhere(t *testing.T) {
	server, store, _ := guarded(t)
	var log bytes.Buffer
	client := open(t, mcpclient.Options{
		Logins: store, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}, mcpclient.Spec{Name: "docs", URL: server.URL})
	require.NoError(t, client.Login(t.Context(), "docs", nil, agree))
	for _, protocol := range []string{"2025-11-25", ""} {
		client := open(t, mcpclient.Options{Logins: store},
			mcpclient.Spec{Name: "docs", URL: server.URL, Protocol: protocol})
		result, err := client.Call(t.Context(), "docs", "whoami", nil, newCall("{}"))
		require.NoError(t, err)
		assert.Equal(t, "you sent Bearer [redacted]", result.Text())
	}
	assert.Contains(t, log.String(), "logged in to an MCP server")
	assert.NotRegexp(t, "access-|refresh-", log.String())
}

// TestAnswersOfOthers has a stranger answer the login first, and the user paste something wrong.
func TestAnswersOfOthers(t *testing.T) {
	server, store, _ := guarded(t)
	client := open(t, mcpclient.Options{Logins: store}, mcpclient.Spec{Name: "docs", URL: server.URL})
	visit := func(ctx context.Context, page oauth.Page) error {
		redirect := strings.Split(page.URL, "redirect_uri=")[1]
		redirect = strings.NewReplacer("%3A", ":", "%2F", "/").Replace(strings.Split(redirect, "&")[0])
		require.Regexp(t, `^http://127\.0\.0\.1:\d+/callback$`, redirect)
		require.ErrorContains(t, oauthtest.Visit(ctx, redirect+"?code=stolen&state=wrong"), "400")
		require.ErrorContains(t, oauthtest.Visit(ctx, redirect+"?code=stolen"), "400")
		require.ErrorContains(t, oauthtest.Visit(ctx, strings.TrimSuffix(redirect, "callback")), "404")
		require.ErrorContains(t, page.Answer("https://elsewhere.example/?code=x&state=y"),
			"not the answer to the login")
		require.ErrorContains(t, page.Answer("hello"), "not the address")
		return agree(ctx, page)
	}
	require.NoError(t, client.Login(t.Context(), "docs", nil, visit))
}

func TestALoginThatNobodyAnswersEnds(t *testing.T) {
	server, store, _ := guarded(t)
	client := open(t, mcpclient.Options{Logins: store}, mcpclient.Spec{Name: "docs", URL: server.URL})
	for limit := 300 * time.Millisecond; ; limit *= 4 {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		asked := false
		err := client.Login(ctx, "docs", nil, func(context.Context, oauth.Page) error { asked = true; return nil })
		cancel()
		if asked || limit > time.Minute { // a busy machine may be too slow otherwise
			require.ErrorIs(t, err, &tool.Error{Code: tool.Timeout})
			return
		}
	}
}

func TestLoginsOutsideOfTheTreesOfTools(t *testing.T) {
	dir := t.TempDir()
	_, err := oauth.Open(filepath.Join(dir, "x", "logins"), "/elsewhere", dir)
	require.ErrorContains(t, err, "where tools could use it")
}

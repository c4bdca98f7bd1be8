package config

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCredentials(t *testing.T) {
	env := func(name string) (string, bool) {
		value, ok := map[string]string{"TOKEN": "s3cret-token", "BROKEN": "a\nb"}[name]
		return value, ok
	}
	for name, c := range map[string]struct{ body, want, problem string }{
		"header": {`host = "Registry.example.org"` + "\n" + `header = "X-Token"` + "\n" + `value = env("TOKEN")`,
			"registry.example.org:443 X-Token: s3cret-token", ""},
		"bearer": {`host = "registry.example.org:8443"` + "\n" + `value = "Bearer ${env("TOKEN")}"`,
			"registry.example.org:8443 Authorization: Bearer s3cret-token", ""},
		"basic": {`host = "git.example"` + "\n" + `username = "me"` + "\n" + `password = env("TOKEN")`,
			"git.example:443 Authorization: Basic bWU6czNjcmV0LXRva2Vu", ""},
		"not set":     {`host = "a.example"` + "\n" + `value = "Bearer ${env("OTHER")}"`, "a.example:443 Authorization: ", "nothing is added"},
		"in the file": {`host = "a.example"` + "\n" + `value = "Bearer abc"`, "", "in the file"},
		"line break":  {`host = "a.example"` + "\n" + `value = env("BROKEN")`, "", "cannot stand in a header"},
		"wildcard":    {`host = "*.example.org"` + "\n" + `value = env("TOKEN")`, "", "is not one name"},
		"address":     {`host = "10.1.2.3"` + "\n" + `value = env("TOKEN")`, "", "is not one name"},
		"no host":     {`value = env("TOKEN")`, "", "needs the attribute host"},
		"nothing":     {`host = "a.example"`, "", "needs the attribute password"},
		"two ways": {`host = "a.example"` + "\n" + `value = env("TOKEN")` + "\n" + `password = env("TOKEN")`, "",
			"a user's name and password"},
		"header Host":   {`host = "a.example"` + "\n" + `header = "Host"` + "\n" + `value = env("TOKEN")`, "", "cannot be added"},
		"header broken": {`host = "a.example"` + "\n" + `header = "A B"` + "\n" + `value = env("TOKEN")`, "", "cannot be added"},
	} {
		cfg, diags := Parse("agent.hcl", []byte("credential \"c\" {\n"+c.body+"\n}\n"), LoadOptions{Env: env})
		said := ""
		for _, d := range diags {
			said += d.Summary + " " + d.Detail + "\n"
		}
		if c.problem == "" {
			require.Empty(t, diags, name)
		} else {
			assert.Contains(t, said, c.problem, name)
		}
		assert.NotContains(t, said, "s3cret-token", name)
		if c.want != "" {
			k := cfg.Credentials[0]
			assert.Equal(t, c.want, k.Host+":"+strconv.Itoa(int(k.Port))+" "+k.Header+": "+k.Value, name)
			assert.NotContains(t, cfg.Grants()[0], "s3cret-token")
			assert.Contains(t, cfg.Grants()[0], `credential "c" is sent to `)
		}
	}
	cfg, diags := Parse("agent.hcl", []byte(`credential "a" {
  host  = "a.example"
  value = env("TOKEN")
}
credential "b" {
  host     = "a.example:443"
  password = env("TOKEN")
}
`), LoadOptions{Env: env})
	require.NotEmpty(t, diags)
	assert.Contains(t, diags[0].Summary, "Two credentials for one host")
	assert.Contains(t, cfg.Secrets, "OnMzY3JldC10b2tlbg==", "what is made of a secret is one")
}

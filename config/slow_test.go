package config_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/config"
)

// What a file can have evaluated is bounded in steps as well as in size.
func TestSlowExpressionsAreRefused(t *testing.T) {
	const slow = `([a-z]{0,100}[0-9]?){0,9}([a-z]{0,100}){0,5}[x-z]{3}$`
	long := strings.Repeat("ab", 50_000)
	var names []string
	for i := range 20_000 {
		names = append(names, fmt.Sprint(i))
	}
	for name, c := range map[string]struct {
		expression string
		fits       bool
	}{
		"a pattern":            {fmt.Sprintf("regex(%q, %q)", slow, long), false},
		"a pattern to replace": {fmt.Sprintf("replace(%q, %q, \"x\")", long, "/"+slow+"/"), false},
		"a list without doubles": {fmt.Sprintf("join(\",\", distinct(split(\",\", %q)))", strings.Join(names, ",")),
			false},
		"short: a pattern":       {fmt.Sprintf("regex(%q, \"abxyz\")", "[x-z]{3}$"), true},
		"short: to replace":      {fmt.Sprintf("replace(%q, \"/a+/\", \"x\")", "aab"), true},
		"short: without doubles": {`join(",", distinct(["a", "b", "a"]))`, true},
		"a plain replacement": {fmt.Sprintf("length(split(\",\", replace(%q, \"a\", \"c\"))) == 1 ? \"x\" : \"y\"",
			long), true},
	} {
		began := time.Now()
		_, diags := config.Parse("agent.hcl",
			[]byte("locals {\n  a = "+c.expression+"\n}\nworkspace {\n  protect = [local.a]\n}\n"),
			config.LoadOptions{})
		assert.Equal(t, c.fits, !diags.HasErrors(), "%s: %v", name, diags)
		if !c.fits {
			assert.Contains(t, fmt.Sprint(diags), "take too long", name)
		}
		assert.Less(t, time.Since(began), time.Minute, name)
	}
}

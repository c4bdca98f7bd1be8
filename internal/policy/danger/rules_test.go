package danger

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/policy"
)

// Each rule matches the commands below it with +, and not those with -.
func TestRulesMatchTheirRows(t *testing.T) {
	for _, e := range rules().entries {
		name := e.kind + " " + strings.Join(e.programs, " ")
		for _, r := range e.rules {
			assert.NotEmpty(t, r.settings["+"], "%s: %s: a command that it must match", name, r.reason)
			expected := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(r.reason), "%s", ".+") + "$")
			for _, row := range r.settings["+"] {
				verdict := judgeRow(row)
				assert.Equal(t, r.class, verdict.Class, row)
				assert.Regexp(t, expected, verdict.Reason, row)
			}
			for _, row := range r.settings["-"] {
				verdict := judgeRow(row)
				assert.False(t, verdict.Class == r.class && expected.MatchString(verdict.Reason), "%s: %+v", row,
					verdict)
			}
		}
		if len(e.rules) > 0 {
			continue
		}
		assert.NotEmpty(t, e.settings["+"], "%s: a command that it must match", name)
		for _, row := range e.settings["+"] {
			assert.Equal(t, Caution, judgeRow(row).Class, row)
		}
		for _, row := range e.settings["-"] {
			assert.Equal(t, Fine, judgeRow(row).Class, row)
		}
	}
}

// A rule about a command holds behind each runner too.
func TestRulesHoldBehindRunners(t *testing.T) {
	p, err := policy.New(policy.Rules{Rules: []policy.Rule{{Name: "rm", Command: "rm -rf", Action: policy.Deny}}})
	require.NoError(t, err)
	for _, e := range rules().entries {
		if e.kind != "runner" || e.settings.has("line") { // whose options hold a line
			continue
		}
		behind := ""
		for _, key := range []string{"verbs", "inside", "after"} {
			if words := e.settings[key]; words != nil {
				behind = " " + words[0]
			}
		}
		for _, name := range e.programs {
			line := name + behind + " x rm -rf y"
			assert.Equal(t, policy.Deny, p.Decide(policy.Request{Shell: line}).Action, line)
		}
	}
	for _, line := range []string{"npm run rm", "docker rm -f x", "uv pip install rm", "npx prettier --check ."} {
		assert.Equal(t, policy.Allow, p.Decide(policy.Request{Shell: line}).Action, line)
	}
}

func judgeRow(command string) Verdict { return Judge(command, Options{Root: "/home/me/project"}) }

// A word that the engine does not know would make a rule match more, or less, than it says.
func TestRulesSayWhatIsKnown(t *testing.T) {
	known := map[string][]string{
		"rule":        {"words", "verbs", "option", "unless", "line", "operands", "of", "like", "at", "+", "-"},
		"program":     {"valued"},
		"tool":        {"valued"},
		"interpreter": {"like", "+", "-"},
		"runner":      {"verbs", "valued", "joined", "line", "after", "inside", "+", "-"},
	}
	places := []string{"all", "root", "named", "system", "whole", "settings", "harmless", "device"}
	words := regexp.MustCompile(`^(args|operands|first|operand|last|leading|input|-.+|[^-].*=)$`)
	check := func(kind string, s settings) {
		for key, values := range s {
			assert.Contains(t, known[kind], key)
			for _, value := range values {
				switch key {
				case "line", "operands", "like":
					assert.NotPanics(t, func() { compiled(value) }, value)
				case "of":
					assert.Regexp(t, words, value)
				case "at":
					for _, place := range strings.Split(strings.TrimPrefix(value, "!"), "|") {
						assert.Contains(t, places, place)
					}
				}
			}
		}
		assert.False(t, !s.has("of") && (s.has("at") || kind == "rule" && s.has("like")), "conditions on no word: %v",
			s)
	}
	for _, e := range rules().entries {
		assert.NotEmpty(t, e.programs)
		check(e.kind, e.settings)
		for _, r := range e.rules {
			check("rule", r.settings)
			assert.Equal(t, r.class != Fine, r.reason != "")
		}
	}
	for _, list := range []string{"system", "tops", "harmless", "settings", "shells", "looks"} {
		assert.NotEmpty(t, rules().lists[list], list)
	}
}

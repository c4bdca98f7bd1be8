package danger

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
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

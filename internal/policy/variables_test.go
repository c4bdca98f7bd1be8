package policy_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/policy"
)

// A rule that denies sees programs that run because of a variable.
func TestVariablesThatRun(t *testing.T) {
	p, err := policy.New(commandRules(policy.Deny, "rm -rf"))
	require.NoError(t, err)
	for want, lines := range map[policy.Action][]string{
		policy.Deny: {
			"GIT_EDITOR='rm -rf x' git commit", "GIT_SEQUENCE_EDITOR='rm -r -f x #' git rebase -i",
			"PAGER='rm -rf x' man ls", "env GIT_PAGER='rm -rf x' git log",
			"export GIT_SSH_COMMAND='rm -rf x'; git fetch", "EDITOR='sh -c \"rm -rf x\"' git commit",
			"GIT_EXTERNAL_DIFF='rm -rf x' git diff",
			"LESSOPEN='|rm -rf x' less f", "LESSOPEN='|-rm -rf x' less f",
			"VISUAL='rm -rf x'; export VISUAL; git commit", "declare -x EDITOR='rm -rf x'; git commit",
			"GIT_EDITOR=\"$x\" git commit", "GIT_EDITOR=$(cat f) git commit", "env GIT_EDITOR=$x git commit",
			"GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='!rm -rf x' git x",
			"GIT_CONFIG_PARAMETERS=\"'alias.x=!rm -rf x'\" git x",
			"env GIT_CONFIG_COUNT=1 git x",
		},
		policy.Allow: {"GIT_EDITOR=true git commit", "EDITOR= git commit", "PAGER=cat git log", "env PAGER=cat git log",
			"NOTE='rm -rf x' git log", "GIT_AUTHOR_NAME='rm -rf x' git commit"},
	} {
		for _, line := range lines {
			assert.Equal(t, want, p.Decide(policy.Request{Tool: "bash", Shell: line}).Action, line)
		}
	}
}

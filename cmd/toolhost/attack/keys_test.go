package attack

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// keys are where the user's programs keep credentials.
var keys = []string{
	".local/share/opencode/auth.json", ".local/share/amp/secrets.json", ".qwen/oauth_creds.json",
	".cache/huggingface/token", ".kaggle/kaggle.json",
	".pulumi/credentials.json", ".ollama/id_ed25519", ".rclone.conf", ".subversion/auth/svn.simple/x", ".dockercfg",
	".composer/auth.json",
	".bitcoin/wallet.dat", ".msmtprc", "snap/firefox/common/key4.db", ".var/app/org.mozilla.firefox/key4.db",
}

// No command reads other programs' credentials.
func TestKeysOfOtherPrograms(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for _, s := range stances() {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			a := newArenaFor(t, s, map[string]string{"agent.hcl": "sandbox {\n  read = [\"../home\"]\n}\n"})
			for _, name := range keys {
				a.write(a.home, name, a.secret, 0o600)
			}
			a.write(a.home, "notes/plain", "no-key\n", 0o600)
			a.arm()
			h := a.serve(nil, "--toolset", "cliagent")
			for _, name := range keys {
				oneOverMCP(t, h, attack{group: "sandbox", name: s.String() + " read " + name, tool: "run_in_terminal",
					params: command(t, "cat "+a.home+"/"+name+"; true")})
			}
			tally.note(tally.controls, "sandbox", "a file that is no key")
			assert.Contains(t, strings.Join(h.call("run_in_terminal", command(t, "cat "+a.home+"/notes/plain")).said,
				""), "no-key")
			assert.Empty(t, h.stop())
		})
	}
}

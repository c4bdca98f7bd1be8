package attack

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// A process beside a call repeatedly puts a link on the way to a path granted to the call's block, and
// removes it. Nothing is written where the link leads.
func TestAGrantIsRacedForItsPath(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	const block = `tool "build" {
  description = "Run."
  write       = ["build/out"]
  command { argv = ["sh", "-c", "echo owned > build/out/owned; cat build/out/*"] }
}
`
	took := 3 * time.Second
	if testneed.Long() {
		took = 20 * time.Second
	}
	for _, s := range stances() {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			a := newArenaFor(t, s, map[string]string{"agent.hcl": block + s.block(), "build/out/mine": "fine\n"})
			a.write(a.out, "out/secret", a.secret, 0o644)
			a.link("../outside", "aside")
			a.arm()
			h := a.serve(nil)
			build, aside := filepath.Join(a.ws, "build"), filepath.Join(a.ws, "aside")
			end, ended := make(chan bool), make(chan bool)
			go func() {
				defer close(ended)
				for {
					select {
					case <-end:
						return
					default:
						_ = unix.Renameat2(unix.AT_FDCWD, build, unix.AT_FDCWD, aside, unix.RENAME_EXCHANGE)
					}
				}
			}()
			tally.note(tally.cases, "trust", s.String()+" a grant is raced for its path")
			var said []string
			for began := time.Now(); time.Since(began) < took; {
				r := h.call("build", `{}`)
				said = append(said, r.text)
			}
			close(end)
			<-ended
			assert.Empty(t, a.inspect(said...))
			assert.Empty(t, h.stop())

			if info, err := os.Lstat(build); err == nil && info.IsDir() {
				assert.NoError(t, unix.Renameat2(unix.AT_FDCWD, build, unix.AT_FDCWD, aside, unix.RENAME_EXCHANGE))
			}
			r := a.cli(nil, "", "build", `{}`)
			control(t, "trust", "the link is there when the path is judged", checkCanary, a.inspect(r.said...))
		})
	}
}

package sandbox

// Promised returns a sentence on what holds for processes confined at a level, and its gaps. Auto and the empty
// level stand for the strongest one.
func (r Report) Promised(level Level) (sentence string, gaps []string) {
	if level == Auto || level == "" {
		level = r.Strongest
	}
	const all = "A confined command writes nothing outside the workspace, reads no known secret, reaches no network, " +
		"and leaves no process behind, unless agent.hcl grants it"
	switch level {
	case Full:
		return all + ".", r.fullGaps()
	case Landlock:
		return all + ".", r.landlockGaps()
	case Off:
		if r.Around != "" {
			return "Commands run unconfined but for what is around toolhost itself: " + r.Around.Name() + ".", nil
		}
		return "Commands run unconfined: they can do whatever the user can.", nil
	}
	return "Commands cannot be confined on this machine, and do not run unless agent.hcl sets sandbox level \"off\".", nil
}

func (r Report) fullGaps() []string {
	gaps := []string{
		"Outside of the home directory, secrets are masked where they are known to be; what lies elsewhere and is readable " +
			"for the user can be read.",
		"A unix socket that a program outside makes while the command runs, and not below /tmp, /run or the home " +
			"directory's secrets, can be reached.",
		repositories,
		othersFiles,
	}
	if r.CallsRepeat {
		gaps = append(gaps, repeatedCalls)
	}
	if r.LandlockABI < landlockScopes {
		gaps = append(gaps, "With network = \"allow\", abstract unix sockets of programs outside can be reached (needs Linux 6.12).")
	}
	return gaps
}

const repositories = "If the workspace is a submodule or a linked worktree, the repository that it belongs to can be changed as well, " +
	"outside of the workspace, but for its settings and hooks."

const othersFiles = "Of files of the workspace that belong to another user, commands of root change content, names and modes, " +
	"not owners and times, and they read none that only its owner may read."

const repeatedCalls = "A signal that reaches a program just when its call that makes, opens, moves or removes a file ends " +
	"may have that call made twice, rarely; the second time says that the file exists, or is gone (needs Linux 6.0)."

func (r Report) landlockGaps() []string {
	gaps := []string{
		"When the host itself is killed by SIGKILL, what a command has started may outlive it.",
		"Unix sockets, 127.0.0.1, POSIX and System V shared memory, semaphores and message queues cannot be used.",
		"Programs cannot write to /tmp; TMPDIR names a directory in the workspace.",
		"Names of files can be listed everywhere, and the names and command lines of other processes be seen.",
		repositories,
		othersFiles,
	}
	if r.CallsRepeat {
		gaps = append(gaps, repeatedCalls)
	}
	if r.LandlockABI < landlockScopes {
		gaps = append(gaps, "Processes of the same user outside can be signalled (needs Linux 6.12).")
	}
	return gaps
}

// landlockScopes is the version of Landlock that confines signals.
const landlockScopes = 6

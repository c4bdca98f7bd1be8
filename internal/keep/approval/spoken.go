package approval

import (
	"fmt"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/show"
)

// Approved is what whoever has approved a call is told.
func Approved() string {
	return fmt.Sprintf("Approved, for %s. Tell the agent to make the call again.", Spoken(GrantTime))
}

// Denied is what whoever has denied a call of the named tool is told.
func Denied(name string) string {
	return fmt.Sprintf("Denied. The agent is told when it makes the call of %s again, within %s.", show.Line(name),
		Spoken(GrantTime))
}

// NotApproved is how a command that was to approve a call of the named tool
// ends when it was denied.
func NotApproved(name string) error {
	return tool.Errorf(tool.Denied, "the call of %s is not approved", show.Line(name)).
		Suggest("It will not run. The agent is told when it makes the call again.")
}

// Spoken is a duration of whole minutes as people say it.
func Spoken(d time.Duration) string {
	n, unit := int(d/time.Minute), "minute"
	if d%time.Hour == 0 {
		n, unit = int(d/time.Hour), "hour"
	}
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", n, unit)
}
